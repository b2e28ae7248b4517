package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// undoneIn is wholePlan, but the plan before where an undo of the task that was killed has made its own
// plan active.
func undoneIn(c *cli.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, error) {
	snap, err := wholePlan(c, store, id)
	if err != nil || c.IsSet("plan") || !strings.HasPrefix(snap.Plan.TopTask, "Take back "+c.Args().First()+" ") {
		return snap, err
	}
	if id, err = store.Former(c.Context); err != nil {
		return snap, nil //nolint:nilerr // there was none
	}
	return wholePlan(c, store, id)
}

func (e *env) undo(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	ctx := c.Context
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	u, err := eng.Undo(ctx, snap, t, c.String("branch"))
	if err != nil {
		return err
	}
	d, err := draft("undo.json", u.Document(), eng.Policy.Floors)
	if err != nil {
		return err
	}
	d.Author, d.Source = person, u.Tip
	id, state, err := eng.CreatePlan(ctx, d)
	if err != nil {
		return err
	}
	if err := eng.Store.SetActive(ctx, id); err != nil {
		return err
	}
	u.Plan = id
	later := !state.Plan.Grafted(plan.PlanTaskID) // the policy has the plan reviewed first
	if err := eng.HandInUndo(ctx, u, person, later); err != nil {
		return err
	}
	if later {
		if u.Commit != "" {
			fmt.Fprintf(e.stderr,
				"when the plan is approved and git wf run waits for %[1]s: git wf submit %[1]s --commit %.12[2]s\n",
				engine.UndoTask, u.Commit)
		}
		return e.planOutcome(c, eng, state, plan.PlanTaskID, planFromFile)
	}
	for _, id := range u.Builds {
		if !e.json {
			fmt.Fprintf(e.stderr, "warning: %s builds on %s\n", id, u.Task)
		}
	}
	if err := e.print("undoing", u); err != nil {
		return err
	}
	return e.printNextOf(c.Context, eng, u.Plan)
}
