package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/relpath"
)

// A leaf that is too large for one attempt is split: an ACTION PLAN-n has a fragment as its deliverable, which is a
// plan whose config and root criteria don't count. Its tasks come below the leaf, which becomes a GOAL; one of them
// yields what the leaf was to deliver, and takes over what was bound to it.

// nextPlanning is the number of the next free id of a planning task; planningID makes the id of it.
func (p *Plan) nextPlanning() int {
	n := 1
	taken := func(id TaskID) {
		if rest, ok := strings.CutPrefix(string(id), "PLAN-"); ok {
			if have, err := strconv.Atoi(rest); err == nil && have >= n {
				n = have + 1
			}
		}
	}
	for _, t := range p.Tasks {
		taken(t.TaskID)
	}
	for _, g := range p.Grafts {
		taken(g.TaskID) // which a plan that no rule has checked may lack
	}
	return n
}

func planningID(n int) TaskID { return TaskID("PLAN-" + strconv.Itoa(n)) }

// addSplit adds the tasks that split a leaf, next to it, under a free id. The reason, which may be empty, becomes the
// description of the task that makes the fragment.
func (p *Plan) addSplit(id TaskID, leaf *Task, by Planner, reason string) {
	name := string(leaf.TaskID)
	made := by.planningTasks(id, "Split "+name+": "+leaf.Title, leaf.ParentTaskID,
		"The tasks that "+name+" falls into, each with a deliverable of its own.")
	made[0].SplitTargetTaskID, made[0].Description = leaf.TaskID, reason
	p.Tasks = append(p.Tasks, made...)
}

// addSplits adds the tasks that split several leaves.
func (p *Plan) addSplits(leaves []TaskID, by Planner) {
	tasks, next := p.Index(), p.nextPlanning()
	for i, id := range leaves {
		p.addSplit(planningID(next+i), tasks.Task(id), by, "")
	}
}

// PlanningOf returns the newest task that splits the leaf or, for "", amends the plan, and is not grafted; nil if there
// is none.
func (p *Plan) PlanningOf(leaf TaskID) *Task {
	var newest *Task
	for _, t := range p.Tasks {
		if t.Planning() && t.Fill == nil && t.SplitTargetTaskID == leaf && !p.Grafted(t.TaskID) &&
			(newest == nil || t.TaskID.number() > newest.TaskID.number()) {
			newest = t
		}
	}
	return newest
}

// number is that of a planning task's id, 0 if it has none.
func (id TaskID) number() int {
	n, _ := strconv.Atoi(strings.TrimPrefix(string(id), "PLAN-"))
	return n
}

// PlanningOf is the open task that splits the leaf or, for "", amends the plan: one that is abandoned is not.
func (s *State) PlanningOf(leaf TaskID) *Task {
	t := s.Plan.PlanningOf(leaf)
	if t == nil || s.Tasks[t.TaskID].Status == StatusAbandoned {
		return nil
	}
	return t
}

// Declined are the tasks that amend the plan as a decision has it, and whose version was rejected: who decided hears of
// that, and decides again.
func (s *State) Declined() []*TaskState {
	var list []*TaskState
	for _, t := range s.order {
		by := s.Tasks[TaskID(t.Agent)]
		if t.Planning() && by != nil && by.Decides != nil && t.Status == StatusToBeModified && t.Verdict == Rejected {
			list = append(list, t)
		}
	}
	return list
}

// Replan begins a task that splits a leaf or, without one, amends the plan.
type Replan struct {
	Leaf    TaskID
	Planner Planner
	Author  Actor
	Reason  string
}

