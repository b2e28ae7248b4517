package exchange

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// grafted is a plan as it is once it was accepted: read again from its draft.
func grafted(t *testing.T, i *Imported) *plan.Plan {
	t.Helper()
	draft, err := i.Draft(true)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plandoc.Parse("draft", draft)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := plandoc.Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	if p, err = plandoc.Decode(stored); err != nil {
		t.Fatal(err)
	}
	p.Grafts = []plan.Graft{{TaskID: plan.PlanTaskID, ArtifactID: "v1"}}
	return p
}

func snapshot(p *plan.Plan) Snapshot {
	return Snapshot{State: plan.Derive(p, plan.Records{}, nil, time.Time{}), Active: true}
}

// A session that is imported and written again has the same tasks with the same sections. Nothing is done that nobody
// has approved.
func TestRoundTripCCW(t *testing.T) {
	p := grafted(t, one(t, sample(ccwSample()), ".", "", Options{}))
	out, err := CCW(snapshot(p))
	if err != nil {
		t.Fatal(err)
	}
	var task map[string]any
	if err := json.Unmarshal(out["WFS-user-login/.task/IMPL-1.1.json"], &task); err != nil {
		t.Fatal(err)
	}
	context, _ := task["context"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"from": "IMPL-1", "context": []any{"tokens"}}, context["inherited"]); diff != "" ||
		task["status"] != "pending" || fmt.Sprint(context["artifacts"]) != "[map[path:a.md priority:1]]" {
		t.Errorf("IMPL-1.1 is %v", task)
	}
	want := lines("# Tasks: Let users log in", "", "## Task Progress",
		"▸ **IMPL-1**: Tokens → [📋](./.task/IMPL-1.json)",
		"  - [ ] **IMPL-1.1**: Sign a token → [📋](./.task/IMPL-1.1.json)",
		"  - [ ] **IMPL-1.2**: Check a token → [📋](./.task/IMPL-1.2.json)",
		"- [ ] **IMPL-002**: Explain it → [📋](./.task/IMPL-002.json)", "",
		"## Status Legend", "- `▸` = Container task (has subtasks)", "- `- [ ]` = Pending leaf task",
		"- `- [x]` = Completed leaf task",
		"- Maximum 2 levels: Main tasks and subtasks only", "")
	if diff := cmp.Diff(want, string(out["WFS-user-login/TODO_LIST.md"])); diff != "" {
		t.Errorf("TODO_LIST.md (-want +got):\n%s", diff)
	}
	if out["WFS-user-login/.summaries/IMPL-002-summary.md"] != nil {
		t.Error("there is a summary of what nobody has approved")
	}
	if out[".active-WFS-user-login"] == nil {
		t.Error("the active session has no marker")
	}

	// What was written is read as the same plan.
	again := fstest.MapFS{}
	for name, data := range out {
		again[".workflow/"+name] = &fstest.MapFile{Data: data}
	}
	second := one(t, again, ".", "", Options{})
	if len(second.Findings) > 0 {
		t.Errorf("what was written has findings: %v", second.Findings)
	}
	if diff := cmp.Diff(outlineOf(p), outlineOf(grafted(t, second))); diff != "" && !strings.Contains(diff, "summary.md") {
		t.Errorf("what was written is another plan (-was +is):\n%s", diff)
	}
}

// All that a source says of a task is in the plan, and in what JSON writes.
func TestNothingIsLost(t *testing.T) {
	tests := []struct {
		format system
		name   string
		values []string
	}{
		{formatTaskMaster, "master", []string{"complexityScore", "7.5", "make -n", "With make.", "2025-07-01T00:00:00Z"}},
		{formatBeads, "", []string{"close_reason", "money", "discovered-from", "shop-zzz", "2025-11-02T21:58:07.295058-08:00",
			"a map"}},
		{formatGitHub, "", []string{"epic", "https://example.org/o/r/issues/12", "o/other#7"}},
		{formatSpecKit, "", []string{"US1", "keeps the order", "Tests for User Story 1"}},
		{formatOpenSpec, "", []string{"also when it is empty", "A parser", "WHEN"}},
	}
	for _, tt := range tests {
		t.Run(string(tt.format), func(t *testing.T) {
			p := grafted(t, one(t, sample(samples()[tt.format]), pathOf(tt.format), tt.name, Options{}))
			data, err := JSON(snapshot(p))
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range tt.values {
				if !strings.Contains(string(data), v) {
					t.Errorf("%q is lost", v)
				}
			}
			again := one(t, sample(map[string]string{"x.json": string(data)}), "x.json", "", Options{})
			if again.Plan == nil || len(again.Findings) > 0 {
				t.Fatalf("it can't be read again: %v", again.Findings)
			}
			back := grafted(t, again)
			if diff := cmp.Diff(p, back); diff != "" {
				t.Errorf("another plan (-was +is):\n%s", diff)
			}
		})
	}
}

