package plandoc

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/plan"
)

// readBack holds a plan's Markdown against the plan.
func readBack(t *testing.T, p *plan.Plan) string {
	t.Helper()
	yaml, err := WriteYAML(p)
	if err != nil {
		t.Fatal(err)
	}
	out, err := WriteMarkdown(p, func(plan.TaskID) Progress { return Progress{"TODO", "v1 awaits review"} })
	if err != nil {
		w := &markdownWriter{}
		text, _ := w.write(yaml)
		got, err := reread(text)
		want, _ := reread(yaml)
		t.Fatalf("%v\n%s\n(-want +got)\n%s", err, text, cmp.Diff(string(want), string(got)))
	}
	want, _ := reread(yaml)
	if got, err := reread(out); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(string(want), string(got)))
	}
	return string(out)
}

// Every plan of the examples is the same after Markdown and back.
func TestMarkdownReadsBack(t *testing.T) {
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := Parse(name, data); err == nil {
			readBack(t, p)
		}
	}
	for _, text := range []string{
		"title: A\ntasks: [{task_id: A-1, title: 'x #', description: \"## Task B-1: no\\n- status: DONE\\n```yaml task\\na: b\"}]",
		"title: 'A  b'\ntop_task: \"# heading\\n\\n\\nx\"\ntasks: [{task_id: A-1, title: One, acceptance_criteria: [{id: A1, statement: \"two\\nlines\", run: \"a\\nb\"}, {id: B, statement: \"x: y\", severity: SHOULD}]}]",
		"title: A\ntasks:\n- {task_id: G-1, title: G, tasks: [{task_id: A-1, title: One}, {task_id: G-2, title: H, tasks: [{task_id: A-2, title: Two, depends_on: [A-1]}]}]}\n- {task_id: A-3, title: Three, estimated_person_days: 0.125}",
		"title: A\ntasks:\n- {task_id: A-1, title: One, parent_task_id: G-1}\n- {task_id: G-1, node_type: GOAL, title: G}\n",
		"title: A\nroot_acceptance_criteria: [{id: R1, statement: s}]\nconfig: {min_score: 80}\ntasks: [{task_id: A-1, title: One, covers: [R1], deliverable_spec: {filename: a.md}, run: 'echo a'}]",
	} {
		p, err := Parse("x", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		readBack(t, p)
	}
}

// What a person writes: fields in a list, the rest in YAML; errors have the lines of the text.
func TestMarkdownByHand(t *testing.T) {
	text := strings.Join([]string{
		"---", "git-wf: plan", "config: {min_score: 80}", "---", "# Quotes", "", "Make quotes.", "",
		"## Milestone M-1: Core", "", "The core.", "",
		"### Task IMPL-1: Read", "", "Read the lists.", "",
		"- depends on: IMPL-2", "- estimate: 4h", "- status: DONE",
		"- acceptance:", "  - A1: a quote is made", "  - the page has 3 rows", "    - run: `test -s page.txt`", "",
		"```yaml task", "deliverable_spec: {filename: page.txt}", "```", "",
		"## Task IMPL-2: Print", "",
	}, "\n")
	p, err := Parse("x.md", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	one := p.Task("IMPL-1")
	if p.Title != "Quotes" || p.TopTask != "Make quotes." || p.Config.MinScore != 80 || one == nil || one.ParentTaskID != "M-1" ||
		one.Description != "Read the lists." || one.EstimatedPersonDays != 0.5 || len(one.AcceptanceCriteria) != 2 ||
		one.AcceptanceCriteria[1].Run != "test -s page.txt" || one.AcceptanceCriteria[1].ID != "A2" ||
		one.DeliverableSpec.Filename != "page.txt" || len(one.DependsOn) != 1 || p.Task("M-1").Description != "The core." {
		t.Errorf("%+v\n%+v", p, one)
	}
	for wrong, want := range map[string]string{
		"estimate: 4h":          "x.md:18: is no estimate",
		"## Task IMPL-2: Print": "x.md:29: the heading names no task",
		"filename: page.txt}":   "x.md:26: ",
	} {
		broken := strings.Replace(text, wrong, map[string]string{"estimate: 4h": "estimate: soon",
			"## Task IMPL-2: Print": "## Task Print", "filename: page.txt}": "filename: page.txt"}[wrong], 1)
		if _, err := Parse("x.md", []byte(broken)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Only the head makes a text a plan: what its body says makes nothing of it.
func TestIsMarkdown(t *testing.T) {
	for text, want := range map[string]bool{
		"---\ngit-wf: plan\n---\n":                           true,
		"---\ntitle: x\ngit-wf: plan\n---\n# x":              true,
		"\ufeff---\r\ngit-wf: plan\r\n---\r\n":               true,
		"---\ntitle: x\n---\n\ngit-wf: plan\n\n---\n":        false,
		"# x\n---\ngit-wf: plan\n---\n":                      false,
		"---\ngit-wf: plan\n":                                false,
		"---\ntitle: |\n  x\n  git-wf: plan\n---\n":          false,
		"```\n---\ngit-wf: plan\n---\n```\n":                 false,
		"---\ngit-wf: planner\n---\n":                        false,
		"- [ ] `---`\n- [ ] git-wf: plan\n---\ngit-wf: plan": false,
	} {
		if got := IsMarkdown([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
