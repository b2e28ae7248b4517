package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"gitwf/internal/check"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Replanning changes an accepted plan: it splits a leaf or, without one, amends the plan.
type Replanning struct {
	Leaf   plan.TaskID
	Agent  string // who makes it; plan.AgentManual for what a person hands in
	Reason string
	Person plan.Actor
}

// planner is who makes the plans of a planning task.
func (e *Engine) planner(name string) plan.Planner {
	return plan.Planner{Agent: name, File: planFile, Reviewers: e.Policy.PlanReviewers}.Read()
}

// Replan begins a split or an amendment, unless one is open, and returns the task that makes it.
func (e *Engine) Replan(ctx context.Context, id plan.ID, r Replanning) (plan.TaskID, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return "", err
	}
	if open := snap.State().PlanningOf(r.Leaf); open != nil {
		return open.TaskID, nil
	}
	if r.Agent != plan.AgentManual {
		if err := errors.Join(e.canPlan(), e.Trust.add([]string{agentEntry(jobMake, r.Agent)})); err != nil {
			return "", err
		}
	}
	done, err := e.append(ctx, id, plan.Replan{Leaf: r.Leaf, Planner: e.planner(r.Agent), Author: r.Person,
		Reason: r.Reason}, nil, nil)
	if err != nil {
		return "", err
	}
	return done.Snapshot.Plan.PlanningOf(r.Leaf).TaskID, nil
}

// DraftFor reads what a person hands in for a split, an amendment or the first plan, and checks the resulting plan
// against the rules. It records nothing. The draft's Plan is the content of the file.
func (e *Engine) DraftFor(ctx context.Context, id plan.ID, r Replanning, name string, data []byte) (Draft, error) {
	d := Draft{Name: name, Data: data, Author: r.Person}
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return d, err
	}
	s := snap.State()
	open := s.PlanningOf(r.Leaf)
	if open == nil {
		c, err := plan.Replan{Leaf: r.Leaf, Planner: e.planner(r.Agent), Reason: r.Reason}.Apply(s)
		if err != nil {
			return d, err
		}
		s = plan.Derive(c.Plan, snap.Records, nil, e.Now())
		open = c.Plan.PlanningOf(r.Leaf)
	}
	if d.Plan, err = plandoc.ParseCandidate(s, open.TaskID, name, data, e.Policy.Floors); err != nil {
		return d, taken(s.Plan, open, err)
	}
	if d.After, d.Redo, err = e.foreseen(ctx, snap, s, open.TaskID, d.Plan); err != nil {
		return d, err
	}
	if r.Leaf == "" {
		typed := *d.Plan
		typed.PlanType = d.After.Plan.PlanType
		if wrong, err := e.typeFindings(&typed); err != nil || len(wrong) > 0 {
			return d, errors.Join(err, plandoc.Locate(name, data, wrong).Err())
		}
	}
	d.Source, err = e.Store.Head(ctx)
	return d, err
}

// taken names the tasks that already have ids of a fragment. The findings themselves count the tasks of the resulting
// plan, which nobody can see.
func taken(p *plan.Plan, by *plan.Task, err error) error {
	var fs plan.Findings
	if !errors.As(err, &fs) || by.SplitTargetTaskID == "" {
		return err
	}
	fs = slices.Clone(fs)
	tasks := p.Index()
	for i, f := range fs {
		if f.Code != "duplicate-id" {
			continue
		}
		fs[i].Found = fmt.Sprintf("%s, twice in this file", f.TaskID)
		if other := tasks.Task(f.TaskID); other != nil {
			fs[i].Found = fmt.Sprintf("%s, which the plan has already: %q", f.TaskID, other.Title)
		}
	}
	return fs
}

// HandedIn is the task that made the newest change of the plan, if it made what a person hands in now:
// whoever was killed repeats the command. It is "" if something else did.
func (e *Engine) HandedIn(ctx context.Context, snap *gitstore.Snapshot, r Replanning,
	data []byte) (plan.TaskID, error) {
	grafts := snap.Plan.Grafts
	if len(grafts) == 0 || snap.State().PlanningOf(r.Leaf) != nil {
		return "", nil
	}
	last := snap.Plan.Task(grafts[len(grafts)-1].TaskID)
	if last == nil || last.TaskID == plan.PlanTaskID || last.SplitTargetTaskID != r.Leaf {
		return "", nil
	}
	made, err := e.Candidate(ctx, snap, last.TaskID)
	if err != nil || !bytes.Equal(made, data) {
		return "", err
	}
	return last.TaskID, nil
}

// HandInPlan records a draft as the next version of a planning task, unless it is the newest one
// already, has it reviewed and, if approved, grafts it. Its trusted lines must have been tried
// (RedFirst) before. In a task that began as an agent's, somebody has to read the plan: who wrote it
// has.
func (e *Engine) HandInPlan(ctx context.Context, id plan.ID, task plan.TaskID, d Draft) (*plan.State, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	t := snap.Plan.Task(task)
	if t == nil {
		return nil, errors.New("hand in the plan: " + string(task) + " is no task of it")
	}
	batch := e.Store.NewBatch()
	tree, files, err := batch.AddFiles(map[string][]byte{t.DeliverableSpec.Filename: d.Data})
	if err != nil {
		return nil, err
	}
	is := snap.State().Tasks[task]
	v, ok := snap.Records.Of(task).Version(is.Active)
	if !ok || v.Files != tree || is.Verdict == plan.Rejected {
		ev := plan.NewVersion{Artifact: e.version(d, task, tree, files), Author: d.Author, ByPerson: true}
		if _, err := e.Store.Append(ctx, id, ev, gitstore.AppendOptions{Now: e.Now(), Batch: batch}); err != nil {
			return nil, err
		}
	}
	s, err := e.settlePlan(ctx, id, task)
	if err != nil || s.NextReviewStep(task) != plan.StepPerson || !e.mayStandIn(s, s.Tasks[task]) {
		return s, err
	}
	if err := e.approveOwn(ctx, id, task, d.Author); err != nil {
		return nil, err
	}
	return e.settlePlan(ctx, id, task)
}

// approveOwn records that a person stands by the plan that they hand in, unless the policy wants other eyes.
func (e *Engine) approveOwn(ctx context.Context, id plan.ID, task plan.TaskID, person plan.Actor) error {
	r, err := e.BeginReview(ctx, id, task)
	if err != nil {
		return err
	}
	defer r.End()
	_, _, err = r.Record(ctx, check.Opinion{Reviewer: person.Name, Verdict: plan.Approved,
		Message: "Handed in by its reviewer."}, person)
	if _, ok := errors.AsType[*plan.RefusedError](err); ok {
		return nil
	}
	return err
}

// Candidate is the newest version of a planning task, as it was written; nil if there is none.
func (e *Engine) Candidate(ctx context.Context, snap *gitstore.Snapshot, task plan.TaskID) ([]byte, error) {
	t := snap.State().Tasks[task]
	if t == nil || t.Active == 0 {
		return nil, nil
	}
	c, err := e.candidate(ctx, snap, t)
	return c.data, err
}