func TestRoundTripMarkdown(t *testing.T) {
	was := one(t, sample(samples()[formatMarkdown]), "ROADMAP.md", "", Options{}).Plan
	text := string(Markdown(snapshot(was)))
	is := one(t, sample(map[string]string{"x.md": text}), "x.md", "", Options{})
	if is.Plan == nil {
		t.Fatalf("%v\n%s", is.Findings, text)
	}
	if diff := cmp.Diff(outlineOf(was), outlineOf(is.Plan)); diff != "" {
		t.Errorf("another plan (-was +is):\n%s\n%s", diff, text)
	}
	for i, task := range was.Tasks {
		if task.NodeType == plan.Action && !cmp.Equal(task.AcceptanceCriteria, is.Plan.Tasks[i].AcceptanceCriteria) {
			t.Errorf("criteria of %s:\n%s", task.TaskID, cmp.Diff(task.AcceptanceCriteria, is.Plan.Tasks[i].AcceptanceCriteria))
		}
	}
}

func TestCSV(t *testing.T) {
	p := grafted(t, one(t, sample(samples()[formatBeads]), ".", "", Options{}))
	p.Tasks[1].Title = "=cmd|' /C calc'!A1"
	data, err := CSV(snapshot(p))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	if !strings.HasPrefix(rows[1][3], "'=") {
		t.Errorf("a spreadsheet would compute %q", rows[1][3])
	}
	if got := rows[2][len(rows[2])-2:]; !slices.Equal(got, []string{"shop-a3f8.1", "closed"}) {
		t.Errorf("from %v", got)
	}
}

// A change of the plan wins over what was imported.
func TestChangedSinceImport(t *testing.T) {
	p := grafted(t, one(t, sample(ccwSample()), ".", "", Options{}))
	p.Task("IMPL-1.2").Title, p.Task("IMPL-1.2").DependsOn = "Verify a token", nil
	out, err := CCW(snapshot(p))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Title   string
		Context struct {
			DependsOn []string `json:"depends_on"`
			Parent    string
		}
	}
	if err := json.Unmarshal(out["WFS-user-login/.task/IMPL-1.2.json"], &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Title != "Verify a token" || len(doc.Context.DependsOn) != 0 || doc.Context.Parent != "IMPL-1" {
		t.Errorf("%+v", doc)
	}
}

