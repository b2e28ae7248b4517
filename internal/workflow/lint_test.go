package workflow

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
	"gitwf/templates"
)

var update = flag.Bool("update", false, "write the golden files")

// beside finds used workflows next to a file, or among those of the program.
func beside(dir string) func(string) (Source, error) {
	return func(name string) (Source, error) {
		if text := TextFile(name); text != "" {
			data, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				data, err = templates.FS.ReadFile("workflows/" + name)
			}
			return Source{text, data}, err
		}
		if data, err := os.ReadFile(filepath.Join(dir, name+".yaml")); err == nil {
			return Source{name + ".yaml", data}, nil
		}
		data, err := templates.FS.ReadFile("workflows/" + name + ".yaml")
		return Source{name + ".yaml", data}, err
	}
}

// lint is all that is wrong with a workflow.
func lint(main Source, find func(name string) (Source, error)) (fs plan.Findings) {
	w, err := Load(main, find)
	if err == nil {
		return w.Lint()
	}
	errors.As(err, &fs)
	return fs
}

func lintFile(t *testing.T, file string) plan.Findings {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return lint(Source{filepath.Base(file), data}, beside(filepath.Dir(file)))
}

// Each mistake is found at its line, with what was expected and an example. A file is called after the code that it
// shows, or after the mistake.
func TestLint(t *testing.T) {
	files, err := filepath.Glob("testdata/lint/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for _, f := range lintFile(t, file) {
				fmt.Fprintf(&b, "%s: %s\n", f.Code, f.Error())
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("lint differs (-want +got):\n%s", diff)
			}
			if b.Len() == 0 {
				t.Error("lint has nothing against it")
			}
		})
	}
}

// A file with many mistakes of all kinds shows all of them at once, each with what would do, and nothing else: the lines
// with a finding are those that say in a comment what is wrong.
func TestSlips(t *testing.T) {
	data, err := os.ReadFile("testdata/lint/slips.yaml")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	for _, f := range lintFile(t, "testdata/lint/slips.yaml") {
		found[f.Line] = true
		if f.File != "slips.yaml" || f.Expected == "" || f.Example == "" {
			t.Errorf("a finding does not say where, what was expected, or what would do: %+v", f)
		}
	}
	marked := regexp.MustCompile(` # [0-9]+ `)
	for i, line := range strings.Split(string(data), "\n") {
		if is := marked.MatchString(line); is != found[i+1] {
			t.Errorf("slips.yaml:%d: found %v: %s", i+1, found[i+1], line)
		}
	}
}

