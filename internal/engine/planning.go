package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// Draft is a plan that a person hands in.
type Draft struct {
	Name   string // of the file, for messages and for the candidate's own name
	Data   []byte
	Plan   *plan.Plan // as parsed and validated
	Author plan.Actor
	Source plan.OID // HEAD
}

// candidateName is the name of the plan's file in its artifact.
func (d Draft) candidateName() string {
	if strings.EqualFold(filepath.Ext(d.Name), ".json") {
		return "plan.json"
	}
	return "plan.yaml"
}

// CreatePlan records the draft as the first version of a new plan or, if a plan of the same name still waits for an
// acceptable one, as its next version. It has the built-in review judge it and, if that approves, grafts it: one commit
// for each. The plan's trusted lines must have been tried (RedFirst) before.
func (e *Engine) CreatePlan(ctx context.Context, d Draft) (plan.ID, *plan.State, error) {
	id, next, err := e.choosePlan(ctx, d.Plan)
	if err != nil {
		return "", nil, err
	}
	batch := e.Store.NewBatch()
	tree, files, err := batch.AddFiles(map[string][]byte{d.candidateName(): d.Data})
	if err != nil {
		return "", nil, err
	}
	a := plan.Artifact{
		TaskID: plan.PlanTaskID, ArtifactID: "v1", Tree: tree, Agent: d.Author.Name, CreatedAt: plan.Second(e.Now()),
		SourceCommit: d.Source, Inputs: []plan.Input{}, Files: files, Size: totalSize(files),
		Summary: "Handed in as " + plan.OneLine(filepath.Base(d.Name)),
	}
	opts := gitstore.AppendOptions{Now: e.Now(), Batch: batch}
	var ev plan.Event = plan.NewVersion{Artifact: a, Author: d.Author, ByPerson: true}
	if !next {
		opts.Create = true
		ev = plan.Begin{
			Plan: plan.Bootstrap(id, d.Plan, plan.Planner{Agent: plan.AgentManual, File: d.candidateName()}), Artifact: a, Author: d.Author,
		}
	}
	if _, err := e.Store.Append(ctx, id, ev, opts); err != nil {
		return "", nil, err
	}
	state, err := e.settlePlan(ctx, id)
	return id, state, err
}

// choosePlan finds the id for a plan: its own or one made from its title. next is true when a plan of that id waits for
// a better version of itself; one that is accepted already is another plan, and the new one gets a number.
func (e *Engine) choosePlan(ctx context.Context, p *plan.Plan) (id plan.ID, next bool, err error) {
	for n := 1; ; n++ {
		id := plan.NewID(p.Title, n)
		if p.PlanID != "" {
			id = plan.NewID(strings.TrimPrefix(string(p.PlanID), "WFS-"), n)
		}
		snap, err := e.Store.Snapshot(ctx, id)
		if errors.Is(err, gitstore.ErrNoPlan) {
			return id, false, nil
		}
		if err != nil {
			return "", false, err
		}
		s := snap.State()
		if t := s.Tasks[plan.PlanTaskID]; t != nil && !snap.Plan.Grafted(t.TaskID) && t.Verdict == plan.Rejected {
			return id, true, nil
		}
	}
}

// settlePlan reviews and grafts a plan's newest candidate.
func (e *Engine) settlePlan(ctx context.Context, id plan.ID) (*plan.State, error) {
	for {
		snap, err := e.Store.Snapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		s := snap.State()
		switch t := s.Tasks[plan.PlanTaskID]; {
		case s.NextReviewStep(t.TaskID) == plan.StepPlan:
			err = e.reviewPlan(ctx, id, t)
		case len(s.Ungrafted()) > 0:
			err = e.graft(ctx, id, t)
		default:
			return s, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// candidate reads and validates the plan that is the newest version of a planning task.
func (e *Engine) candidate(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (*plan.Plan, error) {
	v, ok := snap.Records.Of(t.TaskID).Version(t.Active)
	if !ok {
		return nil, fmt.Errorf("%s has no version", t.TaskID)
	}
	data, err := e.Store.ReadFile(ctx, v.Files, t.DeliverableSpec.Filename)
	if err != nil {
		return nil, err
	}
	return snap.State().ParseCandidate(t.TaskID, t.DeliverableSpec.Filename, data, e.Policy.Floors)
}

// reviewPlan has the built-in review judge the newest version of a plan.
func (e *Engine) reviewPlan(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	s := snap.State()
	subject, err := e.subject(ctx, snap, s, t.TaskID, t.Active)
	if err != nil {
		return err
	}
	candidate, err := e.candidate(ctx, snap, t)
	var findings plan.Findings
	if err != nil && !errors.As(err, &findings) {
		return err
	}
	rev := check.OfPlan(subject, candidate, findings, e.Now())
	ev := plan.AddReview{Review: rev, Artifact: subject.Artifact, Render: check.File, Author: agentActor(plan.ReviewerPlan)}
	done, err := e.append(ctx, id, ev, nil, nil)
	if err != nil {
		return err
	}
	e.report(t.TaskID, describeReview(rev, done.Change))
	return nil
}

// graft makes the approved plan part of plan.json.
func (e *Engine) graft(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	p, err := e.candidate(ctx, snap, t)
	if err != nil {
		return err
	}
	done, err := e.append(ctx, id, plan.GraftPlan{Task: t.TaskID, Version: t.Approved, Plan: p}, nil, nil)
	if err != nil {
		return err
	}
	e.report(t.TaskID, what(done.Change))
	return nil
}

// redFirstTimeout bounds one criterion that is tried on nothing. One that takes longer has not passed.
const redFirstTimeout = time.Minute

// RedFirst tries the run lines of the draft's criteria on an empty candidate and finds the ACTIONs that would pass
// without any work, placed in the draft's file. Every line must be trusted, or handed in just now by the person who
// runs this. A line is tried once, however many criteria share it.
func (e *Engine) RedFirst(ctx context.Context, d Draft) (plan.Findings, error) {
	p := d.Plan
	dir, err := os.MkdirTemp("", "git-wf-red-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	in := filepath.Join(dir, "in")
	if err := os.Mkdir(in, 0o777); err != nil {
		return nil, err
	}
	ground := check.Ground{
		Candidate: func(context.Context, string) error { return nil },
		Bundle:    func(context.Context, string) error { return nil },
		Scratch:   dir,
		Timeout:   min(redFirstTimeout, time.Duration(p.Limits().CheckTimeoutSeconds)*time.Second),
	}
	passed := map[plan.TaskID]map[string]bool{}
	tried := map[string]bool{}
	for _, id := range p.RedFirst() {
		passed[id] = map[string]bool{}
		ground.Environ = process.Environ(e.Environ, "WF_ROLE="+agent.RoleCheck, "WF_REPO="+e.repo(), "WF_IN="+in,
			"WF_CONTEXT="+os.DevNull, "WF_PLAN="+string(p.PlanID), "WF_TASK="+string(id))
		for _, c := range p.Task(id).AcceptanceCriteria {
			key := c.CheckMethod + "\x00" + c.Run
			if strings.Contains(c.Run, "WF_TASK") {
				key += "\x00" + string(id) // the only thing in its surroundings that differs between tasks
			}
			pass, known := tried[key]
			if !known && c.Severity == plan.Must && !c.Manual() {
				res, err := check.Run(ctx, []plan.Criterion{c}, ground)
				if err != nil {
					return nil, err
				}
				pass = res[0].Passed()
				tried[key] = pass
			}
			passed[id][c.ID] = pass
		}
	}
	return plan.Locate(d.Name, d.Data, p.GreenBeforeWork(passed)), nil
}
