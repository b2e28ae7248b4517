package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
	"gitwf/internal/readmodel"
)

// findTask finds a task by its id.
func findTask(s *plan.State, name string) (*plan.TaskState, error) {
	t := s.Tasks[plan.TaskID(name)]
	if t == nil {
		hint := "git wf status"
		ids := each.Of(s.Plan.Tasks, func(t *plan.Task) string { return string(t.TaskID) })
		if near := plandoc.Nearest(name, ids); near != "" {
			hint = "did you mean " + near + "? " + hint + " lists the tasks"
		}
		return nil, fault.Usage(hint, "no task %q in %s", name, s.Plan.PlanID)
	}
	return t, nil
}

// findTasks finds several tasks by their ids.
func findTasks(s *plan.State, names []string) (ids []plan.TaskID, err error) {
	for _, name := range names {
		t, err := findTask(s, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, t.TaskID)
	}
	return ids, nil
}

func (e *env) show(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	s, err := e.state(c.Context, store, snap)
	if err != nil {
		return err
	}
	t, err := findTask(s, c.Args().First())
	if err != nil {
		return err
	}
	subject := s.Subject(t.TaskID)
	if c.Bool("review") {
		return e.showReviewFile(c.Context, store, snap, subject)
	}
	d, err := readmodel.ReadTask(c.Context, store, snap, s, subject,
		func() (estimate.Weights, error) { return e.weights(store) })
	landings := d.Landings
	d.Task, d.Spec = readmodel.TaskOf(s, t), t.Task
	d.Landings = landings
	moves := slices.Clone(d.Moves) // the oldest first
	slices.Reverse(moves)
	failed := e.printAs("task", d, struct {
		S     *plan.State
		T     *plan.TaskState
		D     *readmodel.Detail
		Moves []export.Move
	}{s, subject, d, moves})
	return errors.Join(failed, err)
}

func (p printer) showReviewFile(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot,
	t *plan.TaskState) error {
	reviews := snap.Records.Of(t.TaskID).Reviews
	if len(reviews) == 0 {
		return fault.Refused("git wf show "+string(t.TaskID), "%s has no review yet", t.TaskID)
	}
	last := reviews[len(reviews)-1]
	data, err := export.DocumentsOf(ctx, store, snap, t.TaskID).ReviewFile(last)
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.stdout, plain.Text(string(data)))
	return err
}

// makerOf says who makes a task, as far as the plan says it.
func makerOf(t *plan.Task) string {
	switch {
	case t.Agent != "" && t.Role != "":
		return t.Agent + " as " + t.Role
	case t.Agent != "":
		return t.Agent
	case t.Role != "":
		return agent.RoleKey(t.Role) + ", wf.executor or a person, as " + t.Role
	}
	return "wf.executor or a person"
}

func (e *env) prompt(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	p, err := eng.Prompt(c.Context, snap, t.TaskID, "")
	if err != nil {
		return err
	}
	e.printDropped(p)
	_, err = fmt.Fprint(e.stdout, p.Text)
	return err
}

// printDropped lists what the prompt has no room for.
func (p printer) printDropped(text prompt.Prompt) {
	for _, d := range text.Dropped {
		fmt.Fprintf(p.stderr, "left out: %s, %d bytes: %s\n", plain.Line(d.What), d.Bytes, d.Why)
	}
}
