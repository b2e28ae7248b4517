package plan

import (
	"fmt"
	"slices"
)

// A plan made from a workflow may have GOALs whose tasks are known only later: once the task that lists
// them is approved, or once a round has ended. For each such GOAL there is an ACTION PLAN-n, which
// renders that part of the workflow when its source is approved. Its deliverable is a fragment, a plan
// without config or root criteria, whose tasks are placed below the GOAL. A fragment without tasks ends
// a loop.

// rendersWorkflow reports whether the task's deliverable follows from the plan's workflow and approved files.
func (t *Task) rendersWorkflow() bool { return t.Planning() && t.Agent == AgentWorkflow }

// AddFills adds the tasks that fill GOALs, below these GOALs and under free ids. The caller sets
// FillTargetTaskID, Fill and DependsOn of each.
func (p *Plan) AddFills(fills []*Task, by Planner) error {
	by.Agent, by.File = AgentWorkflow, "plan.json"
	tasks, next := p.Index(), p.nextPlanning()
	for i, f := range fills {
		goal := tasks.Task(f.FillTargetTaskID)
		if goal == nil || goal.NodeType != Goal {
			return Findings{{Code: "fill-target", TaskID: f.FillTargetTaskID, Message: "is no GOAL of the plan"}}
		}
		made := by.planningTasks(planningID(next+i), "Fill "+string(goal.TaskID)+": "+goal.Title, goal.TaskID,
			"The tasks below "+string(goal.TaskID)+", as the workflow renders them.")
		made[0].FillTargetTaskID, made[0].Fill, made[0].DependsOn = f.FillTargetTaskID, f.Fill, f.DependsOn
		p.Tasks = append(p.Tasks, made...)
	}
	return nil
}

// FillsTooDeep finds GOALs below which AddFills would put a task deeper than the plan allows.
func (p *Plan) FillsTooDeep(fills []*Task) (fs Findings) {
	tasks, most := p.Index(), p.Limits().MaxDecompositionDepth
	for _, f := range fills {
		if level := tasks.Depth(f.FillTargetTaskID) + 1; level > most {
			fs = append(fs, p.TooDeep(f.FillTargetTaskID, "what fills it is too deep below the root", level))
		}
	}
	return fs
}

// TooDeep is what is wrong with a task at a level below the root that the plan does not allow.
func (p *Plan) TooDeep(id TaskID, message string, level int) Finding {
	most := fmt.Sprintf("at most %d levels", p.Limits().MaxDecompositionDepth)
	f := Finding{Code: "depth", TaskID: id, Message: message, Found: fmt.Sprintf("level %d", level),
		Expected: most + " (config.max_decomposition_depth)",
		Example:  fmt.Sprintf("max_decomposition_depth: %d", level)}
	if p.Workflow != nil { // whose file has no config
		f.Expected, f.Example = most+"; each group is one, and each loop over groups one more", "fewer nested groups"
	}
	return f
}

// fillGoal is base with the fragment's tasks below the GOAL, behind those that are there.
func fillGoal(base *Plan, goal TaskID, fragment *Plan) (*Plan, error) {
	if t := base.Task(goal); t == nil || t.NodeType != Goal {
		return nil, Findings{{Code: "fill-target", TaskID: goal, Message: "is no GOAL of the plan any more"}}
	}
	var fs Findings
	for _, field := range fragment.Ignored() {
		fs = append(fs, Finding{Code: "fragment-" + field, Path: field, Message: "is the plan's alone",
			Expected: "nothing"})
	}
	known := base.Index()
	var tasks []*Task
	for _, t := range fragment.Tasks {
		if t.TaskID == fragment.RootTaskID {
			continue
		}
		if known.Task(t.TaskID) != nil {
			fs = append(fs, Finding{Code: "duplicate-id", TaskID: t.TaskID, Message: "the plan has a task with this id",
				Expected: "an id that is new in each rendering", Found: string(t.TaskID)})
		}
		moved := *t
		if moved.ParentTaskID == fragment.RootTaskID {
			moved.ParentTaskID = goal
		}
		tasks = append(tasks, &moved)
	}
	if len(fs) > 0 {
		return nil, fs
	}
	p := *base
	p.Tasks = slices.Insert(slices.Clone(base.Tasks), base.endOf(goal), tasks...)
	return &p, nil
}

// endOf is the place behind all tasks that stand below the GOAL.
func (p *Plan) endOf(goal TaskID) int {
	tasks, end := p.Index(), 0
	for i, t := range p.Tasks {
		above := t
		for depth := 0; above != nil && above.TaskID != goal && depth <= MaxDepth; depth++ {
			above = tasks.Task(above.ParentTaskID)
		}
		if above != nil && above.TaskID == goal {
			end = i + 1
		}
	}
	return end
}

// noteFill notes a task that fills a GOAL, for that one and those above it.
func (s *State) noteFill(t *Task) {
	goal := s.Tasks[t.FillTargetTaskID]
	if goal == nil {
		return
	}
	ended := s.shape.grafted[t.TaskID] || s.Records.Of(t.TaskID).Abandoned()
	for _, id := range s.Lineage(goal.Task) {
		if f := s.fills[id]; ended {
			f.ended = true
			s.fills[id] = f
		} else {
			f.open = append(f.open, t.TaskID)
			s.fills[id] = f
		}
	}
}

// fills are the tasks that put others below a GOAL, or below one that stands there.
type fills struct {
	open  []TaskID
	ended bool // there are some that have, be it nothing
}

// Filling returns the tasks that fill GOALs from the task's approved version, once there is one.
func (s *State) Filling(source TaskID) []*TaskState {
	var tasks []*TaskState
	for _, id := range s.shape.planning {
		t := s.Tasks[id]
		if t.Fill != nil && !s.shape.grafted[id] && t.Status != StatusAbandoned &&
			slices.Contains(t.DependsOn, source) {
			tasks = append(tasks, t)
		}
	}
	return tasks
}
