package exchange

import (
	"strings"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Snapshot is a plan at one moment: all that the writers show. They compute nothing but text from it: equal snapshots
// give equal files.
type Snapshot struct {
	State     *plan.State
	Active    bool                            // it is the one that is worked on: CCW marks it
	Summaries map[plan.TaskID]plandoc.Summary // of the tasks with an approved version
	Agent     func(*plan.Task) string         // who does a task that names nobody, "" where no rule says; may be nil
}

func (s Snapshot) plan() *plan.Plan { return s.State.Plan }

func (s Snapshot) root() *plan.Task { return s.State.Root().Task }

// tasks are the goals and actions below the root, in plan order: no root, no CHECK, nothing that makes plans.
func (s Snapshot) tasks() []*plan.TaskState {
	var out []*plan.TaskState
	p := s.plan()
	for _, t := range p.Tasks {
		if t.NodeType == plan.Check || t.TaskID == p.RootTaskID || t.Planning() {
			continue
		}
		if ts := s.State.Tasks[t.TaskID]; ts != nil {
			out = append(out, ts)
		}
	}
	return out
}

// imported is what the task's meta holds of the source that it was imported from, nil if it was not.
func imported(t *plan.Task) map[string]any {
	if t == nil {
		return nil
	}
	m, _ := t.Meta[keyImported].(map[string]any)
	return m
}

// words are what a task's status comes down to in other systems.
type words struct{ ccw, outline, box string }

func wordsOf(t *plan.TaskState) words {
	switch t.Status {
	case plan.StatusDone:
		return words{"completed", "VERIFIED", "x"}
	case plan.StatusDoneElsewhere:
		return words{"completed", "DONE", "x"}
	case plan.StatusReadyToCheck:
		return words{"active", "DONE", " "} // made, and not reviewed: done is what was approved
	case plan.StatusInProgress, plan.StatusToBeModified:
		return words{"active", "DOING", " "}
	case plan.StatusAbandoned, plan.StatusWaitingInput, plan.StatusWaitingExternal:
		return words{"blocked", "BLOCKED", " "}
	}
	return words{"pending", "TODO", " "}
}

func ids(list []plan.TaskID) []any {
	out := make([]any, len(list))
	for i, id := range list {
		out[i] = string(id)
	}
	return out
}

func joined(list []plan.TaskID) string {
	parts := make([]string, len(list))
	for i, id := range list {
		parts[i] = string(id)
	}
	return strings.Join(parts, ", ")
}
