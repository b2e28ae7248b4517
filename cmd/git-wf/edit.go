package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/process"
)

// editPlan opens the plan that awaits approval, or else the one in force, in the user's editor, and hands in the
// result.
func (e *env) editPlan(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	r := engine.Replanning{Agent: plan.AgentManual, Reason: c.String("message"), Person: person}
	before, err := planText(c, eng, snap)
	if err != nil {
		return err
	}
	after, err := e.edit(c, eng.Store, string(snap.ID)+".yaml", before)
	if err != nil {
		return err
	}
	if len(bytes.TrimSpace(after)) == 0 || bytes.Equal(before, after) {
		fmt.Fprintln(e.stdout, "nothing changed; the plan is as it was")
		return nil
	}
	err = e.handInPlan(c, eng, snap.ID, r, "the edited plan", after, amendFromFile)
	if err != nil || c.Bool("dry-run") {
		next := map[bool]string{true: "mend it, then git wf plan --amend -f",
			false: "git wf plan --amend -f"}[err != nil]
		kept := filepath.Join(eng.Store.GitDir(), "WF_EDITPLAN.yaml")
		if writeErr := os.WriteFile(kept, after, 0o666); writeErr != nil {
			fmt.Fprintf(e.stderr, "what you wrote could not be kept: %v\n%s", writeErr, plain.Text(string(after)))
		} else {
			fmt.Fprintf(e.stderr, "what you wrote is kept in %s: %s %[1]s\n", kept, next)
		}
	}
	return err
}

// planText is the plan as people write it: the newest candidate of an open planning task, else the plan in force.
func planText(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) ([]byte, error) {
	if open := snap.State().PlanningOf(""); open != nil {
		text, err := eng.Candidate(c.Context, snap, open.TaskID)
		if err != nil || text != nil {
			return text, err
		}
	}
	return plandoc.WriteYAML(snap.Plan)
}

// edit returns a text as the user has edited it.
func (e *env) edit(c *cli.Context, store *gitstore.Store, name string, text []byte) ([]byte, error) {
	dir, err := process.Scratch()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	if editor, err := e.runEditor(c.Context, store, file); editor == "" {
		return nil, err
	} else if err != nil {
		return nil, fault.Usage("git config core.editor EDITOR, or git wf plan --amend -f FILE",
			"the editor %s failed: %w", editor, err)
	}
	return os.ReadFile(file)
}

// runEditor has the user edit a file in the editor that git would start. It returns which one that is, "" if git can't
// say.
func (e *env) runEditor(ctx context.Context, store *gitstore.Store, file string) (editor string, err error) {
	if editor, err = store.Git(ctx, "var", "GIT_EDITOR"); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$@"`, editor, file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = e.stdin, e.stdout, e.stderr, e.dir, e.environ
	return editor, cmd.Run()
}
