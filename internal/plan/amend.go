package plan

import (
	"fmt"
	"reflect"
)

// keepsDone refuses a plan that drops or changes a task with an approved version: an approval covers the task as it
// was.
func (s *State) keepsDone(p *Plan) Findings {
	at := make(map[TaskID]int, len(p.Tasks))
	for i, t := range p.Tasks {
		at[t.TaskID] = i
	}
	var fs Findings
	for _, t := range s.Plan.Tasks {
		if t.NodeType != Action || t.Planning() || s.Tasks[t.TaskID].Approved == 0 {
			continue
		}
		i, ok := at[t.TaskID]
		if !ok {
			fs = append(fs, Finding{
				Code: "amends-done", TaskID: t.TaskID, Message: "has an approved version and can't be left out",
				Expected: "the task as it is", Found: "nothing",
			})
			continue
		}
		if field := t.changed(p.Tasks[i]); field != "" {
			fs = append(fs, Finding{
				Code: "amends-done", Path: fmt.Sprintf("tasks[%d].%s", i, field), TaskID: t.TaskID,
				Message: "has an approved version and can't be changed", Expected: "the task as it is",
			})
		}
	}
	return fs
}

// changed returns the first field in which the tasks differ, among those that a deliverable rests on; "" for none.
func (t *Task) changed(o *Task) string {
	switch {
	case t.NodeType != o.NodeType:
		return "node_type"
	case !reflect.DeepEqual(t.DeliverableSpec, o.DeliverableSpec):
		return "deliverable_spec"
	case len(t.AcceptanceCriteria)+len(o.AcceptanceCriteria) > 0 &&
		!reflect.DeepEqual(t.AcceptanceCriteria, o.AcceptanceCriteria):
		return "acceptance_criteria"
	case t.Title != o.Title:
		return "title"
	}
	return ""
}
