package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/exchange"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// repositoryHas reports whether a file of a deliverable, or something that matches its pattern, is in the worktree.
// Nothing behind a link that leads out counts.
func repositoryHas(store *gitstore.Store) func(string) bool {
	top := store.WorkTree()
	if top == "" {
		return nil
	}
	return func(name string) bool {
		root, err := os.OpenRoot(top)
		if err != nil {
			return false
		}
		defer root.Close()
		return len(filesOf(root.FS(), name)) > 0
	}
}

// filesOf are the regular files that a name or a pattern of a deliverable matches.
func filesOf(fsys fs.FS, name string) []string {
	if dir, all := strings.CutSuffix(name, "/**"); all {
		return filesBelow(fsys, dir)
	}
	names := []string{name}
	if relpath.IsPattern(name) {
		var err error
		if names, err = fs.Glob(fsys, name); err != nil {
			return nil
		}
	}
	var files []string
	for _, n := range names {
		if info, err := fs.Stat(fsys, n); err == nil && info.Mode().IsRegular() {
			files = append(files, n)
		}
	}
	return files
}

const mostFiles = 10_000 // in one candidate of an import

func filesBelow(fsys fs.FS, dir string) []string {
	var files []string
	// What can't be read has no files.
	_ = fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.Name() == ".git":
			return fs.SkipDir
		case len(files) == mostFiles:
			return fs.SkipAll
		case d.Type().IsRegular():
			files = append(files, name)
		}
		return nil
	})
	return files
}

// handedIn is the outcome for one task that its source marks as done.
type handedIn struct {
	Task    plan.TaskID `json:"task_id"`
	Version string      `json:"version,omitempty"`
	Waits   string      `json:"waits,omitempty"` // why nothing was handed in
}

func (e *env) handInImported(c *cli.Context, store *gitstore.Store, id plan.ID) error {
	list, err := e.handIn(c, store, id)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		e.tell("nothing to hand in: no task without a version was marked done where the plan came from")
	}
	e.printHandIn(list)
	if !e.json {
		return nil
	}
	return e.say(struct {
		HandedIn []handedIn `json:"handed_in"`
	}{orEmpty(list)}, "")
}

func (p printer) printHandIn(list []handedIn) {
	for _, h := range list {
		if h.Version != "" {
			p.tell("  %s %s awaits review", h.Task, h.Version)
		} else {
			p.tell("  %s not handed in: %s", h.Task, plain.Line(h.Waits))
		}
	}
	if slices.ContainsFunc(list, func(h handedIn) bool { return h.Waits != "" }) {
		p.tell("  git wf plan --hand-in tries these again")
	}
}

// handIn makes candidates of the files of all tasks that the source marks as done and that have no version here. That
// approves nothing.
func (e *env) handIn(c *cli.Context, store *gitstore.Store, id plan.ID) ([]handedIn, error) {
	if store.WorkTree() == "" {
		return nil, nil
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return nil, err
	}
	person, err := store.Person(c.Context)
	if err != nil {
		return nil, err
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(store.WorkTree())
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var list []handedIn
	s := snap.State()
	for _, t := range snap.Plan.Tasks {
		files, summary := exchange.Candidates(t)
		if len(files) == 0 || t.NodeType != plan.Action || s.Tasks[t.TaskID].Active > 0 {
			continue
		}
		h := handedIn{Task: t.TaskID}
		done, err := handInTask(c.Context, eng, root.FS(), snap, t, files, summary, person)
		var refusal *plan.RefusedError
		switch {
		case err == nil:
			h.Version = plan.VersionID(done.Snapshot.State().Tasks[t.TaskID].Active)
		case errors.As(err, &refusal):
			h.Waits = refusal.Reason
		case c.Context.Err() != nil:
			return list, err
		default:
			h.Waits = err.Error()
		}
		list = append(list, h)
	}
	return list, nil
}

func handInTask(ctx context.Context, eng *engine.Engine, fsys fs.FS, snap *gitstore.Snapshot, t *plan.Task,
	names []string, summary string, person plan.Actor) (*gitstore.Appended, error) {
	dir, err := os.MkdirTemp("", "git-wf-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	room := snap.Plan.Limits().MaxArtifactBytes
	for _, name := range names {
		if summary != "" {
			if err := os.WriteFile(filepath.Join(dir, path.Base(name)), []byte(summary), 0o666); err != nil {
				return nil, err
			}
			continue
		}
		files := filesOf(fsys, name)
		if len(files) == 0 {
			return nil, fmt.Errorf("%s is not there any more", name)
		}
		for _, f := range files {
			n, err := copyFile(fsys, f, dir, room)
			if err != nil {
				return nil, err
			}
			room -= n
		}
	}
	format, word := exchange.Origin(snap.Plan, t)
	return eng.Submit(ctx, snap.ID, engine.Submission{
		Task: t.TaskID, Paths: []string{dir}, Person: person,
		Message: fmt.Sprintf("As it was when it was imported; marked %q in %s.", plain.Line(word), plain.Line(format)),
	})
}

// copyFile copies a file of the worktree to the same path below dir, if it has at most room bytes.
func copyFile(fsys fs.FS, name, dir string, room int64) (int64, error) {
	from, err := fsys.Open(name)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return 0, err
	}
	if info.Size() > room {
		return 0, fmt.Errorf("%s: the files have more bytes than a version may have (config.max_artifact_bytes)", name)
	}
	to := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm())
	if errors.Is(err, fs.ErrExist) { // two patterns fit it
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(from, room+1))
	return n, errors.Join(err, out.Close())
}
