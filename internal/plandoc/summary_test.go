package plandoc

import (
	"gitwf/internal/plan"
	"strings"
	"testing"
)

func TestSummaryText(t *testing.T) {
	task := &plan.Task{TaskID: "IMPL-1", Title: "Sign\ntokens",
		FlowControl: map[string]any{"target_files": []any{"src/auth.ts:sign:1-9"}}}
	full := Summary{
		Artifact: plan.Artifact{
			ArtifactID: "v2", Agent: "claude", CreatedAt: noon, Summary: "Signed them.\n## Tests\nAll pass.",
			Inputs: []plan.Input{{TaskID: "IMPL-0", ArtifactID: "v1"}},
			Files:  []plan.FileInfo{{Path: "auth.ts", Size: 12}},
		},
		Review: &plan.Review{
			Reviewer: "ann", Score: 92, Reason: "Good.",
			Criteria: []plan.CriterionResult{{ID: "A1", Statement: "It signs.", Result: plan.ResultPass, By: "checks",
				Evidence: "ok\x1b[31m\n3 tests"}, {ID: "A2", Result: plan.ResultWaived}},
			Suggestions: []plan.Suggestion{{Priority: "LOW", Text: "Rotate the key."}},
		},
	}
	many := Summary{Artifact: plan.Artifact{ArtifactID: "v1", Agent: "x", Files: make([]plan.FileInfo, 60),
		Summary: strings.Repeat("é", 5000)}}
	for _, tt := range []struct {
		name  string
		s     Summary
		users []plan.TaskID
		want  []string
		not   []string
	}{
		{"whole", full, []plan.TaskID{"IMPL-2"}, []string{
			"# IMPL-1 v2: Sign tokens\n", "\n## What was done\n\nSigned them.\n\\## Tests\nAll pass.\n", "By claude, ",
			", from IMPL-0 v1.\n",
			"\n## Files\n\n- `auth.ts`, 12 bytes\n",
			"\n## Integration points\n\n- `src/auth.ts:sign:1-9`\n- IMPL-2 builds on it\n",
			"\n## Tests\n\nApproved by ann, score 92. Good.\n- A1 pass: It signs. (checks: ok\uFFFD[31m 3 tests)\n",
			"\n## Notes for later tasks\n\n- A2 does not hold: it was waived\n- Rotate the key. (LOW)\n",
		}, []string{"\x1b"}},
		{"pruned", Summary{Artifact: plan.Artifact{ArtifactID: "v1"}}, nil, []string{"# IMPL-1 v1: ", "What it held was pruned."},
			[]string{"## Files", "## Tests", "## Notes"}},
		{"a lot", many, nil, []string{"- 10 more\n", "é ...\n"}, []string{strings.Repeat("é", 2001)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.s.Text(task, tt.users)
			for _, w := range tt.want {
				if !strings.Contains(got, w) {
					t.Errorf("lacks %q:\n%s", w, got)
				}
			}
			for _, w := range tt.not {
				if strings.Contains(got, w) {
					t.Errorf("has %q:\n%s", w, got)
				}
			}
		})
	}
}

func TestDependents(t *testing.T) {
	p := &plan.Plan{RootTaskID: "GOAL-1", Tasks: []*plan.Task{
		{TaskID: "GOAL-1", NodeType: plan.Goal},
		{TaskID: "GOAL-2", NodeType: plan.Goal, ParentTaskID: "GOAL-1"},
		{TaskID: "IMPL-1", NodeType: plan.Action, ParentTaskID: "GOAL-2"},
		{TaskID: "IMPL-2", NodeType: plan.Action, ParentTaskID: "GOAL-1", DependsOn: []plan.TaskID{"GOAL-2", "IMPL-1"}},
		{TaskID: "IMPL-3", NodeType: plan.Action, ParentTaskID: "GOAL-1", DependsOn: []plan.TaskID{"GOAL-2"}},
	}}
	s := plan.Derive(p, plan.Records{}, nil, noon)
	for id, want := range map[plan.TaskID]string{"IMPL-1": "IMPL-2 IMPL-3", "IMPL-2": "", "GOAL-2": "IMPL-2 IMPL-3"} {
		var got []string
		for _, u := range s.Dependents(id) {
			got = append(got, string(u))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", id, got, want)
		}
	}
}
