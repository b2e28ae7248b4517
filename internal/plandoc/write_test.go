package plandoc

import (
	"gitwf/internal/plan"
	"gitwf/internal/policy"
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
