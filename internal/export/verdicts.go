package export

import (
	"context"
	"slices"
	"strings"
	"time"

	"gitwf/internal/act"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Verdicts are those in a version of a judge, and what they are held against.
type Verdicts struct {
	act.Verdicts
	judging act.Judging
	broken  []string // what is wrong with the document itself; then it says nothing
	made    plan.Artifact
}

// Findings say why the verdicts can't take effect in a state.
func (v Verdicts) Findings(s *plan.State) []string {
	if len(v.broken) > 0 {
		return v.broken
	}
	v.judging.State = s
	return v.judging.Findings(v.Verdicts)
}

// Outcome is what the verdicts do in a state: the reviews, and what the user is asked. It fails if they can't take
// effect.
func (v Verdicts) Outcome(s *plan.State, at time.Time) ([]plan.Review, []plan.Question, error) {
	if findings := v.Findings(s); len(findings) > 0 {
		return nil, nil, &plan.RefusedError{Task: v.made.TaskID, Reason: strings.Join(findings, "; ")}
	}
	v.judging.State = s
	reviews, asks := v.judging.Outcome(v.Verdicts, v.made.Agent, at)
	return reviews, asks, nil
}

// Rejected are the tasks that the verdicts reject.
func (v Verdicts) Rejected() (ids []plan.TaskID) {
	for _, x := range v.Verdicts.Verdicts {
		if x.Verdict == plan.Rejected {
			ids = append(ids, x.TaskID)
		}
	}
	return ids
}

// Approves reports whether the verdicts approve a task. It is true of a document that says nothing: that excuses
// nobody.
func (v Verdicts) Approves() bool {
	return len(v.broken) > 0 || slices.ContainsFunc(v.Verdicts.Verdicts, func(x act.Verdict) bool {
		return x.Verdict == plan.Approved
	})
}

// Excludes reports whether the verdicts leave a task out.
func (v Verdicts) Excludes(id plan.TaskID) bool {
	return slices.ContainsFunc(v.Excluded, func(x act.Excluded) bool { return x.TaskID == id })
}

// ReadVerdicts reads the verdicts in a version of a judge, and what the engine ran on what they judge.
func ReadVerdicts(ctx context.Context, store reader, snap *gitstore.Snapshot, made plan.Artifact) (v Verdicts,
	err error) {
	s := snap.State()
	t := s.Tasks[made.TaskID]
	v.made = made
	v.judging = act.Judging{State: s, Judge: t.TaskID, Version: plan.VersionNumber(made.ArtifactID),
		Ran: map[plan.TaskID][]plan.CriterionResult{}}
	data, err := store.ReadFile(ctx, made.Tree, t.DeliverableSpec.Filename)
	if err != nil {
		return v, err
	}
	if v.Verdicts, v.broken = act.ReadVerdicts(data); len(v.broken) > 0 {
		return v, nil
	}
	for _, id := range s.Judged(t.TaskID) {
		if v.judging.Ran[id], err = Ran(ctx, store, snap, id); err != nil {
			return v, err
		}
	}
	return v, nil
}

// Ran is what the run lines of a task said of its approved version; nil if it has none, or if its criteria have changed
// since.
func Ran(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID) ([]plan.CriterionResult, error) {
	t := snap.State().Tasks[id]
	if !t.HasRun() || t.Approved == 0 {
		return nil, nil
	}
	// An approval has the results of all run lines: the engine's own, or those of a check that it cites.
	rev, err := ApprovedBy(ctx, store, snap, id, t.Approved)
	if err != nil || rev.SpecHash != t.SpecHash() {
		return nil, err
	}
	return rev.Criteria, nil
}