// Apply is refused for what is no leaf, for a leaf that has an approved version or is in work, where the leaf stands as
// deep as the plan allows, and if such a task is open already.
func (e Replan) Apply(s *State) (Change, error) {
	p := *s.Plan
	p.Tasks = slices.Clone(p.Tasks)
	if len(p.Grafts) == 0 {
		return Change{}, refuse(PlanTaskID, "the plan itself is not accepted yet")
	}
	if open := s.PlanningOf(e.Leaf); open != nil {
		return Change{}, refuse(open.TaskID, "does that already")
	}
	if e.Planner.Agent == AgentWorkflow {
		return Change{}, refuse("", "%s makes plans from workflows alone", AgentWorkflow)
	}
	c := Change{Author: e.Author, Body: e.Reason, Plan: &p}
	id := planningID(p.nextPlanning())
	if e.Leaf == "" {
		made := e.Planner.planningTasks(id, "Amend: "+p.Title, p.RootTaskID,
			"The whole plan as it shall be from now on.")
		made[0].Description = e.Reason
		p.Tasks = append(p.Tasks, made...)
		c.Subject = fmt.Sprintf("%s: amend the plan", id)
		c.Trailers = trailers(EventReplan, id)
		return c, nil
	}
	t, err := s.actionNamed(e.Leaf)
	if err != nil {
		return Change{}, err
	}
	switch {
	case t.Planning():
		return Change{}, refuse(e.Leaf, "makes a plan and can't be split")
	case t.Approved > 0:
		return Change{}, refuse(e.Leaf, "has an approved version, %s", VersionID(t.Approved))
	case t.Status == StatusInProgress || t.Status == StatusAbandoned:
		return Change{}, refuse(e.Leaf, "is %s", t.Status)
	case p.Depth(e.Leaf) >= p.Limits().MaxDecompositionDepth:
		return Change{}, refuse(e.Leaf, "stands at level %d, and the plan allows %d (config.max_decomposition_depth)",
			p.Depth(e.Leaf), p.Limits().MaxDecompositionDepth)
	}
	p.addSplit(id, t.Task, e.Planner, e.Reason)
	c.Subject = fmt.Sprintf("%s: split %s", id, e.Leaf)
	c.Trailers = trailers(EventReplan, id)
	return c, nil
}

// Depth is the number of DECOMPOSE edges between the root and the task.
func (p *Plan) Depth(id TaskID) int { return depth(id, p.Task) }

func depth(id TaskID, get func(TaskID) *Task) int {
	depth := 0
	for t := get(id); t != nil && t.ParentTaskID != "" && depth <= MaxDepth; t = get(t.ParentTaskID) {
		depth++
	}
	return depth
}

// splitLeaf is base with the fragment's tasks below the leaf.
func splitLeaf(base *Plan, leaf TaskID, fragment *Plan) (*Plan, error) {
	old := base.Task(leaf)
	if old == nil || old.NodeType != Action {
		return nil, Findings{{Code: "split-target", TaskID: leaf, Message: "is no ACTION of the plan any more"}}
	}
	if n := fragment.Leaves(); n < 2 {
		return nil, Findings{{Code: "fragment-alone", TaskID: leaf, Path: "tasks",
			Message: "a split into one task is no smaller", Expected: "two tasks or more", Found: strconv.Itoa(n)}}
	}
	heir, fs := fragment.heir(old)
	if len(fs) > 0 {
		return nil, fs
	}
	p := *base
	p.Tasks = nil
	last := base.assembling()
	for _, t := range base.Tasks {
		switch {
		case t == old:
			p.Tasks = append(p.Tasks, &Task{
				TaskID: t.TaskID, NodeType: Goal, Title: t.Title, Description: t.Description,
				ParentTaskID: t.ParentTaskID,
				Meta:         t.Meta, Context: t.Context,
			})
			p.Tasks = append(p.Tasks, fragment.tasksBelow(old, heir, base)...)
		case t.NodeType == Check && t.ReviewTargetTaskID == leaf:
			// Retired: its records stay with the leaf's.
		default:
			p.Tasks = append(p.Tasks, t.rebind(leaf, heir, t.TaskID == last))
		}
	}
	return &p, nil
}

// Ignored names what a fragment has that does not count, because the plan's own holds.
func (p *Plan) Ignored() (fields []string) {
	if !p.Config.isZero() {
		fields = append(fields, "config")
	}
	if len(p.RootCriteria()) > 0 {
		fields = append(fields, "root_acceptance_criteria")
	}
	if len(p.Roles) > 0 {
		fields = append(fields, "roles")
	}
	return fields
}

