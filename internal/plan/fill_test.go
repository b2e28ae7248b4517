package plan_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	. "gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

var byWorkflow = Planner{Agent: AgentWorkflow, File: "plan.yaml"}

const partsYAML = `title: Parts
schema_version: 2
tasks:
  - task_id: LIST-1
    title: The list
    description: The list.
    estimated_person_days: 1
    deliverable_spec: {filename: list.json}
    acceptance_criteria: [{id: A1, statement: it has 1 part, run: test -s list.json}]
  - {task_id: BUILD-0, node_type: GOAL, title: Around it}
  - {task_id: BUILD-1, node_type: GOAL, title: The parts, parent_task_id: BUILD-0}
  - task_id: JOIN-1
    title: All
    description: All.
    depends_on: [BUILD-0]
    estimated_person_days: 1
    deliverable_spec: {filename: all.txt}
    acceptance_criteria: [{id: A1, statement: it has 1 line, run: test -s all.txt}]
`

const partYAML = `title: The parts
root_task_id: BUILD-1
tasks:
  - {task_id: BUILD-1, node_type: GOAL, title: The parts}
  - task_id: PART-1
    title: A part
    description: A part.
    parent_task_id: BUILD-1
    depends_on: [LIST-1]
    estimated_person_days: 1
    deliverable_spec: {filename: part.txt}
    acceptance_criteria: [{id: A1, statement: it has 1 line, run: test -s part.txt}]
`

// workflowPlan is a plan from a workflow: LIST-1, BUILD-1, which PLAN-2 fills from that, and JOIN-1 behind it.
func workflowPlan(t *testing.T) *Plan {
	t.Helper()
	asked := &Plan{Title: "Parts", TopTask: "Parts", Workflow: &Workflow{Name: "parts", Version: 1,
		OID: OID(strings.Repeat("a", 40))}}
	candidate, err := plandoc.ParseFrom("plan.yaml", []byte(partsYAML), policy.Floors{}, asked.Workflow)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Bootstrap("WFS-parts", asked, byWorkflow).Merged(PlanTaskID, candidate, 1)
	if err != nil {
		t.Fatal(err)
	}
	fill := &Task{FillTargetTaskID: "BUILD-1", DependsOn: []TaskID{"LIST-1"}, Fill: &Fill{Section: "/tasks/1"}}
	if err := p.AddFills([]*Task{fill}, byWorkflow); err != nil {
		t.Fatal(err)
	}
	if fs := plandoc.Validate(p, policy.Floors{}); len(fs) > 0 {
		t.Fatal(fs)
	}
	return p
}

func done(ids ...TaskID) Records {
	r := Records{Tasks: map[TaskID]*TaskRecords{}}
	for _, id := range ids {
		r.Tasks[id] = &TaskRecords{Artifacts: []ArtifactRecord{{Version: 1}},
			Reviews: []ReviewRecord{{N: 1, Version: 1, Reviewer: "checks", Verdict: Approved}}}
	}
	return r
}

// A GOAL that gets more tasks is not DONE and holds back what depends on it, as do the GOALs above it. With tasks it
// follows from them, and without any it is DONE.
func TestGoalIsFilled(t *testing.T) {
	p := workflowPlan(t)
	s := Derive(p, done("LIST-1"), nil, time.Time{})
	for id, want := range map[TaskID]Status{"BUILD-1": StatusPending, "BUILD-0": StatusPending, "JOIN-1": StatusPending,
		"PLAN-2": StatusReady, "GOAL-1": StatusInProgress} {
		if got := s.Tasks[id].Status; got != want {
			t.Errorf("before: %s is %s, want %s", id, got, want)
		}
	}
	if got := s.WaitsFor(s.Tasks["BUILD-0"]); !slices.Equal(got, []TaskID{"PLAN-2"}) {
		t.Errorf("BUILD-0 waits for %v", got)
	}
	if got := s.Filling("LIST-1"); len(got) != 1 || got[0].TaskID != "PLAN-2" {
		t.Errorf("LIST-1 fills %v", got)
	}

	fragment, err := plandoc.ParseCandidate(s, "PLAN-2", "plan.yaml", []byte(partYAML), policy.Floors{})
	if err != nil {
		t.Fatal(err)
	}
	some, err := p.Merged("PLAN-2", fragment, 1)
	if err != nil {
		t.Fatal(err)
	}
	if fs := plandoc.Validate(some, policy.Floors{}); len(fs) > 0 {
		t.Fatal(fs)
	}
	s = Derive(some, done("LIST-1", "PLAN-1", "PLAN-2"), nil, time.Time{})
	if some.Task("PART-1").ParentTaskID != "BUILD-1" || s.Tasks["PART-1"].Status != StatusReady ||
		s.Tasks["JOIN-1"].Status != StatusPending {
		t.Errorf("filled: PART-1 is %s, JOIN-1 is %s", s.Tasks["PART-1"].Status, s.Tasks["JOIN-1"].Status)
	}

	// It is grafted once.
	ev := GraftPlan{Task: "PLAN-2", Version: 1, Plan: fragment}
	var refused *RefusedError
	if _, err := ev.Apply(s); !errors.As(err, &refused) || refused.Reason != "is already part of the plan" {
		t.Errorf("it is grafted again: %v", err)
	}
	// An id that is taken is none for a fill.
	var wrong Findings
	if _, err := some.Merged("PLAN-2", fragment, 1); !errors.As(err, &wrong) || !wrong.Has("duplicate-id") {
		t.Errorf("ids that are taken: %v", err)
	}

	none := *fragment
	none.Tasks = none.Tasks[:1]
	empty, err := p.Merged("PLAN-2", &none, 1)
	if err != nil {
		t.Fatal(err)
	}
	s = Derive(empty, done("LIST-1", "PLAN-1", "PLAN-2"), nil, time.Time{})
	for id, want := range map[TaskID]Status{"BUILD-1": StatusDone, "BUILD-0": StatusDone, "JOIN-1": StatusReady} {
		if got := s.Tasks[id].Status; got != want {
			t.Errorf("filled with nothing: %s is %s, want %s", id, got, want)
		}
	}
}

