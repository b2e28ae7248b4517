package plan

import (
	"fmt"
	"slices"
)

// WaiverDocument is the content of waivers/wN-vM-CRITERION.json.
type WaiverDocument struct {
	TaskID     TaskID `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
	Tree       OID    `json:"tree"`
	Criterion  string `json:"criterion"`
	Decision
}

// Waive passes one criterion of one version on a person's word. Rejudged, if there is one, is the review that follows
// from the engine's last one with the waiver taken into account: both are one event, so that a version is never left
// rejected for a reason that no longer holds.
type Waive struct {
	Task      TaskID
	Version   int
	Criterion string
	Decision  Decision
	Rejudged  *AddReview
}

// Apply is refused if there is no such version or criterion, or if it is waived already.
func (e Waive) Apply(s *State) (Change, error) {
	if _, err := s.actionNamed(e.Task); err != nil {
		return Change{}, err
	}
	r := s.Records.Of(e.Task)
	a, ok := r.Version(e.Version)
	switch {
	case !ok:
		return Change{}, refuse(e.Task, "has no version %d", e.Version)
	case r.Waived(e.Version, e.Criterion):
		return Change{}, refuse(e.Task, "%s of %s is waived already", e.Criterion, VersionID(e.Version))
	}
	rec := WaiverRecord{N: following(r.Waivers), Version: e.Version, Criterion: EscapeName(e.Criterion)}
	c := Change{
		Subject:  fmt.Sprintf("%s: waive %s of %s", e.Task, e.Criterion, VersionID(e.Version)),
		Body:     e.Decision.Reason,
		Trailers: trailers(EventWaiver, e.Task, "Wf-Artifact", VersionID(e.Version), "Wf-Criterion", e.Criterion),
		Add: []Entry{{Path: e.Task.Dir() + "/" + rec.Path(), Data: Document(WaiverDocument{
			TaskID: e.Task, ArtifactID: VersionID(e.Version), Tree: a.Files, Criterion: e.Criterion, Decision: e.Decision,
		})}},
	}
	if e.Rejudged == nil {
		return c, nil
	}
	review, err := e.Rejudged.Apply(s)
	if err != nil {
		return Change{}, err
	}
	c.Add, c.Beside = append(c.Add, review.Add...), review.Beside
	c.Trailers = append(c.Trailers, review.Trailers[3:]...) // the event, the task and the version are the waiver's
	return c, nil
}

// Rejudge returns the results of the task's criteria after a waiver of one: those of the engine's last review, in
// the task's order, with that one waived. A criterion that the review did not have is not judged.
func (t *Task) Rejudge(last []CriterionResult, criterion string, d Decision) []CriterionResult {
	results := t.Results(last, ReviewerChecks, nil)
	for i, r := range results {
		if r.ID == criterion && slices.ContainsFunc(last, func(x CriterionResult) bool { return x.ID == r.ID }) {
			r.Result, r.By, r.Evidence = ResultWaived, d.By, "waived: "+d.Reason
			r.ExitCode, r.DurationMS = nil, 0
			results[i] = r
		}
	}
	return results
}
