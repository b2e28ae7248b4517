package exchange

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"path"
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
	Plan   json.RawMessage    `json:"plan"` // plan.json, as it is stored
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

// JSON is one document: the plan as it is stored, and where each task stands. Read takes it back.
func JSON(s Snapshot) ([]byte, error) {
	data, err := plandoc.Encode(s.plan())
	if err != nil {
		return nil, err
	}
	return encode(jsonExport{s.plan().PlanID, s.plan().Title, s.State.SessionStatus(), json.RawMessage(data), s.lines()})
}

// inner is the plan in what JSON wrote.
func inner(text string) ([]byte, error) {
	var d struct {
		Plan json.RawMessage `json:"plan"`
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return nil, err
	}
	if len(d.Plan) == 0 {
		return nil, errors.New("has no plan")
	}
	return d.Plan, nil
}

// CSV is a table with a row for each task. Cells that a spreadsheet would compute begin with an apostrophe.
func CSV(s Snapshot) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	rows := [][]string{{
		"task_id", "parent_task_id", "node_type", "title", "status", "reason", "depends_on", "estimated_person_days", "agent",
		"deliverable",
		"acceptance_criteria", "active_artifact_id", "approved_artifact_id", "verdict", "imported_id", "imported_status",
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
			string(l.ID), string(l.Parent), string(l.NodeType), l.Title, string(l.Status), l.Reason, joined(l.DependsOn),
			estimate, l.task.Agent,
			strings.Join(deliverables(l.task), "\n"), strings.Join(criteria, "\n"), l.Active, l.Approved, string(l.Verdict),
			textOf(from["id"]), textOf(from["status"]),
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
	if d.Filename != "" {
		out = append(out, path.Join(d.OutputDir, d.Filename))
	}
	for _, f := range d.Files {
		out = append(out, path.Join(d.OutputDir, f))
	}
	return out
}

// Markdown is the plan as milestones and tasks with status, acceptance and evidence (seed 4, "Dev Plan"). The reader of
// outlines takes it back. DONE there means that a version awaits review, VERIFIED that one is approved.
func Markdown(s Snapshot) []byte {
	var b strings.Builder
	p := s.plan()
	fmt.Fprintf(&b, "# %s\n", inline(p.Title))
	if top := plain.Line(p.TopTask); top != "" && top != plain.Line(p.Title) {
		fmt.Fprintf(&b, "\n%s\n", inline(top))
	}
	kids := map[plan.TaskID][]*plan.TaskState{}
	for _, t := range s.tasks() {
		kids[t.ParentTaskID] = append(kids[t.ParentTaskID], t)
	}
	shown := map[plan.TaskID]bool{}
	var list func(t *plan.TaskState, level int)
	list = func(t *plan.TaskState, level int) {
		if shown[t.TaskID] {
			return
		}
		shown[t.TaskID] = true
		word := "Task"
		if t.NodeType == plan.Goal {
			word = "Milestone"
		}
		fmt.Fprintf(&b, "\n%s %s %s: %s\n", strings.Repeat("#", min(level, 6)), word, t.TaskID, inline(t.Title))
		s.outlineTask(&b, t)
		for _, kid := range kids[t.TaskID] {
			list(kid, level+1)
		}
	}
	for _, t := range kids[p.RootTaskID] {
		list(t, 2)
	}
	return []byte(b.String())
}

func (s Snapshot) outlineTask(b *strings.Builder, t *plan.TaskState) {
	b.WriteByte('\n')
	if t.NodeType != plan.Action {
		return
	}
	fmt.Fprintf(b, "- status: %s\n", wordsOf(t).outline)
	if len(t.DependsOn) > 0 {
		fmt.Fprintf(b, "- depends on: %s\n", joined(t.DependsOn))
	}
	if t.EstimatedPersonDays > 0 {
		fmt.Fprintf(b, "- estimate: %s days\n", strconv.FormatFloat(t.EstimatedPersonDays, 'f', -1, 64))
	}
	if files := deliverables(t.Task); len(files) > 0 {
		for i, f := range files {
			files[i] = "`" + strings.ReplaceAll(plain.Line(f), "`", "'") + "`"
		}
		fmt.Fprintf(b, "- deliverables: %s\n", strings.Join(files, ", "))
	}
	if len(t.AcceptanceCriteria) > 0 {
		b.WriteString("- acceptance:\n")
	}
	for _, c := range t.AcceptanceCriteria {
		switch line := strings.TrimSpace(c.Run); {
		case line != "" && saysItself(c.Statement, line):
			fmt.Fprintf(b, "  - %s\n", plain.Line(c.Statement))
		case line != "" && !strings.ContainsAny(line, "`\n"):
			fmt.Fprintf(b, "  - %s: `%s` -> exit 0\n", inline(strings.TrimRight(c.Statement, ":：")), plain.Line(line))
		case line != "":
			fmt.Fprintf(b, "  - %s (a script of several lines decides it)\n", inline(c.Statement))
		default:
			fmt.Fprintf(b, "  - %s\n", inline(c.Statement))
		}
	}
	evidence := ""
	if sum, ok := s.Summaries[t.TaskID]; ok && sum.Review != nil {
		evidence = fmt.Sprintf("%s, approved by %s with a score of %d", sum.Artifact.ArtifactID, inline(sum.Review.Reviewer),
			sum.Review.Score)
	} else if t.Approved > 0 {
		evidence = plan.VersionID(t.Approved) + " is approved"
	} else if t.Verdict == plan.Rejected {
		evidence = inline(s.State.Reason(t))
	} else if t.Active > 0 {
		evidence = plan.VersionID(t.Active) + " awaits review"
	}
	if evidence != "" {
		fmt.Fprintf(b, "- evidence: %s\n", evidence)
	}
}

// saysItself reports whether a statement has the command of its run line in it, as statements do that were made of an
// outline: the reader of outlines makes the same run line of it.
func saysItself(statement, run string) bool {
	for i, span := range strings.Split(statement, "`") {
		if i%2 == 1 && len(span) > 2 && strings.Contains(run, span) {
			return true
		}
	}
	return false
}
