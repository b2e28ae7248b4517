package exchange

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

func TestViewOf(t *testing.T) {
	for name, want := range map[string]string{
		".active-WFS-x": "marker ", "WFS-x/workflow-session.json": "session ", "WFS-x/IMPL_PLAN.md": "plan ",
		"WFS-x/TODO_LIST.md":        "todo ",
		"WFS-x/.task/IMPL-1.2.json": "task IMPL-1.2", "WFS-x/.summaries/IMPL-1-summary.md": "summary IMPL-1",
		"WFS-y/TODO_LIST.md": " ", "WFS-x/.task/nonsense.json": " ", ".active-WFS-y": " ", "WFS-x/other": " ",
	} {
		view, task := ViewOf("WFS-x", name)
		if got := fmt.Sprintf("%s %s", view, task); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Every file that CCW writes is a view.
func TestEveryFileIsAView(t *testing.T) {
	p := &plan.Plan{PlanID: "WFS-x", RootTaskID: "GOAL-1", Title: "X", Tasks: []*plan.Task{
		{TaskID: "GOAL-1", NodeType: plan.Goal}, {TaskID: "IMPL-1", NodeType: plan.Action, ParentTaskID: "GOAL-1",
			Title: "One"},
	}}
	s := snapshot(p)
	s.Summaries = map[plan.TaskID]plandoc.Summary{"IMPL-1": {Artifact: plan.Artifact{ArtifactID: "v1"}}}
	files, err := CCW(s)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for name := range files {
		view, _ := ViewOf(p.PlanID, name)
		kinds = append(kinds, string(view))
	}
	slices.Sort(kinds)
	if got := strings.Join(kinds, " "); got != "marker plan session summary task todo" {
		t.Errorf("the views are %s, of %d files", got, len(files))
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

func TestTicks(t *testing.T) {
	list := "- [x] **IMPL-1**: a\n  - [ ] **IMPL-1.1**: b\n▸ **IMPL-2**: c\n- [X] **IMPL-3**\n- `- [x]` = Completed\n- [x] **nonsense**: x\n"
	if got := fmt.Sprint(Ticks([]byte(list))); got != "map[IMPL-1:true IMPL-1.1:false IMPL-3:true]" {
		t.Errorf("%s", got)
	}
	if got := WithoutTicks([]byte(list)); strings.Count(got, "[x]") != 1 || !strings.HasPrefix(got, "- [ ] **IMPL-1**") {
		t.Errorf("%s", got)
	}
}
