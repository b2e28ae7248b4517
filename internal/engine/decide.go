package engine

import (
	"context"
	"errors"
	"fmt"

	"gitwf/internal/act"
	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// decisionOf reads the decision in a version of a deciding task.
func (e *Engine) decisionOf(ctx context.Context, snap *gitstore.Snapshot, made plan.Artifact) (export.Decided, error) {
	d, err := export.ReadDecided(ctx, e.Store, snap, made)
	d.Deciding.Amends = e.amends(snap.State(), made)
	return d, err
}

// amends is the review of a plan that an agent's decision puts in the place of this one; a person's may loosen more.
func (e *Engine) amends(s *plan.State, made plan.Artifact) func([]byte) plan.Findings {
	return func(text []byte) plan.Findings {
		broken := func(err error) plan.Findings {
			var fs plan.Findings
			if errors.As(err, &fs) {
				return fs
			}
			return plan.Findings{{Message: err.Error(), Expected: "a plan that can replace this one"}}
		}
		c, err := plan.Replan{Planner: e.planner(made.Agent)}.Apply(s)
		if err != nil {
			return broken(err)
		}
		next := plan.Derive(c.Plan, s.Records, nil, e.Now())
		id := c.Plan.PlanningOf("").TaskID
		p, err := plandoc.ParseCandidate(next, id, planFile, text, e.Policy.Floors)
		if err != nil {
			return broken(err)
		}
		whole, err := next.Merged(id, p, 1)
		if err != nil {
			return broken(err)
		}
		if fs := next.Amended(whole); len(fs) > 0 || made.Session == "" {
			return plandoc.Locate(planFile, text, fs)
		}
		return whole.Loosens(s.Plan)
	}
}

// findings say why the decision can't take effect.
func findings(d export.Decided) []string {
	fs := d.Broken
	if len(fs) == 0 {
		fs = d.Deciding.Findings(d.Decision)
	}
	var said []string
	for _, f := range fs {
		said = append(said, f.Code+": "+f.Error())
	}
	return said
}

// reviewDecision has the built-in review judge the newest version of a deciding task under a claim.
func (e *Engine) reviewDecision(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	return e.reviewLocked(ctx, id, t, plan.ReviewerDecision, plan.ReviewerDecision, func(r reviewing) error {
		ev, err := e.evidence(r.work, id, r.snap, r.state, r.target)
		if err != nil && r.work.Err() != nil {
			return e.broken(ctx, r.hold)
		}
		if err != nil {
			return err
		}
		d, err := e.decisionOf(ctx, r.snap, ev.subject.Artifact)
		if err != nil {
			return err
		}
		said := findings(d)
		rev := check.OfAct(ev.subject, plan.ReviewerDecision, ev.ran, said, e.Now())
		return e.recordAct(ctx, id, rev, ev.subject, r.hold, said)
	})
}

// applyDecision lets an approved decision take effect. One that can't any more is overtaken.
func (e *Engine) applyDecision(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	h, _, snap, err := e.claimWhile(ctx, id, t.TaskID, plan.ReviewerDecision, func(s *plan.State) bool {
		return among(s.ToApply(), t.TaskID)
	})
	if err != nil || h == nil {
		return err
	}
	defer e.release(ctx, id, h)
	state := snap.State()
	subject, err := e.subject(ctx, snap, state, t.TaskID, state.Tasks[t.TaskID].Active)
	if err != nil {
		return err
	}
	d, err := e.decisionOf(ctx, snap, subject.Artifact)
	if err != nil {
		return err
	}
	if said := findings(d); len(said) > 0 {
		rev := check.OfAct(subject, plan.ReviewerDecision, nil, said, e.Now()).Overtaken()
		return e.recordAct(ctx, id, rev, subject, nil, said)
	}
	ev := d.Deciding.Apply(d.Decision, subject.Artifact.Agent)
	ev.Time = e.Now()
	ev.Holds = func(s *plan.State) error {
		again := d
		again.Deciding.State, again.Deciding.Amends = s, e.amends(s, subject.Artifact)
		if said := findings(again); len(said) > 0 {
			return &plan.RefusedError{Task: t.TaskID, Reason: said[0]}
		}
		return nil
	}
	batch := e.Store.NewBatch()
	defer batch.Discard() // unless it is recorded
	if text := d.DevPlan(); text != nil {
		if ev.Amended, err = e.amended(batch, subject.Artifact, text); err != nil {
			return err
		}
		ev.Planner = e.planner(plan.AgentManual) // who decided makes it
	}
	done, err := e.append(ctx, id, ev, h, batch)
	var refused *plan.RefusedError
	if errors.As(err, &refused) {
		return nil // what it decides has changed meanwhile: the next look finds it overtaken
	}
	if err != nil {
		return err
	}
	e.report(t.TaskID, what(done.Change))
	return nil
}

// decline gives up the task that amends the plan as a decision has it, when its version is rejected.
func (e *Engine) decline(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	h, _, _, err := e.claimWhile(ctx, id, t.TaskID, plan.ReviewerDecision, func(s *plan.State) bool {
		return among(s.Declined(), t.TaskID)
	})
	if err != nil || h == nil {
		return err
	}
	defer e.release(ctx, id, h)
	ev := plan.Abandon{Task: t.TaskID, Author: AgentActor(plan.ReviewerDecision), Decision: plan.Decision{
		By: plan.ReviewerDecision, CreatedAt: plan.Second(e.Now()),
		Reason: fmt.Sprintf("%s was rejected; %s decides what comes of that", plan.VersionID(t.Active), t.Agent)}}
	done, err := e.append(ctx, id, ev, h, nil)
	if err != nil {
		return err
	}
	e.report(t.TaskID, what(done.Change))
	return nil
}

// amended is the plan in a decision as the first version of the task that amends the plan.
func (e *Engine) amended(batch *gitstore.Batch, by plan.Artifact, text []byte) (plan.Artifact, error) {
	tree, files, err := batch.AddFiles(map[string][]byte{planFile: text})
	if err != nil {
		return plan.Artifact{}, err
	}
	return plan.Artifact{
		Tree: tree, Agent: by.Agent, Session: by.Session, CreatedAt: plan.Second(e.Now()), Inputs: []plan.Input{},
		Files: files, Size: totalSize(files), Summary: fmt.Sprintf("Decided by %s %s", by.TaskID, by.ArtifactID),
	}, nil
}

// decideByRule makes the next version of a deciding task, as a rule has it.
func (e *Engine) decideByRule(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	h, _, err := e.claim(ctx, id, t.TaskID, act.ByRule)
	if err != nil {
		return err
	}
	defer e.release(ctx, id, h)
	snap, state, t, err := e.afterClaim(ctx, id, t.TaskID)
	if err != nil || t == nil {
		return err
	}
	d, err := export.ReadDeciding(ctx, e.Store, snap, t.TaskID, t.Active+1)
	if err != nil {
		return err
	}
	x, ok := d.Policy()
	if !ok {
		return &undecidedError{t.TaskID, snap.Commit}
	}
	batch := e.Store.NewBatch()
	defer batch.Discard() // unless it is recorded
	tree, files, err := batch.AddFiles(map[string][]byte{t.DeliverableSpec.Filename: x.Line()})
	if err != nil {
		return err
	}
	ev := plan.NewVersion{Author: AgentActor(act.ByRule), Artifact: plan.Artifact{
		TaskID: t.TaskID, Tree: tree, Agent: act.ByRule, Session: h.claim.Session, CreatedAt: plan.Second(e.Now()),
		Inputs: approvedInputs(snap, state, t.TaskID), Files: files, Size: totalSize(files), Summary: x.Reason,
	}}
	return e.record(ctx, id, t.TaskID, ev, h, batch, what)
}

// undecidedError says that no rule has anything to decide in a state of the plan: a person has to act.
type undecidedError struct {
	task plan.TaskID
	at   plan.OID
}

func (e *undecidedError) Error() string { return string(e.task) + ": nothing can be decided by rule" }
