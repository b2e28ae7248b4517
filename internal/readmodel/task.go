package readmodel

import (
	"fmt"

	"gitwf/internal/export"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Task is what is seen of a task among others.
type Task struct {
	TaskID       plan.TaskID   `json:"task_id"`
	NodeType     plan.NodeType `json:"node_type"`
	Title        string        `json:"title"`
	ParentTaskID plan.TaskID   `json:"parent_task_id,omitempty"`
	DependsOn    []plan.TaskID `json:"depends_on,omitempty"`
	Target       plan.TaskID   `json:"review_target_task_id,omitempty"`
	Role         string        `json:"role,omitempty"`
	Status       plan.Status   `json:"status"`
	Reason       string        `json:"reason"`
	WaitsFor     []plan.TaskID `json:"waits_for,omitempty"`
	Active       *string       `json:"active_artifact_id"`
	Approved     *string       `json:"approved_artifact_id"`
	Attempts     int           `json:"attempts"`
	Lost         int           `json:"lost"`                      // workers in a row that did not come back
	Stale        string        `json:"stale,omitempty"`           // why the approved version is
	Waived       []string      `json:"waived_criteria,omitempty"` // of the newest version
	// of the approved version, that are signed under a policy with keys
	Approvals []export.Approval `json:"approvals,omitempty"`
	Unproven  []string          `json:"unproven,omitempty"` // its approvals that do not count, and why
	Review    *Review           `json:"review"`
	// of its review; of a GOAL, the newest of the rounds below it
	Round     int    `json:"round,omitempty"`
	MaxRounds int    `json:"max_rounds,omitempty"` // as its CHECK says, or the workflow
	Panel     []Said `json:"seats,omitempty"`      // of the newest version
	// the approved version is so because its rounds were used up
	Accepted     bool           `json:"accepted,omitempty"`
	Concerns     bool           `json:"concerns,omitempty"`      // it is approved with concerns
	Landings     []plan.Landing `json:"landings,omitempty"`      // of the approved version; of a Detail, of all
	SelfReviewed bool           `json:"self_reviewed,omitempty"` // the approved version, by who made it

	Line string `json:"-"` // what follows its status in a list
}

// Review is the newest review of a task.
type Review struct {
	ReviewID           string       `json:"review_id"`
	Verdict            plan.Verdict `json:"verdict"`
	Score              int          `json:"score"`
	ReviewedArtifactID string       `json:"reviewed_artifact_id"`
	Reviewer           string       `json:"reviewer"`
}

// Said is what one of a panel says; the verdict is empty until it has spoken.
type Said struct {
	Seat    string       `json:"seat"`
	Verdict plan.Verdict `json:"verdict,omitempty"`
	Score   int          `json:"score,omitempty"`
}

// TaskOf is a task as a state alone shows it.
func TaskOf(s *plan.State, t *plan.TaskState) Task {
	d := Task{
		TaskID: t.TaskID, NodeType: t.NodeType, Title: t.Title, ParentTaskID: t.ParentTaskID, DependsOn: t.DependsOn,
		Target: t.ReviewTargetTaskID, Role: t.Role, Status: t.Status, Reason: s.Reason(t), WaitsFor: s.WaitsFor(t),
		Attempts: t.Attempts, Lost: t.Lost, Active: versionOrNull(t.Active), Approved: versionOrNull(t.Approved),
		Waived: s.Records.Of(t.TaskID).WaivedCriteria(t.Active), Review: lastReview(s, t), Line: s.Notes(t, nil, ""),
	}
	if d.Round, d.MaxRounds = s.Round(t); t.NodeType != plan.Action {
		return d
	}
	for name, r := range s.Panel(t.TaskID, t.Active) {
		d.Panel = append(d.Panel, Said{name, r.Verdict, r.Score})
	}
	d.Accepted = s.Accepted(t.TaskID, t.Approved)
	d.Concerns = !d.Accepted && (s.Concerns(t.TaskID, t.Approved) || s.JudgedUnclear(t.TaskID, t.Approved))
	return d
}

// versionOrNull is a version's id, or null.
func versionOrNull(v int) *string {
	if v == 0 {
		return nil
	}
	id := plan.VersionID(v)
	return &id
}

// lastReview is the newest review of the task's newest version; a CHECK shows that of its target.
func lastReview(s *plan.State, t *plan.TaskState) *Review {
	reviews := s.Records.Of(s.Subject(t.TaskID).TaskID).Reviews
	if len(reviews) == 0 {
		return nil
	}
	r := reviews[len(reviews)-1]
	return &Review{fmt.Sprintf("r%d", r.N), r.Verdict, r.Score, plan.VersionID(r.Version),
		plan.UnescapeName(r.Reviewer)}
}

// proven adds what the policy's keys prove to a task, and writes the task's line.
func (t *Task) proven(s *plan.State, evidence *export.Evidence) {
	var proof []string
	if t.Approved != nil {
		if t.Approvals = evidence.ApprovalsOf(t.TaskID, *t.Approved); len(t.Approvals) > 0 {
			proof = append(proof, "signed by "+export.Signers(t.Approvals))
		}
		for _, u := range evidence.Missing(t.TaskID, *t.Approved) {
			t.Unproven = append(t.Unproven, fmt.Sprintf("%s by %s: %s", u.ReviewID, u.Reviewer, u.Why))
			proof = append(proof, plain.Line(u.ReviewID+" by "+u.Reviewer+" does not count: "+u.Why))
		}
	}
	if t.SelfReviewed {
		proof = append(proof, "self-reviewed")
	}
	ts := s.Tasks[t.TaskID]
	t.Line = s.Notes(ts, append(proof, export.LandingNotes(s, ts, t.Landings)...), t.Stale)
}
