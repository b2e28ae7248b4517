package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/contract"
	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) submit(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	if c.IsSet("claim") && c.Int("claim") < 1 {
		return usage("--claim: expected the number of a claim, found %d", c.Int("claim"))
	}
	if err := snap.State().RefuseContainer(t.TaskID, "git wf submit TASK PATH..."); err != nil {
		return err
	}
	dir := claimedWorktree(eng.Store, string(t.TaskID), c.Int("claim"))
	if dir != "" && c.Bool("worktree") && eng.Store.GitDir() == eng.Store.CommonDir() &&
		strings.Trim(c.String("reply"), "-") == "" {
		e.dir = dir // many programs run each command where they began
		return cmp.Or(c.Set("plan", string(snap.ID)), e.onEngineTask(recordNear, e.submit)(c))
	}
	var reply []byte
	if name := c.String("reply"); name != "" {
		var err error
		if reply, err = e.readInput(name, contract.MaxReply+1); err != nil {
			return usage("submit --reply %s: %w", name, err)
		}
	}
	person, err := e.maker(c.Context, eng.Store)
	if err != nil {
		return err
	}
	ctx, end := e.metered(c)
	done, err := eng.Submit(ctx, snap.ID, engine.Submission{
		Task: t.TaskID, Paths: e.absoluteAll(c.Args().Tail()), Person: person, Claim: c.Int("claim"),
		Message: c.String("message"), Session: cmp.Or(e.getenv("WF_SESSION"), e.caller().Session),
		Commit: c.String("commit"), From: c.String("from"), Worktree: c.Bool("worktree"), Reply: reply,
	})
	end()
	if err != nil {
		return err
	}
	if !e.json {
		fmt.Fprintln(e.stdout, plain.Line(done.Change.Subject))
		name, only := filepath.Base(c.Args().Get(1)), t.DeliverableSpec.Only()
		info, err := os.Stat(e.absolute(c.Args().Get(1)))
		if err == nil && info.Mode().IsRegular() && c.NArg() == 2 && only != "" && name != path.Base(only) {
			fmt.Fprintf(e.stdout, "%s is handed in as %s\n", plain.Line(name), plain.Line(only))
		}
	}
	e.settle(c, eng, done.Snapshot)
	if c.Context.Err() != nil {
		return c.Context.Err()
	}
	x, err := e.explainNow(c.Context, eng, snap.ID)
	if err != nil {
		return err
	}
	if e.json {
		x.Describe()
	}
	return e.print("next", x)
}

// claimedWorktree is the worktree that git wf next has made for a claim, "" if there is none. Who works in it may write
// there and not into the git directory, outside of which they must not lead git: no sandbox is around this.
func claimedWorktree(store *gitstore.Store, task string, claim any) string {
	dir := store.Inside(fmt.Sprintf("%s-%v", strings.ToLower(task), claim))
	link, _ := os.ReadFile(filepath.Join(dir, ".git"))
	at := strings.TrimPrefix(strings.TrimSpace(string(link)), "gitdir: ")
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	if filepath.Dir(at) != filepath.Join(store.CommonDir(), "worktrees") {
		return ""
	}
	return dir
}

// settle does what needs neither an agent nor a maker, outside of a run. If it fails, what was recorded stands.
func (e *env) settle(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) {
	if e.caller().Task != "" {
		return // the run that has started the attempt does it
	}
	err := e.watched(c, eng, func(ctx context.Context) error { return eng.Settle(ctx, snap) })
	if err != nil && c.Context.Err() == nil {
		fmt.Fprintln(e.stderr, plain.Line("warning: the checks were not finished: "+err.Error()+"; git wf run goes on"))
	}
}
