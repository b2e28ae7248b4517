package engine

import (
	"context"

	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Waive passes one criterion of a task's newest version on a person's word. If the engine rejected the version, the
// same event renews its verdict with the waiver; a person's rejection stands until that person changes it.
func (e *Engine) Waive(ctx context.Context, id plan.ID, task plan.TaskID, criterion string,
	d plan.Decision) (*gitstore.Appended, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	s := snap.State()
	t := s.Tasks[task]
	if t == nil || t.NodeType != plan.Action || t.Active == 0 {
		return nil, &plan.RefusedError{Task: task, Reason: "has no version to waive anything of", Hint: "git wf status"}
	}
	ev := plan.Waive{Task: task, Version: t.Active, Criterion: criterion, Decision: d}
	if ev.Rejudged, err = e.rejudge(ctx, snap, s, t, criterion, d); err != nil {
		return nil, err
	}
	return e.append(ctx, id, ev, nil, nil)
}

// rejudge repeats the engine's last review of the version with one criterion waived; nil if there was none.
func (e *Engine) rejudge(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, t *plan.TaskState,
	criterion string, d plan.Decision) (*plan.AddReview, error) {
	var last *plan.ReviewRecord
	for i, r := range snap.Records.Of(t.TaskID).Reviews {
		if r.Version == t.Active && r.Reviewer == plan.ReviewerChecks {
			last = &snap.Records.Of(t.TaskID).Reviews[i]
		}
	}
	if last == nil || last.Verdict != plan.Rejected {
		return nil, nil
	}
	old, err := export.ReadReview(ctx, e.Store, snap, t.TaskID, *last)
	if err != nil {
		return nil, err
	}
	subject, err := e.subject(ctx, snap, s, t.TaskID, t.Active)
	if err != nil {
		return nil, err
	}
	if subject.Rubric != nil {
		return nil, nil // the engine rates nothing: a reviewer has the last word
	}
	rev := check.ByEngine(subject, subject.Task.Rejudge(old.Criteria, criterion, d), "", e.Now())
	return &plan.AddReview{Review: rev, Artifact: subject.Artifact, Render: check.File,
		Author: AgentActor(plan.ReviewerChecks)}, nil
}
