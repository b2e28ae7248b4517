package plandoc

import (
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is written is read back as the same plan.
func TestWriteYAML(t *testing.T) {
	for name, text := range map[string]string{"small": small, "shop": splitYAML, "machine": `title: "Odd: texts"
top_task: |
  First line: with a colon

  - and a list # no comment
tasks:
  - {task_id: IMPL-1, title: "yes", description: "null", estimated_person_days: 0.25, deliverable_spec: {format: md, files: ["*.md", "a b.txt"]},
     meta: {n: 1, s: "1", list: [1, two]}, acceptance_criteria: [{id: "1", statement: "a: b has 3 x", run: "test 1 = 1\ntrue\n"}]}
  - {task_id: CHECK-IMPL-1, node_type: CHECK, title: Own, review_target_task_id: IMPL-1, quorum: 2}
`} {
		t.Run(name, func(t *testing.T) {
			want, err := ParseValid("p.yaml", []byte(text), policy.Floors{})
			if err != nil {
				t.Fatal(err)
			}
			by := plan.Planner{Agent: plan.AgentManual, File: "plan.yaml"}
			whole, err := plan.Bootstrap("WFS-x", want, by).Merged(plan.PlanTaskID, want, 1)
			if err != nil {
				t.Fatal(err)
			}
			data, err := WriteYAML(whole)
			if err != nil {
				t.Fatal(err)
			}
			got, err := ParseValid("written.yaml", data, policy.Floors{})
			if err != nil {
				t.Fatalf("%v\n%s", err, data)
			}
			want.PlanID = "WFS-x"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n%s", diff, data)
			}
		})
	}
}

// A text of any characters is read back as it was, whatever YAML takes for the end of a line.
func TestWriteYAMLTexts(t *testing.T) {
	parts := []string{"x", " ", "\n", "\t", "\r", "\u0085", "\u00a0", "\u2028", "\u2029", "\ufeff", "\x7f", "\u200b", "\U0001f600", "#", ": ",
		"- ", "---", "...", "'", `"`, `\`, "|", "%", "{{", "~", "null", "1e3", "<<", "\u0080", "\u009f", "\ue000", "\ufffd"}
	texts := []string{"\u0085x\n", "\n x", "\tx\n", "\n", "\u2028x\n"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 400 {
		var text strings.Builder
		for range 1 + r.IntN(5) {
			text.WriteString(parts[r.IntN(len(parts))])
		}
		texts = append(texts, text.String())
	}
	p, err := ParseValid("p.yaml", []byte(small), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		p.TopTask = text
		data, err := WriteYAML(p)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got, err := Parse("written.yaml", data); err != nil || got.TopTask != text {
			t.Errorf("%q was written as\n%s", text, data)
		}
	}
}
