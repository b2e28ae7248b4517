package engine

import (
	"context"
	"errors"
	"fmt"

	"gitwf/internal/act"
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
	return e.reviewAct(ctx, id, t, plan.ReviewerDecision, func(h *hold, made plan.Artifact) ([]string, bool, error) {
		d, err := e.decisionOf(ctx, h.snap, made)
		return findings(d), false, err
	})
}

// applyDecision lets an approved decision take effect. One that can't any more is overtaken.
func (e *Engine) applyDecision(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	due := func(h *hold) bool { return among(h.state.ToApply(), t.TaskID) }
	want := plan.Claim{Task: t.TaskID, Agent: plan.ReviewerDecision}
	return e.underClaim(ctx, id, want, due, func(ctx context.Context, h *hold) error {
		made, err := export.ReadArtifact(ctx, e.Store, h.snap, t.TaskID, h.task.Active)
		if err != nil {
			return err
		}
		d, err := e.decisionOf(ctx, h.snap, made)
		if err != nil {
			return err
		}
		if said := findings(d); len(said) > 0 {
			return e.overtake(ctx, h.snap, t.TaskID, plan.ReviewerDecision, said)
		}
		ev := d.Deciding.Apply(d.Decision, made.Agent)
		ev.Time = e.Now()
		ev.Holds = func(s *plan.State) error {
			again := d
			again.Deciding.State, again.Deciding.Amends = s, e.amends(s, made)
			if said := findings(again); len(said) > 0 {
				return &plan.RefusedError{Task: t.TaskID, Reason: said[0]}
			}
			return nil
		}
		batch := e.Store.NewBatch()
		defer batch.Discard() // unless it is recorded
		if text := d.DevPlan(); text != nil {
			if ev.Amended, err = e.amended(batch, made, text); err != nil {
				return err
			}
			ev.Planner = e.planner(plan.AgentManual) // who decided makes it
		}
		err = e.record(ctx, id, t.TaskID, ev, h, batch, what)
		var refused *plan.RefusedError
		if errors.As(err, &refused) {
			return nil // what it decides has changed meanwhile: the next look finds it overtaken
		}
		return err
	})
}

// decline gives up the task that amends the plan as a decision has it, when its version is rejected.
func (e *Engine) decline(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	due := func(h *hold) bool { return among(h.state.Declined(), t.TaskID) }
	want := plan.Claim{Task: t.TaskID, Agent: plan.ReviewerDecision}
	return e.underClaim(ctx, id, want, due, func(ctx context.Context, h *hold) error {
		ev := plan.Abandon{Task: t.TaskID, Author: AgentActor(plan.ReviewerDecision), Decision: plan.Decision{
			By: plan.ReviewerDecision, CreatedAt: plan.Second(e.Now()),
			Reason: fmt.Sprintf("%s was rejected; %s decides what comes of that", plan.VersionID(t.Active), t.Agent)}}
		return e.record(ctx, id, t.TaskID, ev, h, nil, what)
	})
}

// amended is the plan in a decision as the first version of the task that amends the plan.
func (e *Engine) amended(batch *gitstore.Batch, by plan.Artifact, text []byte) (plan.Artifact, error) {
	tree, files, err := batch.AddFiles(map[string][]byte{planFile: text})
	a := e.newArtifact("", by.Agent, tree, files, []plan.Input{})
	a.Session, a.Summary = by.Session, fmt.Sprintf("Decided by %s %s", by.TaskID, by.ArtifactID)
	return a, err
}

// decideByRule makes the next version of a deciding task, as a rule has it.
func (e *Engine) decideByRule(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	want := plan.Claim{Task: t.TaskID, Agent: act.ByRule}
	return e.underClaim(ctx, id, want, (*hold).isReady, func(ctx context.Context, h *hold) error {
		d, err := export.ReadDeciding(ctx, e.Store, h.snap, t.TaskID, h.task.Active+1)
		if err != nil {
			return err
		}
		x, ok := d.Policy()
		if !ok {
			return &undecidedError{t.TaskID, h.snap.Commit}
		}
		batch := e.Store.NewBatch()
		defer batch.Discard() // unless it is recorded
		tree, files, err := batch.AddFiles(map[string][]byte{h.task.DeliverableSpec.Filename: x.Line()})
		if err != nil {
			return err
		}
		a := e.newArtifact(t.TaskID, act.ByRule, tree, files, approvedInputs(h.snap, h.state, t.TaskID))
		a.Session, a.Summary = h.claim.Session, x.Reason
		return e.record(ctx, id, t.TaskID, plan.NewVersion{Author: AgentActor(act.ByRule), Artifact: a}, h, batch, what)
	})
}

// undecidedError says that no rule has anything to decide in a state of the plan: a person has to act.
type undecidedError struct {
	task plan.TaskID
	at   plan.OID
}

func (e *undecidedError) Error() string { return string(e.task) + ": nothing can be decided by rule" }
