package plandoc

import (
	"errors"
	"fmt"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// namesOf lists records, one a line, that all have the same object id.
func namesOf(list string) []plan.Name {
	var names []plan.Name
	for line := range strings.SplitSeq(list, "\n") {
		names = append(names, plan.Name{Path: line, OID: "1111111111111111111111111111111111111111"})
	}
	return names
}

const splitYAML = `title: Shop
top_task: Make a shop.
config: {max_decomposition_depth: 3}
root_acceptance_criteria: [{id: R1, statement: The shop sells 3 things}]
tasks:
  - {task_id: IMPL-1, title: Design, estimated_person_days: 1, deliverable_spec: {filename: design.md},
     acceptance_criteria: [{id: A1, statement: design.md has 3 screens}]}
  - {task_id: IMPL-2, title: Shop, estimated_person_days: 20, depends_on: [IMPL-1], covers: [R1], requires: [{name: logo}], deliverable_spec: {filename: shop.html},
     acceptance_criteria: [{id: A1, statement: shop.html lists 3 things}]}
  - {task_id: CHECK-IMPL-2, node_type: CHECK, title: Look, review_target_task_id: IMPL-2, reviewers: [ann], min_score: 95}
  - {task_id: IMPL-3, title: Manual, estimated_person_days: 1, depends_on: [IMPL-2], deliverable_spec: {filename: manual.md},
     acceptance_criteria: [{id: A1, statement: manual.md has 3 chapters}]}
`

// grafted is a plan that has been accepted, with the task that splits IMPL-2.
func grafted(t *testing.T) *plan.State {
	t.Helper()
	p, err := ParseValid("shop.yaml", []byte(splitYAML), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	by := plan.Planner{Agent: "claude", File: "plan.yaml"}
	base, err := plan.Bootstrap("WFS-shop", p, by).Merged(plan.PlanTaskID, p, 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := plan.Replan{Leaf: "IMPL-2", Planner: by}.Apply(plan.Derive(base, plan.Records{}, nil, noon))
	if err != nil {
		t.Fatal(err)
	}
	return plan.Derive(c.Plan, plan.Records{}, nil, noon)
}

const goodFragment = `title: Parts of the shop
tasks:
  - {task_id: IMPL-2.1, title: Goods, estimated_person_days: 4, deliverable_spec: {filename: goods.json}, acceptance_criteria: [{id: A1, statement: goods.json has 3 things}]}
  - {task_id: IMPL-2.2, title: Page, estimated_person_days: 6, depends_on: [IMPL-2.1], deliverable_spec: {filename: shop.html}, acceptance_criteria: [{id: A1, statement: shop.html has a cart}]}
`

// A fragment is part of a plan that has a title.
func TestSplitWithoutTitle(t *testing.T) {
	_, tasks, _ := strings.Cut(goodFragment, "tasks:\n")
	for _, text := range []string{"tasks:\n" + tasks, tasks} {
		fragment, err := ParseCandidate(grafted(t), "PLAN-2", "plan.yaml", []byte(text), policy.Floors{})
		if err != nil || fragment.Title != "Shop" || len(fragment.Tasks) != 5 {
			t.Errorf("got %+v, %v", fragment, err)
		}
	}
	_, err := ParseCandidate(grafted(t), "PLAN-2", "plan.yaml", []byte(strings.Replace(tasks, "estimated_person_days: 6",
		"estimated_person_days: six", 1)), policy.Floors{})
	if err == nil || !strings.Contains(err.Error(), "plan.yaml:2: tasks[1].estimated_person_days") {
		t.Errorf("got %v, want the place", err)
	}
}

func TestSplit(t *testing.T) {
	s := grafted(t)
	logo := plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{"IMPL-2": plan.ParseTaskRecords(namesOf("inputs/logo/1.json"))}}
	open := plan.Derive(s.Plan, logo, nil, noon)
	if ts := open.Tasks["IMPL-2"]; ts.Status != plan.StatusPending || !slices.Contains(open.WaitsFor(ts), "PLAN-2") {
		t.Errorf("the leaf is %s and waits for %v", ts.Status, open.WaitsFor(ts))
	}
	fragment, err := ParseCandidate(s, "PLAN-2", "plan.yaml", []byte(goodFragment), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Merged("PLAN-2", fragment, 1)
	if err != nil {
		t.Fatal(err)
	}
	if fs := Validate(p, policy.Floors{}); len(fs) > 0 {
		t.Fatal(fs)
	}
	leaf, page := p.Task("IMPL-2"), p.Task("IMPL-2.2")
	if leaf.NodeType != plan.Goal || leaf.DeliverableSpec != nil || p.Task("CHECK-IMPL-2") != nil {
		t.Errorf("the leaf is %+v, its CHECK %+v", leaf, p.Task("CHECK-IMPL-2"))
	}
	if diff := cmp.Diff([]plan.TaskID{"IMPL-2.1", "IMPL-1"}, page.DependsOn); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(page.Covers, []string{"R1"}) || len(page.Requires) != 1 || page.ParentTaskID != "IMPL-2" {
		t.Errorf("the heir is %+v", page)
	}
	var criteria []string
	for _, c := range page.AcceptanceCriteria {
		criteria = append(criteria, c.ID+" "+c.Statement)
	}
	if diff := cmp.Diff([]string{"A1 shop.html has a cart", "A2 shop.html lists 3 things"}, criteria); diff != "" {
		t.Error(diff)
	}
	if c := p.Task("CHECK-IMPL-2.1"); c.MinScore != 95 || !slices.Equal(c.Reviewers, []string{"ann"}) {
		t.Errorf("the CHECK of a part is laxer than the leaf's: %+v", c)
	}
	parts := plan.Derive(p, logo, nil, noon)
	if now := parts.Tasks["IMPL-2.1"]; now.Status != plan.StatusPending {
		t.Errorf("what was handed in for the leaf does not count for its parts: %s, %s", now.Status, parts.Reason(now))
	}
	if diff := cmp.Diff([]plan.TaskID{"IMPL-2.2"}, p.Task("IMPL-3").DependsOn); diff != "" {
		t.Error(diff)
	}
	if s.Plan.Task("IMPL-3").DependsOn[0] != "IMPL-2" {
		t.Error("the graft changed the plan that it was made of")
	}
}

// What a fragment says of the plan as a whole changes nothing, and least of all what the plan's list is covered by.
func TestSplitIgnores(t *testing.T) {
	merge := func(text string) *plan.Plan {
		s := grafted(t)
		fragment, err := ParseCandidate(s, "PLAN-2", "plan.yaml", []byte(text), policy.Floors{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Merged("PLAN-2", fragment, 1)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole := "config: {min_score: 10}\nroot_acceptance_criteria: [{id: R1, statement: x is 1}, {id: R9, statement: x is 2}]\n" +
		strings.Replace(goodFragment, "task_id: IMPL-2.1", "covers: [R1, R9], task_id: IMPL-2.1", 1)
	if diff := cmp.Diff(merge(goodFragment), merge(whole), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestSplitRefusals(t *testing.T) {
	tests := []struct{ name, fragment, want string }{
		{"nobody yields it", strings.Replace(goodFragment, "shop.html}", "other.html}", 1),
			"no task yields what the split task was to deliver (expected a task that delivers shop.html"},
		{"an id that is taken", strings.ReplaceAll(goodFragment, "IMPL-2.1", "IMPL-1"),
			"the id belongs to another task already"},
		{"a planning task's id", strings.ReplaceAll(goodFragment, "IMPL-2.1", "PLAN-9"),
			"ids that begin with PLAN- belong to"},
		{"unknown dependency", strings.ReplaceAll(goodFragment, "depends_on: [IMPL-2.1]", "depends_on: [IMPL-7]"),
			"plan.yaml:4: tasks[1].depends_on[0]: IMPL-2.2: names a task that does not exist"},
		{"circle", strings.ReplaceAll(goodFragment, "depends_on: [IMPL-2.1]", "depends_on: [IMPL-3]"),
			"wait for each other in a circle"},
		{"too deep", "title: x\ntasks:\n  - {task_id: G-1, title: x, tasks: [{task_id: G-2, title: x, tasks: [{task_id: G-3, title: x, estimated_person_days: 1, deliverable_spec: {filename: shop.html}, acceptance_criteria: [{id: A1, statement: x has 3 y}]}, {task_id: G-4, title: x, estimated_person_days: 1, deliverable_spec: {filename: x}, acceptance_criteria: [{id: A1, statement: x has 3 y}]}]}]}\n",
			"is too deep below the root"},
		{"alone", "title: x\ntasks:\n  - {task_id: G-1, title: x, estimated_person_days: 1, deliverable_spec: {filename: shop.html}, acceptance_criteria: [{id: A1, statement: x has 3 y}]}\n", "a split into one task is no smaller"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseCandidate(grafted(t), "PLAN-2", "plan.yaml", []byte(tt.fragment), policy.Floors{})
			var fs plan.Findings
			if !errors.As(err, &fs) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestReplanRefusals(t *testing.T) {
	base := grafted(t)
	approved := plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{"IMPL-1": plan.ParseTaskRecords(namesOf(
		"artifacts/v1/artifact.json\nartifacts/v1/files\nreviews/r1-v1-100-ann/APPROVED.md\nreviews/r1-v1-100-ann/review.json"))}}
	flat := *base.Plan
	flat.Config.MaxDecompositionDepth = 1
	tests := []struct {
		name string
		s    *plan.State
		leaf plan.TaskID
		want string
	}{
		{"twice", base, "IMPL-2", "PLAN-2: does that already"},
		{"done", plan.Derive(base.Plan, approved, nil, noon), "IMPL-1", "IMPL-1: has an approved version, v1"},
		{"a GOAL", base, "GOAL-1", "GOAL-1: is a GOAL, not an ACTION"},
		{"a planning task", base, "PLAN-1", "PLAN-1: makes a plan and can't be split"},
		{"too deep", plan.Derive(&flat, plan.Records{}, nil, noon), "IMPL-3",
			"IMPL-3: stands at level 1, and the plan allows 1 (config.max_decomposition_depth)"},
		{"no plan yet", plan.Derive(plan.Bootstrap("WFS-x", &plan.Plan{Title: "x"}, plan.Planner{Agent: "claude"}), plan.Records{}, nil, noon), "",
			"PLAN-1: the plan itself is not accepted yet"},
		{"amend", base, "", "<nil>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := plan.Replan{Leaf: tt.leaf}.Apply(tt.s)
			if fmt.Sprint(err) != tt.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What is approved can't be left out by an amended plan, and what that changes of it is found.
func TestAmend(t *testing.T) {
	base := grafted(t)
	c, err := plan.Replan{Planner: plan.Planner{Agent: plan.AgentManual, File: "plan.yaml"}}.Apply(base)
	if err != nil {
		t.Fatal(err)
	}
	approved := plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{"IMPL-1": plan.ParseTaskRecords(namesOf(
		"artifacts/v1/artifact.json\nartifacts/v1/files\nreviews/r1-v1-100-ann/APPROVED.md\nreviews/r1-v1-100-ann/review.json"))}}
	s := plan.Derive(c.Plan, approved, nil, noon)
	tests := []struct{ name, old, new, want string }{
		{"nothing", "", "", ""},
		{"an open task", "title: Manual", "title: Handbook", ""},
		{"a done task's criteria", "design.md has 3 screens", "design.md has 1 screen",
			"acceptance_criteria: IMPL-1: has an approved version and can't be changed"},
		{"a done task's file", "{filename: design.md}", "{filename: plan.md}",
			"deliverable_spec: IMPL-1: has an approved version and can't be changed"},
		{"without a done task", "IMPL-1", "IMPL-9", "IMPL-1: has an approved version and can't be left out"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := splitYAML
			if tt.old != "" {
				text = strings.ReplaceAll(splitYAML, tt.old, tt.new)
			}
			candidate, err := ParseCandidate(s, "PLAN-3", "plan.yaml", []byte(text), policy.Floors{})
			if err == nil {
				whole, mergeErr := s.Merged("PLAN-3", candidate, 1)
				if mergeErr != nil {
					t.Fatal(mergeErr)
				}
				err = Locate("plan.yaml", []byte(text), s.Amended(whole)).Err()
			}
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := s.Merged("PLAN-3", candidate, 1)
			if err != nil || p.Task("PLAN-2") == nil || p.TopTask != "Make a shop." || !p.Grafted("PLAN-3") {
				t.Errorf("%v: %+v", err, p)
			}
		})
	}
}
