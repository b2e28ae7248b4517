package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) landCommand() *cli.Command {
	return &cli.Command{
		Name:  "land",
		Usage: "apply approved changes of the repository to its branch",
		Description: "Each change becomes one commit, in the order in which they build on each other. Its criteria run on the tree that\n" +
			"lands, unless it is the one that was approved, and so do wf.land.check and the lines of landed tasks that changed the\n" +
			"same files. The branch moves once, when all have passed. A change that conflicts or fails there does not land; why is\n" +
			"recorded, and the next run moves it onto the branch as it is then.",
		ArgsUsage: "[TASK...]",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			&cli.StringFlag{Name: "branch", Usage: "land on `BRANCH`", DefaultText: "wf.branch, else the remote's, else main"},
			boolFlag("one", "land all changes in one commit, judged as a whole"),
			boolFlag("push", "push the branch and the plan, both or neither; judge anew if somebody else was faster"),
			boolFlag("no-verify", "skip your pre-commit and commit-msg hooks"),
		},
		Action: e.onPlan(wholePlan, e.land),
	}
}

func (e *env) land(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	var tasks []plan.TaskID
	for _, name := range c.Args().Slice() {
		t, err := findTask(snap.State(), name)
		if err != nil {
			return err
		}
		tasks = append(tasks, t.TaskID)
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	return e.landTasks(c, store, eng, snap.ID, engine.LandOptions{
		Tasks: tasks, Branch: c.String("branch"), One: c.Bool("one"), Push: c.Bool("push"),
	}, c.Bool("no-verify"))
}

// landTasks lands and says what became of each change.
func (e *env) landTasks(c *cli.Context, store *gitstore.Store, eng *engine.Engine, id plan.ID, o engine.LandOptions,
	skip bool) error {
	var err error
	if o.Person, err = store.Person(c.Context); err != nil {
		return err
	}
	o.Hook = func(ctx context.Context, name string) (string, error) { return hooks.Own(ctx, store.Git, name) }
	if skip {
		for _, name := range []string{"pre-commit", "commit-msg"} {
			if own, err := o.Hook(c.Context, name); err != nil || own != "" {
				fmt.Fprintf(e.stderr, "%s is skipped: --no-verify\n", name)
			}
		}
		o.Hook = nil
	}
	done, err := eng.Land(c.Context, id, o)
	if done.After == "" {
		return err
	}
	if c.Bool("json") {
		if err := e.printJSON(done); err != nil {
			return err
		}
	} else if err == nil || len(done.Tasks) > 0 {
		e.printLanded(done)
	}
	if err != nil {
		return err
	}
	for _, l := range done.Tasks {
		if l.Commit == "" {
			return fault.Refused(done.Hint(l), "not everything landed on %s", done.Branch)
		}
	}
	return nil
}

func (e *env) printLanded(done engine.Landed) {
	if len(done.Tasks) == 0 {
		fmt.Fprintf(e.stdout, "%s has everything that is approved already\n", done.Branch)
	}
	for _, said := range done.GivenUp {
		fmt.Fprintf(e.stdout, "given up: %s\n", plain.Line(said))
	}
	if len(done.NotRun) > 0 {
		fmt.Fprintf(e.stdout, "not run, beyond wf.land.lines: %s\n",
			strings.Join(plain.Some(done.NotRun, 20, plain.Line), ", "))
	}
	for _, l := range done.Tasks {
		if l.Commit != "" {
			fmt.Fprintf(e.stdout, "%s %s landed on %s as %.12s\n", l.TaskID, l.ArtifactID, done.Branch, l.Commit)
			continue
		}
		fmt.Fprintf(e.stdout, "%s %s did not land: %s\n", l.TaskID, l.ArtifactID, plain.Line(l.Reason))
		for _, conflict := range l.Conflicts {
			fmt.Fprintf(e.stdout, "  %s\n", plain.Line(conflict))
		}
	}
}
