package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) submitCommand() *cli.Command {
	return &cli.Command{
		Name:      "submit",
		Usage:     "hand in a candidate for a task",
		ArgsUsage: "TASK [PATH...]",
		Description: "The files become the task's next version and await review. A file keeps its name, below the declared output_dir;\n" +
			"a directory gives everything in it, as it is. A task that changes the repository takes a commit, or the worktree.",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			messageFlag("what was done"),
			&cli.StringFlag{Name: "commit",
				Usage: "of a change of the repository: hand in what `REV` changes since its merge base"},
			&cli.BoolFlag{Name: "worktree",
				Usage: "of a change of the repository: hand in the files of the worktree as they are"},
			countFlag("claim", "hand it in under the claim `N` that git wf next --claim printed", ""),
		},
		Action: e.onTask(recordNear, e.submit),
	}
}

// canSubmit refuses what is neither a file nor a directory, without opening it.
func (e *env) canSubmit(name string) error {
	name = e.absolute(name)
	info, err := os.Stat(name)
	if err != nil {
		return reasonOf(err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return errors.New("is neither a file nor a directory")
	}
	return nil
}

func (e *env) submit(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState) error {
	if c.IsSet("claim") && c.Int("claim") < 1 {
		return usage("--claim: expected the number of a claim, found %d", c.Int("claim"))
	}
	if err := snap.State().RefuseContainer(t.TaskID, "git wf submit TASK PATH..."); err != nil {
		return err
	}
	for _, name := range c.Args().Tail() {
		if err := e.canSubmit(name); err != nil {
			return usage("submit %s: %w", name, err)
		}
	}
	person, err := store.Person(c.Context)
	if err != nil {
		return err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	ctx, end := e.metered(c)
	done, err := eng.Submit(ctx, snap.ID, engine.Submission{
		Task: t.TaskID, Paths: e.absoluteAll(c.Args().Tail()), Person: person, Claim: c.Int("claim"),
		Message: c.String("message"), Session: e.getenv("WF_SESSION"),
		Commit: c.String("commit"), Worktree: c.Bool("worktree"),
	})
	end()
	if err != nil {
		return err
	}
	if c.Bool("json") {
		snap, err := store.Snapshot(c.Context, snap.ID)
		if err != nil {
			return err
		}
		s, err := e.state(c.Context, store, snap)
		if err != nil {
			return err
		}
		waits, err := eng.Waits(c.Context, snap, s)
		if err != nil {
			return err
		}
		return e.printJSON(describe(s, waits))
	}
	fmt.Fprintln(e.stdout, plain.Line(done.Change.Subject))
	return e.printNextOf(c.Context, eng, snap.ID)
}
