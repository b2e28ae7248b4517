package workflow

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
)

const paramsTop = `params:
  mode: {type: choice, options: [quick, deep, full], ask: "How thorough?"}
  angles: {type: list, max: 2, options: [a, b, c], default: [a]}
  rounds: {type: integer, max: 5}
  strict: {type: boolean, default: false}
  name: {type: text, default: x}
facts: {web: {any: [package.json]}}
score:
  rules: [{words: [system, 系统], add: 3}, {words: [simple, quick], add: -2}, {fact: web, add: 1}]
  sets: {mode: [{from: 4, value: full}, {from: 2, value: deep}, {value: quick}], rounds: [{from: 3, value: 3}]}`

// What the user sets wins over what the score suggests, and that over defaults.
func TestInputs(t *testing.T) {
	w := loaded(t, small(paramsTop, "  - "+doc("A-1", "")))
	for _, tt := range []struct {
		name, sentence string
		web            bool
		set            map[string]string
		want           string // params, or the findings
		score          int
	}{
		{"suggested", "Redo the systems", true, nil,
			`{"angles":["a"],"mode":"full","name":"x","rounds":3,"strict":false}`, 4},
		{"a word of another script, anywhere", "重做整个系统吧", false, nil,
			`{"angles":["a"],"mode":"deep","name":"x","rounds":3,"strict":false}`, 3},
		{"set", "Redo the system", true, map[string]string{"mode": "quick", "rounds": "5", "angles": "c, b", "strict": "true", "name": ""},
			`{"angles":["c","b"],"mode":"quick","name":"","rounds":5,"strict":true}`, 4},
		{"a word counts once, and from its beginning", "A quick and simple ecosystem", false, map[string]string{"rounds": "1"},
			`{"angles":["a"],"mode":"quick","name":"x","rounds":1,"strict":false}`, -2},
		{"all at once", "A thing", false, map[string]string{"mode": "slow", "angles": "a,b,c", "strict": "yes", "round": "1"},
			"params.mode bad-param --set mode=quick; params.angles bad-param --set angles=a; params.rounds missing-param --set rounds=5; " +
				"params.strict bad-param --set strict=false; params.round unknown-name ; ", 0},
		{"an integer above its bound", "A thing", false, map[string]string{"rounds": "6"}, "params.rounds bad-param --set rounds=5; ", 0},
		{"no integer", "A thing", false, map[string]string{"rounds": "1.5"}, "params.rounds bad-param --set rounds=5; ", 0},
		{"an item twice", "A thing", false, map[string]string{"rounds": "1", "angles": "a,a"}, "params.angles bad-param --set angles=a; ", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, err := w.Inputs(tt.sentence, map[string]bool{"web": tt.web, "other": true}, tt.set)
			var fs plan.Findings
			got := ""
			if errors.As(err, &fs) {
				for _, f := range fs {
					got += f.Path + " " + f.Code + " " + f.Example + "; "
				}
			} else if err != nil {
				t.Fatal(err)
			} else {
				data, err := json.Marshal(in.Params)
				if err != nil {
					t.Fatal(err)
				}
				if got = string(data); in.Score != tt.score || len(in.Facts) != 1 || in.Facts["web"] != tt.web {
					t.Errorf("score %d, facts %v", in.Score, in.Facts)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Each rule counts once, and says why.
func TestRoute(t *testing.T) {
	w := loaded(t, small(`facts: {web: {any: [package.json]}}
route: [{words: [landing page, 着陆页], add: 3}, {fact: web, add: 1}, {words: [landing pages of], add: -2}]
then: [brainstorm]`, "  - "+doc("A-1", "")))
	for sentence, want := range map[string]string{
		"A Landing pages of ours": "w: 2 points (landing page 3, web 1, landing pages of -2)",
		"做一个着陆页":                  "w: 4 points (着陆页 3, web 1)",
		"The landing":             "w: 1 point (web 1)",
	} {
		if got := w.Guide().Candidate("w", sentence, map[string]bool{"web": true}).String(); got != want {
			t.Errorf("%s: %s, want %s", sentence, got, want)
		}
	}
	if diff := cmp.Diff([]string{"brainstorm"}, w.Guide().Then); diff != "" {
		t.Error(diff)
	}
}

// params.json brings the same values back, and refuses what it does not know.
func TestParseInputs(t *testing.T) {
	w := loaded(t, small(paramsTop, "  - "+doc("A-1", "")))
	in, err := w.Inputs("The systems", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseInputs(data)
	if diff := cmp.Diff(in, back); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{`{}`, `{"schema_version": 3}`, `{"schema_version": 1, "more": 1}`, `[]`, `{"schema_version": 1, "schema_version": 1}`, ``} {
		if in, err := ParseInputs([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, in)
		}
	}
}

// A task has its own rounds, and one version more for each rejection of what it is made from; each version and each
// review of it may take attempts.
func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		name, top, tasks string
		want             Bounds
	}{
		// one version, and three attempts that fail; a person's review calls nobody
		{"alone", "", "  - " + doc("A-1", ", review: {by: [person], max_rounds: 1}"), Bounds{Tasks: 1, Usual: 1, Most: 1 + 3}},
		// each of two versions has a reviewer, whose attempts may fail three times
		{"a reviewer", "roles: {r: {text: R.}}", "  - " + doc("A-1", ", review: {by: [r], max_rounds: 2}"),
			Bounds{Tasks: 1, Usual: 2, Most: 2 + 3 + 2*(1+3)}},
		// B-1 has 3 of its own, and 1 for the second version of A-1
		{"follows", "", "  - " + doc("A-1", ", review: {by: [person], max_rounds: 2}") + "\n  - " + doc("B-1", ", needs: [A-1], review: {by: [person], max_rounds: 3}"),
			Bounds{Tasks: 2, Usual: 2, Most: 2 + 3 + 4 + 3}},
		// each ancestor counts once, however many ways lead to it: D-1 has 2 + 1 + 1 + 1
		{"a diamond", "", "  - " + doc("A-1", ", review: {by: [person], max_rounds: 2}") + "\n  - " + doc("B-1", ", needs: [A-1], review: {by: [person], max_rounds: 2}") +
			"\n  - " + doc("C-1", ", needs: [A-1], review: {by: [person], max_rounds: 2}") + "\n  - " + doc("D-1", ", needs: [B-1, C-1], review: {by: [person], max_rounds: 2}"),
			Bounds{Tasks: 4, Usual: 4, Most: 2 + 3 + 3 + 5 + 4*3}},
		// what serial orders brings no versions
		{"serial", "params: {p: {type: list, max: 2, default: [a, b]}}", "  - " + doc("A-{{a.n}}", ", each: {param: p, as: a, serial: true}, review: {by: [person], max_rounds: 2}"),
			Bounds{Tasks: 2, Usual: 2, Most: 2 * (2 + 3)}},
		// what is in a branch may come to be there
		{"a branch", listSchema, "  - {id: L-1, title: L, make: list.json, schema: list, review: {by: [person], max_rounds: 2}}\n" +
			"  - {group: G-1, title: G, when: {of: L-1, file: list.json, where: {parts: {count: {}, at_least: 1}}}, tasks: [" + doc("A-1", ", needs: [L-1], review: {by: [person], max_rounds: 2}") + "]}",
			Bounds{Tasks: 2, Usual: 2, Most: 2 + 3 + 3 + 3}},
		// each item may name those before it: A-2 has 2 + 1, A-3 has 2 + 1 + 1, and each one more for L-1
		{"needs of items", listSchema, "  - {id: L-1, title: L, make: list.json, schema: list, review: {by: [person], max_rounds: 2}}\n" +
			"  - {group: G-1, title: G, each: {of: L-1, file: list.json, at: /parts, as: t, max: 3}, tasks: [" +
			doc("A-{{t.n}}", `, needs: [L-1, "A-{{t.parts}}"], review: {by: [person], max_rounds: 2}`) + "]}",
			Bounds{Tasks: 4, Usual: 4, Most: 2 + 3 + 4 + 5 + 4*3}},
		// a command line calls no agent
		{"run", "", `  - {id: A-1, title: T, run: "true", make: a.md, criteria: [{id: A1, statement: x, run: test -s a.md}], review: {by: [checks]}}`, Bounds{Tasks: 1}},
		// one order for A-1, and the end; at most 4 decisions, each with 3 versions, and 3 attempts before and after each
		{"decides", "roles: {m: {text: M.}, w: {text: W.}}", "  - {id: M-1, title: M, role: m, decides: {orders: [w], max: 4}}\n  - " +
			doc("A-1", ", role: w, review: {by: [person], max_rounds: 9}"),
			Bounds{Tasks: 2, Usual: 2 + 1, Most: 4*3 + 3*5 + 4 + 3, Decisions: 2, MaxDecisions: 4}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := loaded(t, small(tt.top, tt.tasks))
			got, err := w.Bounds(inputs(t, w, nil))
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	for name, want := range map[string]Bounds{
		"brainstorm": {6, 10, 161, 0, 0}, "spec": {17, 36, 700, 0, 0}, "iterdev": {44, 39, 2334, 0, 0}, "lifecycle": {43, 59, 1537, 0, 0},
		"blackboard": {122, 242, 28985, 121, 500},
	} {
		if got, err := builtin(t, name).Widest(); err != nil || got != want {
			t.Errorf("%s has the bounds %+v %v, want %+v", name, got, err, want)
		}
	}
}
