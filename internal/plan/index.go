package plan

// Index finds tasks by their ids. Plan.Task scans the plan on every call, which is right for one question; make an
// Index to ask for many tasks. It does not follow changes of the plan.
type Index struct {
	tasks map[TaskID]*Task
}

// Index makes an index of the plan as it is now. Of tasks with the same id it has the first, as Task does.
func (p *Plan) Index() Index {
	x := Index{tasks: make(map[TaskID]*Task, len(p.Tasks))}
	for _, t := range p.Tasks {
		if x.tasks[t.TaskID] == nil {
			x.tasks[t.TaskID] = t
		}
	}
	return x
}

// Task returns the task with the id, nil if there is none.
func (x Index) Task(id TaskID) *Task { return x.tasks[id] }

// Depth is Plan.Depth.
func (x Index) Depth(id TaskID) int { return depth(id, x.Task) }
