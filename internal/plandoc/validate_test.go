package plandoc

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/schema"
)

// small is a plan in which everything is right; the table below breaks it in one place at a time.
const small = `title: Report
root_acceptance_criteria:
  - {id: R1, statement: The report has numbers}
final_deliverable_spec: {mode: ASSEMBLE, assemble_task_id: IMPL-3}
tasks:
  - task_id: IMPL-1
    title: Numbers
    estimated_person_days: 1
    run: make numbers
    deliverable_spec: {format: csv, filename: numbers.csv}
    acceptance_criteria: [{id: A1, statement: numbers.csv has 3 rows, run: test -s numbers.csv}]
    covers: [R1]
  - task_id: IMPL-2
    title: Prose
    tasks:
      - task_id: IMPL-2.1
        title: First part
        estimated_person_days: 1
        deliverable_spec: {format: md, filename: part.md}
        acceptance_criteria: [{id: A1, statement: part.md is there, run: test -s part.md}]
  - task_id: IMPL-3
    title: Whole
    estimated_person_days: 1
    depends_on: [IMPL-1, IMPL-2]
    deliverable_spec: {format: md, filename: report.md}
    acceptance_criteria: [{id: A1, statement: report.md is there, run: test -s report.md}]
`

func TestSmallIsValid(t *testing.T) {
	if _, err := ParseValid("p.yaml", []byte(small), policy.Floors{}); err != nil {
		t.Fatal(err)
	}
}