// foreignCriteria reports whether an id is of the fragment's own checklist, whatever the plan has under it: what
// covers such an item says nothing about the plan's.
func (p *Plan) foreignCriteria(base *Plan) func(id string) bool {
	own, plans := p.RootCriteria(), base.RootCriteria()
	return func(id string) bool {
		return slices.ContainsFunc(own, func(c RootCriterion) bool { return c.ID == id && !slices.Contains(plans, c) })
	}
}

// enclosingGoal is the GOAL of a fragment that stands for the leaf itself, nil if its tasks stand in none.
func (p *Plan) enclosingGoal(leaf TaskID) *Task {
	if t := p.Task(leaf); t != nil && t.NodeType == Goal && t.ParentTaskID == p.RootTaskID {
		return t
	}
	return nil
}

// heir is the task of a fragment that yields what the leaf was to deliver: the assembling one, or the one that declares
// the same files.
func (p *Plan) heir(leaf *Task) (TaskID, Findings) {
	if last := cmp.Or(p.assembling(), p.enclosingGoal(leaf.TaskID).assembles()); last != "" {
		return last, nil
	}
	for _, t := range p.Tasks {
		if t.NodeType == Action && t.DeliverableSpec.sameFiles(leaf.DeliverableSpec) {
			return t.TaskID, nil
		}
	}
	want := leaf.DeliverableSpec.Filename
	if want == "" {
		want = strings.Join(leaf.DeliverableSpec.Files, ", ")
	}
	return "", Findings{{
		Code: "fragment-heir", Path: "final_deliverable_spec", TaskID: leaf.TaskID,
		Message:  "no task yields what the split task was to deliver",
		Expected: "a task that delivers " + want + ", or one that assembles it",
		Example:  "final_deliverable_spec: {mode: ASSEMBLE, assemble_task_id: " + string(leaf.TaskID) + ".9}",
	}}
}

func (d *DeliverableSpec) sameFiles(o *DeliverableSpec) bool {
	return d != nil && o != nil && d.Filename == o.Filename && slices.Equal(d.Files, o.Files)
}

// tasksBelow are the fragment's tasks as they stand below the leaf. All of them get the leaf's inputs; the heir
// gets what the leaf was judged by and what it covers, so that a split makes nothing easier, and every CHECK is as
// strict as the leaf's.
func (p *Plan) tasksBelow(leaf *Task, heir TaskID, base *Plan) []*Task {
	var tasks []*Task
	check, foreign, same := base.checkOf(leaf.TaskID), p.foreignCriteria(base), p.enclosingGoal(leaf.TaskID)
	for _, t := range p.Tasks {
		if t.TaskID == p.RootTaskID || t == same {
			continue
		}
		moved := *t
		if moved.ParentTaskID == p.RootTaskID {
			moved.ParentTaskID = leaf.TaskID
		}
		switch moved.NodeType {
		case Action:
			moved.DependsOn = each.Add(slices.Clone(moved.DependsOn), leaf.DependsOn...)
			moved.Covers = slices.DeleteFunc(slices.Clone(moved.Covers), foreign)
			moved.AcceptanceCriteria = slices.Clone(moved.AcceptanceCriteria)
			for i := range moved.AcceptanceCriteria {
				c := &moved.AcceptanceCriteria[i]
				c.Covers = slices.DeleteFunc(slices.Clone(c.Covers), foreign)
			}
			moved.Requires = slices.Clone(moved.Requires)
			for _, r := range leaf.Requires {
				if !slices.ContainsFunc(moved.Requires, func(have Requirement) bool { return have.Name == r.Name }) {
					moved.Requires = append(moved.Requires, r)
				}
			}
			if moved.TaskID == heir {
				moved.Covers = each.Add(slices.Clone(moved.Covers), leaf.Covers...)
				moved.AcceptanceCriteria = inheritCriteria(moved.AcceptanceCriteria, leaf.AcceptanceCriteria)
			}
		case Check:
			if check != nil {
				moved.MinScore = max(moved.MinScore, check.MinScore)
				moved.Quorum = max(moved.Quorum, check.Quorum)
				if len(moved.Reviewers) == 0 {
					moved.Reviewers, moved.Agree = check.Reviewers, cmp.Or(moved.Agree, check.Agree)
				}
				moved.MaxRounds = cmp.Or(moved.MaxRounds, check.MaxRounds)
				if moved.Rubric = cmp.Or(moved.Rubric, check.Rubric); check.Rubric != nil {
					moved.MinScore = max(moved.MinScore, check.Rubric.Pass)
				}
			}
		}
		tasks = append(tasks, &moved)
	}
	return tasks
}

