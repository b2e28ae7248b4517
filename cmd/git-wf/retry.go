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
		Usage:     "let a task that used up its attempts go on",
		ArgsUsage: "TASK",
		Flags: []cli.Flag{
			planFlag(),
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "why it will work now"},
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "one task"); err != nil {
				return err
			}
			if err := e.inAttempt(); err != nil {
				return err
			}
			return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
				person, err := store.Person(c.Context)
				if err != nil {
					return err
				}
				if _, err := findTask(snap.State(), c.Args().First()); err != nil {
					return err
				}
				ev := plan.Retry{Task: plan.TaskID(c.Args().First()), Decision: plan.Decision{
					By: person.Name, CreatedAt: plan.Second(e.now()), Reason: c.String("message"),
				}}
				done, err := store.Append(c.Context, snap.ID, ev, gitstore.AppendOptions{Now: e.now()})
				if err != nil {
					return err
				}
				fmt.Fprintf(e.stdout, "%s\nnext: git wf run\n", plan.OneLine(done.Change.Subject))
				return nil
			})
		},
	}
}