// A plan of our own has what the schema of that system asks for.
func TestOwnPlanAsCCW(t *testing.T) {
	p, err := plandoc.Parse("p",
		[]byte("title: Report\nplan_id: WFS-report\ntasks:\n  - task_id: IMPL-1\n    title: Write it\n    description: All of it\n    estimated_person_days: 1\n    deliverable_spec: {filename: report.md}\n    acceptance_criteria: [{id: A1, statement: it is there, run: test -s report.md}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	p.Grafts = []plan.Graft{{TaskID: plan.PlanTaskID, ArtifactID: "v1"}}
	out, err := CCW(snapshot(p))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(out["WFS-report/.task/IMPL-1.json"], &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": "IMPL-1", "title": "Write it", "status": "pending",
		"meta": map[string]any{"type": "feature", "agent": "code-developer", "estimated_person_days": 1.0},
		"context": map[string]any{
			"requirements": []any{"All of it"}, "focus_paths": []any{}, "acceptance": []any{"it is there (`test -s report.md`)"},
			"depends_on": []any{},
		},
		"flow_control": map[string]any{
			"pre_analysis": []any{},
			"implementation_approach": map[string]any{"task_description": "All of it", "modification_points": []any{},
				"logic_flow": []any{}},
			"target_files": []any{"report.md"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	i := one(t, fstest.MapFS{"WFS-report/workflow-session.json": {Data: out["WFS-report/workflow-session.json"]},
		"WFS-report/IMPL_PLAN.md":      {Data: out["WFS-report/IMPL_PLAN.md"]},
		"WFS-report/TODO_LIST.md":      {Data: out["WFS-report/TODO_LIST.md"]},
		"WFS-report/.task/IMPL-1.json": {Data: out["WFS-report/.task/IMPL-1.json"]}}, "WFS-report", "", Options{})
	if len(i.Findings)+len(i.Notes) > 0 {
		t.Errorf("%v %v", i.Findings, i.Notes)
	}
}

// Writing a plan changes nothing of it: a second time gives the same.
func TestWritingChangesNothing(t *testing.T) {
	p := &plan.Plan{PlanID: "WFS-x", RootTaskID: "GOAL-1", Title: "X", Tasks: []*plan.Task{
		{TaskID: "GOAL-1", NodeType: plan.Goal},
		{TaskID: "IMPL-1", NodeType: plan.Action, ParentTaskID: "GOAL-1",
			DeliverableSpec: &plan.DeliverableSpec{OutputDir: "out", Files: []string{"a", "b"}}},
	}}
	first, err := CCW(snapshot(p))
	if err != nil {
		t.Fatal(err)
	}
	second, _ := CCW(snapshot(p))
	for name, data := range first {
		if string(second[name]) != string(data) {
			t.Errorf("%s is first\n%s\nthen\n%s", name, data, second[name])
		}
	}
}

// Each file says what the layout of the specification wants there.
func TestLayout(t *testing.T) {
	p, err := plandoc.Parse("p", []byte(`
title: Login
plan_id: WFS-login
root_acceptance_criteria: [{id: R1, statement: Users can log in}]
tasks:
  - task_id: IMPL-1
    title: Tokens
    context: {inherited: {context: [Keys rotate]}, shared_context: {auth: tokens, store: disk}}
    tasks:
      - {task_id: IMPL-1.1, title: Test the tokens, context: {shared_context: {store: memory}}, acceptance_criteria: [{id: A1, statement: Each fails first}]}
      - {task_id: IMPL-1.2, title: Sign a token, agent: claude}
  - {task_id: IMPL-2, title: Logo}
`))
	if err != nil {
		t.Fatal(err)
	}
	p.Grafts = []plan.Graft{{TaskID: plan.PlanTaskID, ArtifactID: "v1"}}
	s := snapshot(p)
	s.Agent = func(t *plan.Task) string {
		return map[string]string{"Test the tokens": "code-review-test-agent"}[t.Title]
	}
	out, err := CCW(s)
	if err != nil {
		t.Fatal(err)
	}
	var child struct{ Context map[string]any }
	if err := json.Unmarshal(out["WFS-login/.task/IMPL-1.1.json"], &child); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"from": "IMPL-1", "context": []any{"Keys rotate"}}, child.Context["inherited"]); diff != "" {
		t.Errorf("inherited (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"auth": "tokens", "store": "memory"}, child.Context["shared_context"]); diff != "" {
		t.Errorf("shared_context (-want +got):\n%s", diff)
	}
	for id, agent := range map[string]string{"IMPL-1.1": "code-review-test-agent", "IMPL-1.2": "claude", "IMPL-2": "code-developer"} {
		if text := string(out["WFS-login/.task/"+id+".json"]); !strings.Contains(text, `"agent": "`+agent+`"`) {
			t.Errorf("%s is not done by %s: %s", id, agent, text)
		}
	}
	if text := string(out["WFS-login/IMPL_PLAN.md"]); !strings.Contains(text, "\n## Requirements\n"+
		"- **R1**: Users can log in\n- **IMPL-1.1 A1**: Each fails first\n\n## Task Structure\n") {
		t.Errorf("IMPL_PLAN.md is\n%s", text)
	}
}

// One session is active: the one that is worked on. The others are paused, and have no marker.
func TestSession(t *testing.T) {
	p := &plan.Plan{PlanID: "WFS-x", RootTaskID: "GOAL-1", Title: "X", Tasks: []*plan.Task{{TaskID: "GOAL-1", NodeType: plan.Goal}}}
	for active, want := range map[bool]string{true: "active", false: "paused"} {
		s := snapshot(p)
		s.Active = active
		files, err := Session(s)
		if err != nil {
			t.Fatal(err)
		}
		if text := string(files["WFS-x/workflow-session.json"]); !strings.Contains(text, `"status": "`+want+`"`) {
			t.Errorf("active %v: %s", active, text)
		}
		if marked := files[".active-WFS-x"] != nil; marked != active {
			t.Errorf("active %v: marked %v", active, marked)
		}
	}
}
