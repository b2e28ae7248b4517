package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) runCommand() *cli.Command {
	return &cli.Command{
		Name:  "run",
		Usage: "carry the plan out until it is done or waits for someone",
		Description: "Works on every task that is ready, has each version reviewed, redoes what was rejected. Exits with 0 when the\n" +
			"plan is done, 3 when a person has to act, 1 when a task used up its attempts.",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(),
			&cli.IntFlag{Name: "jobs", Aliases: []string{"j"}, Usage: "work on this many tasks at once", Value: 1},
			&cli.BoolFlag{Name: "step", Usage: "do exactly one thing"},
			executorFlag(), reviewerFlag(),
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "do not print a line for each event"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "no arguments"); err != nil {
				return err
			}
			if c.Int("jobs") < 1 {
				return usage("--jobs: expected at least 1, found %d", c.Int("jobs"))
			}
			return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error { return e.carryOut(c, store, snap.ID) })
		},
	}
}

func (e *env) carryOut(c *cli.Context, store *gitstore.Store, id plan.ID) error {
	if err := e.inAttempt(); err != nil {
		return err
	}
	if _, err := store.Head(c.Context); err != nil {
		return err
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	eng.Jobs = c.Int("jobs")
	eng.Report = e.progress(c.Bool("quiet") || c.Bool("json"))
	var state *plan.State
	if c.Bool("step") {
		var did bool
		if state, did, err = eng.Step(c.Context, id); err == nil && did && state.Root().Status != plan.StatusDone {
			return nil
		}
	} else {
		state, err = eng.Run(c.Context, id)
	}
	if err != nil {
		return err
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	waits, err := eng.Waits(c.Context, snap, state)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		if err := e.printJSON(describe(state, waits)); err != nil {
			return err
		}
	} else {
		e.printOutcome(state, waits)
	}
	return runResult(state, waits)
}

// progress prints a line for each thing that happens.
func (e *env) progress(quiet bool) func(engine.Progress) {
	if quiet {
		return nil
	}
	var mu sync.Mutex
	began := e.now()
	return func(p engine.Progress) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(e.stderr, "%7s  %-12s %s\n", e.now().Sub(began).Round(100*time.Millisecond), p.Task, plan.OneLine(p.Text))
	}
}

// printOutcome says how far the plan is and what each open task waits for.
func (e *env) printOutcome(s *plan.State, waits []engine.Wait) {
	done, all := progressOf(s)
	fmt.Fprintf(e.stdout, "%s: %s, %d of %d done\n", s.Plan.PlanID, s.Root().Status, done, all)
	for _, w := range waits {
		fmt.Fprintf(e.stdout, "  %s: %s\n", w.Task, plan.OneLine(w.Text))
		e.printQuestions(e.stdout, w)
		if w.Command != "" {
			fmt.Fprintf(e.stdout, "    %s\n", plan.OneLine(w.Command))
		}
	}
	if finished(s, waits) {
		fmt.Fprintln(e.stdout, "next: git wf export --commit")
	}
}

// finished reports whether nothing is left to do. A plan that is assembled is DONE with its last task, but one of its
// deliverables may have been rejected since.
func finished(s *plan.State, waits []engine.Wait) bool {
	done, all := progressOf(s)
	return s.Root().Status == plan.StatusDone && len(waits) == 0 && done == all
}

// runResult is the exit code of a run that came to rest.
func runResult(s *plan.State, waits []engine.Wait) error {
	if finished(s, waits) {
		return nil
	}
	for _, w := range waits {
		if w.Failed {
			return errSaid
		}
	}
	if len(waits) > 0 {
		return errWaiting
	}
	for _, t := range s.Plan.Tasks {
		if t.NodeType != plan.Goal && s.Tasks[t.TaskID].Status == plan.StatusInProgress {
			return &failure{code: exitWaiting, err: fmt.Errorf("%s is in work elsewhere", t.TaskID), hint: "git wf status"}
		}
	}
	return refused("git wf status", "nothing can go on in %s", s.Plan.PlanID)
}

// progressOf counts the leaves that are done, and all of them.
func progressOf(s *plan.State) (done, all int) {
	leaves := s.Leaves(s.Plan.RootTaskID)
	for _, id := range leaves {
		if s.Tasks[id].Status == plan.StatusDone {
			done++
		}
	}
	return done, len(leaves)
}
