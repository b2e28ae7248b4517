package plandoc

import (
	"errors"
	"fmt"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBadInput(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	bomb := "title: x\ntasks: []\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	task := "title: x\ntasks:\n  - task_id: IMPL-1\n    title: y\n"
	tests := []struct{ name, code, data, want string }{
		{"empty", "empty", "", "p: the file has no content"},
		{"white", "empty", " \n\n", "no content"},
		{"only a comment", "empty", "# nothing\n", "no content"},
		{"null document", "empty", "~\n", "no content"},
		{"not UTF-8", "not-utf8", "title: a\nb: \xff\n", "p:2: the file is not UTF-8"},
		{"UTF-16", "not-utf8", "\xff\xfet\x00i\x00", "is not UTF-8"},
		{"NUL", "nul", "title: a\x00b\n", "p:1: the file contains the character NUL"},
		{"NUL escaped in YAML", "nul", "title: \"a\\0b\"\ntasks: []\n", "p:1: the character NUL"},
		{"NUL escaped in JSON", "nul", "{\"title\":\n\"a\\u0000b\"}", "p:2: the character NUL"},
		{"too large", "too-large", strings.Repeat("#", MaxFileBytes+1),
			"the plan is too large (expected at most 33554432 bytes; found more)"},
		{"YAML syntax", "syntax", "title: [a\ntasks: }\n", "not valid YAML"},
		{"YAML syntax line", "syntax", "title: a\ntasks:\n\t- x\n", "p:3: not valid YAML"},
		{"JSON syntax", "syntax", "{\n\"title\": \"a\",\n}", "p:3: expected a field's name in double quotes"},
		{"JSON trailing", "syntax", `{"title":"a"} x`, "text after the end"},
		{"JSON cut", "syntax", `{"title":"a`, "closing quote"},
		{"JSON leading zero", "syntax", `{"a":012}`, "not a number as JSON writes it"},
		{"JSON surrogate", "syntax", `{"a":"\ud800"}`, "half of a surrogate pair"},
		{"JSON huge number", "bad-number", `{"a":1e400}`, "out of range"},
		{"YAML not a number", "bad-number", task + "    estimated_person_days: .nan\n",
			"p:5: \".nan\" is not a number in range"},
		{"YAML infinite", "bad-number", task + "    estimated_person_days: .inf\n", "not a number in range"},
		{"YAML huge number", "wrong-type", task + "    estimated_person_days: 1e400\n",
			"p:5: tasks[0].estimated_person_days: IMPL-1: is of the wrong type (expected number; found string"},
		{"several documents", "several-documents", "title: a\n---\ntitle: b\n", "a second YAML document"},
		{"duplicate key YAML", "duplicate-key", "title: a\ntasks: []\ntitle: b\n", `p:3: the field "title" stands twice`},
		{"duplicate key JSON", "duplicate-key", "{\"title\":\"a\",\n\"title\":\"b\"}", `p:2: the field "title" stands twice`},
		{"duplicate key escaped", "duplicate-key", `{"title":"a","\u0074itle":"b"}`, "stands twice"},
		{"deep JSON", "too-deep", deep, "nested more than 100 levels"},
		{"deep YAML", "too-deep", "a: " + strings.Repeat("[", 200) + strings.Repeat("]", 200), "nested more than 100 levels"},
		{"alias bomb", "too-large", bomb, "aliases counted"},
		{"alias in itself", "", "a: &a [*a]\n", ""},
		{"tag", "bad-tag", "title: !!binary aGk=\ntasks: []\n", "has no meaning here"},
		{"list", "wrong-type", "- a\n- b\n", "is of the wrong type (expected object; found array"},
		{"a word", "wrong-type", "hello\n", "is of the wrong type"},
		{"no title", "missing-field", "tasks:\n  - {task_id: A-1, title: x}\n",
			`title: is missing (for example title: "Release dossier")`},
		{"no tasks", "missing-field", "title: x\n", "tasks: is missing"},
		{"empty tasks", "bad-value", "title: x\ntasks: []\n", "p:2: tasks: has too few items (expected at least 1 item; found 0"},
		{"no task id", "missing-field", "title: x\ntasks:\n  - title: y\n",
			`p:3: tasks[0].task_id: is missing (for example task_id: "IMPL-1")`},
		{"unknown field", "unknown-field", task + "    dependson: [IMPL-2]\n",
			`p:5: tasks[0].dependson: IMPL-1: unknown field "dependson"; did you mean depends_on?`},
		{"unknown field at the top", "unknown-field", "titel: x\n" + task,
			`p:1: titel: unknown field "titel"; did you mean title?`},
		{"other case", "unknown-field", "Title: x\n" + task, `did you mean title?`},
		{"comma in a flow", "unknown-field", task + "    acceptance_criteria: [{id: A1, statement: a, b c}]\n",
			"needs quotes"},
		{"wrong type", "wrong-type", task + "    depends_on: IMPL-2\n",
			`p:5: tasks[0].depends_on: IMPL-1: is of the wrong type (expected array; found string; for example depends_on: ["IMPL-1"])`},
		{"null", "wrong-type", task + "    depends_on:\n", "found nothing; leave the field out or give it a value"},
		{"enum", "bad-value", task + "    acceptance_criteria: [{id: A1, statement: s, severity: must}]\n",
			`p:5: tasks[0].acceptance_criteria[0].severity: IMPL-1: has a value that is not allowed (expected one of MUST, SHOULD; found "must"; for example severity: MUST)`},
		{"negative", "bad-value", task + "    estimated_person_days: -1\n",
			"p:5: tasks[0].estimated_person_days: IMPL-1: is too small (expected at least 0; found -1"},
		{"fraction", "wrong-type", "config: {quorum: 1.5}\n" + task, "config.quorum: is of the wrong type (expected integer"},
		{"action with children", "children-of-action", task +
			"    node_type: ACTION\n    tasks: [{task_id: A-1, title: z}]\n",
			"p:5: tasks[0].node_type: IMPL-1: a task with children is a GOAL"},
		{"another parent", "parent-conflict", task + "    tasks:\n      - {task_id: A-1, title: z, parent_task_id: A-2}\n",
			"p:6: tasks[0].tasks[0].parent_task_id: A-1: the task stands inside another task than its parent (expected IMPL-1, or nothing; found A-2"},
		{"root twice", "root-twice",
			"title: x\nfinal_deliverable_spec: {mode: PASS_THROUGH}\ntasks:\n  - {task_id: GOAL-1, node_type: GOAL, title: x, final_deliverable_spec: {mode: PASS_THROUGH}}\n", "p:2: final_deliverable_spec: GOAL-1: stands both at the top and in the root task"},
		{"merge of a word", "syntax", "<<: a\n", "<< can only merge objects"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			p, err := Parse("p", []byte(tt.data))
			if d := time.Since(start); d > time.Minute { // without a bound it would be hours
				t.Errorf("took %v", d)
			}
			var fs plan.Findings
			if !errors.As(err, &fs) {
				t.Fatalf("Parse gives plan %v and error %v, want findings", p, err)
			}
			if tt.code != "" && !fs.Has(tt.code) || !strings.Contains(fs.Error(), tt.want) {
				t.Errorf("no finding %s with %q in %v: %v", tt.code, tt.want, fs[0].Code, fs)
			}
		})
	}
}

