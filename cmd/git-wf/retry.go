package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) retryCommand() *cli.Command {
	return &cli.Command{
		Name:      "retry",
		Usage:     "let a task that used up its attempts go on, or take an abandoned one back",
		ArgsUsage: "TASK",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(), messageFlag("why it will work now"),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "one task"); err != nil {
				return err
			}
			if err := e.inAttempt(); err != nil {
				return err
			}
			return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
				t, err := findTask(snap.State(), c.Args().First())
				if err != nil {
					return err
				}
				d, person, err := e.decision(c, store)
				if err != nil {
					return err
				}
				var ev plan.Event = plan.Retry{Task: t.TaskID, Decision: d}
				if t.Status == plan.StatusAbandoned {
					ev = plan.Restore{Task: t.TaskID, Decision: d, Author: person}
				}
				if err := e.recordDecision(c, store, snap.ID, t.TaskID, ev); err != nil || c.Bool("json") {
					return err
				}
				fmt.Fprintln(e.stdout, "next: git wf run")
				return nil
			})
		},
	}
}