// inheritCriteria are the criteria with those of the split leaf that are not among them.
func inheritCriteria(own, old []Criterion) []Criterion {
	own = slices.Clone(own)
	for _, c := range old {
		if slices.ContainsFunc(own, func(have Criterion) bool {
			return have.Statement == c.Statement && have.Run == c.Run
		}) {
			continue
		}
		for n := 1; slices.ContainsFunc(own, func(have Criterion) bool {
			return relpath.Fold(have.ID) == relpath.Fold(c.ID)
		}); n++ {
			c.ID = "A" + strconv.Itoa(len(own)+n)
		}
		own = append(own, c)
	}
	return own
}

// rebind is the task with the heir in the place of the leaf. What assembles the whole has to see all of the leaf's
// parts, and so depends on the GOAL that it has become.
func (t *Task) rebind(leaf, heir TaskID, assembles bool) *Task {
	moved := *t
	if !assembles {
		moved.DependsOn = replaceID(t.DependsOn, leaf, heir)
	}
	if f := t.FinalDeliverableSpec; f != nil {
		final := *f
		final.IncludeChildren = replaceID(f.IncludeChildren, leaf, heir)
		if final.AssembleTaskID == leaf {
			final.AssembleTaskID = heir
		}
		moved.FinalDeliverableSpec = &final
	}
	return &moved
}

// assembling is the task that makes the plan's final deliverable out of the others, "" if there is none.
func (p *Plan) assembling() TaskID { return p.Task(p.RootTaskID).assembles() }

func (t *Task) assembles() TaskID {
	if t == nil || t.FinalDeliverableSpec == nil || t.FinalDeliverableSpec.Mode != Assemble {
		return ""
	}
	return t.FinalDeliverableSpec.AssembleTaskID
}

func replaceID(ids []TaskID, old, new TaskID) []TaskID {
	if !slices.Contains(ids, old) {
		return ids
	}
	ids = slices.Clone(ids)
	for i, id := range ids {
		if id == old {
			ids[i] = new
		}
	}
	return ids
}

// checkOf is the CHECK of an ACTION, nil if there is none.
func (p *Plan) checkOf(action TaskID) *Task {
	for _, t := range p.Tasks {
		if t.NodeType == Check && t.ReviewTargetTaskID == action {
			return t
		}
	}
	return nil
}

// Below is the part of the plan at and below a GOAL as a plan of its own, for a review of it alone: the GOAL is its
// root, and has those root criteria that something below it covers.
func (p *Plan) Below(goal TaskID) *Plan {
	part := &Plan{SchemaVersion: p.SchemaVersion, PlanID: p.PlanID, Title: p.Title, TopTask: p.TopTask,
		RootTaskID: goal, Config: p.Config}
	in := map[TaskID]bool{goal: true}
	for again := true; again; { // a parent may stand behind its children
		again = false
		for _, t := range p.Tasks {
			if !in[t.TaskID] && in[t.ParentTaskID] {
				in[t.TaskID], again = true, true
			}
		}
	}
	for _, t := range p.Tasks {
		if !in[t.TaskID] {
			continue
		}
		copied := *t
		part.Tasks = append(part.Tasks, &copied)
	}
	root := part.Task(goal)
	if root == nil {
		return part
	}
	root.ParentTaskID = ""
	for _, c := range p.RootCriteria() {
		if slices.ContainsFunc(part.Tasks, func(t *Task) bool { return t.CoversRoot(c.ID) }) {
			root.RootAcceptanceCriteria = append(root.RootAcceptanceCriteria, c)
		}
	}
	return part
}

// RootCriteria are the criteria of the top task.
func (p *Plan) RootCriteria() []RootCriterion {
	if root := p.Task(p.RootTaskID); root != nil {
		return root.RootAcceptanceCriteria
	}
	return nil
}