// Only the program makes what fills a GOAL: a candidate, whoever made it, that says so is refused.
func TestCandidatesFillNothing(t *testing.T) {
	task := partsYAML[strings.Index(partsYAML, "  - task_id: LIST-1"):strings.Index(partsYAML, "  - {task_id: BUILD-0")]
	for name, tt := range map[string]struct{ text, want string }{
		"a workflow": {"workflow: {name: parts, version: 1, oid: " + strings.Repeat("a", 40) + "}\n", "reserved-field"},
		"a fill": {"tasks:\n" + strings.Replace(task, "    title:", "    fill: {section: /tasks/1}\n    title:", 1),
			"wrong-field"},
		"a target": {"tasks:\n" + strings.Replace(task, "    title:", "    fill_target_task_id: GOAL-1\n    title:", 1),
			"wrong-field"},
		"an id": {"tasks:\n" + strings.Replace(task, "LIST-1", "PLAN-2", 1), "reserved-id"},
		"an id and a fill": {"tasks:\n" + strings.NewReplacer("LIST-1", "PLAN-2", "    title:",
			"    fill_target_task_id: GOAL-1\n    fill: {section: /tasks/1}\n    title:").Replace(task), "reserved-id"},
		"expands": {"tasks:\n" + strings.Replace(task, "acceptance_criteria: [{",
			"acceptance_criteria: [{id: X1, statement: it expands to 1 task, check_method: expands}, {", 1), "check-method"},
	} {
		text := "title: Parts\nschema_version: 2\n" + tt.text
		if !strings.Contains(text, "tasks:") {
			text += "tasks:\n" + task
		}
		_, err := plandoc.ParseValid("plan.yaml", []byte(text), policy.Floors{})
		var wrong Findings
		if !errors.As(err, &wrong) || !wrong.Has(tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
		// An agent's amendment of a plan that is made from a workflow, likewise.
		p := workflowPlan(t)
		amend := Replan{Planner: Planner{Agent: "claude", File: "plan.yaml"}}
		c, err := amend.Apply(Derive(p, done("PLAN-1"), nil, time.Time{}))
		if err != nil {
			t.Fatal(err)
		}
		s := Derive(c.Plan, done("PLAN-1"), nil, time.Time{})
		if name == "expands" || name == "a workflow" {
			continue // in such a plan they may stand
		}
		_, err = plandoc.ParseCandidate(s, "PLAN-3", "plan.yaml", []byte(text), policy.Floors{})
		if !errors.As(err, &wrong) || !wrong.Has(tt.want) {
			t.Errorf("an amendment with %s: %v, want %s", name, err, tt.want)
		}
	}
}

// A workflow's planning tasks are nobody else's, and no other plan has fills.
func TestFillsBelongToWorkflows(t *testing.T) {
	p := workflowPlan(t)
	if _, err := (Replan{Planner: byWorkflow}).Apply(Derive(p, done("PLAN-1"), nil, time.Time{})); err == nil {
		t.Error("an amendment by the agent workflow begins")
	}
	asked := &Plan{Title: "Parts"}
	base := Bootstrap("WFS-parts", asked, Planner{Agent: AgentManual, File: "plan.yaml"})
	ev := GraftPlan{Task: PlanTaskID, Version: 1, Plan: p, Fills: []*Task{{FillTargetTaskID: "BUILD-1"}}}
	candidate := *p
	candidate.Workflow = nil
	candidate.Tasks = slices.DeleteFunc(slices.Clone(p.Tasks), func(t *Task) bool { return t.TaskID.Reserved() })
	ev.Plan = &candidate
	if _, err := ev.Apply(Derive(base, done("PLAN-1"), nil, time.Time{})); err == nil ||
		!strings.Contains(err.Error(), "not made from a workflow") {
		t.Errorf("a plan without a workflow has fills: %v", err)
	}
	got := Bootstrap("WFS-parts", &Plan{Title: "Parts", Workflow: p.Workflow}, Planner{Agent: "claude", File: "plan.yaml"})
	if _, err := got.AfterBegin(); err == nil {
		t.Error("a plan that names a workflow is begun by somebody else")
	}
}
