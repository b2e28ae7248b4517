package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
)

// The ids that a plan begins with.
const (
	RootID     = TaskID("GOAL-1")
	PlanTaskID = TaskID("PLAN-1") // the ACTION whose deliverable is the plan
)

// Planner says who makes a plan and how what they make is reviewed.
type Planner struct {
	Agent     string   // AgentManual for a person
	File      string   // the name of the candidate's file: plan.yaml, or plan.json for what a person wrote in JSON
	Reviewers []string // each must approve, in addition to the built-in review
}

// invents reports whether an agent thinks the plan up. Other plans are a person's, or are made from a
// person's outline or workflow.
func (p Planner) invents() bool {
	return p.Agent != AgentManual && p.Agent != AgentOutline && p.Agent != AgentWorkflow
}

// Read has a plan that an agent thinks up read by those whom the policy names for plans or, if there are none, by a
// person or who may stand in: rules alone can't say whether it serves what was asked for.
func (p Planner) Read() Planner {
	named := slices.ContainsFunc(p.Reviewers, func(r string) bool { return r != ReviewerPlan })
	if p.invents() && !named {
		p.Reviewers = []string{ReviewerPerson}
	}
	return p
}

// criteria returns what a plan is judged by. In a person's plan no ACTION may be too large; in an
// agent's plan such an ACTION is split.
func (p Planner) criteria() []Criterion {
	all := PlanCriteria()
	if !p.invents() {
		return all
	}
	return slices.DeleteFunc(all, func(c Criterion) bool { return c.ID == "feasible" })
}

// PlanCriteria are the acceptance criteria of every task that makes a plan: what the built-in review judges.
func PlanCriteria() []Criterion {
	criterion := func(id, severity, statement string) Criterion {
		return Criterion{ID: id, Type: "plan", Statement: statement, CheckMethod: ManualReview, Severity: severity}
	}
	return []Criterion{
		criterion("feasible", Must, "Every ACTION is estimated at no more than one_shot_threshold_person_days."),
		criterion("observable", Must, "At least half of the ACTIONs have a criterion whose outcome can be observed."),
		criterion("coverage", Should, "The root's criteria cover the top task, and each follows from the "+
			"tasks that cover it."),
		criterion("completeness", Should, "Every ACTION is described and has a MUST criterion."),
		criterion("dependencies", Should, "Every ACTION serves a root criterion or another task."),
		criterion("wording", Should, "Every ACTION has an observable outcome and no criterion is too vague to judge."),
	}
}

// planningTasks are the ACTION that makes a plan and its CHECK.
func (p Planner) planningTasks(id TaskID, title string, parent TaskID, description string) []*Task {
	// The hard rules come first, whoever else reviews.
	reviewers := each.Add([]string{ReviewerPlan}, p.Reviewers...)
	return []*Task{
		{
			TaskID: id, NodeType: Action, Title: title, ParentTaskID: parent, Agent: p.Agent, EstimatedPersonDays: 0.5,
			DeliverableSpec: &DeliverableSpec{Format: FormatPlan, Filename: p.File, SingleFile: true,
				Description: description},
			AcceptanceCriteria: p.criteria(),
		},
		{
			TaskID: id.CheckID(), NodeType: Check, Title: "Review the plan", ParentTaskID: parent,
			ReviewTargetTaskID: id, ReviewOutputSpec: ReviewOutput,
			// The plan's own quorum is for its deliverables.
			Reviewers: reviewers, Quorum: len(reviewers),
		},
	}
}

// Bootstrap returns the plan that makes a plan: a root and the ACTION PLAN-1, whose deliverable is the plan itself,
// reviewed like any other. Title, top task, config, type and complexity come from asked.
func Bootstrap(id ID, asked *Plan, by Planner) *Plan {
	p := &Plan{
		PlanID:     id,
		Title:      asked.Title,
		TopTask:    asked.TopTask,
		RootTaskID: RootID,
		Config:     asked.Config,
		PlanType:   asked.PlanType,
		Register:   asked.Register,
		Complexity: asked.Complexity,
		Workflow:   asked.Workflow,
		Tasks: append([]*Task{{TaskID: RootID, NodeType: Goal, Title: asked.Title}},
			by.planningTasks(PlanTaskID, "Plan: "+asked.Title, RootID,
				"The graph of tasks, each with its deliverable, criteria and estimate.")...),
	}
	p.SetVersion()
	return p
}

// ReviewOutput is the review_output_spec of every CHECK.
const ReviewOutput = "APPROVED.md|REJECTED.md"

// Reserved reports whether the id belongs to the tasks that make plans.
func (id TaskID) Reserved() bool {
	return strings.HasPrefix(string(id), "PLAN-") || strings.HasPrefix(string(id), "CHECK-PLAN-")
}

// MakesPlans reports whether the id is of a task that makes plans, rather than something to export.
func (id TaskID) MakesPlans() bool { return strings.HasPrefix(string(id), "PLAN-") }

