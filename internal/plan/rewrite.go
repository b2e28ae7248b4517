package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// plan.json after an event follows from plan.json before it and from the records. The functions here compute it by the
// events' own Apply, so that an audit can compare. From the event they take only what a person or an agent may choose:
// the top task, who makes a plan and who reviews it.

// AfterBegin returns what plan.json must be after the event that begins a plan; got is what it is. It is the bootstrap
// of what got says was asked for.
func (got *Plan) AfterBegin() (*Plan, error) {
	by, err := got.plannerOf(PlanTaskID)
	if err != nil {
		return nil, err
	}
	if (by.Agent == AgentWorkflow) != (got.Workflow != nil) {
		return nil, refuse(PlanTaskID, "a plan that is made from a workflow names it, and %s makes it", AgentWorkflow)
	}
	want := Bootstrap(got.PlanID, got, by)
	want.copyWording(nil, got)
	return want, nil
}

// AfterReplan returns what plan.json must be after the event that begins a planning task; got is what it is.
func (s *State) AfterReplan(task TaskID, got *Plan) (*Plan, error) {
	by, err := got.plannerOf(task)
	if err != nil {
		return nil, err
	}
	made := got.Task(task)
	if s.Plan.Task(task) != nil {
		return nil, refuse(task, "was there before")
	}
	c, err := Replan{Leaf: made.SplitTargetTaskID, Planner: by, Reason: made.Description}.Apply(s)
	if err != nil {
		return nil, err
	}
	c.Plan.copyWording(s.Plan, got)
	return c.Plan, nil
}

// After returns what the event adds and what plan.json must be after it, nil if it stays; task is the one that amends
// the plan, and got what plan.json is.
func (e ApplyDecision) After(s *State, task TaskID, got *Plan) (Change, error) {
	if got != nil {
		by, err := got.plannerOf(task)
		if err != nil {
			return Change{}, err
		}
		e.Planner = by
	}
	c, err := e.Apply(s)
	if err == nil && c.Plan != nil && got != nil {
		c.Plan.copyWording(s.Plan, got)
	}
	return c, err
}

// Grafting is an approved version of a planning task as it is recorded, and what is recorded of its leaves.
type Grafting struct {
	Task        TaskID
	Version     int
	Made        Artifact // artifact.json of the version
	Candidate   *Plan    // as parsed from the version's file
	Feasibility []byte   // how its leaves were estimated; may be empty
	Fills       []*Task  // as GraftPlan has them: what the plan's workflow gives for this version
}

// AfterGraft returns what plan.json must be after a version is grafted; got is what it is.
func (s *State) AfterGraft(g Grafting, got *Plan) (*Plan, error) {
	t := s.Tasks[g.Task]
	if t == nil || t.NodeType != Action || !t.Planning() {
		return nil, refuse(g.Task, "makes no plan")
	}
	ev := GraftPlan{Task: g.Task, Version: g.Version, Plan: g.Candidate, ByAgent: g.Made.Session != "",
		Fills: g.Fills}
	if g.Made.Estimated(t.Agent) {
		whole, err := s.Merged(g.Task, g.Candidate, g.Version)
		if err != nil {
			return nil, err
		}
		leaves, err := g.estimates(whole.NewLeaves(s.Plan))
		if err != nil {
			return nil, err
		}
		ev.Estimate(whole, leaves)
	}
	if len(ev.Split)+len(ev.Fills) > 0 {
		by, err := got.plannerOf(s.Plan.newPlanning(got))
		if err != nil {
			return nil, err
		}
		ev.Planner = by
	}
	c, err := ev.Apply(s)
	if err != nil {
		return nil, err
	}
	c.Plan.copyWording(s.Plan, got)
	return c.Plan, nil
}

// estimates reads the record of how the leaves were estimated: of each of them, and of nothing else.
func (g Grafting) estimates(leaves []*Task) ([]Feasible, error) {
	var rec struct {
		Tasks []Feasible `json:"estimates"`
	}
	if err := json.Unmarshal(g.Feasibility, &rec); err != nil {
		return nil, fmt.Errorf("how its tasks were estimated can't be read: %w", err)
	}
	same := func(t *Task, f Feasible) bool { return t.TaskID == f.TaskID }
	if !slices.EqualFunc(leaves, rec.Tasks, same) {
		return nil, errors.New("what is recorded of how its tasks were estimated is not about them")
	}
	return rec.Tasks, nil
}

// newPlanning is the first planning task that got has and p has not.
func (p *Plan) newPlanning(got *Plan) TaskID {
	for _, t := range got.Tasks {
		if t.NodeType == Action && t.Planning() && p.Task(t.TaskID) == nil {
			return t.TaskID
		}
	}
	return ""
}

var errNoPlanner = errors.New("it has no task that makes the plan, with a CHECK by " + ReviewerPlan)

// plannerOf reads off a planning task and its CHECK who makes the plan, and who reviews it.
func (p *Plan) plannerOf(id TaskID) (Planner, error) {
	t, check := p.Task(id), p.checkOf(id)
	if t == nil || t.NodeType != Action || !t.Planning() || check == nil {
		return Planner{}, errNoPlanner
	}
	return Planner{Agent: t.Agent, File: t.DeliverableSpec.Filename, Reviewers: check.Reviewers}, nil
}

// copyWording gives the planning tasks that are new in p the words that got has in their place. They are for people and
// agents to read, and other versions of this program may put them differently; nothing is judged by them.
func (p *Plan) copyWording(before, got *Plan) {
	for i, t := range p.Tasks {
		if !t.TaskID.Reserved() || before != nil && before.Task(t.TaskID) != nil {
			continue
		}
		o := got.Task(t.TaskID)
		if o == nil || o.NodeType != t.NodeType {
			continue
		}
		said := *t
		said.Title = o.Title
		if t.DeliverableSpec != nil && o.DeliverableSpec != nil {
			spec := *t.DeliverableSpec
			spec.Description = o.DeliverableSpec.Description
			said.DeliverableSpec = &spec
		}
		said.AcceptanceCriteria = slices.Clone(t.AcceptanceCriteria)
		for j := range said.AcceptanceCriteria {
			if j < len(o.AcceptanceCriteria) {
				said.AcceptanceCriteria[j].Statement = o.AcceptanceCriteria[j].Statement
			}
		}
		p.Tasks[i] = &said
	}
}
