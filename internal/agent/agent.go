package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"gitwf/internal/backend"
	"gitwf/internal/contract"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// Job is one attempt at a task: everything that an agent gets. The caller has prepared its directories and files.
type Job struct {
	Task    *plan.Task
	PlanID  plan.ID
	Attempt int // 1 for the first

	// where the agent works: an empty scratch directory or, with InCheckout, a checkout of the repository
	Dir      string
	Out      string        // WF_OUT: the deliverable goes here
	Tmp      string        // TMPDIR, for what is thrown away; "" leaves the user's
	In       string        // WF_IN: approved inputs, as <task id>/<path in its artifact>
	Context  string        // WF_CONTEXT: the file that Context.Write wrote
	Feedback string        // WF_FEEDBACK: the last REJECTED.md, "" if there is none
	Prompt   string        // WF_PROMPT: the file with the text of Prompt
	Again    string        // what of it is new to Thread, "" for all of it
	Head     string        // the file with what Prompt begins with and never changes on the way; "" for nothing
	Repo     string        // WF_REPO: the repository, to read
	Role     contract.Role // WF_ROLE is its Env
	Access   Access        // of an agent that is asked; a command line of the task can do what it can
	Thread   string        // the conversation to continue, "" for a new one
	Spent    plan.Usage    // what is recorded of that conversation already

	InCheckout bool

	Limits plan.Config // of the plan; zero means the defaults

	Timeout time.Duration // zero means the default of plan.DefaultConfig
	Environ []string      // the environment of the tool's user
	Log     io.Writer     // gets what the agent prints, within limits; may be nil

	Notice func(string) // called when the agent can't be asked yet; may be nil
}

// Access is what an agent may do besides answering.
type Access = backend.Access

// AccessOf is what an agent may do in a role of a plan.
func AccessOf(r plan.Role) Access {
	switch {
	case r.Decides():
		return backend.MayAnswer
	case r.ReadOnly():
		return backend.MayRead
	}
	return backend.MayWrite
}

// Kind is the kind of an attempt's outcome.
type Kind string

// The kinds of result.
const (
	Artifact   Kind = "ARTIFACT"    // there are files in Job.Out; Collect decides whether they are a version
	NeedsInput Kind = "NEEDS_INPUT" // the task can't be done without an answer; Message is the question
	Noop       Kind = "NOOP"        // it succeeded but left nothing
	Error      Kind = "ERROR"       // it failed; Message says how
)

// Attempt is the kind of the record that an attempt leaves, "" for one that made an artifact.
func (k Kind) Attempt() string {
	switch k {
	case Artifact:
		return ""
	case NeedsInput:
		return plan.AttemptNeedsInput
	case Noop:
		return plan.AttemptNoop
	}
	return plan.AttemptError
}

// Result is the outcome of an attempt. Its texts are fit to be printed.
type Result struct {
	Kind     Kind
	Summary  string        // what the agent says about its work; may be empty
	Message  string        // for people: what happened and the end of the output; the question if input is needed
	ExitCode int           // of a command; zero for agents that are none
	Duration time.Duration // of the work
	LogTail  string        // the end of the output

	Needs  []plan.Question // the questions of kind NEEDS_INPUT
	Agent  string          // the agent that answered, if that was a fallback
	Thread string          // the agent's own name for the conversation
	Usage  *plan.Usage     // nil if unknown

	Notes    []plan.Note // that came with the reply
	Concerns []plan.Note // about other tasks

	Down    *Outage             // nil if the agent could be asked
	Skipped []string            // why others of a chain of fallbacks did not answer, one line each
	Replies int                 // number of its answers, including replies that broke the contract
	Broken  *contract.Violation // how the last reply broke the contract; nil if it did not
}

// Outage is that nobody could be asked, the agent or another of its chain.
type Outage struct {
	Lasting bool          // until somebody mends it: a program, login or key
	After   time.Duration // in which the service wants to be asked again; zero if it does not say
}

// MadeBy is the agent that did the work; asked is the one that was to do it.
func (r Result) MadeBy(asked string) string {
	return cmp.Or(r.Agent, asked)
}

// Agent does the work of tasks. Run returns when the work is over and nothing of it still runs. It returns an error
// only if the work could not be tried, or ctx was cancelled (the error then wraps ctx's); the Result is still that of a
// failed attempt. An agent that tried and failed returns a Result of kind ERROR and no error.
type Agent interface {
	Run(ctx context.Context, job Job) (Result, error)
}

// The names of the agents that need no setup.
const (
	NameExec   = "exec"
	NameManual = "manual"

	nameWorkflow = plan.AgentWorkflow // what workflows render, which the engine does
)

// ErrManual says that a person does the task: there is nothing to run, and the task waits for git wf submit.
var ErrManual = errors.New("a person does this task: git wf submit hands the deliverable in")

// UnknownError says that a name belongs to no agent.
type UnknownError struct {
	Name  string
	Known []string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown agent %s; known are %s", visible(e.Name), strings.Join(e.Known, ", "))
}

// Exit returns the command that lists the agents.
func (e *UnknownError) Exit() (int, string) { return fault.ExitUsage, "git wf agents" }

// Name is the agent that a task names; without that, exec if the task has a run line, and otherwise a person.
func Name(t *plan.Task) string {
	switch {
	case t.Agent != "":
		return t.Agent
	case t.Run != "":
		return NameExec
	}
	return NameManual
}

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
	c.Criteria, c.HandedIn = append([]plan.Criterion{}, c.Criteria...), append([]HandedIn{}, c.HandedIn...)
	c.Notes, c.Inputs = append([]plan.Note{}, c.Notes...), append([]Input{}, c.Inputs...)
	for i := range c.Inputs {
		c.Inputs[i].Files = append([]InputFile{}, c.Inputs[i].Files...)
	}
	if err := os.WriteFile(path, plan.Document(c), 0o644); err != nil {
		return fmt.Errorf("write context: %w", err)
	}
	return nil
}
