package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) start(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	if !t.Changes() {
		return fault.Refused("git wf submit "+string(t.TaskID)+" PATH...", "%s: does not change the repository",
			t.TaskID)
	}
	if t.Status == plan.StatusDone {
		return fault.Refused(fmt.Sprintf("git wf review %s --reject -m WHY has it made again", t.TaskID), "%s: is done",
			t.TaskID)
	}
	name := strings.ToLower(string(t.TaskID))
	if t.Active > 0 { // the worktree of the last version may still be there
		name = fmt.Sprintf("%s-%d", name, t.Active+1)
	}
	dir := filepath.Clean(eng.Store.WorkTree()) + "." + name
	switch {
	case c.Args().Len() > 1:
		dir = e.absolute(c.Args().Get(1))
	case e.caller().Kind == caller.Agent:
		dir = eng.Store.Inside(name)
	}
	made, err := makeWorktree(c.Context, eng, snap.ID, t.TaskID, plan.TaskID(c.String("on")), name, dir, c.Int("pr"))
	if err != nil {
		return err
	}
	return e.printAs("begun", made, struct {
		begunWorktree
		Task plan.TaskID
	}{made, t.TaskID})
}

// begunWorktree is a worktree in which to change the repository.
type begunWorktree struct {
	Directory string   `json:"directory"`
	Branch    string   `json:"branch"`
	Commit    plan.OID `json:"commit"`
	Conflicts []string `json:"conflicts"`
}

// makeWorktree makes a worktree and a branch with what a task's change begins with, or with a pull request.
func makeWorktree(ctx context.Context, eng *engine.Engine, id plan.ID, task, on plan.TaskID, name, dir string,
	pull int) (b begunWorktree, err error) {
	store := eng.Store
	if store.WorkTree() == "" {
		return b, fault.Refused("", "%s: a bare repository has no worktrees", task)
	}
	b.Branch, b.Directory = gate.WorkBranches+name, dir
	b.Commit, b.Conflicts, err = eng.Start(ctx, id, task, on)
	if err == nil && pull > 0 {
		b.Commit, err = eng.PullHead(ctx, pull)
	}
	if err != nil {
		return b, err
	}
	unlock, err := store.LockWorktree(ctx, "start")
	if err != nil {
		return b, err
	}
	defer unlock()
	there, err := resumeStart(ctx, store, task, b)
	if err == nil && dir == store.Inside(name) {
		err = store.Exclude("/.worktrees/\n")
	}
	if err == nil && !there {
		_, err = store.Git(ctx, "worktree", "add", "-q", "-B", b.Branch, "--end-of-options", b.Directory,
			string(b.Commit))
	}
	if err == nil {
		err = eng.Equip(ctx, id, b.Directory)
	}
	if err != nil {
		return b, err
	}
	b.Conflicts = append([]string{}, b.Conflicts...)
	// Each worktree has an active plan of its own.
	_, err = store.Git(ctx, "-C", b.Directory, "symbolic-ref", "WORKFLOW_HEAD", gitstore.RefName(id))
	return b, err
}

// resumeStart reports whether a start that was killed has made the worktree. What it has only begun is
// removed, and a task that was begun otherwise is refused.
func resumeStart(ctx context.Context, store *gitstore.Store, task plan.TaskID, b begunWorktree) (there bool,
	err error) {
	ref := "refs/heads/" + b.Branch
	tip, err := store.CommitOf(ctx, ref)
	if err != nil {
		return false, err
	}
	list, err := store.Worktrees(ctx)
	if err != nil {
		return false, err
	}
	begun := tip != "" && tip != b.Commit
	for _, w := range list {
		switch here := filepath.Clean(w.Dir) == b.Directory; {
		case here && w.Begun:
			_, err = store.Git(ctx, "worktree", "remove", "--force", "--force", "--end-of-options", w.Dir)
		case w.Branch == ref:
			_, noPlan := store.Git(ctx, "-C", w.Dir, "symbolic-ref", "--quiet", "WORKFLOW_HEAD") // made last
			there, begun = here, begun || !here || noPlan == nil
		}
	}
	if begun {
		err = fault.Refused("git worktree list; git worktree remove DIR and git branch -D "+b.Branch+" give it up",
			"%s was begun already: branch %s is there", task, b.Branch)
	}
	return there, err
}
