package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) startCommand() *cli.Command {
	return &cli.Command{
		Name:  "start",
		Usage: "make a worktree and a branch in which to do a task that changes the repository",
		Description: "The branch begins with what the task's change begins with: the branch that the plan changes, and the approved\n" +
			"changes that the task builds on. Hand the work in with git wf submit TASK --commit BRANCH.",
		ArgsUsage: "TASK [DIR]",
		Flags:     []cli.Flag{planFlag(), jsonFlag()},
		Action:    e.onTask(recordNear, e.start),
	}
}

func (e *env) start(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState) error {
	if !t.Changes() {
		return fault.Refused("git wf submit "+string(t.TaskID)+" PATH...", "%s: does not change the repository", t.TaskID)
	}
	if store.WorkTree() == "" {
		return fault.Refused("", "%s: a bare repository has no worktrees", t.TaskID)
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	commit, conflicts, err := eng.Start(c.Context, snap.ID, t.TaskID)
	if err != nil {
		return err
	}
	branch := gate.WorkBranches + strings.ToLower(string(t.TaskID))
	dir := filepath.Clean(store.WorkTree()) + "." + strings.ToLower(string(t.TaskID))
	if c.Args().Len() > 1 {
		dir = e.absolute(c.Args().Get(1))
	}
	if _, err := store.Git(c.Context, "worktree", "add", "-q", "-b", branch, "--end-of-options", dir, string(commit)); err != nil {
		return err
	}
	// Each worktree has an active plan of its own.
	if _, err := store.Git(c.Context, "-C", dir, "symbolic-ref", "WORKFLOW_HEAD", gitstore.RefName(snap.ID)); err != nil {
		return err
	}
	if c.Bool("json") {
		return e.printJSON(struct {
			Directory string   `json:"directory"`
			Branch    string   `json:"branch"`
			Commit    plan.OID `json:"commit"`
			Conflicts []string `json:"conflicts"`
		}{dir, branch, commit, append([]string{}, conflicts...)})
	}
	for _, conflict := range conflicts {
		fmt.Fprintf(e.stdout, "resolve first: %s\n", plan.OneLine(conflict))
	}
	fmt.Fprintf(e.stdout, "worktree %s, branch %s\nnext: work and commit there, then git wf submit %s --commit %s\n", dir, branch,
		t.TaskID, branch)
	return nil
}
