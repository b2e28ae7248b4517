package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The ids that a plan begins with.
const (
	rootID     = TaskID("GOAL-1")
	PlanTaskID = TaskID("PLAN-1") // the ACTION whose deliverable is the plan
)

// Bootstrap is the plan that makes a plan: a root and the ACTION PLAN-1, whose deliverable is the plan itself and which
// is reviewed like any other. file is the name of the candidate's file, plan.yaml or plan.json; criteria are what the
// review judges it by.
func Bootstrap(id ID, candidate *Plan, file string, criteria []Criterion) *Plan {
	return &Plan{
		SchemaVersion: SchemaVersion,
		PlanID:        id,
		Title:         candidate.Title,
		TopTask:       candidate.TopTask,
		RootTaskID:    rootID,
		Config:        candidate.Config,
		Tasks: []*Task{
			{TaskID: rootID, NodeType: Goal, Title: candidate.Title},
			{
				TaskID:              PlanTaskID,
				NodeType:            Action,
				Title:               "Plan: " + candidate.Title,
				ParentTaskID:        rootID,
				Agent:               "manual",
				EstimatedPersonDays: 0.5,
				DeliverableSpec: &DeliverableSpec{
					Format: FormatPlan, Filename: file, SingleFile: true,
					Description: "The graph of tasks, each with its deliverable, criteria and estimate.",
				},
				AcceptanceCriteria: criteria,
			},
			{
				TaskID: PlanTaskID.CheckID(), NodeType: Check, Title: "Review the plan", ParentTaskID: rootID,
				ReviewTargetTaskID: PlanTaskID, ReviewOutputSpec: ReviewOutput,
				// The plan's own quorum is for its deliverables: here there is one reviewer.
				Reviewers: []string{ReviewerPlan}, Quorum: 1,
			},
		},
	}
}

// ReviewOutput is the review_output_spec of every CHECK (seed 2, section 3.1).
const ReviewOutput = "APPROVED.md|REJECTED.md"

// Grafted is the plan base with the tasks of candidate, an approved version of base's planning task, in it. The
// candidate's root takes the place of base's root; base's planning tasks stay, so that the plan's own review remains
// visible. It fails if the candidate uses an id that belongs to planning tasks.
func Grafted(base, candidate *Plan, version int) (*Plan, error) {
	root := candidate.RootTaskID
	p := &Plan{
		SchemaVersion: SchemaVersion,
		PlanID:        base.PlanID,
		Title:         candidate.Title,
		TopTask:       candidate.TopTask,
		RootTaskID:    root,
		Config:        candidate.Config,
		Grafts:        append(slices.Clone(base.Grafts), Graft{PlanTaskID, VersionID(version)}),
	}
	for _, t := range base.Tasks {
		if t.TaskID == base.RootTaskID {
			continue
		}
		moved := *t
		if moved.ParentTaskID == base.RootTaskID {
			moved.ParentTaskID = root
		}
		p.Tasks = append(p.Tasks, &moved)
	}
	for _, t := range candidate.Tasks {
		if t.TaskID.reserved() {
			return nil, fmt.Errorf("%s: ids that begin with PLAN- belong to the tasks that make plans; use another prefix, such as IMPL-", t.TaskID)
		}
		if t.TaskID == root {
			p.Tasks = append([]*Task{t}, p.Tasks...)
			continue
		}
		p.Tasks = append(p.Tasks, t)
	}
	return p, nil
}

// reserved reports whether the id belongs to the tasks that make plans.
func (id TaskID) reserved() bool {
	return strings.HasPrefix(string(id), "PLAN-") || strings.HasPrefix(string(id), "CHECK-PLAN-")
}

// reserved finds the tasks that could not be grafted because of their ids. In a plan.json they are what they should be,
// so this is a rule for candidates alone.
func (p *Plan) reserved() Findings {
	var fs Findings
	for i, t := range p.Tasks {
		if t.TaskID.reserved() && t.NodeType != Check {
			fs = append(fs, Finding{
				Code: "reserved-id", Path: fmt.Sprintf("tasks[%d].task_id", i), TaskID: t.TaskID,
				Message: "ids that begin with PLAN- belong to the tasks that make plans", Expected: "another prefix",
				Found: string(t.TaskID), Example: "task_id: IMPL-1",
			})
		}
	}
	return fs
}

// GraftPlan makes an approved plan part of plan.json.
type GraftPlan struct {
	Task    TaskID // the planning task
	Version int
	Plan    *Plan // the candidate, as parsed from the version's file
}

// Apply is refused unless the task makes plans and the version is its approved one and not grafted yet.
func (e GraftPlan) Apply(s *State) (Change, error) {
	t, err := s.actionNamed(e.Task)
	if err != nil {
		return Change{}, err
	}
	if !t.Planning() {
		return Change{}, refuse(e.Task, "makes no plan")
	}
	if t.Status != StatusDone || t.Approved != e.Version {
		return Change{}, refuse(e.Task, "%s is not approved", VersionID(e.Version))
	}
	if s.Plan.Grafted(e.Task) {
		return Change{}, refuse(e.Task, "is already part of the plan")
	}
	p, err := Grafted(s.Plan, e.Plan, e.Version)
	if err != nil {
		return Change{}, err
	}
	leaves := p.leafCount()
	return Change{
		Subject:  fmt.Sprintf("%s: graft %s, %s", e.Task, VersionID(e.Version), Count(leaves, "task")),
		Trailers: trailers(EventGraft, e.Task, "Wf-Artifact", VersionID(e.Version), "Wf-Tasks", strconv.Itoa(leaves)),
		Plan:     p,
	}, nil
}

// leafCount is the number of ACTIONs that make deliverables.
func (p *Plan) leafCount() int {
	n := 0
	for _, t := range p.Tasks {
		if t.NodeType == Action && !t.Planning() {
			n++
		}
	}
	return n
}

// Grafted reports whether a version of the planning task is part of the plan.
func (p *Plan) Grafted(id TaskID) bool {
	return slices.ContainsFunc(p.Grafts, func(g Graft) bool { return g.TaskID == id })
}

// Ungrafted returns the planning tasks that are DONE and whose plan still has to be grafted.
func (s *State) Ungrafted() []*TaskState {
	var tasks []*TaskState
	for _, t := range s.Plan.Tasks {
		ts := s.Tasks[t.TaskID]
		if t.NodeType == Action && t.Planning() && ts.Status == StatusDone && !s.Plan.Grafted(t.TaskID) {
			tasks = append(tasks, ts)
		}
	}
	return tasks
}
