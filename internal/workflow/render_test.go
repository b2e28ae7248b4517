package workflow

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// brief shows a plan's tasks, one on a line: the id, the GOAL around it, what it needs, and what is special.
func brief(p *plan.Plan) string {
	var b strings.Builder
	for _, t := range p.Tasks {
		if t.TaskID == p.RootTaskID || t.NodeType == plan.Check {
			continue
		}
		b.WriteString(string(t.TaskID))
		if t.ParentTaskID != p.RootTaskID {
			b.WriteString(" in " + string(t.ParentTaskID))
		}
		if len(t.DependsOn) > 0 {
			b.WriteString(" needs " + plan.JoinIDs(t.DependsOn))
		}
		if len(t.OrderOnly) > 0 {
			b.WriteString(" after " + plan.JoinIDs(t.OrderOnly))
		}
		if t.Judges != nil {
			b.WriteString(" judges " + plan.JoinIDs(t.Judges.Tasks))
		}
		if t.Jobs > 0 {
			fmt.Fprintf(&b, " jobs %d", t.Jobs)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// small is a workflow of these tasks, with what else stands at the top.
func small(top, tasks string) Source {
	return Source{"small.yaml", []byte("workflow: small\nversion: 1\n" + top + "\ntasks:\n" + tasks)}
}

func loaded(t testing.TB, src Source) *Workflow {
	t.Helper()
	w, err := Load(src, beside("testdata/use"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// doc is a task that makes a document.
func doc(id, more string) string {
	return fmt.Sprintf("{id: %q, title: T, make: out.md, criteria: [{id: A1, statement: out.md has 1 line}]%s}", id, more)
}

const listSchema = `schemas: {list: {type: object, properties: {parts: {type: array, items: {type: object,
  properties: {title: {type: string}, lane: {enum: [a, b]}, size: {type: integer}, parts: {type: array, items: {type: string}}}}}}}}`

// Each rule of rendering: the plan, and what its fills add.
func TestRender(t *testing.T) {
	list := `{id: LIST-1, title: List, make: list.json, schema: list}`
	parts := `{"parts": [{"title": "one", "lane": "a", "size": 1, "parts": ["x", "y"]}, {"title": "two", "lane": "b", "size": 5, "parts": []},
		{"title": "three", "lane": "a", "size": 9, "parts": ["z"]}]}`
	for _, tt := range []struct {
		name, top, tasks string
		set              map[string]string
		fill             string // of the first fill
		want             string
	}{
		{"a task under a when that does not hold is not needed", "params: {mode: {type: choice, options: [short, long]}}",
			"  - " + doc("A-1", ", when: {mode: long}") + "\n  - " + doc("B-1", ", needs: [A-1]"),
			map[string]string{"mode": "short"}, "", "B-1\n"},
		{"and is needed where it does", "params: {mode: {type: choice, options: [short, long]}}",
			"  - " + doc("A-1", ", when: {mode: long}") + "\n  - " + doc("B-1", ", needs: [A-1]"),
			map[string]string{"mode": "long"}, "", "A-1\nB-1 needs A-1\n"},
		{"a list of conditions is or, a list of values one of them", "params: {n: {type: integer, max: 9}, mode: {type: choice, options: [x, y, z]}}",
			"  - " + doc("A-1", ", when: [{n: {at_least: 5}}, {mode: [x, y]}]") + "\n  - " + doc("B-1", ", when: {n: {at_most: 4}, mode: {set: true}}"),
			map[string]string{"n": "4", "mode": "y"}, "", "A-1\nB-1\n"},
		{"all entries of a condition hold", "params: {n: {type: integer, max: 9}, mode: {type: choice, options: [x, y, z]}}",
			"  - " + doc("A-1", ", when: {n: {at_least: 5}, mode: x}") + "\n  - " + doc("B-1", ""),
			map[string]string{"n": "4", "mode": "x"}, "", "B-1\n"},
		{"each over a param, serial", "params: {parts: {type: list, max: 5}}",
			"  - " + doc("A-{{p.n}}", ", each: {param: parts, as: p, serial: true}"),
			map[string]string{"parts": "u,v,w"}, "", "A-1\nA-2 needs A-1 after A-1\nA-3 needs A-2 after A-2\n"},
		{"a group that contains its loop's name stands in one with 0", "params: {parts: {type: list, max: 5}}",
			"  - {group: \"G-{{p.n}}\", title: \"Group {{p}}\", each: {param: parts, as: p}, tasks: [" + doc("A-{{p.n}}", "") + "]}\n  - " +
				doc("B-1", `, needs: ["G-*"]`),
			map[string]string{"parts": "u,v"}, "", "G-0\nG-1 in G-0\nA-1 in G-1\nG-2 in G-0\nA-2 in G-2\nB-1 needs G-0\n"},
		{"a group that does not stands around all", "params: {parts: {type: list, max: 5}}",
			"  - {group: G-1, title: Group, each: {param: parts, as: p}, tasks: [" + doc("A-{{p.n}}", "") + "]}",
			map[string]string{"parts": "u,v"}, "", "G-1\nA-1 in G-1\nA-2 in G-1\n"},
		{"a window stands on the goal around all instances", "params: {parts: {type: list, max: 5}, n: {type: integer, max: 9}}",
			"  - {group: \"G-{{p.n}}\", title: G, each: {param: parts, as: p}, jobs: \"{{n}}\", tasks: [" + doc("A-{{p.n}}", "") + "]}\n  - " +
				"{group: H-1, title: H, each: {param: parts, as: p}, jobs: 2, tasks: [" + doc("B-{{p.n}}", "") + "]}\n  - " +
				"{group: I-1, title: I, jobs: 1, tasks: [{group: J-1, title: J, tasks: [" + doc("C-1", "") + "]}]}",
			map[string]string{"parts": "u,v", "n": "3"}, "", "G-0 jobs 3\nG-1 in G-0\nA-1 in G-1\nG-2 in G-0\nA-2 in G-2\n" +
				"H-1 jobs 2\nB-1 in H-1\nB-2 in H-1\nI-1 jobs 1\nJ-1 in I-1\nC-1 in J-1\n"},
		{"a group of each item has a window of its own", "params: {parts: {type: list, max: 5}}",
			"  - {group: \"G-{{p.n}}\", title: G, each: {param: parts, as: p}, tasks: [{group: \"H-{{p.n}}\", title: H, jobs: 2, tasks: [" +
				doc("A-{{p.n}}", "") + "]}]}",
			map[string]string{"parts": "u,v"}, "", "G-0\nG-1 in G-0\nH-1 in G-1 jobs 2\nA-1 in H-1\nG-2 in G-0\nH-2 in G-2 jobs 2\nA-2 in H-2\n"},
		{"the window of a round is that of the rounds", listSchema,
			"  - {group: \"R-{{round}}\", title: \"Round {{round}}\", jobs: 2, repeat: {max: 3, until: {of: \"L-{{round}}\", file: list.json, where: {title: done}}}, tasks: [" +
				`{id: "L-{{round}}", title: L, needs: ["L-{{prev}}"], make: list.json, schema: list}]}`,
			nil, `{"title": "more"}`, "R-2\nL-2 in R-2 needs L-1\n"},
		{"what a star stands for", "params: {mode: {type: boolean, default: false}}",
			"  - " + doc("A-1", "") + "\n  - " + doc("A-2", ", when: {mode: true}") + "\n  - {group: A-9, title: G, tasks: [" + doc("A-9.1", "") + "]}\n  - " +
				doc("B-1", `, needs: ["A-*"]`),
			nil, "", "A-1\nA-9\nA-9.1 in A-9\nB-1 needs A-1, A-9\n"},
		{"changes of a serial loop stack", "params: {parts: {type: list, max: 5}}",
			`  - {id: "C-{{p.n}}", title: T, each: {param: parts, as: p, serial: true}, change: {paths: [src]}, criteria: [{id: A1, statement: it runs, run: sh t.sh}]}`,
			map[string]string{"parts": "u,v"}, "", "C-1\nC-2 needs C-1\n"},
		{"behind what may be dropped, changes have only an order", "params: {parts: {type: list, max: 5}}",
			`  - {id: "C-{{p.n}}", title: T, each: {param: parts, as: p, serial: true}, change: {paths: [src]}, criteria: [{id: A1, statement: it runs, run: sh t.sh}], review: {by: [checks], max_rounds: 2, on_exhausted: drop}}`,
			map[string]string{"parts": "u,v"}, "", "C-1\nC-2 needs C-1 after C-1\n"},
		{"what waits for a group that is filled", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 4}, tasks: [" + doc("A-{{t.n}}", "") + "]}\n  - " +
				doc("B-1", `, needs: ["A-*"]`),
			nil, "", "LIST-1\nG-1\nB-1 needs G-1\n"},
		{"a fill: numbered before where", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, where: {lane: a, size: {at_least: 2}}, as: t, max: 1}, tasks: [" +
				doc("A-{{t.n}}", ", needs: [LIST-1]") + "]}",
			nil, parts, "A-3 needs LIST-1\n"},
		{"a fill with a loop in an item", listSchema,
			"  - " + list + "\n  - {group: \"G-{{t.n}}\", title: \"{{t.title}}\", each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 4, serial: true}, tasks: [" +
				doc("A-{{t.n}}.{{p.n}}", ", each: {item: t.parts, as: p, max: 2}") + ", " + doc("S-{{t.n}}", `, needs: ["A-{{t.n}}.*"]`) + "]}",
			nil, parts, "G-1\nA-1.1 in G-1\nA-1.2 in G-1\nS-1 in G-1 needs A-1.1, A-1.2\nG-2\n" +
				"S-2 in G-2 needs G-1 after G-1\nG-3\nA-3.1 in G-3 needs G-2 after G-2\nS-3 in G-3 needs A-3.1, G-2 after G-2\n"},
		{"items name what they need", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 4}, tasks: [" +
				doc("A-{{t.n}}", `, needs: [LIST-1, "{{t.parts}}"]`) + "]}",
			nil, `{"parts": [{"parts": []}, {"parts": ["A-1"]}, {"parts": ["A-1", "A-2"]}]}`,
			"A-1 needs LIST-1\nA-2 needs LIST-1, A-1\nA-3 needs LIST-1, A-1, A-2\n"},
		{"an empty list gives a fragment without tasks", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 4}, tasks: [" + doc("A-{{t.n}}", "") + "]}",
			nil, `{"parts": []}`, ""},
		{"the next round needs the one before", listSchema,
			"  - {group: \"R-{{round}}\", title: \"Round {{round}}\", repeat: {max: 3, until: {of: \"L-{{round}}\", file: list.json, where: {title: done}}}, tasks: [" +
				`{id: "L-{{round}}", title: L, needs: ["L-{{prev}}"], make: list.json, schema: list}]}`,
			nil, `{"title": "more"}`, "R-2\nL-2 in R-2 needs L-1\n"},
		{"rounds that are over give nothing", listSchema,
			"  - {group: \"R-{{round}}\", title: \"Round {{round}}\", repeat: {max: 3, until: {of: \"L-{{round}}\", file: list.json, where: {title: done}}}, tasks: [" +
				`{id: "L-{{round}}", title: L, make: list.json, schema: list}]}`,
			nil, `{"title": "done"}`, ""},
		{"a branch is open until its file is approved", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, when: {of: LIST-1, file: list.json, where: {parts: {count: {lane: b}, at_least: 1}}}, tasks: [" +
				doc("A-1", "") + "]}\n  - " + doc("B-1", `, needs: ["A-*"]`),
			nil, "", "LIST-1\nG-1\nB-1 needs G-1\n"},
		{"every count of a list holds", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, when: {of: LIST-1, file: list.json, where: {parts: [{count: {lane: a}, at_least: 1}, {count: {lane: b}, at_most: 0}]}}, tasks: [" +
				doc("A-1", "") + "]}",
			nil, `{"parts": [{"lane": "a"}, {"lane": "b"}]}`, ""},
		{"or the group stays empty", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, when: {of: LIST-1, file: list.json, where: {parts: [{count: {lane: a}, at_least: 1}, {count: {lane: b}, at_most: 1}]}}, tasks: [" +
				doc("A-1", "") + "]}",
			nil, `{"parts": [{"lane": "a"}, {"lane": "b"}]}`, "A-1\n"},
		{"it brings its tasks where the file meets the condition", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, when: {of: LIST-1, file: list.json, where: {parts: {count: {lane: b}, at_least: 1}}}, tasks: [" +
				doc("A-1", ", needs: [LIST-1]") + "]}",
			nil, parts, "A-1 needs LIST-1\n"},
		{"and nothing where it does not", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, when: {of: LIST-1, file: list.json, where: {parts: {count: {lane: b}, at_most: 0}}}, tasks: [" +
				doc("A-1", ", needs: [LIST-1]") + "]}",
			nil, parts, ""},
		{"a branch in a branch waits for its own file", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, when: {of: LIST-1, file: list.json, where: {parts: {count: {}, at_least: 1}}}, tasks: [" +
				"{id: LIST-2, title: List, make: list.json, schema: list}, {group: G-2, title: G, when: {of: LIST-2, file: list.json, where: {parts: {count: {}, at_most: 0}}}, tasks: [" +
				doc("A-1", "") + "]}]}",
			nil, parts, "LIST-2\nG-2\n"},
		{"a branch in each item, by the item's file", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 4}, tasks: [" +
				`{id: "LIST-9.{{t.n}}", title: List, make: list.json, schema: list}, {group: "FIX-{{t.n}}", title: "Fix {{t.title}}", ` +
				`when: {of: "LIST-9.{{t.n}}", file: list.json, where: {parts: [{count: {lane: a}, at_least: 3}, {count: {}, at_most: 1}]}}, tasks: [` +
				doc("A-{{t.n}}", "") + "]}]}",
			nil, `{"parts": [{"title": "one"}]}`, "LIST-9.1\nFIX-1\n"},
		{"a need for each element of a list in an item", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 5}, tasks: [" +
				doc("A-{{t.n}}", `, needs: [LIST-1, "A-{{t.parts}}"]`) + "]}",
			nil, `{"parts": [{"parts": []}, {"parts": [1]}, {}, {"parts": ["1", 2]}, {"parts": null}]}`,
			"A-1 needs LIST-1\nA-2 needs LIST-1, A-1\nA-3 needs LIST-1\nA-4 needs LIST-1, A-1, A-2\nA-5 needs LIST-1\n"},
		{"a judge of each element of a list in an item", listSchema,
			"  - " + list + "\n  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 5}, tasks: [" +
				doc("A-{{t.n}}", "") + `, {id: "J-{{t.n}}", title: J, needs: ["A-*"], judges: {tasks: ["A-{{t.parts}}", "A-{{t.n}}"]}}]}`,
			nil, `{"parts": [{"parts": [2]}, {}]}`,
			"A-1\nJ-1 needs A-1, A-2 judges A-2, A-1\nA-2\nJ-2 needs A-1, A-2 judges A-2\n"},
		{"another workflow, with its params set", "params: {many: {type: integer, default: 2, max: 2}}",
			"  - {use: part, set: {words: [p, q], note: \"for {{sentence}}\"}}\n  - " + doc("B-1", `, needs: ["PART-*"]`),
			nil, "", "PART-1\nPART-2\nB-1 needs PART-1, PART-2\n"},
		{"a judge, and a name that is a list", "params: {who: {type: list, max: 3, default: [A-1, A-2]}}",
			"  - " + doc("A-1", "") + "\n  - " + doc("A-2", "") + "\n  - {id: J-1, title: J, needs: [\"{{who}}\"], judges: {tasks: [\"{{who}}\"]}}",
			nil, "", "A-1\nA-2\nJ-1 needs A-1, A-2 judges A-1, A-2\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := loaded(t, small(tt.top, tt.tasks))
			for _, f := range w.Lint() {
				if f.Code == "unknown-name" || f.Code == "cycle" {
					t.Error(f)
				}
			}
			in := inputs(t, w, tt.set)
			r, err := w.Render(in)
			if err == nil && tt.fill != "" {
				r, err = w.RenderFill(in, r.Fills[0].Fill, []byte(tt.fill))
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := plandoc.Parse("plan.yaml", r.Text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, brief(p)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// What a task's fields become.
func TestRenderFields(t *testing.T) {
	w := loaded(t, small(`deliver: [DOC-1]
assemble: ALL-1
roles: {writer: {text: Write., thread: role}, reader: {kind: read-only, text: Read.}}
rubrics: {good: {scale: 10, dimensions: {a: 1, b: 2}, pass: 70, clear: 80, veto: 30}}
schemas: {x: {type: object, required: [k]}}
params: {tags: {type: list, max: 9, default: [one, two]}, days: {type: integer, default: 3, max: 9}}`,
		`  - {id: DOC-1, title: D, role: writer, text: "{{tags}}; {{days}} days", make: [a.md, b.json], schema: {b.json: x, a.md: x}, days: "{{days}}", requires: [{name: logo}],
      criteria: [{id: schema, statement: it has 1 line, severity: SHOULD}], review: {by: [reader, writer, checks], rubric: good, max_rounds: 4, on_exhausted: ask}}
  - {id: RUN-1, title: R, run: "make {{x}}", make: "out/**", criteria: [{id: A1, statement: it runs, run: test -d out}], review: {by: [checks]}}
  - {id: C-1, title: C, change: {paths: [src, tests], tests: [tests]}, criteria: [{id: A1, statement: it runs, run: sh t.sh, red: base}]}
  - {id: ALL-1, title: A, follows: false, needs: [DOC-1], make: all.md, criteria: [{id: A1, statement: it has 1 line}], review: {by: [reader, writer], agree: {approvals: 1, veto: 20}, min_score: 50}}
  - {id: J-1, title: J, needs: [DOC-1], judges: {tasks: [DOC-1], rubric: good, partial: {blocked_rounds: 2, done: 1}}, criteria: [{id: T, statement: it runs, run: "true"}]}
  - {id: M-1, title: M, decides: {orders: [writer], max: "{{days}}"}}
`))
	r, err := w.Render(inputs(t, w, nil))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plandoc.Parse("plan.yaml", r.Text)
	if err != nil {
		t.Fatal(err)
	}
	got := func(id plan.TaskID) string {
		task, check := p.Task(id), p.Task(id.CheckID())
		var criteria []string
		for _, c := range task.AcceptanceCriteria {
			criteria = append(criteria, strings.TrimSpace(fmt.Sprint(c.ID, " ", c.CheckMethod, " ", c.Severity, " ", c.File)))
		}
		return fmt.Sprintf("%+v %v %q | by %v %d %d %d %s %+v %+v", *task.DeliverableSpec, task.EstimatedPersonDays, criteria,
			check.Reviewers, check.Quorum, check.MinScore, check.MaxRounds, check.OnExhausted, check.Agree, check.Rubric)
	}
	for id, want := range map[plan.TaskID]string{
		"DOC-1": `{Format:md Filename: Files:[a.md b.json] OutputDir: SingleFile:false BundleMode:MANIFEST Description: Paths:[] Tests:[] Undoes:<nil>} 3 ` +
			`["schema manual_review SHOULD" "schema-2 schema_check MUST a.md" "schema-3 schema_check MUST b.json"] | ` +
			`by [reader writer checks] 2 70 4 ask <nil> &{Scale:10 Dimensions:map[a:1 b:2] Deductions:map[] Limits:map[] Pass:70 Clear:80 Veto:30}`,
		"RUN-1": `{Format:files Filename: Files:[out/**] OutputDir: SingleFile:false BundleMode:MANIFEST Description: Paths:[] Tests:[] Undoes:<nil>} 1 ` +
			`["A1 static_check MUST"] | by [checks] 0 0 0  <nil> <nil>`,
		"C-1": `{Format:change Filename: Files:[] OutputDir: SingleFile:false BundleMode: Description: Paths:[src tests] Tests:[tests] Undoes:<nil>} 1 ` +
			`["A1 static_check MUST" "paths changed_paths MUST"] | by [] 0 0 0  <nil> <nil>`,
		"ALL-1": `{Format:md Filename:all.md Files:[] OutputDir: SingleFile:true BundleMode: Description: Paths:[] Tests:[] Undoes:<nil>} 1 ` +
			`["A1 manual_review MUST"] | by [reader writer] 0 50 0  &{Approvals:1 Mean:0 Veto:20} <nil>`,
		"J-1": `{Format:verdicts Filename:verdicts.json Files:[] OutputDir: SingleFile:true BundleMode: Description: Paths:[] Tests:[] Undoes:<nil>} 1 ` +
			`["T static_check MUST" "verdicts manual_review MUST"] | by [verdict-review] 0 70 0  <nil> &{Scale:10 Dimensions:map[a:1 b:2] Deductions:map[] Limits:map[] Pass:70 Clear:80 Veto:30}`,
		"M-1": `{Format:decision Filename:decision.json Files:[] OutputDir: SingleFile:true BundleMode: Description: Paths:[] Tests:[] Undoes:<nil>} 1 ` +
			`["decision manual_review MUST"] | by [decision-review] 0 0 0  <nil> <nil>`,
	} {
		if diff := cmp.Diff(want, got(id)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", id, diff)
		}
	}
	if d := p.Task("DOC-1"); d.Description != "one, two; 3 days" || d.Role != "writer" || d.Requires[0].Name != "logo" {
		t.Errorf("DOC-1 is %+v", d)
	}
	if run := p.Task("RUN-1"); run.Run != "make {{x}}" || run.Agent != plan.AgentExec {
		t.Errorf("the run line is %q, by %s", run.Run, run.Agent)
	}
	if f := p.Task("GOAL-1").FinalDeliverableSpec; f.Mode != plan.Assemble || f.AssembleTaskID != "ALL-1" || f.IncludeChildren[0] != "DOC-1" {
		t.Errorf("delivered is %+v", f)
	}
	if m := p.Task("M-1"); m.Decides.Max != 3 || *p.Task("ALL-1").Follows {
		t.Errorf("M-1 decides %+v", m.Decides)
	}
	if got := w.Commands(); !cmp.Equal(got, []string{"make {{x}}", "test -d out", "sh t.sh", "true"}) {
		t.Errorf("commands %q", got)
	}
}

// What a fill refuses, so that the task whose file it is gets it as feedback.
func TestRenderFillRefuses(t *testing.T) {
	w := loaded(t, small(listSchema, "  - {id: LIST-1, title: List, make: list.json, schema: list}\n"+
		`  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 2}, tasks: [`+
		`{id: "A-{{t.n}}", title: "{{t.title}}", make: "{{t.title}}.md", criteria: [{id: A1, statement: it has 1 line}]}]}`))
	in := inputs(t, w, nil)
	r, err := w.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	fill := r.Fills[0].Fill
	for _, tt := range []struct{ name, content, want string }{
		{"no JSON", `{"parts": [`, "syntax"},
		{"nothing", ``, "empty"},
		{"too long a list", `{"parts": [{"title": "a"}, {"title": "b"}, {"title": "c"}]}`, "too-many"},
		{"no list", `{"parts": {}}`, "no-list"},
		{"no such field", `{"tasks": []}`, "no-list"},
		{"an item without the field", `{"parts": [{"title": "a"}, {"lane": "b"}]}`, "unknown-reference"},
		{"an object where a text is", `{"parts": [{"title": {"run": "rm"}}]}`, "unknown-reference"},
		{"two lines where one is", `{"parts": [{"title": "a\nb"}]}`, ""},
		{"no item at all", `{"parts": [null]}`, "unknown-reference"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := w.RenderFill(in, fill, []byte(tt.content))
			var fs plan.Findings
			if tt.want == "" {
				if err != nil {
					t.Errorf("refused: %v", err)
				}
			} else if !errors.As(err, &fs) || !fs.Has(tt.want) {
				t.Errorf("got %v %v, want %s", r, err, tt.want)
			}
		})
	}
	for _, bad := range []plan.Fill{
		{}, {Section: "/tasks/0"}, {Section: "/tasks/9"}, {Section: "/tasks/1/tasks/0"}, {Section: "/tasks/1", Round: 2},
	} {
		if r, err := w.RenderFill(in, bad, []byte(`{"parts": []}`)); err == nil {
			t.Errorf("%+v is rendered as %s", bad, r.Text)
		}
	}
}

// Lists come from YAML and from the head of Markdown, too.
func TestReadContent(t *testing.T) {
	for name, content := range map[string]string{
		"a.json": `{"n": [1, 2.5, "x"]}`,
		"a.yaml": "n: [1, 2.5, x]",
		"a.md":   "---\nn: [1, 2.5, x]\n---\n# Title\n",
	} {
		v, err := readContent(name, []byte(content))
		if diff := cmp.Diff(map[string]any{"n": []any{int64(1), 2.5, "x"}}, v); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// What an item of an approved file says of other tasks has to be there: by version 1 of the inputs it was dropped.
func TestItemNeedsNobody(t *testing.T) {
	w := loaded(t, small(listSchema, "  - {id: LIST-1, title: List, make: list.json, schema: list}\n"+
		`  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 2}, tasks: [`+
		`{id: "A-{{t.n}}", title: "{{t.title}}", needs: ["A-{{t.lane}}"], make: a.md, criteria: [{id: A1, statement: it has 1 line}]}]}`))
	in := inputs(t, w, nil)
	r, err := w.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	fill := r.Fills[0].Fill
	content := []byte(`{"parts": [{"title": "a", "lane": "2"}, {"title": "b", "lane": "9"}]}`)
	var fs plan.Findings
	if r, err = w.RenderFill(in, fill, content); !errors.As(err, &fs) || !fs.Has("unknown-name") ||
		!strings.Contains(err.Error(), `"A-9"`) {
		t.Errorf("got %v %v", r, err)
	}
	in.SchemaVersion = 1
	if _, err := w.RenderFill(in, fill, content); err != nil {
		t.Errorf("a plan that was made by version 1 can't go on: %v", err)
	}
}

// A list in an item names tasks; what it holds else is found, and by version 1 of the inputs it stays one text.
func TestNeedsFromList(t *testing.T) {
	w := loaded(t, small(listSchema, "  - {id: LIST-1, title: List, make: list.json, schema: list}\n"+
		`  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 2}, tasks: [`+
		`{id: "A-{{t.n}}", title: T, needs: ["A-{{t.parts}}"], make: a.md, criteria: [{id: A1, statement: it has 1 line}]}]}`))
	in := inputs(t, w, nil)
	r, err := w.Render(in)
	if err != nil {
		t.Fatal(err)
	}
	fill := r.Fills[0].Fill
	many := strings.Repeat(`"9", `, MaxTasks) + `"9"`
	for _, tt := range []struct{ parts, want string }{
		{`["9"]`, `"A-9"`},
		{`["1", "9"]`, `"A-9"`},
		{`{"a": 1}`, "is an object"},
		{`[{"a": 1}]`, "is an object"},
		{`[[1]]`, "is an object"},
		{`["{{sentence}}"]`, `A-{{sentence}}`},
		{"[" + many + "]", "names nothing in the file"},
	} {
		content := `{"parts": [{"title": "a"}, {"title": "b", "parts": ` + tt.parts + `}]}`
		if r, err := w.RenderFill(in, fill, []byte(content)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60s: got %v, error %v", tt.parts, r != nil, err)
		}
	}
	typo := small(listSchema, "  - {id: LIST-1, title: List, make: list.json, schema: list}\n"+
		`  - {group: G-1, title: G, each: {of: LIST-1, file: list.json, at: /parts, as: t, max: 2}, tasks: [`+
		`{id: "A-{{t.n}}", title: T, needs: ["A-{{t.prats}}"], make: a.md, criteria: [{id: A1, statement: it has 1 line}]}]}`)
	if fs := lint(typo, nil); !fs.Has("unknown-reference") {
		t.Errorf("lint does not find a field that the schema lacks: %v", fs)
	}
	in.SchemaVersion = 1
	r, err = w.RenderFill(in, fill, []byte(`{"parts": [{"parts": []}, {"parts": ["1", "1"]}]}`))
	if err == nil || !strings.Contains(err.Error(), `"A-"`) {
		t.Errorf("by version 1: %v %v", r, err)
	}
}