// A plan that was approved before a rule stays one.
func TestObsoleteIsValid(t *testing.T) {
	for _, old := range []string{
		strings.Replace(small, "mode: ASSEMBLE,", "mode: ASSEMBLE, include_children: [IMPL-1],", 1),
		strings.Replace(small, "run: make numbers", "requires: [{name: way, kind: choice}]", 1),
	} {
		p, err := ParseFrom("p.yaml", []byte(old), policy.Floors{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if fs := Validate(p, policy.Floors{}); len(fs) > 0 || p.SchemaVersion != 1 {
			t.Error(p.SchemaVersion, fs)
		}
		if _, err := ParseValid("p.yaml", []byte(old), policy.Floors{}); err == nil {
			t.Error("it can be written")
		}
	}
}

// more is a further ACTION, for rules that need one; the fields are appended.
func more(id, fields string) string {
	return small + fmt.Sprintf("  - {task_id: %s, title: More, estimated_person_days: 1, %s,\n"+
		"     acceptance_criteria: [{id: A1, statement: x.md is there, run: test -s x.md}]}\n", id, fields)
}

const specX = "deliverable_spec: {format: md, filename: x.md}"

func TestRules(t *testing.T) {
	replace := func(old, new string) string {
		if !strings.Contains(small, old) {
			t.Fatalf("small has no %q", old)
		}
		return strings.Replace(small, old, new, 1)
	}
	pass := replace("{mode: ASSEMBLE, assemble_task_id: IMPL-3}", "{mode: PASS_THROUGH}")
	onPass := func(yaml string) string {
		return strings.Replace(yaml, "{mode: ASSEMBLE, assemble_task_id: IMPL-3}", "{mode: PASS_THROUGH}", 1)
	}
	check := func(id, target, fields string) string {
		return fmt.Sprintf("  - {task_id: %s, node_type: CHECK, title: Check, review_target_task_id: %s%s}\n", id, target,
			fields)
	}
	tests := []struct {
		name, code, yaml string
		floors           policy.Floors
		want             string // the whole line, after the file's name
	}{
		{name: "duplicate id", code: "duplicate-id", yaml: replace("task_id: IMPL-2\n", "task_id: IMPL-1\n"),
			want: `13: tasks[1].task_id: IMPL-1: the id belongs to another task already (expected an id of its own; found IMPL-1, also "Numbers"; for example task_id: IMPL-1.2)`},
		{name: "asks a role that there is not", code: "unknown-role",
			yaml: more("IMPL-4", "covers: [R1], consults: {roles: [boss], max: 3}, "+specX),
			want: `tasks[3].consults.roles[0]: IMPL-4: names a role that the plan does not have`},
		{name: "asks its own role", code: "bad-value", yaml: "roles: {dev: {text: You make it.}}\n" +
			more("IMPL-4", "covers: [R1], role: dev, consults: {roles: [dev], max: 3}, "+specX),
			want: `tasks[3].consults.roles[0]: IMPL-4: the task would ask its own role`},
		{name: "asks for ever", code: "bad-value",
			yaml: more("IMPL-4", "covers: [R1], consults: {roles: [boss], max: 21}, "+specX),
			want: `tasks[3].consults.max`},
		{name: "decides and asks", code: "acts", yaml: "roles: {dev: {text: You make it.}, boss: {text: You decide.}}\n" +
			more("IMPL-4", "covers: [R1], consults: {roles: [dev], max: 3}, decides: {orders: [dev], max: 9}, "+
				"deliverable_spec: {format: decision, filename: decision.json}"),
			want: `tasks[3].consults: IMPL-4: a task that decides, or makes a plan, asks a person`},
		{name: "bad id", code: "bad-value", yaml: replace("task_id: IMPL-1\n", "task_id: impl-1\n"),
			want: `6: tasks[0].task_id: does not have the right form`},
		{name: "missing parent", code: "unknown-parent", yaml: more("IMPL-4", "parent_task_id: IMPL-9, covers: [R1], "+specX),
			want: `tasks[3].parent_task_id: IMPL-4: names a task that does not exist (expected the id of a GOAL of this plan; found "IMPL-9"; for example parent_task_id: IMPL-`},
		{name: "parent is an action", code: "parent-not-goal", yaml: onPass(more("IMPL-4", "parent_task_id: IMPL-1, "+specX)),
			want: `tasks[3].parent_task_id: IMPL-4: only a GOAL can have children (expected the id of a GOAL; found IMPL-1, which is of type ACTION`},
		{name: "parents in a circle", code: "cycle", yaml: small +
			"  - {task_id: G-1, node_type: GOAL, title: A, parent_task_id: G-2}\n  - {task_id: G-2, node_type: GOAL, title: B, parent_task_id: G-1}\n",
			want: `27: tasks[3].parent_task_id: G-1: the parents go round in a circle (expected a way up to GOAL-1; found G-1 -> G-2 -> G-1`},
		{name: "cycle", code: "cycle", yaml: replace("run: make numbers", "depends_on: [IMPL-3]"),
			want: `tasks[0].depends_on: IMPL-1: the tasks wait for each other in a circle (expected an order in which they can be done; found IMPL-1 -> IMPL-3 -> IMPL-1; `},
		{name: "cycle through a goal", code: "cycle", yaml: replace("title: First part",
			"title: First part\n        depends_on: [IMPL-3]"),
			want: `found IMPL-2.1 -> IMPL-3 -> IMPL-2 -> IMPL-2.1`},
		{name: "depends on its own goal", code: "depends-on-ancestor",
			yaml: replace("title: First part", "title: First part\n        depends_on: [IMPL-2]"),
			want: `18: tasks[1].tasks[0].depends_on[0]: IMPL-2.1: a task can't wait for the GOAL that waits for it (expected a task outside of its own GOALs; found IMPL-2.1 -> IMPL-2 -> IMPL-2.1)`},
		{name: "depends on itself", code: "self-dependency", yaml: replace("run: make numbers", "depends_on: [IMPL-1]"),
			want: `tasks[0].depends_on[0]: IMPL-1: the task depends on itself`},
		{name: "unknown dependency", code: "unknown-dependency", yaml: replace("[IMPL-1, IMPL-2]",
			"[IMPL-1, IMPL-22, IMPL-2]"),
			want: `24: tasks[2].depends_on[1]: IMPL-3: names a task that does not exist (expected the id of a task of this plan; found "IMPL-22"; for example depends_on: [IMPL-2])`},
		{name: "dependency twice", code: "duplicate-dependency", yaml: replace("[IMPL-1, IMPL-2]",
			"[IMPL-1, IMPL-2, IMPL-1]"), want: `tasks[2].depends_on[2]: IMPL-3: is listed twice`},
		{name: "depends on a check", code: "depends-on-check", yaml: replace("[IMPL-1, IMPL-2]",
			"[IMPL-1, IMPL-2, CHECK-IMPL-1]"), want: `tasks[2].depends_on[2]: IMPL-3: names a CHECK`},
		{name: "check depends on another", code: "check-dependency", yaml: small +
			check("CHECK-IMPL-1", "IMPL-1", ", depends_on: [IMPL-1, IMPL-3]"),
			want: `27: tasks[3].depends_on[1]: CHECK-IMPL-1: a CHECK depends on nothing but its target`},
		{name: "two checks", code: "check-binding", yaml: small + check("CHECK-1", "IMPL-1", "") +
			check("CHECK-2", "IMPL-1", ""),
			want: `28: tasks[4].review_target_task_id: CHECK-2: the ACTION has two CHECKs (expected one CHECK for each ACTION; found IMPL-1 is reviewed by CHECK-1 already`},
		{name: "check of a goal", code: "check-binding", yaml: small + check("CHECK-1", "IMPL-2", ""),
			want: `tasks[3].review_target_task_id: CHECK-1: only an ACTION is reviewed (expected the id of an ACTION; found IMPL-2, which is of type GOAL)`},
		{name: "check of nothing", code: "check-binding", yaml: small + check("CHECK-1", "IMPL-8", ""),
			want: `tasks[3].review_target_task_id: CHECK-1: names a task that does not exist`},
		{name: "check without target", code: "check-binding", yaml: small +
			"  - {task_id: CHECK-1, node_type: CHECK, title: Check}\n",
			want: `tasks[3].review_target_task_id: CHECK-1: the CHECK reviews nothing`},
		{name: "no criteria", code: "no-criteria",
			yaml: replace("    acceptance_criteria: [{id: A1, statement: numbers.csv has 3 rows, run: test -s numbers.csv}]\n",
				""),
			want: `6: tasks[0].acceptance_criteria: IMPL-1: the ACTION does not say what it is judged by (expected one criterion or more; found none; for example acceptance_criteria: [{id: A1,`},
		{name: "no spec", code: "no-spec", yaml: replace("    deliverable_spec: {format: csv, filename: numbers.csv}\n", ""),
			want: `6: tasks[0].deliverable_spec: IMPL-1: the ACTION does not say what it produces`},
		{name: "spec without a file", code: "no-spec", yaml: replace("{format: csv, filename: numbers.csv}", "{format: csv}"),
			want: `10: tasks[0].deliverable_spec.filename: IMPL-1: the deliverable has no file`},
		{name: "spec without a format", code: "no-spec", yaml: replace("{format: csv, filename: numbers.csv}",
			"{filename: Makefile}"), want: `tasks[0].deliverable_spec.format: IMPL-1: the deliverable has no format`},
		{name: "a task that makes plans", code: "makes-plan", yaml: replace("{format: csv, filename: numbers.csv}",
			"{format: plan, filename: plan.yaml}"),
			want: `10: tasks[0].deliverable_spec.format: IMPL-1: only the program makes tasks whose deliverable is a plan (expected another format; found plan; for example format: yaml)`},
		{name: "not single", code: "not-single", yaml: replace("filename: numbers.csv}", "single_file: true, files: [a, b]}"),
			want: `tasks[0].deliverable_spec.single_file: IMPL-1: single_file allows one file only`},
		{name: "exec without run", code: "no-run", yaml: replace("run: make numbers", "agent: exec"),
			want: `tasks[0].run: IMPL-1: the agent exec has nothing to run`},
		{name: "manual with run", code: "check-method", yaml: replace("run: test -s part.md",
			"run: test -s part.md, check_method: manual_review"),
			want: `tasks[1].tasks[0].acceptance_criteria[0].check_method: IMPL-2.1: a criterion with a run line is judged by that line`},
		{name: "uncovered", code: "uncovered-root-criterion", yaml: replace("    covers: [R1]\n", ""),
			want: `3: root_acceptance_criteria[0]: GOAL-1: no task covers it: "The report has numbers" (expected an ACTION or a criterion with covers; found none; for example covers: [R1])`},
		{name: "covers the unknown", code: "unknown-root-criterion", yaml: replace("covers: [R1]", "covers: [R1, R7]"),
			want: `12: tasks[0].covers[1]: IMPL-1: names a root criterion that does not exist (expected one of R1; found "R7")`},
		{name: "escape", code: "bad-path", yaml: replace("filename: numbers.csv", "filename: ../numbers.csv"),
			want: `10: tasks[0].deliverable_spec.filename: IMPL-1: must not contain . or .. as a component (expected a relative path inside the artifact; found "../numbers.csv"; for example filename: report.md)`},
		{name: "absolute", code: "bad-path", yaml: replace("filename: numbers.csv", "filename: /etc/passwd"),
			want: `must be relative, without a leading slash`},
		{name: "git's own", code: "bad-path", yaml: replace("filename: numbers.csv", "filename: .gitmodules"),
			want: `must not use a name that git itself interprets`},
		{name: "git's own by pattern", code: "bad-path", yaml: replace("filename: numbers.csv", "filename: .git*"),
			want: `must not use a name that git itself interprets`},
		{name: "output_dir", code: "bad-path", yaml: replace("filename: numbers.csv", "filename: n.csv, output_dir: a/../b"),
			want: `tasks[0].deliverable_spec.output_dir: IMPL-1: must not contain . or ..`},
		{name: "file twice", code: "same-target", yaml: replace("filename: numbers.csv", "files: [a.csv, A.CSV]"),
			want: `tasks[0].deliverable_spec.files[1]: IMPL-1: the same file is declared twice`},
		{name: "file and directory", code: "same-target", yaml: replace("filename: numbers.csv", "files: [a, a/b]"),
			want: `tasks[0].deliverable_spec: IMPL-1: a file can't be a directory too`},
		{name: "one output path", code: "same-target", yaml: strings.NewReplacer("filename: numbers.csv",
			"filename: a, output_dir: out", "filename: part.md", "filename: A, output_dir: Out").Replace(small),
			want: `19: tasks[1].tasks[0].deliverable_spec.filename: IMPL-2.1: two tasks write the same path (expected a path of its own; found "Out/A", also of IMPL-1`},
		{name: "too deep", code: "depth", yaml: "config: {max_decomposition_depth: 1}\n" + small,
			want: `17: tasks[1].tasks[0].parent_task_id: IMPL-2.1: is too deep below the root (expected at most 1 levels (config.max_decomposition_depth); found level 2`},
		{name: "too many leaves", code: "too-many-leaves", yaml: "config: {max_leaf_tasks: 2}\n" + small,
			want: `1: config.max_leaf_tasks: the plan has too many ACTIONs (expected at most 2; found 3; for example max_leaf_tasks: 3)`},
		{name: "empty goal", code: "empty-goal", yaml: small + "  - {task_id: G-1, node_type: GOAL, title: A}\n",
			want: `tasks[3].node_type: G-1: the GOAL has no ACTION below it`},
		{name: "assemble lacks inputs", code: "assemble-inputs", yaml: replace("depends_on: [IMPL-1, IMPL-2]",
			"depends_on: [IMPL-1]"),
			want: `24: tasks[2].depends_on: IMPL-3: the assembling task must depend on all of its inputs (expected also IMPL-2.1; found 1 of 2 inputs; for example depends_on: [IMPL-1, IMPL-2.1])`},
		{name: "assemble by nobody", code: "bad-final-spec", yaml: replace("assemble_task_id: IMPL-3",
			"assemble_task_id: IMPL-2"),
			want: `4: final_deliverable_spec.assemble_task_id: GOAL-1: ASSEMBLE needs the task that assembles`},
		{name: "assembles a part", code: "bad-final-spec", yaml: replace("mode: ASSEMBLE,",
			"mode: ASSEMBLE, include_children: [IMPL-1],"),
			want: `4: final_deliverable_spec.include_children: GOAL-1: ASSEMBLE delivers what its task makes, and leaves nothing out (expected nothing, or mode PASS_THROUGH; found IMPL-1)`},
		{name: "pass-through assembles", code: "bad-final-spec", yaml: replace("ASSEMBLE", "PASS_THROUGH"),
			want: `final_deliverable_spec.assemble_task_id: GOAL-1: PASS_THROUGH assembles nothing`},
		{name: "includes the unknown", code: "bad-final-spec", yaml: strings.Replace(pass, "PASS_THROUGH}",
			"PASS_THROUGH, include_children: [IMPL-1, IMPL-7]}", 1),
			want: `4: final_deliverable_spec.include_children[1]: GOAL-1: names no deliverable of this plan`},
		{name: "criterion twice", code: "duplicate-criterion", yaml: replace("run: test -s part.md}",
			"run: test -s part.md}, {id: a1, statement: part.md ends}"),
			want: `tasks[1].tasks[0].acceptance_criteria[1].id: IMPL-2.1: two criteria have the same id`},
		{name: "root criterion twice", code: "duplicate-criterion",
			yaml: replace("numbers}\n", "numbers}\n  - {id: R1, statement: again}\n"),
			want: `4: root_acceptance_criteria[1].id: GOAL-1: two criteria have the same id`},
		{name: "action's field at a goal", code: "wrong-field", yaml: replace("title: Prose",
			"title: Prose\n    estimated_person_days: 3"),
			want: `tasks[1].estimated_person_days: IMPL-2: does not belong to tasks of type GOAL`},
		{name: "check's field at an action", code: "wrong-field", yaml: replace("run: make numbers", "min_score: 10"),
			want: `tasks[0].min_score: IMPL-1: does not belong to tasks of type ACTION (expected at a CHECK only`},
		{name: "title in two lines", code: "bad-text", yaml: replace("title: Numbers", `title: "Numbers\nWf-Event: graft"`),
			want: `7: tasks[0].title: IMPL-1: contains a line break, a control character or an invisible one`},
		{name: "input twice", code: "duplicate-input", yaml: replace("run: make numbers",
			"requires: [{name: logo}, {name: logo}]"), want: `tasks[0].requires[1].name: IMPL-1: two inputs have the same name`},
		{name: "options of a text", code: "bad-choice", yaml: replace("run: make numbers",
			"requires: [{name: way, kind: text, options: [small, large]}]"),
			want: `tasks[0].requires[0].options: IMPL-1: only of a choice one option is handed in`},
		{name: "two of a choice", code: "bad-choice", yaml: replace("run: make numbers",
			"requires: [{name: way, kind: choice, count: 2, options: [small, large]}]"),
			want: `tasks[0].requires[0].options: IMPL-1: only of a choice one option is handed in`},
		{name: "a choice of nothing", code: "bad-choice", yaml: replace("run: make numbers",
			"requires: [{name: way, kind: choice}]"),
			want: `tasks[0].requires[0]: IMPL-1: a choice has nothing to choose`},
		{name: "a choice of one", code: "bad-value", yaml: replace("run: make numbers",
			"requires: [{name: way, kind: choice, options: [small]}]"),
			want: `tasks[0].requires[0].options: IMPL-1: has too few items`},
		{name: "an option of two words", code: "bad-value", yaml: replace("run: make numbers",
			"requires: [{name: way, kind: choice, options: [small, very large]}]"),
			want: `tasks[0].requires[0].options[1]: IMPL-1: does not have the right form`},
		{name: "jobs of an action", code: "wrong-field", yaml: replace("run: make numbers", "jobs: 2"),
			want: `tasks[0].jobs: IMPL-1: does not belong to tasks of type ACTION`},
		{name: "quorum out of reach", code: "quorum", yaml: small +
			check("CHECK-1", "IMPL-1", ", quorum: 2, reviewers: [ann]"),
			want: `27: tasks[3].quorum: CHECK-1: can never be reached by these reviewers: only ann can approve (expected at most 1; found 2`},
		{name: "plan id", code: "bad-id", yaml: "plan_id: WFS-Shop\n" + small, want: `1: plan_id: is not a plan id`},
		{name: "score below policy", code: "looser-than-policy", yaml: "config: {min_score: 80}\n" + small,
			floors: policy.Floors{MinScore: 85},
			want:   `1: config.min_score: is looser than the repository's policy (expected at least 85; found 80; for example min_score: 85)`},
		{name: "quorum below policy", code: "looser-than-policy", yaml: small, floors: policy.Floors{Quorum: 2},
			want: `config.quorum: is looser than the repository's policy (expected at least 2; found 1`},
		{name: "check below policy", code: "looser-than-policy", yaml: small + check("CHECK-1", "IMPL-1", ", min_score: 70"),
			floors: policy.Floors{MinScore: 80}, want: `27: tasks[3].min_score: CHECK-1: is looser`},
		{name: "reviewer outside policy", code: "looser-than-policy", yaml: "config: {reviewers: [ann]}\n" + small +
			check("CHECK-1", "IMPL-1", ", reviewers: [bob]"), floors: policy.Floors{Reviewers: []string{"ann"}},
			want: `28: tasks[3].reviewers: CHECK-1: is looser than the repository's policy (expected only ann; found "bob"`},
		{name: "too few MUST", code: "looser-than-policy", yaml: replace("run: test -s numbers.csv}",
			"run: test -s numbers.csv, severity: SHOULD}"), floors: policy.Floors{MustShare: 0.5},
			want: `tasks[0].acceptance_criteria: IMPL-1: has fewer MUST criteria`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := ParseValid("p.yaml", []byte(tt.yaml), tt.floors)
			var fs plan.Findings
			if !errors.As(err, &fs) {
				t.Fatalf("ParseValid gives plan %v and error %v, want findings", p, err)
			}
			for _, f := range fs {
				if f.Code == tt.code && strings.Contains(f.Error(), tt.want) && f.Line > 0 {
					return
				}
			}
			t.Errorf("no finding %s has %q in\n%v", tt.code, tt.want, fs)
		})
	}
}

// Two tasks that merely call their file the same are apart: each has a directory of its own.
func TestSameNameIsNoClash(t *testing.T) {
	yaml := strings.NewReplacer("numbers.csv", "a.md", "part.md", "a.md").Replace(small)
	if _, err := ParseValid("p.yaml", []byte(yaml), policy.Floors{}); err != nil {
		t.Error(err)
	}
}

// Stored plans come from other clones: what the schema would have refused must not crash the rules.
func TestValidateHostilePlans(t *testing.T) {
	root := func(t plan.Task) *plan.Task {
		t.TaskID, t.NodeType, t.Title = "G-1", plan.Goal, "x"
		return &t
	}
	for _, tt := range []struct {
		name, code string
		plan       *plan.Plan
	}{
		{"nothing", "no-root", &plan.Plan{}},
		{"null task", "no-task", &plan.Plan{Tasks: []*plan.Task{nil}}},
		{"bad id", "bad-id", &plan.Plan{Tasks: []*plan.Task{{TaskID: "../x"}}}},
		{"root is an action", "bad-root", &plan.Plan{RootTaskID: "A-1", Tasks: []*plan.Task{{TaskID: "A-1", NodeType: plan.Action}}}},
		{"root in a loop", "bad-root", &plan.Plan{RootTaskID: "G-1", Tasks: []*plan.Task{root(plan.Task{ParentTaskID: "G-1"})}}},
		{"only a root", "no-action", &plan.Plan{RootTaskID: "G-1", Tasks: []*plan.Task{root(plan.Task{})}}},
		{"unknown node type", "bad-value", &plan.Plan{RootTaskID: "G-1",
			Tasks: []*plan.Task{root(plan.Task{}), {TaskID: "A-1", NodeType: "X"}}}},
		{"assembled by itself", "bad-final-spec", &plan.Plan{RootTaskID: "G-1",
			Tasks: []*plan.Task{root(plan.Task{FinalDeliverableSpec: &plan.FinalDeliverableSpec{Mode: plan.Assemble, AssembleTaskID: "G-1"}}),
				{TaskID: "A-1", NodeType: plan.Action}}}},
		{"goal with dependencies", "goal-dependency", &plan.Plan{RootTaskID: "G-1",
			Tasks: []*plan.Task{root(plan.Task{DependsOn: []plan.TaskID{"A-1"}}), {TaskID: "A-1", NodeType: plan.Action}}}},
		{"empty root criterion", "no-statement", &plan.Plan{RootTaskID: "G-1",
			Tasks: []*plan.Task{root(plan.Task{RootAcceptanceCriteria: []plan.RootCriterion{{ID: "R1"}}}), {TaskID: "A-1", NodeType: plan.Action}}}},
		{"action without a check", "check-binding", &plan.Plan{RootTaskID: "G-1",
			Tasks: []*plan.Task{root(plan.Task{}), {TaskID: "A-1", NodeType: plan.Action}}}},
		{"negative limit", "bad-value", &plan.Plan{RootTaskID: "G-1", Config: plan.Config{MaxAttempts: -1},
			Tasks: []*plan.Task{root(plan.Task{})}}},
	} {
		if fs := Validate(tt.plan, policy.Floors{}); !fs.Has(tt.code) {
			t.Errorf("%s: no finding %s in\n%v", tt.name, tt.code, fs)
		}
	}
}

func TestFindingsAreCut(t *testing.T) {
	yaml := small
	for i := range 80 {
		yaml += fmt.Sprintf("  - {task_id: X-%d, title: x}\n", i+1)
	}
	_, err := ParseValid("p.yaml", []byte(yaml), policy.Floors{})
	var fs plan.Findings
	if !errors.As(err, &fs) || !fs.Full() || len(fs) > 100 {
		t.Fatalf("got %d findings, want as many as are shown, and one that counts the rest", len(fs))
	}
	if last := fs[len(fs)-1]; last.Code != plan.CodeMore || !strings.HasPrefix(last.Message, "and ") {
		t.Errorf("last finding is %+v", last)
	}
}

// generate makes a plan of n ACTIONs: a chain, or all side by side with one that assembles them.
func generate(n int, chain bool) *plan.Plan {
	p := &plan.Plan{SchemaVersion: 1, Title: "Large", TopTask: "Large", RootTaskID: "GOAL-1", Config: plan.Config{MaxLeafTasks: n},
		Tasks: []*plan.Task{{TaskID: "GOAL-1", NodeType: plan.Goal, Title: "Large",
			FinalDeliverableSpec: &plan.FinalDeliverableSpec{Mode: plan.PassThrough}}}}
	root := p.Tasks[0]
	for i := 1; i <= n; i++ {
		t := &plan.Task{
			TaskID: plan.TaskID(fmt.Sprintf("IMPL-%d", i)), NodeType: plan.Action, Title: fmt.Sprintf("Task %d", i),
			ParentTaskID: "GOAL-1",
			Description:  strings.Repeat("What is to be done, in some detail. ", 12), Agent: plan.AgentExec, Run: "make",
			EstimatedPersonDays: 0.5,
			DeliverableSpec: &plan.DeliverableSpec{Format: "md", Filename: "out.md", SingleFile: true,
				OutputDir: fmt.Sprintf("d%d", i)},
			AcceptanceCriteria: []plan.Criterion{
				{ID: "A1", Statement: "out.md has a summary", CheckMethod: plan.StaticCheck, Run: "grep -q Summary out.md",
					Severity: plan.Must},
				{ID: "A2", Statement: "out.md names 3 sources", CheckMethod: plan.ManualReview, Severity: plan.Should},
			},
		}
		switch {
		case chain && i > 1:
			t.DependsOn = []plan.TaskID{plan.TaskID(fmt.Sprintf("IMPL-%d", i-1))}
		case !chain && i == n:
			for j := 1; j < n; j++ {
				t.DependsOn = append(t.DependsOn, plan.TaskID(fmt.Sprintf("IMPL-%d", j)))
			}
			root.FinalDeliverableSpec = &plan.FinalDeliverableSpec{Mode: plan.Assemble, AssembleTaskID: t.TaskID}
		}
		check := &plan.Task{TaskID: t.TaskID.CheckID(), NodeType: plan.Check, Title: "Review", ParentTaskID: "GOAL-1",
			ReviewTargetTaskID: t.TaskID, ReviewOutputSpec: plan.ReviewOutput}
		p.Tasks = append(p.Tasks, t, check)
	}
	return p
}

// The bound is generous for slow machines; what is quadratic needs minutes.
func TestLargePlans(t *testing.T) {
	const n, bound = 10_000, time.Minute
	for name, p := range map[string]*plan.Plan{"chain": generate(n, true), "flat": generate(n, false)} {
		start := time.Now()
		if fs := Validate(p, policy.Floors{}); len(fs) > 0 {
			t.Errorf("%s: %v", name, fs)
		}
		p.Tasks[1].DependsOn = []plan.TaskID{"IMPL-10000"}
		if fs := Validate(p, policy.Floors{}); !fs.Has("cycle") {
			t.Errorf("%s: the cycle is not found: %v", name, fs)
		}
		if d := time.Since(start); d > bound {
			t.Errorf("%s: two validations took %v", name, d)
		}
	}
}

func BenchmarkLarge(b *testing.B) {
	p := generate(10_000, true)
	data, err := Encode(p)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Validate", func(b *testing.B) {
		for b.Loop() {
			Validate(p, policy.Floors{})
		}
	})
	b.Run("Encode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := Encode(p); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := Decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ParseJSON", func(b *testing.B) {
		for b.Loop() {
			if _, err := Parse("p.json", data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("ParseYAML", func(b *testing.B) {
		yaml := append([]byte("# JSON is YAML, and the comment makes it so.\n"), data...)
		for b.Loop() {
			if _, err := Parse("p.yaml", yaml); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Review", func(b *testing.B) {
		for b.Loop() {
			ReviewPlan(p, Stated)
		}
	})
	b.Run("SchemaParse", func(b *testing.B) {
		for b.Loop() {
			if _, err := schema.Parse(schemaJSON); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func readTestdata(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
