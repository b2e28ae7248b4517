package agent

import (
	"fmt"
	"os"

	"gitwf/internal/plan"
)

// Context is what an agent may know about its task: the content of the file that WF_CONTEXT names.
type Context struct {
	Task     *plan.Task       `json:"task"`
	Plan     PlanContext      `json:"plan"`
	Workflow WorkflowContext  `json:"workflow"`
	Criteria []plan.Criterion `json:"criteria"` // that the result is judged by
	Inputs   []Input          `json:"inputs"`
	HandedIn []HandedIn       `json:"handed_in"` // by people
	Notes    []plan.Note      `json:"notes"`

	Preparation []Prepared `json:"preparation,omitempty"` // steps taken before the attempt

	Params map[string]any `json:"params,omitempty"` // of the workflow that the plan is made from
	Item   map[string]any `json:"item,omitempty"`   // what is around the task there: rounds, and the items of loops
}

// PlanContext is the plan that the task belongs to.
type PlanContext struct {
	PlanID  plan.ID `json:"plan_id"`
	Title   string  `json:"title"`
	TopTask string  `json:"top_task"` // the user's request, verbatim
}

// WorkflowContext is the session that the plan is, and how far it has come.
type WorkflowContext struct {
	Session plan.ID `json:"session"`
	Phase   string  `json:"phase"`
}

// Input is an approved version that the task builds on. Its files are at $WF_IN/<task id>/<path>.
type Input struct {
	TaskID  plan.TaskID `json:"task_id"`
	Version int         `json:"version"`
	Files   []InputFile `json:"files"`
	Summary string      `json:"summary,omitempty"` // what was done and what its review says; for ACTIONs
}

// Prepared is a step of the task's preparation. Its output is at $WF_IN/<file>, and here as far as there is room.
type Prepared struct {
	plan.Prepared
	Action string   `json:"action,omitempty"`
	File   string   `json:"file,omitempty"`
	Advice []string `json:"advice,omitempty"` // what the agent is to do itself
}

// InputFile is one file of an input.
type InputFile struct {
	Path       string `json:"path"`        // in its artifact
	BundlePath string `json:"bundle_path"` // where it will be in the bundle, for links
}

// HandedIn is a file that somebody handed in for a requirement or a question. It is at $WF_IN/<path>.
type HandedIn struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// Write writes the context as JSON. An empty list is [], so readers need not check whether it is there.
func (c Context) Write(path string) error {
	if c.Criteria == nil {
		c.Criteria = []plan.Criterion{}
	}
	if c.HandedIn == nil {
		c.HandedIn = []HandedIn{}
	}
	if c.Notes == nil {
		c.Notes = []plan.Note{}
	}
	inputs := make([]Input, len(c.Inputs))
	for i, in := range c.Inputs {
		if in.Files == nil {
			in.Files = []InputFile{}
		}
		inputs[i] = in
	}
	c.Inputs = inputs
	if err := os.WriteFile(path, plan.Document(c), 0o644); err != nil {
		return fmt.Errorf("write context: %w", err)
	}
	return nil
}
