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
	o, err := landOptions(c.Context, store)
	if err != nil {
		return err
	}
	o.Tasks, o.Branch, o.One, o.Push = tasks, c.String("branch"), c.Bool("one"), c.Bool("push")
	if c.Bool("no-verify") {
		for _, name := range []string{"pre-commit", "commit-msg"} {
			if own, err := o.Hook(c.Context, name); err != nil || own != "" {
				fmt.Fprintf(e.stderr, "%s is skipped: --no-verify\n", name)
			}
		}
		o.Hook = nil
	}
	done, err := eng.Land(c.Context, snap.ID, o)
	return e.sayLanded(c, done, err)
}

// landOptions are those of landing everything, by who runs the program and with their hooks.
func landOptions(ctx context.Context, store *gitstore.Store) (o engine.LandOptions, err error) {
	o.Person, err = store.Person(ctx)
	o.Hook = func(ctx context.Context, name string) (string, error) { return hooks.Own(ctx, store.Git, name) }
	return o, err
}

// sayLanded says what became of each change.
func (e *env) sayLanded(c *cli.Context, done engine.Landed, err error) error {
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
		fmt.Fprintf(e.stdout, "%s %s\n", l.TaskID, l.Outcome())
		for _, conflict := range l.Conflicts {
			fmt.Fprintf(e.stdout, "  %s\n", plain.Line(conflict))
		}
	}
}
