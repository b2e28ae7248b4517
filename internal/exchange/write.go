package exchange

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// jsonExport is what JSON writes.
type jsonExport struct {
	PlanID plan.ID            `json:"plan_id"`
	Title  string             `json:"title"`
	Status plan.SessionStatus `json:"session_status"`
	Plan   json.RawMessage    `json:"plan"` // plan.json, without the tasks that made it
	Tasks  []taskLine         `json:"tasks"`
}

// taskLine is one task with where it stands.
type taskLine struct {
	ID        plan.TaskID   `json:"task_id"`
	Parent    plan.TaskID   `json:"parent_task_id,omitempty"`
	NodeType  plan.NodeType `json:"node_type"`
	Title     string        `json:"title"`
	Status    plan.Status   `json:"status"`
	Reason    string        `json:"reason,omitempty"`
	DependsOn []plan.TaskID `json:"depends_on,omitempty"`
	Active    string        `json:"active_artifact_id,omitempty"`
	Approved  string        `json:"approved_artifact_id,omitempty"`
	Verdict   plan.Verdict  `json:"verdict,omitempty"`
}

func (s Snapshot) lines() []taskLine {
	lines := []taskLine{}
	for _, t := range s.tasks() {
		lines = append(lines, taskLine{
			t.TaskID, t.ParentTaskID, t.NodeType, t.Title, t.Status, s.State.Reason(t), t.DependsOn,
			plan.VersionID(t.Active), plan.VersionID(t.Approved), t.Verdict,
		})
	}
	return lines
}

// JSON is one document: the plan without the tasks that made it, and where each task stands. Read takes it back.
func JSON(s Snapshot) ([]byte, error) {
	whole := *s.plan()
	whole.Grafts, whole.Tasks = nil, slices.DeleteFunc(slices.Clone(whole.Tasks), func(t *plan.Task) bool {
		return t.TaskID.Reserved() || t.ReviewTargetTaskID.Reserved()
	})
	data, err := plandoc.Encode(&whole)
	if err != nil {
		return nil, err
	}
	return encode(jsonExport{s.plan().PlanID, s.plan().Title, s.State.SessionStatus(), json.RawMessage(data),
		s.lines()})
}

// Inner is the plan in what JSON wrote, or the text itself, where that is something else.
func Inner(text []byte) []byte {
	var d struct {
		ID   string          `json:"plan_id"`
		Plan json.RawMessage `json:"plan"`
	}
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) || json.Unmarshal(text, &d) != nil || d.ID == "" ||
		len(d.Plan) == 0 {
		return text
	}
	if p, err := plandoc.Decode(d.Plan); err == nil { // without the tasks that made it
		if written, err := plandoc.WriteYAML(p); err == nil {
			return written
		}
	}
	return d.Plan
}

func deliverables(t *plan.Task) []string {
	d := t.DeliverableSpec
	if d == nil {
		return nil
	}
	var out []string
	for _, p := range d.Paths {
		if p != "**" {
			out = append(out, p)
		}
	}
	if d.Filename != "" {
		out = append(out, path.Join(d.OutputDir, d.Filename))
	}
	for _, f := range d.Files {
		out = append(out, path.Join(d.OutputDir, f))
	}
	return out
}

// Markdown is the plan as milestones and tasks with status, acceptance and evidence (seed 4, "Dev Plan"), in git wf's
// own Markdown. DONE there means that a version awaits review, or the word of who did it elsewhere; VERIFIED that one
// is approved.
func Markdown(s Snapshot) ([]byte, error) {
	return plandoc.WriteMarkdown(s.plan(), func(id plan.TaskID) plandoc.Progress {
		t := s.State.Tasks[id]
		now := plandoc.Progress{Status: wordsOf(t).outline}
		switch sum, ok := s.Summaries[id]; {
		case ok && sum.Review != nil:
			now.Evidence = fmt.Sprintf("%s, approved by %s with a score of %d", sum.Artifact.ArtifactID,
				inline(sum.Review.Reviewer), sum.Review.Score)
		case t.Status == plan.StatusDoneElsewhere:
			now.Evidence = inline(t.DoneElsewhere) + " where the plan is from"
		case t.Approved > 0:
			now.Evidence = plan.VersionID(t.Approved) + " is approved"
		case t.Verdict == plan.Rejected:
			now.Evidence = inline(s.State.Reason(t))
		case t.Active > 0:
			now.Evidence = plan.VersionID(t.Active) + " awaits review"
		}
		return now
	})
}

// YAML is the plan as people write it.
func YAML(s Snapshot) ([]byte, error) { return plandoc.WriteYAML(s.plan()) }
