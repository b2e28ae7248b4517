package plan

import "fmt"

// shapes are plans of n ACTIONs, n of the second half where that depends on the first.
var shapes = map[string]func(n int) *Plan{
	"chain": func(n int) *Plan {
		return shaped(n, func(i int, t *Task) {
			if i > 0 {
				t.DependsOn = []TaskID{leafID(i - 1)}
			}
		})
	},
	"fan-in": func(n int) *Plan {
		return shaped(n, func(i int, t *Task) {
			if i == n-1 {
				for other := range n - 1 {
					t.DependsOn = append(t.DependsOn, leafID(other))
				}
			}
		})
	},
	"half depend on a goal of the other half": func(n int) *Plan {
		return shaped(n, func(i int, t *Task) {
			if i < n/2 {
				t.ParentTaskID = "PART-1"
			} else {
				t.DependsOn = []TaskID{"PART-1"}
			}
		})
	},
	"half depend on a goal and on the task before": func(n int) *Plan {
		return shaped(n, func(i int, t *Task) {
			if i < n/2 {
				t.ParentTaskID = "PART-1"
			} else {
				t.DependsOn = []TaskID{leafID(i - 1), "PART-1"}
			}
		})
	},
}

func leafID(i int) TaskID { return TaskID(fmt.Sprintf("IMPL-%d", i+1)) }

func shaped(n int, bind func(i int, t *Task)) *Plan {
	p := &Plan{PlanID: "WFS-x", RootTaskID: "GOAL-1", Tasks: []*Task{
		{TaskID: "GOAL-1", NodeType: Goal}, {TaskID: "PART-1", NodeType: Goal, ParentTaskID: "GOAL-1"},
	}}
	for i := range n {
		t := &Task{TaskID: leafID(i), NodeType: Action, ParentTaskID: "GOAL-1",
			DeliverableSpec: &DeliverableSpec{Format: "txt"}}
		bind(i, t)
		p.Tasks = append(p.Tasks, t, &Task{TaskID: t.TaskID.CheckID(), NodeType: Check, ReviewTargetTaskID: t.TaskID})
	}
	return p
}
