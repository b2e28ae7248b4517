package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) abandon(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	if strings.TrimSpace(c.String("message")) == "" {
		return usage("giving a task up needs a --message")
	}
	s, err := e.state(c.Context, eng.Store, snap)
	if err != nil {
		return err
	}
	if err := inWork(s, t); err != nil {
		return err
	}
	d, person, err := e.decision(c, eng.Store)
	if err != nil {
		return err
	}
	return e.recordDecision(c, eng, snap.ID, t.TaskID, plan.Abandon{Task: t.TaskID, Decision: d, Author: person})
}

// inWork refuses to abandon what somebody is working on, or reviewing.
func inWork(s *plan.State, t *plan.TaskState) error {
	for _, other := range s.Plan.Tasks {
		o := s.Tasks[other.TaskID]
		if o.NodeType != plan.Goal && o.Status == plan.StatusInProgress &&
			slices.Contains(s.Lineage(s.Subject(o.TaskID).Task), t.TaskID) {
			return fault.Refused("git wf status shows who; git wf pause lets nothing new begin",
				"%s is %s", o.TaskID, plain.Line(s.Reason(o)))
		}
	}
	return nil
}

func (e *env) retry(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	d, person, err := e.decision(c, eng.Store)
	if err != nil {
		return err
	}
	var ev plan.Event = plan.Retry{Task: t.TaskID, Decision: d}
	closed := t.Status == plan.StatusDoneElsewhere && t.DoneElsewhere == ""
	if t.Status == plan.StatusAbandoned || closed {
		ev = plan.Restore{Task: t.TaskID, Decision: d, Author: person}
	}
	return e.recordDecision(c, eng, snap.ID, t.TaskID, ev)
}

// decision is a person's, with the reason from the command line.
func (e *env) decision(c *cli.Context, store *gitstore.Store) (plan.Decision, plan.Actor, error) {
	person, err := store.Person(c.Context)
	if err != nil {
		return plan.Decision{}, person, err
	}
	return plan.Decision{By: person.Name, CreatedAt: plan.Second(e.now()),
			Reason: strings.TrimSpace(c.String("message"))},
		person, nil
}

// recordDecision records what a person decided about a task, and prints the result and the next command.
func (e *env) recordDecision(c *cli.Context, eng *engine.Engine, id plan.ID, task plan.TaskID,
	ev plan.Event) error {
	done, err := eng.Store.Append(c.Context, id, ev, gitstore.AppendOptions{Now: e.now()})
	if err != nil {
		return err
	}
	if err := e.printDecision(id, task, done); err != nil {
		return err
	}
	return e.printNextOf(c.Context, eng, id)
}

// printDecision prints what was recorded about a task, and its status.
func (p printer) printDecision(id plan.ID, task plan.TaskID, done *gitstore.Appended) error {
	status := done.Snapshot.State().Tasks[task].Status
	return p.say(struct {
		PlanID plan.ID     `json:"plan_id"`
		TaskID plan.TaskID `json:"task_id"`
		Status plan.Status `json:"status"`
		Event  string      `json:"event"`
		Marked int         `json:"marked"` // records, of an abandoned goal one for each task below it
		Commit plan.OID    `json:"commit"`
	}{id, task, status, done.Change.Subject, len(done.Change.Add), done.Commit},
		"%s\n%s is %s", plain.Line(done.Change.Subject), task, status)
}

func (e *env) rerun(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	tasks, err := findTasks(snap.State(), c.Args().Slice())
	if err != nil {
		return err
	}
	r, err := eng.Rerun(c.Context, snap, tasks, c.String("message"))
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	if !dry {
		if err := eng.MakeAgain(c.Context, snap.ID, r, person.Name); err != nil {
			return err
		}
	}
	if err := e.print("redo", r); err != nil || len(r.Again) == 0 || dry {
		return err
	}
	return e.printNextOf(c.Context, eng, snap.ID)
}

// stillHolds records a person's word that a task's version holds for what its inputs are now.
func (e *env) stillHolds(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	d, person, err := e.decision(c, eng.Store)
	if err != nil {
		return err
	}
	made, err := export.ReadArtifact(c.Context, eng.Store, snap, t.TaskID, t.Approved)
	if err != nil && t.Approved > 0 {
		return err
	}
	return e.recordDecision(c, eng, snap.ID, t.TaskID,
		plan.StillHolds{Task: t.TaskID, Author: person, Version: made, Decision: d})
}
