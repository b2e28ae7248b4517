package plandoc

import (
	"errors"
	"fmt"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// strictPlan is a plan in which every rule of the task document is kept; tables break it in one place at a time.
const strictPlan = `title: Login
config: {task_document: strict}
tasks:
  - task_id: IMPL-1
    title: Tokens
    meta: {type: feature, agent: code-developer}
    context:
      requirements: [JWT]
      shared_context: {auth_strategy: JWT with refresh tokens}
      inherited: {context: [The design is done]}
    tasks:
      - task_id: IMPL-1.1
        title: Keys
        estimated_person_days: 1
        deliverable_spec: {format: change, paths: [docs/keys.md]}
        acceptance_criteria: [{id: A1, statement: It is there, run: test -s keys.md}]
        meta: {type: docs}
        context: {requirements: [Keys], focus_paths: [docs], acceptance: [They rotate]}
        flow_control: {pre_analysis: [], implementation_approach: {task_description: Write it down}}
      - task_id: IMPL-1.2
        title: Implement tokens
        estimated_person_days: 1
        deliverable_spec: {filename: tokens.md}
        acceptance_criteria: [{id: A1, statement: It is there, run: test -s tokens.md}]
        meta: {type: feature, agent: code-developer, priority: P0}
        context:
          requirements: [JWT authentication, OAuth2 support]
          focus_paths: [src/auth, tests/auth, config/auth.json]
          acceptance: [JWT validation works]
          parent: IMPL-1
          depends_on: [IMPL-1.1]
          inherited: {from: IMPL-1, context: [Keys rotate]}
          own: {anything: [1, 2.5, null]}
        flow_control:
          pre_analysis:
            - {step: load, action: Read the summaries, command: "bash(cat .workflow/WFS-[session-id]/.summaries/IMPL-1.1-summary.md)", output_to: dependency_context, on_error: skip_optional}
            - {step: find, action: Search, command: "bash(rg '[shared_context.auth_strategy]' [focus_paths] | head -10)", output_to: found, on_error: retry_once, timeout_seconds: 60}
            - {step: think, action: Understand, command: 'gemini-wrapper -p "Analyze: [dependency_context]"', on_error: manual_intervention}
          implementation_approach:
            task_description: Reference [inherited.context] from [parent]. Apply [shared_context.auth_strategy].
            modification_points: ["Add generation (src/auth/login.ts:handleLogin:75-120) following [found]"]
            logic_flow: ["login → token using [found]", "a[1] and [x] are no references"]
          target_files: ["src/auth/login.ts:handleLogin:75-120", "src/middleware/auth.ts:validateToken", README.md]
`

func TestStrictPlanIsValid(t *testing.T) {
	p, err := ParseValid("p.yaml", []byte(strictPlan), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	tokens := p.Task("IMPL-1.2")
	if tokens.ParentTaskID != "IMPL-1" || fmt.Sprint(tokens.DependsOn) != "[IMPL-1.1]" {
		t.Errorf("context does not stand for parent and depends_on: %s, %v", tokens.ParentTaskID, tokens.DependsOn)
	}
	if got := fmt.Sprint(tokens.Context["own"]); got != "map[anything:[1 2.5 <nil>]]" {
		t.Errorf("unknown keys became %s", got)
	}
	data, err := Encode(p)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, again); diff != "" {
		t.Error(diff)
	}
}

func TestDocumentRules(t *testing.T) {
	const second = "tasks[0].tasks[1]"
	tests := []struct{ name, old, new, code, want string }{
		{"type", "type: feature, agent: code-developer, priority", "type: bugfx, agent: code-developer, priority",
			"bad-value", second +
				`.meta.type: IMPL-1.2: has a value that is not allowed (expected one of feature, bugfix, refactor, test, docs; found "bugfx"; for example type: bugfix)`},
		{"agent", "agent: code-developer, priority", "agent: [x], priority", "wrong-type", second +
			".meta.agent: IMPL-1.2: is of the wrong type (expected string"},
		{"no requirements", "requirements: [JWT authentication, OAuth2 support]", "x: y", "missing-field", second +
			".context.requirements: IMPL-1.2: is missing"},
		{"requirements are no texts", "requirements: [JWT authentication, OAuth2 support]", "requirements: [1]", "wrong-type",
			second + ".context.requirements[0]: IMPL-1.2: is of the wrong type (expected string"},
		{"empty acceptance", "acceptance: [JWT validation works]", "acceptance: ['']", "bad-value", second +
			".context.acceptance[0]: IMPL-1.2: is empty"},
		{"wildcard", "[src/auth, tests/auth", "[src/auth/*.ts, tests/auth", "focus-path", second +
			`.context.focus_paths[0]: IMPL-1.2: must not have wildcards (expected the path of a file or a directory; found "src/auth/*.ts"; for example focus_paths: [src/auth])`},
		{"absolute", "[src/auth, tests/auth", "[/src/auth, tests/auth", "focus-path",
			`must be relative, without a leading slash (expected a path from the root of the repository; found "/src/auth"; for example focus_paths: [src/auth])`},
		{"dot", "[src/auth, tests/auth", "[./src/auth, tests/auth", "focus-path", "must be clean"},
		{"trailing slash", "[src/auth, tests/auth", "[src/auth/, tests/auth", "focus-path", "must not end in a slash"},
		{"outside", "[src/auth, tests/auth", "[../x, tests/auth", "focus-path", "must be clean"},
		{"git's", "[src/auth, tests/auth", "[.GIT/config, tests/auth", "focus-path", "must be clean"},
		{"like an option", "[src/auth, tests/auth", "[--pre=x, tests/auth", "focus-path", "begins with a hyphen"},
		{"another parent", "parent: IMPL-1\n", "parent: IMPL-1.1\n", "context-parent", second +
			".context.parent: IMPL-1.2: is another task than the parent (expected IMPL-1, as parent_task_id; found IMPL-1.1"},
		{"unknown parent", "parent: IMPL-1\n", "parent: IMPL-9\n", "unknown-parent", second +
			".context.parent: IMPL-1.2: names a task that does not exist"},
		{"itself", "parent: IMPL-1\n", "parent: IMPL-1.2\n", "context-parent", second +
			".context.parent: IMPL-1.2: is another task than the parent"},
		{"unknown dependency", "depends_on: [IMPL-1.1]\n", "depends_on: [IMPL-1.3]\n", "unknown-dependency",
			`names a task that does not exist (expected the id of a task of this plan; found "IMPL-1.3"`},
		{"inherited from nowhere", "from: IMPL-1,", "from: IMPL-5,", "inherited-from", second +
			".context.inherited.from: IMPL-1.2: names a task that does not exist"},
		{"inherited from aside", "from: IMPL-1,", "from: IMPL-1.1,", "inherited-from", second +
			".context.inherited.from: IMPL-1.2: is no task above this one"},
		{"shared context", "shared_context: {auth_strategy: JWT with refresh tokens}", "shared_context: [x]", "wrong-type",
			"tasks[0].context.shared_context: IMPL-1: is of the wrong type"},
		{"no such shared context", "Apply [shared_context.auth_strategy]", "Apply [shared_context.auth_strateg]",
			"unresolved-reference", second +
				".flow_control.implementation_approach.task_description: IMPL-1.2: [shared_context.auth_strateg] stands for nothing"},
		{"no such output in a text", "following [found]", "following [old_results]", "unresolved-reference",
			".flow_control.implementation_approach.modification_points[0]: IMPL-1.2: [old_results] is no output"},
		{"no steps", "pre_analysis: []", "pre_analysis: {}", "wrong-type",
			"tasks[0].tasks[0].flow_control.pre_analysis: IMPL-1.1: is of the wrong type (expected null or array"},
		{"a step without action", "action: Search, ", "", "missing-field", second +
			".flow_control.pre_analysis[1].action: IMPL-1.2: is missing (for example action: "},
		{"a step without command", `, command: 'gemini-wrapper -p "Analyze: [dependency_context]"'`, "", "missing-field",
			"pre_analysis[2].command: IMPL-1.2: is missing (expected command, or commands"},
		{"a step that is a text", "- {step: find, ", "- look\n            - {step: find, ", "wrong-type",
			"pre_analysis[1]: IMPL-1.2: is of the wrong type (expected object; found string"},
		{"on_error", "on_error: retry_once", "on_error: retry", "bad-value",
			`pre_analysis[1].on_error: IMPL-1.2: has a value that is not allowed (expected one of skip_optional, fail, retry_once, manual_intervention; found "retry"; for example on_error: "fail"`},
		{"the same step", "step: find", "step: load", "duplicate-step",
			`pre_analysis[1].step: IMPL-1.2: two steps have the same name`},
		{"the same output", "output_to: found", "output_to: Dependency_Context", "duplicate-output",
			"two steps have the same output_to"},
		{"output_to", "output_to: found", "output_to: what was found", "bad-value", "does not have the right form"},
		{"output_to of a property", "output_to: found", "output_to: parent", "output-to", "is a property of tasks"},
		{"timeout", "timeout_seconds: 60", "timeout_seconds: 0", "bad-value",
			"pre_analysis[1].timeout_seconds: IMPL-1.2: is too small"},
		{"a later output", "summaries/IMPL-1.1-summary.md", "summaries/x [found]", "later-output",
			"pre_analysis[0].command: IMPL-1.2: [found] is the output of this step or of a later one"},
		{"its own output", "summaries/IMPL-1.1-summary.md", "summaries/x [dependency_context]", "later-output",
			"[dependency_context] is the output of this step"},
		{"a misspelt output", "Analyze: [dependency_context]", "Analyze: [dependency_contxt]", "unresolved-reference",
			"[dependency_contxt] is no output of an earlier step and no property of the task (expected the output_to of an earlier step, or a property such as [focus_paths]; found [dependency_contxt]; for example [dependency_context])"},
		{"an output as a program", "gemini-wrapper -p", "bash -c", "unsafe-reference",
			"[dependency_context] is given to bash, which would take it for a program (expected an argument of a program that takes it for text; or the variable WF_VAR_dependency_context of the environment"},
		{"no approach", "implementation_approach: {task_description: Write it down}", "x: y", "missing-field",
			"tasks[0].tasks[0].flow_control.implementation_approach: IMPL-1.1: is missing (for example implementation_approach: "},
		{"approach is a list", "implementation_approach: {task_description: Write it down}", "implementation_approach: [x]",
			"wrong-type", "implementation_approach: IMPL-1.1: is of the wrong type"},
		{"target file", `"src/middleware/auth.ts:validateToken"`, `"../auth.ts:validateToken"`, "target-file",
			"target_files[1]: IMPL-1.2: the file: must not contain . or .."},
		{"target lines", "handleLogin:75-120\", ", "handleLogin:120-75\", ", "target-file",
			"target_files[0]: IMPL-1.2: the lines are no range"},
		{"levels", "task_id: IMPL-1.1\n", "task_id: IMPL-1.1.1\n", "id-levels",
			"tasks[0].tasks[0].task_id: IMPL-1.1.1: the id has too many levels (expected at most 2 (config.max_id_levels); found 3, IMPL-1.1.1; for example task_id: IMPL-1.1)"},
		{"an id of its own", "task_id: IMPL-1.1\n", "task_id: FOO-1\n", "id-form", "tasks[0].tasks[0].task_id: FOO-1: is no id of the specification"},
		{"a subtask without its task", "task_id: IMPL-1.1\n", "task_id: IMPL-2.1\n", "id-parent",
			"parent_task_id: IMPL-2.1: the id is that of a subtask of IMPL-2 (expected IMPL-2; found \"IMPL-1\"; for example parent_task_id: IMPL-2)"},
		{"an unknown agent", "agent: code-developer, priority", "agent: somebody, priority", "bad-value",
			"meta.agent: IMPL-1.2: has a value that is not allowed (expected one of code-developer, planning-agent, code-review-test-agent, review-agent; found \"somebody\""},
		{"mode", "task_document: strict", "task_document: lax", "bad-value",
			"config.task_document: has a value that is not allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(strictPlan, tt.old) {
				t.Fatalf("the plan has no %q", tt.old)
			}
			_, err := ParseValid("p.yaml", []byte(strings.Replace(strictPlan, tt.old, tt.new, 1)), policy.Floors{})
			var fs plan.Findings
			if !errors.As(err, &fs) || !fs.Has(tt.code) || !strings.Contains(fs.Error(), tt.want) {
				t.Errorf("got\n%v\nwant %s: %s", err, tt.code, tt.want)
			}
		})
	}
}

