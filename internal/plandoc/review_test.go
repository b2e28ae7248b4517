package plandoc

import (
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reviewed parses a plan of ACTIONs, each given by its id, title and criteria in YAML.
func reviewed(t *testing.T, head string, tasks ...[3]string) PlanReview {
	t.Helper()
	yaml := "title: Shop\n" + head + "tasks:\n"
	for _, task := range tasks {
		yaml += "  - {task_id: " + task[0] + ", title: " + task[1] + ", description: d, estimated_person_days: 1,\n" +
			"     deliverable_spec: {format: md, filename: out.md}, acceptance_criteria: [" + task[2] + "]}\n"
	}
	p, err := ParseValid("p.yaml", []byte(yaml), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	return ReviewPlan(p, Stated)
}

func TestReviewPlan(t *testing.T) {
	const (
		ran   = "{id: A1, statement: it holds, run: test -s out.md}"
		plain = "{id: A1, statement: Every endpoint lists its parameters}"
		vague = "{id: A1, statement: The page looks good and is user-friendly}"
		also  = "{id: A9, statement: The prose is clean and easy to read}"
	)
	ten := func(first string, rest string) [][3]string {
		tasks := [][3]string{{"T-1", "a", first}}
		for _, id := range []string{"T-2", "T-3", "T-4", "T-5", "T-6", "T-7", "T-8", "T-9", "T-10"} {
			tasks = append(tasks, [3]string{id, "b", rest})
		}
		return tasks
	}
	tests := []struct {
		name    string
		head    string
		tasks   [][3]string
		verdict plan.Verdict
		least   int // of the score
		most    int
		note    string // in the evidence or the suggestions
	}{
		{"run lines, no root criteria", "", [][3]string{{"T-1", "a", ran}}, plan.Approved, 95, 95, "no root_acceptance_criteria"},
		{"statements that can be seen to hold", "", [][3]string{{"T-1", "a", plain}, {"T-2", "b", ran}}, plan.Approved, 95, 95,
			""},
		{"one vague criterion beside a firm one", "", [][3]string{{"T-1", "a", ran + "," + also}, {"T-2", "b", ran},
			{"T-3", "c", ran}, {"T-4", "d", ran}, {"T-5", "e", ran}, {"T-6", "f", ran}}, plan.Approved, 90, 94,
			"criterion A9 is too vague"},
		{"one vague task in ten", "", ten(vague, ran), plan.Rejected, 85, 89, "T-1"},
		{"all vague", "", [][3]string{{"T-1", "a", vague}, {"T-2", "b", vague}}, plan.Rejected, 0, 20, `too vague to judge`},
		{"most tasks blind", "", [][3]string{{"T-1", "a", vague}, {"T-2", "b", vague}, {"T-3", "c", ran}}, plan.Rejected, 0, 60,
			"1 of 3 ACTIONs have an observable outcome"},
		{"most tasks blind, low bar", "config: {min_score: 1}\n", [][3]string{{"T-1", "a", vague}, {"T-2", "b", vague},
			{"T-3", "c", ran}}, plan.Rejected, 10, 60, "1 of 3"},
		{"repeats the title", "", [][3]string{{"T-1", "Write the login page", "{id: A1, statement: Write the login page.}"}},
			plan.Rejected, 0, 20, "repeats the task's title"},
		{"too short", "", [][3]string{{"T-1", "a", "{id: A1, statement: Done}"}}, plan.Rejected, 0, 20, "too short"},
		{"Chinese, vague", "", [][3]string{{"T-1", "登录页", "{id: A1, statement: 页面美观并且体验友好}"}}, plan.Rejected, 0, 20, "友好"},
		{"Chinese, firm", "", [][3]string{{"T-1", "登录页", "{id: A1, statement: 密码错误三次后账号被锁定}"}}, plan.Approved, 95, 95, ""},
		{"vague word with a number", "", [][3]string{{"T-1", "a",
			"{id: A1, statement: The page is fast and loads in 2 seconds}"}}, plan.Approved, 95, 95, ""},
		{"too large", "config: {one_shot_threshold_person_days: 0.5}\n", [][3]string{{"T-1", "a", ran}}, plan.Rejected, 95, 95,
			"estimated at more than 0.5 person-days: T-1"},
		{"only SHOULD", "", [][3]string{{"T-1", "a", "{id: A1, statement: it holds, run: test -s out.md, severity: SHOULD}"}},
			plan.Rejected, 80, 80, "without a MUST criterion"},
		{"serves nothing", "root_acceptance_criteria: [{id: R1, statement: s}]\n",
			[][3]string{{"T-1", "a", "{id: A1, statement: it holds, run: x, covers: [R1]}"}, {"T-2", "b", ran}}, plan.Approved, 92,
			93, "serves no root criterion and no other task (-7.5): T-2"},
		{"a lower bar", "config: {min_score: 80}\n", ten(vague, ran), plan.Approved, 85, 89, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := reviewed(t, tt.head, tt.tasks...)
			var notes strings.Builder
			for _, c := range r.Criteria {
				notes.WriteString(c.Evidence + "\n")
			}
			for _, s := range r.Suggestions {
				notes.WriteString(string(s.TaskID) + " " + s.Text + "\n")
			}
			if r.Verdict != tt.verdict || r.Score < tt.least || r.Score > tt.most || !strings.Contains(notes.String(), tt.note) {
				t.Errorf("got %s with %d, want %s with %d to %d and %q in\n%s", r.Verdict, r.Score, tt.verdict, tt.least, tt.most,
					tt.note, notes.String())
			}
		})
	}
}

func TestReviewOfRealisticPlan(t *testing.T) {
	p, err := Parse("handbook.yaml", readTestdata(t, "handbook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r := ReviewPlan(p, Stated)
	if r.Verdict != plan.Approved || r.Score != 100 || len(r.Suggestions) > 0 {
		t.Errorf("got %+v", r)
	}
	if diff := cmp.Diff(r, ReviewPlan(p, Stated)); diff != "" {
		t.Errorf("the second review differs: %s", diff)
	}
	if len(r.Criteria) != len(plan.PlanCriteria()) {
		t.Errorf("%d results for %d criteria", len(r.Criteria), len(plan.PlanCriteria()))
	}
}

func TestRedFirst(t *testing.T) {
	p, err := Parse("handbook.yaml", readTestdata(t, "handbook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var ids []plan.TaskID
	for _, t := range p.RedFirst() {
		ids = append(ids, t.TaskID)
	}
	if diff := cmp.Diff([]plan.TaskID{"DOC-1.2", "SITE-1"}, ids); diff != "" {
		t.Fatal(diff)
	}
	for name, tt := range map[string]struct {
		passed map[plan.TaskID]map[string]bool
		want   []plan.TaskID
	}{
		"all red": {map[plan.TaskID]map[string]bool{"DOC-1.2": {"A1": false}, "SITE-1": {"A1": true, "A2": false}}, nil},
		"one green": {map[plan.TaskID]map[string]bool{"DOC-1.2": {"A1": true}, "SITE-1": {"A1": true, "A2": false}},
			[]plan.TaskID{"DOC-1.2"}},
		"not run": {nil, []plan.TaskID{"DOC-1.2", "SITE-1"}},
	} {
		var got []plan.TaskID
		for _, f := range p.GreenBeforeWork(tt.passed) {
			got = append(got, f.TaskID)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCommandLines(t *testing.T) {
	p, err := Parse("p.yaml", []byte(small))
	if err != nil {
		t.Fatal(err)
	}
	want := []CommandLine{
		{Line: "make numbers", TaskID: "IMPL-1", Path: "tasks[1].run"},
		{Line: "test -s numbers.csv", TaskID: "IMPL-1", Path: "tasks[1].acceptance_criteria[0].run"},
		{Line: "test -s part.md", TaskID: "IMPL-2.1", Path: "tasks[4].acceptance_criteria[0].run"},
		{Line: "test -s report.md", TaskID: "IMPL-3", Path: "tasks[6].acceptance_criteria[0].run"},
	}
	if diff := cmp.Diff(want, CommandLines(p)); diff != "" {
		t.Error(diff)
	}
}
