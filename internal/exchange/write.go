package exchange

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/plain"
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

// taskLine is one task with where it stands: an entry of the document, a row of the table.
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
	task      *plan.Task
}

func (s Snapshot) lines() []taskLine {
	lines := []taskLine{}
	for _, t := range s.tasks() {
		lines = append(lines, taskLine{
			t.TaskID, t.ParentTaskID, t.NodeType, t.Title, t.Status, s.State.Reason(t), t.DependsOn,
			plan.VersionID(t.Active), plan.VersionID(t.Approved), t.Verdict, t.Task,
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

// CSV is a table with a row for each task. Cells that a spreadsheet would compute begin with an apostrophe.
func CSV(s Snapshot) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{
		"task_id", "parent_task_id", "node_type", "title", "status", "reason", "depends_on", "estimated_person_days",
		"agent", "deliverable", "acceptance_criteria", "active_artifact_id", "approved_artifact_id", "verdict",
		"imported_id", "imported_status",
	}}
	for _, l := range s.lines() {
		estimate := ""
		if l.task.EstimatedPersonDays > 0 {
			estimate = strconv.FormatFloat(l.task.EstimatedPersonDays, 'g', -1, 64)
		}
		var criteria []string
		for _, c := range l.task.AcceptanceCriteria {
			criteria = append(criteria, c.ID+": "+c.Statement)
		}
		from := imported(l.task)
		rows = append(rows, []string{
			string(l.ID), string(l.Parent), string(l.NodeType), l.Title, string(l.Status), l.Reason,
			joined(l.DependsOn), estimate, l.task.Agent, strings.Join(deliverables(l.task), "\n"),
			strings.Join(criteria, "\n"), l.Active, l.Approved, string(l.Verdict), textOf(from["id"]),
			textOf(from["status"]),
		})
	}
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = plain.Text(cell); cell != "" && strings.ContainsRune("=+-@\t", rune(cell[0])) {
				row[i] = "'" + row[i]
			}
		}
		if err := w.Write(row); err != nil {
			return nil, fmt.Errorf("write the table: %w", err)
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
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
