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
	return e.reviewLocked(ctx, id, t, plan.ReviewerVerdicts, plan.ReviewerVerdicts, func(r reviewing) error {
		ev, err := e.evidence(r.work, id, r.snap, r.state, r.target)
		if err != nil && r.work.Err() != nil {
			return e.broken(ctx, r.hold)
		}
		if err != nil {
			return err
		}
		v, err := export.ReadVerdicts(ctx, e.Store, r.snap, ev.subject.Artifact)
		if err != nil {
			return err
		}
		findings := v.Findings(r.state)
		rev := check.OfAct(ev.subject, plan.ReviewerVerdicts, ev.ran, findings, e.Now())
		if len(findings) > 0 && len(r.state.Outdated(t.TaskID, r.target.Active)) > 0 {
			rev = rev.Overtaken() // what it judged has changed since it was made
		}
		return e.recordAct(ctx, id, rev, ev.subject, r.hold, findings)
	})
}

// recordAct records the built-in review of a document that acts on other tasks, and reports it with its first finding.
func (e *Engine) recordAct(ctx context.Context, id plan.ID, rev plan.Review, of check.Subject, h *hold,
	findings []string) error {
	return e.record(ctx, id, of.Task.TaskID, reviewEvent(rev, of), h, nil, func(plan.Change) string {
		if len(findings) == 0 {
			return describeReview(rev, nil)
		}
		text := fmt.Sprintf("%s REJECTED by %s: %s", rev.ReviewedArtifactID, rev.Reviewer, firstLine(findings[0]))
		if more := len(findings) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		return text
	})
}

// applyVerdicts lets the approved verdicts of a judge take effect, with those of the judges that share a task with it.
// Verdicts that can't take effect any more are overtaken.
func (e *Engine) applyVerdicts(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	h, _, snap, err := e.claimWhile(ctx, id, t.TaskID, plan.ReviewerVerdicts, func(s *plan.State) bool {
		group := s.Together(t.TaskID)
		return len(group) > 0 && group[0] == t.TaskID
	})
	if err != nil || h == nil {
		return err
	}
	defer e.release(ctx, id, h)
	state := snap.State()
	group := state.Together(t.TaskID)
	var all []export.Verdicts
	for _, judge := range group {
		made, err := export.ReadArtifact(ctx, e.Store, snap, judge, state.Tasks[judge].Active)
		if err != nil {
			return err
		}
		v, err := export.ReadVerdicts(ctx, e.Store, snap, made)
		if err != nil {
			return err
		}
		if findings := v.Findings(state); len(findings) > 0 {
			subject, err := e.subject(ctx, snap, state, judge, state.Tasks[judge].Active)
			if err != nil {
				return err
			}
			rev := check.OfAct(subject, plan.ReviewerVerdicts, nil, findings, e.Now()).Overtaken()
			return e.recordAct(ctx, id, rev, subject, nil, findings)
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
	done, err := e.append(ctx, id, ev, h, nil)
	var refused *plan.RefusedError
	if errors.As(err, &refused) {
		if snap, readErr := e.Store.Snapshot(ctx, id); readErr == nil && len(snap.State().Together(t.TaskID)) == 0 {
			return nil // somebody else was faster, or what is judged has changed: look again
		}
	}
	if err != nil {
		return err
	}
	e.report(t.TaskID, what(done.Change))
	return nil
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