// Every code that docs/workflows.md lists has a fixture that shows it.
func TestLintCodes(t *testing.T) {
	data, err := os.ReadFile("../../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "## What lint finds")
	section, _, _ = strings.Cut(section, "\n## ")
	const least = 20
	codes := regexp.MustCompile("(?m)^- `([a-z-]+)`: ").FindAllStringSubmatch(section, -1)
	if len(codes) < least {
		t.Errorf("docs/workflows.md lists %d codes", len(codes))
	}
	for _, m := range codes {
		code := m[1]
		fs := lintFile(t, "testdata/lint/"+code+".yaml")
		if !fs.Has(code) {
			t.Errorf("%s.yaml is refused for other things:\n%v", code, fs)
		}
		for _, f := range fs {
			if f.File == "" || f.Line == 0 || f.Expected == "" || f.Example == "" {
				t.Errorf("%s: a finding does not say where, what was expected, or what would do: %+v", code, f)
			}
		}
	}
}

// mistakes are slips in the program's own workflows, with the code that finds each.
var mistakes = []struct{ name, from, to, code string }{
	{"blackboard", "needs: [SCHEME-1]", "needs: [SCHEM-1]", "unknown-name"},
	{"blackboard", "at: /milestones", "at: /milestone", "until-not-in-schema"},
	{"blackboard", "title: \"{{m.title}}\"", "title: \"{{m.name}}\"", "unknown-reference"},
	{"blackboard", "run: 'for t in tests/*.sh; do sh \"$t\"", "run: 'for t in {{m.n}}/*.sh; do sh \"$t\"", "reference-in-run"},
	{"blackboard", "role: dev\n", "role: devs\n", "unknown-name"},
	{"blackboard", "file: dev_plan.json", "file: devplan.json", "unknown-name"},
	{"blackboard", "max: \"{{decisions}}\"", "max: 100", "decides-too-few"},
	{"blackboard", "id: TEST-{{m.n}}.{{t.n}}", "id: TEST-{{m.n}}", "id-clash"},
	{"blackboard", "item: m.tasks, as: t, max: 7", "item: m.tasks, as: t", "no-bound"},
	{"blackboard", "item: m.tasks", "item: m.task", "unknown-name"},
	{"blackboard", "needs: [\"TEST-{{m.n}}.*\", \"DEV-{{m.n}}.*\"]", "needs: [\"DEV-{{m.n}}.*\"]", "judges-what-comes-later"},
	{"blackboard", "serial: true", "serial: yes, searial: true", "unknown-field"},
	{"iterdev", "where: {next: done}", "where: {next: finished}", "until-not-in-schema"},
	{"iterdev", "sprints: {type: integer, max: 3,", "sprints: {type: integer,", "no-bound"},
	{"iterdev", "when: {variant: patch}", "when: {varient: patch}", "unknown-name"},
	{"iterdev", "when: {variant: multi-sprint}", "when: {variant: multisprint}", "unknown-name"},
	{"iterdev", "rubric: code", "rubric: codes", "unknown-name"},
	{"iterdev", "by: [reviewer], max_rounds: 3}", "by: [reviewer], max_rounds: 3, on_exhausted: accept}", "delivers-what-may-be-accepted"},
	{"iterdev", "schema: {task-breakdown.json: breakdown}", "schema: {breakdown.json: breakdown}", "unknown-name"},
	{"iterdev", "paths: [\"**\"]", "paths: [\"../**\"]", "bad-path"},
	{"iterdev", "needs: [BASE-1, DEV-0]", "needs: [BASE-1]", "judges-what-comes-later"},
	{"iterdev", "by: [reviewer]", "by: [reviewr]", "unknown-name"},
	{"iterdev", "{from: 5, value: multi-sprint}", "{from: 5, value: many}", "bad-param"},
	{"iterdev", "covers: [R1]\n  criteria", "covers: [R9]\n  criteria", "unknown-root-criterion"},
	{"lifecycle", "where: {lane: frontend}", "where: {lane: pages}", "until-not-in-schema"},
	{"lifecycle", "where: {go: proceed}, others: drop}", "where: {go: proceed}}", "outcome-without-way"},
	{"lifecycle", "BACK-1, FRONT-1]\n      judges: {tasks: [BACK-1, FRONT-1], rubric: code}",
		"BACK-1, FRONT-1, TEST-1]\n      judges: {tasks: [BACK-1, FRONT-1], rubric: code}", "cycle"},
	{"lifecycle", "use: spec,", "use: spec, set: {round: 3},", "unknown-name"},
	{"lifecycle", "code: 25, accessibility: 25, design: 20, ux: 15, delivery: 15", "code: 0, accessibility: 0, design: 0, ux: 0, delivery: 0", "weights-zero"},
	{"lifecycle", "fact: web", "fact: wbe", "unknown-name"},
	{"spec", "agree: &agree {approvals: 2,", "agree: &agree {approvals: 4,", "agree-unreachable"},
	{"spec", "max_rounds: 2, on_exhausted: ask", "max_rounds: 2, on_exhausted: wait", "bad-value"},
	{"brief", "repeat: {max: \"{{rounds}}\"", "repeat: {max: 0", "bad-value"},
	{"brainstorm", "deliver: [SYNTH-1, EVAL-1]", "deliver: [SYNTH-1, EVALS-1]", "unknown-name"},
	{"brainstorm", "angles: {type: list, max: 3,", "angles: {type: list,", "no-bound"},
	{"brainstorm", "needs: [\"IDEA-*\"]", "needs: [\"IDEAS-*\"]", "unknown-name"},
}

// Each slip is found; and many at once are.
func TestMistakes(t *testing.T) {
	changed := map[string]string{}
	want := map[string]int{}
	for _, m := range mistakes {
		src, err := beside("")(m.name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(src.Data)
		if !strings.Contains(text, m.from) {
			t.Fatalf("%s has no %q", m.name, m.from)
		}
		fs := lint(Source{src.Name, []byte(strings.Replace(text, m.from, m.to, 1))}, beside(""))
		if !fs.Has(m.code) {
			t.Errorf("%s with %q: no %s:\n%v", m.name, m.to, m.code, fs)
		}
		if changed[m.name] == "" {
			changed[m.name] = text
		}
		if strings.Contains(changed[m.name], m.from) {
			changed[m.name] = strings.Replace(changed[m.name], m.from, m.to, 1)
			want[m.name]++
		}
	}
	for name, text := range changed {
		if fs := lint(Source{name + ".yaml", []byte(text)}, beside("")); len(fs) < want[name] {
			t.Errorf("%s with %d slips at once has %d findings:\n%v", name, want[name], len(fs), fs)
		}
	}
}

// What no group takes is left out on purpose where a loop says so.
func TestOthersDrop(t *testing.T) {
	for name, where := range map[string]string{
		"outcome-without-way.yaml": "where: {lane: picture}", "branch-outcome.yaml": "where: {state: bad}",
	} {
		data, err := os.ReadFile("testdata/lint/" + name)
		if err != nil {
			t.Fatal(err)
		}
		dropping := strings.Replace(string(data), where, where+", others: drop", 1)
		if fs := lint(Source{name, []byte(dropping)}, beside("testdata/lint")); len(fs) > 0 {
			t.Errorf("%v", fs)
		}
	}
}