// What other systems write is no error where the program does not act on it; what it acts on is checked all the same.
func TestFreeDocument(t *testing.T) {
	planWith := func(sections string) string { return more("IMPL-4", specX+", "+sections) }
	tests := []struct{ name, yaml, code string }{
		{"free text", planWith("context: {focus_paths: ['./src/**', 'D:\\x'], requirements: none, parent: the boss}, meta: {type: chore}"), ""},
		{"steps as texts", planWith("flow_control: {pre_analysis: [step 1, step 2], implementation_approach: [{step: 1}], target_files: x}"), ""},
		{"a step without action",
			planWith("flow_control: {pre_analysis: [{step: a, commands: ['bash(ls)', 'Read(x)', 'Extract(y)']}]}"), ""},
		{"letters in brackets", planWith("flow_control: {pre_analysis: [{step: a, command: 'ls [patterns] *.[ch]'}]}"), ""},
		{"imported", planWith("meta: {imported: {from: ccw}}, context: {parent: IMPL-9, depends_on: [IMPL-8]}"), ""},
		{"an unknown dependency", planWith("context: {depends_on: [IMPL-8]}, depends_on: [IMPL-1]"), "unknown-dependency"},
		{"another way to fail", planWith("flow_control: {pre_analysis: [{step: a, command: ls, on_error: warn}]}"), "bad-value"},
		{"a number as a command", planWith("flow_control: {pre_analysis: [{step: a, command: 7}]}"), "wrong-type"},
		{"a number as a step", planWith("flow_control: {pre_analysis: [7]}"), "wrong-type"},
		{"no list", planWith("flow_control: {pre_analysis: rg}"), "wrong-type"},
		{"too many steps", planWith("flow_control: {pre_analysis: [" + strings.Repeat("x, ", 101) + "]}"), "bad-value"},
		{"levels", "config: {max_id_levels: 1}\n" + small, "id-levels"},
		{"enough levels", "config: {max_id_levels: 2}\n" + small, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseValid("p.yaml", []byte(strings.Replace(tt.yaml, "{mode: ASSEMBLE, assemble_task_id: IMPL-3}",
				"{mode: PASS_THROUGH}", 1)), policy.Floors{})
			var fs plan.Findings
			if tt.code == "" && err != nil || tt.code != "" && (!errors.As(err, &fs) || !fs.Has(tt.code)) {
				t.Errorf("got %v, want %q", err, tt.code)
			}
		})
	}
}

