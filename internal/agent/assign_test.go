package agent

import (
	"os"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

// The table that comes with the program, and what a user may change.
func TestAssignment(t *testing.T) {
	data, err := os.ReadFile("../../templates/assign.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ParseAssignment(AssignFile, data)
	if err != nil {
		t.Fatal(err)
	}
	action := func(kind, title string) *plan.Task {
		task := &plan.Task{NodeType: plan.Action, Title: title}
		if kind != "" {
			task.Meta = map[string]any{"type": kind}
		}
		return task
	}
	tests := []struct {
		name string
		task *plan.Task
		want string
	}{
		{"planning", action("", "Plan the migration"), "planning-agent"},
		{"planning, though a feature", action("feature", "Design the login"), "planning-agent"},
		{"implementation", action("", "Implement JWT authentication"), "code-developer"},
		{"the first word decides", action("", "Implement test helpers"), "code-developer"},
		{"by type alone", action("bugfix", "Login after midnight"), "code-developer"},
		{"testing by type", action("test", "Implement the login's cases"), "code-review-test-agent"},
		{"testing by word", action("feature", "Login: testing"), "code-review-test-agent"},
		{"review", action("", "Review the error messages"), "review-agent"},
		{"Chinese", action("", "登录模块评审"), "review-agent"},
		{"inside a word", action("", "The latest"), ""},
		{"nothing fits", action("", "Logo"), ""},
		{"a check", &plan.Task{NodeType: plan.Check, Title: "Implement"}, "review-agent"},
		{"a goal", &plan.Task{NodeType: plan.Goal, Title: "Implement"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := table.Of(tt.task, func(string) bool { return true }); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if got := table.Of(tt.task, func(string) bool { return false }); got != "" {
				t.Errorf("got %q although nobody is set up", got)
			}
		})
	}
	without := func(name string) bool { return name != "planning-agent" }
	if got := table.Of(action("feature", "Design the login"), without); got != "code-developer" {
		t.Errorf("a rule whose agent is not set up: got %q", got)
	}
}

func TestAssignmentErrors(t *testing.T) {
	tests := []struct{ name, file, want string }{
		{"nothing", "", ""},
		{"unknown key", "rules: [{agent: a, word: [x]}]", "own.yaml:1: field word not found"},
		{"no agent", "rules: [{words: [x]}]", "own.yaml: rules[0].agent: expected the name"},
		{"fits nothing", "rules: [{agent: a}]", "own.yaml: rules[0]: fits no task"},
		{"empty word", "rules: [{agent: a, words: ['']}]", "own.yaml: rules[0].words[0]: is empty"},
		{"too long", strings.Repeat("#", 2<<20), "own.yaml: 2097152 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseAssignment("own.yaml", []byte(tt.file))
			if got := ""; err != nil {
				got = err.Error()
				if tt.want == "" || !strings.Contains(got, tt.want) {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			} else if tt.want != "" {
				t.Errorf("no error, want %q", tt.want)
			}
		})
	}
}
