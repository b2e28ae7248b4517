package engine

import (
	"context"
	"errors"
	"fmt"

	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

// reviewVerdicts has the built-in review judge a judge's newest version under a claim.
func (e *Engine) reviewVerdicts(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	return e.reviewAct(ctx, id, t, plan.ReviewerVerdicts, func(h *hold, made plan.Artifact) ([]string, bool, error) {
		v, err := export.ReadVerdicts(ctx, e.Store, h.snap, made)
		return v.Findings(h.state), len(h.state.Outdated(t.TaskID, h.task.Active)) > 0, err
	})
}

// applyVerdicts lets the approved verdicts of a judge take effect, with those of the judges that share a task with it.
// Verdicts that can't take effect any more are overtaken.
func (e *Engine) applyVerdicts(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	due := func(h *hold) bool {
		group := h.state.Together(t.TaskID)
		return len(group) > 0 && group[0] == t.TaskID
	}
	want := plan.Claim{Task: t.TaskID, Agent: plan.ReviewerVerdicts}
	return e.underClaim(ctx, id, want, due, func(ctx context.Context, h *hold) error {
		group := h.state.Together(t.TaskID)
		var all []export.Verdicts
		for _, judge := range group {
			made, err := export.ReadArtifact(ctx, e.Store, h.snap, judge, h.state.Tasks[judge].Active)
			if err != nil {
				return err
			}
			v, err := export.ReadVerdicts(ctx, e.Store, h.snap, made)
			if err != nil {
				return err
			}
			if findings := v.Findings(h.state); len(findings) > 0 {
				return e.overtake(ctx, h.snap, judge, plan.ReviewerVerdicts, findings)
			}
			all = append(all, v)
		}
		now := e.Now()
		ev := plan.ApplyVerdicts{Judges: group, Render: check.File, Time: now,
			Make: func(s *plan.State) (reviews []plan.Review, asks []plan.Question, err error) {
				for _, v := range all {
					r, q, err := v.Outcome(s, now)
					if err != nil {
						return nil, nil, err
					}
					reviews, asks = append(reviews, r...), append(asks, q...)
				}
				return reviews, asks, nil
			}}
		err := e.record(ctx, id, t.TaskID, ev, h, nil, what)
		var refused *plan.RefusedError
		if errors.As(err, &refused) {
			snap, readErr := e.Store.Snapshot(ctx, id)
			if readErr == nil && len(snap.State().Together(t.TaskID)) == 0 {
				return nil // somebody else was faster, or what is judged has changed: look again
			}
		}
		return err
	})
}

// excuse passes the failed run lines of a judge whose verdicts reject a task, or approve none.
func (e *Engine) excuse(ctx context.Context, snap *gitstore.Snapshot, subject check.Subject,
	results []plan.CriterionResult) error {
	v, err := export.ReadVerdicts(ctx, e.Store, snap, subject.Artifact)
	if err != nil {
		return fmt.Errorf("read the verdicts of %s: %w", subject.Task.TaskID, err)
	}
	check.Excuse(results, v.Rejected(), v.Approves())
	return nil
}

// judging is what a judge is told of the versions that it judges.
func (e *Engine) judging(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState,
	order *prompt.Order) (*prompt.Judging, error) {
	s := snap.State()
	j := &prompt.Judging{Rubric: prompt.RubricOf(s.RubricOfJudge(t.TaskID))}
	if order != nil {
		j.Mode = order.Mode
	}
	for _, id := range s.Judged(t.TaskID) {
		of := s.Tasks[id]
		if of.Approved == 0 {
			continue // of a partial review, one that is left out
		}
		ran, err := export.Ran(ctx, e.Store, snap, id)
		if err != nil {
			return nil, err
		}
		j.Tasks = append(j.Tasks, prompt.Judged{
			Task: prompt.TaskOf(of.Task, s.MinScore(id)), Version: of.Approved, Ran: prompt.RanOf(ran),
		})
	}
	return j, nil
}