func TestEffective(t *testing.T) {
	p, err := ParseValid("p.yaml", []byte(strictPlan), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	task := p.Task("IMPL-1.2")
	s := plan.Derive(p, plan.Records{}, nil, noon)
	e := WithInherited(s, task)
	want := map[string]any{"from": "IMPL-1", "context": []any{"The design is done", "Keys rotate"}}
	if diff := cmp.Diff(want, e.Context["inherited"]); diff != "" {
		t.Error(diff)
	}
	if got := fmt.Sprint(e.Context["shared_context"]); got != "map[auth_strategy:JWT with refresh tokens]" {
		t.Errorf("shared_context %s", got)
	}
	if task.Context["shared_context"] != nil || len(task.Context["inherited"].(map[string]any)["context"].([]any)) != 1 {
		t.Error("the plan itself was changed")
	}
	p.Task("IMPL-1.1").Context["shared_context"] = map[string]any{"auth_strategy": "none", "x": "y"}
	if got := fmt.Sprint(WithInherited(s, p.Task("IMPL-1.1")).Context["shared_context"]); got != "map[auth_strategy:none x:y]" {
		t.Errorf("the nearest does not win: %s", got)
	}
	if got := fmt.Sprint(WithInherited(s, p.Task("IMPL-1.1")).Context["inherited"]); got != "map[context:[The design is done] from:IMPL-1]" {
		t.Errorf("inherited %s", got)
	}
	alone := &plan.Task{TaskID: "A-1", ParentTaskID: "A-1", Context: map[string]any{"x": 1}}
	if WithInherited(plan.Derive(&plan.Plan{Tasks: []*plan.Task{alone}}, plan.Records{}, nil, noon), alone) != alone {
		t.Error("a task that inherits nothing, or is its own parent, is itself")
	}
}

func TestMissingPaths(t *testing.T) {
	p, err := ParseValid("p.yaml", []byte(strictPlan), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	missing := MissingPaths(p, func(path string) bool {
		return strings.HasPrefix(path, "src") || path == "config/auth.json"
	})
	if len(missing) != 1 || !strings.Contains(missing.Error(),
		`context.focus_paths[1]: IMPL-1.2: is not in the repository`) {
		t.Errorf("got %v", missing)
	}
	p.Task("IMPL-1.2").Context["focus_paths"] = []any{"docs", "docs/keys.md", "docs/other.md"}
	if missing := MissingPaths(p, func(string) bool {
		return false
	}); len(missing) != 1 || !strings.Contains(missing[0].Path, "focus_paths[2]") {
		t.Errorf("what a dependency lands: got %v", missing)
	}
	p.Config.TaskDocument = ""
	if missing := MissingPaths(p, func(string) bool { return false }); missing != nil {
		t.Errorf("a plan that is not strict: %v", missing)
	}
}

func TestPreparationLines(t *testing.T) {
	p, err := ParseValid("p.yaml", []byte(strictPlan), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range CommandLines(p) {
		if l.TaskID == "IMPL-1.2" {
			got = append(got, l.Path[strings.IndexByte(l.Path, '.')+1:]+" "+l.Line)
		}
	}
	want := []string{
		"flow_control.pre_analysis[0].command cat .workflow/WFS-[session-id]/.summaries/IMPL-1.1-summary.md",
		"flow_control.pre_analysis[1].command rg '[shared_context.auth_strategy]' [focus_paths] | head -10",
		`flow_control.pre_analysis[2].command gemini-wrapper -p "Analyze: [dependency_context]"`,
		"acceptance_criteria[0].run test -s tokens.md",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The plan of sections that docs/tasks.md shows is one.
func TestTasksDocument(t *testing.T) {
	text, err := os.ReadFile("../../examples/sections.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseValid("sections.yaml", text, policy.Floors{}); err != nil {
		t.Error(err)
	}
}

func TestSameFocus(t *testing.T) {
	tests := []struct {
		name string
		a, b []any
		want bool
	}{
		{"none", nil, nil, false},
		{"one names none", []any{"src"}, nil, false},
		{"the same file", []any{"src/a.go"}, []any{"src/a.go"}, true},
		{"another file", []any{"src/a.go"}, []any{"src/b.go"}, false},
		{"a directory and a file below it", []any{"src"}, []any{"src/a.go"}, true},
		{"a file and the directory above it", []any{"src/x/a.go"}, []any{"src/"}, true},
		{"a name that begins alike", []any{"src"}, []any{"srcs/a.go"}, false},
		{"one of several", []any{"doc", "src"}, []any{"test", "src/a.go"}, true},
		{"spelt otherwise", []any{"./src//a.go"}, []any{"SRC/A.go"}, true},
		{"a backslash", []any{`src\a.go`}, []any{"src/a.go"}, true},
		{"the whole repository", []any{"."}, []any{"src/a.go"}, true},
		{"up and away", []any{"../.."}, []any{"src/a.go"}, true},
		{"a pattern", []any{"src/**/*.go"}, []any{"src/a.go"}, true},
		{"a pattern elsewhere", []any{"doc/*.md"}, []any{"src/a.go"}, false},
		{"a pattern for everything", []any{"*.go"}, []any{"src/a.go"}, true},
		{"what is no path", []any{1.5, map[string]any{}, " "}, []any{"src"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := &plan.Task{Context: map[string]any{"focus_paths": tt.a}}
			b := &plan.Task{Context: map[string]any{"focus_paths": tt.b}}
			if SameFocus(a, b) != tt.want || SameFocus(b, a) != tt.want {
				t.Errorf("%v and %v: want %v", tt.a, tt.b, tt.want)
			}
		})
	}
	if got := FocusPaths(&plan.Task{Context: map[string]any{"focus_paths": "src"}}); got != nil {
		t.Errorf("a text is taken for a list: %q", got)
	}
}

func TestWithApproach(t *testing.T) {
	p, err := ParseValid("p.yaml", []byte(strictPlan), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	task := p.Task("IMPL-1.2")
	whole := WithApproach(WithInherited(plan.Derive(p, plan.Records{}, nil, noon), task), p.PlanID)
	want := map[string]any{
		"task_description":    "Reference The design is done, Keys rotate from IMPL-1. Apply JWT with refresh tokens.",
		"modification_points": []any{"Add generation (src/auth/login.ts:handleLogin:75-120) following [found]"},
		"logic_flow":          []any{"login → token using [found]", "a[1] and [x] are no references"},
	}
	if diff := cmp.Diff(want, whole.FlowControl["implementation_approach"]); diff != "" {
		t.Error(diff)
	}
	if again := fmt.Sprint(task.FlowControl["implementation_approach"]); !strings.Contains(again, "[inherited.context]") {
		t.Errorf("the plan itself was changed: %s", again)
	}
}