// Reserved finds what only plan.json itself may have, so it is a rule for candidates alone: tasks with
// the ids of planning tasks, and the name of a workflow other than the one that the plan is made from.
func (p *Plan) Reserved(from *Workflow) Findings {
	var fs Findings
	if p.Workflow != nil && (from == nil || *from != *p.Workflow) {
		fs = append(fs, Finding{
			Code: "reserved-field", Path: "workflow", Message: "only the program says which workflow a " +
				"plan is made from",
			Expected: "nothing, or git wf plan --workflow", Found: p.Workflow.Name,
		})
	}
	for i, t := range p.Tasks {
		if t.TaskID.Reserved() && (t.NodeType != Check || !t.ReviewTargetTaskID.Reserved()) {
			fs = append(fs, Finding{
				Code: "reserved-id", Path: fmt.Sprintf("tasks[%d].task_id", i), TaskID: t.TaskID,
				Message: "ids that begin with PLAN- belong to the tasks that make plans", Expected: "another prefix",
				Found: string(t.TaskID), Example: "task_id: IMPL-1",
			})
		}
	}
	return fs
}

// Merged is what plan.json becomes when a candidate for the planning task becomes part of base, by what the task is
// for: the first plan, a leaf that is split, a GOAL that is filled, or a plan that is amended. It fails with Findings,
// whose paths count the tasks of the merged plan, if the candidate does not fit in; whether the result keeps the rules
// is Validate's to say.
func (base *Plan) Merged(task TaskID, candidate *Plan, version int) (*Plan, error) {
	t := base.Task(task)
	if t == nil || !t.Planning() {
		return nil, refuse(task, "makes no plan")
	}
	if fs := candidate.Reserved(base.Workflow); len(fs) > 0 {
		return nil, fs
	}
	var p *Plan
	var err error
	switch {
	case t.FillTargetTaskID != "":
		p, err = fillGoal(base, t.FillTargetTaskID, candidate)
	case t.SplitTargetTaskID != "":
		p, err = splitLeaf(base, t.SplitTargetTaskID, candidate)
	default:
		p = replacePlan(base, candidate)
	}
	if err != nil {
		return nil, err
	}
	p.Grafts = append(slices.Clone(base.Grafts), Graft{task, VersionID(version)})
	p.keepComplexity(base)
	p.SetVersion()
	return p, nil
}

// replacePlan is the candidate with base's planning tasks in it, so that the plan's own reviews remain visible. A plan
// that an agent made, or that is amended, keeps what was asked for, word by word. An amendment that says nothing of the
// root's checklist, of the config or of roles leaves them as they are.
func replacePlan(base, candidate *Plan) *Plan {
	root := candidate.RootTaskID
	p := &Plan{
		SchemaVersion: base.SchemaVersion,
		PlanID:        base.PlanID,
		Title:         candidate.Title,
		TopTask:       candidate.TopTask,
		RootTaskID:    root,
		Config:        candidate.Config,
		PlanType:      cmp.Or(base.PlanType, candidate.PlanType),
		Register:      base.Register || len(base.Grafts) == 0 && candidate.Register,
		Complexity:    candidate.Complexity,
		Workflow:      base.Workflow,
		Roles:         candidate.Roles,
	}
	if p.PlanType != "" {
		p.Config.OrElse(base.Config) // which the type has given it
	}
	if first := base.Task(PlanTaskID); len(base.Grafts) > 0 || first != nil && first.Agent != AgentManual {
		p.TopTask = base.TopTask
	}
	var asked []RootCriterion
	if len(base.Grafts) > 0 {
		asked = base.RootCriteria()
		if p.Config.isZero() {
			p.Config = base.Config
		}
		if len(p.Roles) == 0 {
			p.Roles = base.Roles
		}
	}
	for _, t := range candidate.Tasks {
		if t.TaskID != root {
			continue
		}
		if len(t.RootAcceptanceCriteria) == 0 && len(asked) > 0 {
			same := *t
			same.RootAcceptanceCriteria = asked
			t = &same
		}
		p.Tasks = append(p.Tasks, t)
	}
	for _, t := range base.Tasks {
		if !t.TaskID.Reserved() {
			continue
		}
		moved := *t
		if moved.ParentTaskID == base.RootTaskID {
			moved.ParentTaskID = root
		}
		p.Tasks = append(p.Tasks, &moved)
	}
	for _, t := range candidate.Tasks {
		if t.TaskID != root {
			p.Tasks = append(p.Tasks, t)
		}
	}
	return p
}

// GraftPlan makes an approved plan part of plan.json.
type GraftPlan struct {
	Task    TaskID // the planning task
	Version int
	Plan    *Plan // the candidate, as parsed from the version's file
	ByAgent bool  // an agent made it, so it may loosen nothing

	Feasibility []byte             // the record of how its leaves were estimated; may be empty
	Days        map[TaskID]float64 // corrected estimates
	Split       []TaskID           // leaves that are too large and have to be split first
	Planner     Planner            // who splits them, and who reviews the fills
	Ask         []Question         // about leaves that are too large and can't be split

	// of a plan that is made from a workflow, the tasks to come that fill GOALs: FillTargetTaskID, Fill and DependsOn
	Fills []*Task
}