func TestAllFindingsAtOnce(t *testing.T) {
	_, err := Parse("p", []byte("titel: x\ntasks:\n  - {task_id: a, title: 3, agnet: x}\n  - {task_id: A-1, title: y, quorum: x}\n"))
	var fs plan.Findings
	if !errors.As(err, &fs) || len(fs) != 6 {
		t.Errorf("want 6 findings, got\n%v", err)
	}
}

func TestLaterVersion(t *testing.T) {
	data := []byte("{\"schema_version\": 7, \"future\": true}")
	var e *VersionError
	if _, err := Parse("p", data); !errors.As(err, &e) || e.Found != 7 {
		t.Errorf("Parse: %v", err)
	}
	if _, err := Decode(data); !errors.As(err, &e) || e.Found != 7 {
		t.Errorf("Decode: %v", err)
	}
}

func TestYAMLAndJSONAgree(t *testing.T) {
	fromYAML, err := ParseValid("handbook.yaml", readTestdata(t, "handbook.yaml"), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	fromJSON, err := ParseValid("handbook.json", readTestdata(t, "handbook.json"), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromYAML, fromJSON); diff != "" {
		t.Error(diff)
	}
}

func TestParseCompletes(t *testing.T) {
	p, err := Parse("handbook.yaml", readTestdata(t, "handbook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	byID := map[plan.TaskID]*plan.Task{}
	var order []string
	for _, task := range p.Tasks {
		byID[task.TaskID] = task
		order = append(order, string(task.TaskID))
	}
	if got, want := strings.Join(order, " "),
		"GOAL-1 DOC-1 DOC-1.1 CHECK-DOC-1.1 DOC-1.2 CHECK-DOC-1.2 DOC-1.3 CHECK-DOC-1.3 SITE-1 CHECK-SITE-1"; got != want {
		t.Errorf("tasks are %s, want %s", got, want)
	}
	type row struct{ name, got, want string }
	show := func(v any) string { return fmt.Sprint(v) }
	first, third, site := byID["DOC-1.1"], byID["DOC-1.3"], byID["SITE-1"]
	for _, r := range []row{
		{"version", show(p.SchemaVersion), "1"},
		{"root", string(p.RootTaskID), "GOAL-1"},
		{"root's title", byID["GOAL-1"].Title, "Operator's handbook"},
		{"root's criteria", show(len(byID["GOAL-1"].RootAcceptanceCriteria)), "3"},
		{"root's final spec", byID["GOAL-1"].FinalDeliverableSpec.Mode, plan.Assemble},
		{"a task with children", string(byID["DOC-1"].NodeType), "GOAL"},
		{"its parent", string(byID["DOC-1"].ParentTaskID), "GOAL-1"},
		{"a child's parent", string(first.ParentTaskID), "DOC-1"},
		{"its check's parent", string(byID["CHECK-DOC-1.1"].ParentTaskID), "DOC-1"},
		{"its check's target", string(byID["CHECK-DOC-1.1"].ReviewTargetTaskID), "DOC-1.1"},
		{"its check's output", byID["CHECK-DOC-1.1"].ReviewOutputSpec, "APPROVED.md|REJECTED.md"},
		{"agent without a run line", first.Agent, ""},
		{"agent with a run line", site.Agent, "exec"},
		{"single file", show(first.DeliverableSpec.SingleFile), "true"},
		{"several files", show(third.DeliverableSpec.SingleFile), "false"},
		{"bundle mode", third.DeliverableSpec.BundleMode, "MANIFEST"},
		{"method with a run line", first.AcceptanceCriteria[0].CheckMethod, plan.StaticCheck},
		{"severity", first.AcceptanceCriteria[0].Severity, plan.Must},
		{"method without", first.AcceptanceCriteria[1].CheckMethod, plan.ManualReview},
		{"method given", site.AcceptanceCriteria[0].CheckMethod, plan.RunSmokeTest},
		{"meta", show(site.Meta["priority"]), "2"},
	} {
		if r.got != r.want {
			t.Errorf("%s is %q, want %q", r.name, r.got, r.want)
		}
	}
}

func TestParseDefaults(t *testing.T) {
	const one = "{task_id: A-1, title: x, deliverable_spec: {filename: notes.txt}}"
	tests := []struct {
		name, yaml string
		got        func(*plan.Plan) any
		want       any
	}{
		{"top task is the title", "title: x\ntasks: [" + one + "]", func(p *plan.Plan) any { return p.TopTask }, "x"},
		{"root by name", "title: x\nroot_task_id: TOP-7\ntasks: [" + one + "]", func(p *plan.Plan) any {
			return p.Tasks[0].TaskID
		}, plan.TaskID("TOP-7")},
		{"root among the tasks", "title: x\ntasks: [" + one +
			", {task_id: TOP-7, node_type: GOAL, title: y, root_acceptance_criteria: [{id: R1, statement: s}]}]",
			func(p *plan.Plan) any { return [2]plan.TaskID{p.RootTaskID, p.Tasks[0].ParentTaskID} }, [2]plan.TaskID{"TOP-7", "TOP-7"}},
		{"no final spec", "title: x\ntasks: [" + one + "]", func(p *plan.Plan) any {
			return p.Tasks[0].FinalDeliverableSpec.Mode
		}, plan.PassThrough},
		{"format by extension", "title: x\ntasks: [" + one + "]", func(p *plan.Plan) any {
			return p.Tasks[1].DeliverableSpec.Format
		}, "txt"},
		{"no planning task by extension", "title: x\ntasks: [{task_id: A-1, title: x, deliverable_spec: {filename: a.plan}}]",
			func(p *plan.Plan) any {
				return p.Tasks[1].DeliverableSpec.Format
			}, ""},
		{"pattern", "title: x\ntasks: [{task_id: A-1, title: x, deliverable_spec: {format: md, filename: '*.md'}}]",
			func(p *plan.Plan) any {
				return p.Tasks[1].DeliverableSpec.SingleFile
			}, false},
		{"a goal hands its dependencies down", "title: x\ntasks: [" + one +
			", {task_id: B-1, title: y, depends_on: [A-1], tasks: [{task_id: B-1.1, title: z}]}]",
			func(p *plan.Plan) any { return [2]int{len(p.Tasks[3].DependsOn), len(p.Tasks[4].DependsOn)} }, [2]int{0, 1}},
		{"own CHECK", "title: x\ntasks: [" + one +
			", {task_id: C-1, node_type: CHECK, title: c, review_target_task_id: A-1, quorum: 2}]", func(p *plan.Plan) any {
			return len(p.Tasks)
		}, 3},
		{"merge keys", "title: x\ntasks: [{<<: {agent: bot, description: d}, task_id: A-1, title: x, agent: me}]",
			func(p *plan.Plan) any {
				return p.Tasks[1].Agent + p.Tasks[1].Description
			}, "med"},
		{"date stays text", "title: 2024-01-31\ntasks: [" + one + "]", func(p *plan.Plan) any { return p.Title }, "2024-01-31"},
		{"large whole number", "title: x\ntasks: [{task_id: A-1, title: x, meta: {n: 9007199254740993, f: 1.0, h: 0x10}}]",
			func(p *plan.Plan) any { return fmt.Sprint(p.Tasks[1].Meta) }, "map[f:1 h:16 n:9007199254740993]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Parse("p", []byte(tt.yaml))
			if err != nil {
				t.Fatal(err)
			}
			if got := tt.got(p); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// A GOAL's dependencies times its leaves can be far more than the file that says so.
func TestHandDownIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("title: x\ntasks:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "  - {task_id: A-%d, title: x}\n", i+1)
	}
	b.WriteString("  - task_id: B-1\n    title: y\n    depends_on: [")
	for i := range 1000 {
		fmt.Fprintf(&b, "A-%d, ", i+1)
	}
	b.WriteString("]\n    tasks:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "      - {task_id: B-1.%d, title: x}\n", i+1)
	}
	_, err := Parse("p", []byte(b.String()))
	var fs plan.Findings
	if !errors.As(err, &fs) || !fs.Has("too-many-dependencies") {
		t.Errorf("got %v", err)
	}
}
