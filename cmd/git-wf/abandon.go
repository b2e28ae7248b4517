package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) abandonCommand() *cli.Command {
	return &cli.Command{
		Name:      "abandon",
		Usage:     "give a task up; git wf retry takes it back into the plan",
		ArgsUsage: "TASK",
		Description: "Refused where other tasks depend on it, or where an item of the top task's checklist would be covered by nothing. Of a\n" +
			"GOAL, everything below it that is not approved goes with it; of the root, all that is left of the plan.",
		Flags: []cli.Flag{
			planFlag(), jsonFlag(), messageFlag("why; needed"),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 1, 1, "one task"); err != nil {
				return err
			}
			if err := e.inAttempt(); err != nil {
				return err
			}
			if strings.TrimSpace(c.String("message")) == "" {
				return usage("giving a task up needs a --message")
			}
			return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error { return e.abandon(c, store, snap) })
		},
	}
}

func (e *env) abandon(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	s, err := e.state(c.Context, store, snap)
	if err != nil {
		return err
	}
	t, err := findTask(s, c.Args().First())
	if err != nil {
		return err
	}
	if err := inWork(s, t); err != nil {
		return err
	}
	d, person, err := e.decision(c, store)
	if err != nil {
		return err
	}
	return e.recordDecision(c, store, snap.ID, t.TaskID, plan.Abandon{Task: t.TaskID, Decision: d, Author: person})
}

// recordDecision records what a person decided about a task.
func (e *env) recordDecision(c *cli.Context, store *gitstore.Store, id plan.ID, task plan.TaskID, ev plan.Event) error {
	done, err := store.Append(c.Context, id, ev, gitstore.AppendOptions{Now: e.now()})
	if err != nil {
		return err
	}
	return e.printDecision(c, id, task, done)
}

// printDecision prints what was recorded about a task, and what became of it.
func (e *env) printDecision(c *cli.Context, id plan.ID, task plan.TaskID, done *gitstore.Appended) error {
	status := done.Snapshot.State().Tasks[task].Status
	if c.Bool("json") {
		return e.printJSON(struct {
			PlanID plan.ID     `json:"plan_id"`
			TaskID plan.TaskID `json:"task_id"`
			Status plan.Status `json:"status"`
			Event  string      `json:"event"`
			Marked int         `json:"marked"` // records, of an abandoned goal one for each task below it
			Commit plan.OID    `json:"commit"`
		}{id, task, status, done.Change.Subject, len(done.Change.Add), done.Commit})
	}
	fmt.Fprintf(e.stdout, "%s\n%s is %s\n", plan.OneLine(done.Change.Subject), task, status)
	return nil
}

// inWork refuses to take away what somebody is working on, or reviewing.
func inWork(s *plan.State, t *plan.TaskState) error {
	for _, other := range s.Plan.Tasks {
		o := s.Tasks[other.TaskID]
		about := o
		if o.NodeType == plan.Check && s.Tasks[o.ReviewTargetTaskID] != nil {
			about = s.Tasks[o.ReviewTargetTaskID]
		}
		if o.NodeType != plan.Goal && o.Status == plan.StatusInProgress && slices.Contains(s.Lineage(about.Task), t.TaskID) {
			return fault.Refused("git wf status shows who; git wf pause lets nothing new begin",
				"%s is %s", o.TaskID, plan.OneLine(s.Reason(o)))
		}
	}
	return nil
}
