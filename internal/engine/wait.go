package engine

import (
	"fmt"

	"gitwf/internal/agent"
	"gitwf/internal/plan"
)

// Wait is something that only a person can do to let a plan go on.
type Wait struct {
	Task    plan.TaskID `json:"task_id"`
	Text    string      `json:"text"`
	Command string      `json:"command"` // that does it
	Failed  bool        `json:"failed"`  // the task used up its attempts
}

// Waits lists what the plan waits for, in plan order. Tasks that wait for other tasks are not in it.
func (e *Engine) Waits(s *plan.State) []Wait {
	waits := []Wait{}
	for _, t := range s.Plan.Tasks {
		if w, ok := e.wait(s, s.Tasks[t.TaskID]); ok {
			w.Task = t.TaskID
			waits = append(waits, w)
		}
	}
	return waits
}

func (e *Engine) wait(s *plan.State, t *plan.TaskState) (Wait, bool) {
	switch {
	case t.NodeType == plan.Goal:
		return Wait{}, false
	case t.Status == plan.StatusWaitingExternal:
		return Wait{Text: t.Reason, Command: "git wf show " + string(t.TaskID) + "; git wf retry " + string(t.TaskID), Failed: true}, true
	case t.Status == plan.StatusWaitingInput:
		return Wait{Text: "waits for input: " + t.Reason}, true
	case t.NodeType == plan.Check && t.Status == plan.StatusReady:
		return e.waitForReview(s, s.Tasks[t.ReviewTargetTaskID])
	case t.NodeType == plan.Action && (t.Status == plan.StatusReady || t.Status == plan.StatusToBeModified) && len(t.WaitsFor) == 0:
		return e.waitForWork(t)
	}
	return Wait{}, false
}

func (e *Engine) waitForReview(s *plan.State, target *plan.TaskState) (Wait, bool) {
	switch s.NextReviewStep(target.TaskID) {
	case plan.StepPerson:
		return Wait{
			Text:    fmt.Sprintf("%s of %s awaits a person's review", plan.VersionID(target.Active), target.TaskID),
			Command: "git wf review " + string(target.TaskID) + " --approve|--reject",
		}, true
	case plan.StepRunChecks:
		if !e.Trust.AllCriteria(target.Task) {
			return Wait{Text: "the command lines of its criteria are not trusted here", Command: "git wf trust"}, true
		}
	}
	return Wait{}, false
}

func (e *Engine) waitForWork(t *plan.TaskState) (Wait, bool) {
	switch name := agent.Name(t.Task); {
	case t.Planning():
		return Wait{Text: "the plan was rejected", Command: "git wf plan -f FILE"}, true
	case name == agent.NameManual:
		return Wait{Text: "a person does this task", Command: "git wf submit " + string(t.TaskID) + " PATH..."}, true
	case name != agent.NameExec:
		_, err := agent.Lookup(name)
		return Wait{Text: err.Error(), Command: "git wf submit " + string(t.TaskID) + " PATH..."}, true
	case !e.Trust.Has(t.Run):
		return Wait{Text: "its command line is not trusted here", Command: "git wf trust"}, true
	}
	return Wait{}, false
}