// Apply is refused unless the task makes plans, the version is its approved one and not grafted yet, and what it
// changes has no approved version: what a person's plan changes of that is made again, which is an event before this
// one (Redo).
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
	p, err := s.Merged(e.Task, e.Plan, e.Version)
	if err != nil {
		return Change{}, err
	}
	if err := s.Amended(p).Err(); err != nil {
		return Change{}, err
	}
	if e.ByAgent {
		if err := p.Loosens(s.Plan).Err(); err != nil {
			return Change{}, err
		}
	}
	p.correctEstimates(e.Days)
	p.addSplits(e.Split, e.Planner)
	if len(e.Fills) > 0 && (s.Plan.Workflow == nil || !t.rendersWorkflow()) {
		return Change{}, refuse(e.Task, "is not made from a workflow, and so has nothing to fill")
	}
	if err := p.AddFills(e.Fills, e.Planner); err != nil {
		return Change{}, err
	}
	leaves := p.Leaves()
	c := Change{
		Subject:  fmt.Sprintf("%s: graft %s, %s", e.Task, VersionID(e.Version), plain.Count(leaves, "task")),
		Trailers: trailers(EventGraft, e.Task, "Wf-Artifact", VersionID(e.Version), "Wf-Tasks", strconv.Itoa(leaves)),
		Plan:     p,
	}
	if len(e.Feasibility) > 0 {
		c.Add = append(c.Add, Entry{Path: e.Task.Dir() + "/" +
			Graft{e.Task, VersionID(e.Version)}.FeasibilityPath(), Data: e.Feasibility})
	}
	for _, q := range e.Ask {
		c.Add = append(c.Add, q.entry(1))
	}
	return c, nil
}

// Feasible is how large a leaf of a candidate is, as its feasibility record says.
type Feasible struct {
	TaskID      TaskID  `json:"task_id"`
	Days        float64 `json:"estimated_person_days"`
	OneShotPass bool    `json:"one_shot_pass"` // it can be done in one piece
}

// Estimated reports whether a graft estimates the plan's leaves and splits those that are too large. It does so for an
// agent's plan; a person's own numbers stand. agent is the planning task's.
func (a Artifact) Estimated(agent string) bool {
	return a.Session != "" && agent != AgentOutline && agent != AgentWorkflow
}

// NewLeaves returns the ACTIONs that make deliverables and are new or changed since the plan before.
func (p *Plan) NewLeaves(before *Plan) []*Task {
	known := before.Index()
	var leaves []*Task
	for _, t := range p.Tasks {
		old := known.Task(t.TaskID)
		if t.NodeType == Action && !t.Planning() && (old == nil || old.SpecHash() != t.SpecHash() ||
			old.EstimatedPersonDays != t.EstimatedPersonDays) {
			leaves = append(leaves, t)
		}
	}
	return leaves
}

// Estimate says in the event what follows from the estimates. whole is what plan.json will be. It returns the leaves
// that are too large and can't be split.
func (e *GraftPlan) Estimate(whole *Plan, leaves []Feasible) (stuck []Feasible) {
	e.Days, e.Split = map[TaskID]float64{}, nil
	tasks, limits := whole.Index(), whole.Limits()
	room := limits.MaxLeafTasks - whole.Leaves()
	for _, l := range leaves {
		e.Days[l.TaskID] = l.Days
		switch {
		case l.OneShotPass:
		case tasks.Depth(l.TaskID) < limits.MaxDecompositionDepth && room > 0:
			e.Split = append(e.Split, l.TaskID)
			room--
		default:
			stuck = append(stuck, l)
		}
	}
	return stuck
}

// Merged is Merged of the state's plan; it also refuses what would drop a task that is done. Amended finds what it
// changes of such tasks.
func (s *State) Merged(task TaskID, candidate *Plan, version int) (*Plan, error) {
	p, err := s.Plan.Merged(task, candidate, version)
	if err != nil || len(s.Plan.Grafts) == 0 {
		return p, err
	}
	return p, s.keepsDone(p).Err()
}

// correctEstimates writes estimates back. The tasks are copied: the candidate is not ours.
func (p *Plan) correctEstimates(days map[TaskID]float64) {
	for i, t := range p.Tasks {
		if d, ok := days[t.TaskID]; ok && t.NodeType == Action && d != t.EstimatedPersonDays {
			corrected := *t
			corrected.EstimatedPersonDays = d
			p.Tasks[i] = &corrected
		}
	}
}

// Leaves is the number of ACTIONs that make deliverables.
func (p *Plan) Leaves() int {
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
	for _, id := range s.shape.planning {
		if t := s.Tasks[id]; t.Status == StatusDone && !s.shape.grafted[id] {
			tasks = append(tasks, t)
		}
	}
	return tasks
}
