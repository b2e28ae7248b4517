package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// handInTime is how long a worker that ends tries to hand in what it did.
const handInTime = 2 * time.Minute

func (e *env) workerCommand() *cli.Command {
	return command("worker", "work on a plan of a git server beside other workers, in a clone that is made for it",
		e.worker,
		textFlag("remote", "the `URL` of the server's repository", ""), planFlag(),
		boolFlag("once", "do one task"),
		textFlag("max-idle", "wait this `TIME` for work, such as 10m", "while others work"),
		textFlag("labels", "what this machine has, as tasks want it in meta.labels: `NAMES`, with commas", "wf.labels"),
		textFlag("trust", "the `FILE` .git/wf/trust of a repository whose user trusts the plan's command lines", ""),
		quietFlag())
}

// worker works in a clone of its own, which goes with it.
func (e *env) worker(c *cli.Context) error {
	url := c.String("remote")
	if url == "" {
		return usage("worker: expected --remote URL, of a repository on a git server")
	}
	if _, err := os.Stat(e.absolute(url)); err == nil {
		url = e.absolute(url)
	}
	works := engine.Works{Once: c.Bool("once")}
	var trusted []byte
	var err error
	if text := c.String("max-idle"); text != "" {
		if works.Idle, err = time.ParseDuration(text); err != nil || works.Idle < 0 {
			return usage("--max-idle: expected a time such as 10m or 90s, found %s", plain.Quote(text))
		}
	}
	if file := c.String("trust"); file != "" {
		trusted, err = os.ReadFile(e.absolute(file))
	}
	if err != nil {
		return fault.Usage("git wf trust, where the plan is, and --trust .git/wf/trust", "--trust: %w", err)
	}
	dir, err := os.MkdirTemp("", "wf-worker-")
	if err != nil {
		return err
	}
	there := *e
	there.dir = dir
	if err = gitstore.CloneToWork(c.Context, dir, url); err == nil {
		err = there.withStore(c.Context, func(s *gitstore.Store) error { return there.workIn(c, s, works, trusted) })
	}
	if errors.Is(err, errKept) {
		return err
	}
	if errors.Is(err, gitstore.ErrLost) {
		err = fault.Refused("git wf worker again, when this works: git ls-remote "+shell.Word(url), "%w", err)
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// errKept: the server does not have yet what a worker did.
var errKept = errors.New("what was done is not handed in")

// workIn works in a worker's clone.
func (e *env) workIn(c *cli.Context, store *gitstore.Store, works engine.Works, trusted []byte) error {
	id, err := e.planToWork(c, store)
	for try := 1; try < 3 && errors.Is(err, gitstore.ErrLost); try++ {
		_ = gitstore.Pause(c.Context, time.Second)
		id, err = e.planToWork(c, store)
	}
	if err != nil {
		return err
	}
	dir := filepath.Join(store.CommonDir(), "wf")
	err = errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(filepath.Join(dir, "trust"), trusted, 0o666))
	if err != nil {
		return err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	if c.IsSet("labels") {
		labels := splitLabels(c.String("labels"))
		eng.Labels = func() []string { return labels }
	}
	did := false
	err = e.watched(c, eng, func(ctx context.Context) (err error) {
		ctx, end := untilInterrupted(ctx, func() {})
		defer end()
		did, err = eng.Work(ctx, id, works)
		return err
	})
	patience := handInTime
	if c.Context.Err() != nil { // the machine is about to go
		patience = 10 * time.Second
	}
	if unsaid := store.Finish(context.WithoutCancel(c.Context), patience); unsaid != nil {
		e.tell("what was done is kept: git -C %s wf sync hands it in", shell.Word(e.dir))
		return fault.Refused("git -C "+shell.Word(e.dir)+" wf sync", "%w: %w", errKept, unsaid)
	}
	if err == nil && !did {
		snap, readErr := store.Snapshot(c.Context, id)
		if err = readErr; err == nil && snap.State().Root().Status != plan.StatusDone {
			err = fault.Waiting("git wf next --explain, in a clone", "there is nothing to do in %s now", id)
		}
	}
	return err
}

func splitLabels(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}

// planToWork brings the plan here: the one that --plan names, or the only one that is not over.
func (e *env) planToWork(c *cli.Context, store *gitstore.Store) (plan.ID, error) {
	remote, err := store.MainRemote(c.Context)
	if err != nil {
		return "", err
	}
	if id := plan.ID(c.String("plan")); id.Valid() {
		store.Works = id
	}
	store.Asked = store.Works == "" // its errors count
	_, err = store.Adopt(c.Context, remote)
	if err == nil && store.Works == "" {
		store.Works, err = planID(c, store)
	}
	store.Asked = false
	if err == nil {
		err = store.ReadyToWork(c.Context, remote)
	}
	if errors.Is(err, gitstore.ErrNoActive) {
		err = fault.Usage("git wf worker --plan PLAN; git ls-remote "+shell.Word(plain.Line(c.String("remote")))+
			" 'refs/workflow/*'", "nothing says which plan of the server to work on")
	}
	return store.Works, err
}
