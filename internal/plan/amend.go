package plan

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
)

// keepsDone refuses a plan that leaves out a task with an approved version, makes no ACTION of it any more, or changes
// one whose versions have taken effect on other tasks, or that is abandoned: nobody could make it again.
func (s *State) keepsDone(p *Plan) Findings {
	var fs Findings
	for t, now := range s.approvedIn(p) {
		gone := t.Status == StatusAbandoned
		fixed := gone || t.Judges != nil || t.Decides != nil
		expected := "the task as it is, or git wf abandon " + string(t.TaskID) + " -m WHY"
		if gone {
			expected = "the task as it is: abandoned, it counts no more; git wf retry " + string(t.TaskID) + " takes it back"
		}
		switch {
		case now == nil:
			fs = append(fs, Finding{
				Code: "amends-done", TaskID: t.TaskID, Message: "has an approved version and can't be left out",
				Expected: expected, Found: "nothing",
			})
		case now.NodeType != Action:
			fs = append(fs, t.amended("node_type", p))
		case fixed && t.changed(now) != "":
			f := t.amended(t.changed(now), p)
			f.Expected = expected
			fs = append(fs, f)
		}
	}
	return fs
}

// Amended finds the tasks with an approved version that a plan changes, with the field. An approval covers a task as it
// was, so an agent's plan may change none, and a person's has these versions made again first.
func (s *State) Amended(p *Plan) Findings {
	var fs Findings
	for t, now := range s.approvedIn(p) {
		if now != nil {
			if field := t.changed(now); field != "" {
				fs = append(fs, t.amended(field, p))
			}
		}
	}
	return fs
}

// approvedIn gives the tasks with an approved version, and what a plan makes of each; nil if it leaves the task out.
func (s *State) approvedIn(p *Plan) iter.Seq2[*TaskState, *Task] {
	tasks := p.Index()
	return func(yield func(*TaskState, *Task) bool) {
		for _, t := range s.order {
			if t.NodeType == Action && !t.Planning() && t.Approved > 0 && !yield(t, tasks.Task(t.TaskID)) {
				return
			}
		}
	}
}

func (t *TaskState) amended(field string, p *Plan) Finding {
	at := slices.IndexFunc(p.Tasks, func(o *Task) bool { return o.TaskID == t.TaskID })
	return Finding{
		Code: "amends-done", Path: fmt.Sprintf("tasks[%d].%s", at, field), TaskID: t.TaskID,
		Message: "has an approved version and can't be changed", Expected: "the task as it is",
	}
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
