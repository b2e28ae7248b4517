package engine

import (
	"context"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/estimate"
	"gitwf/internal/expand"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/process"
	"gitwf/internal/secret"
)

// Engine carries out the plans of one repository.
type Engine struct {
	Store     *gitstore.Store
	Trust     *Trust
	Agents    *agent.Set
	Weights   func() (estimate.Weights, error) // of the rule that estimates tasks; read on demand
	Assign    func() (agent.Assignment, error) // who does a task that names no agent; read on demand
	Policy    policy.Policy                    // of the repository
	Now       func() time.Time
	Environ   []string                 // of the agents that the user has set up, before the WF_ variables
	Commands  func() ([]string, error) // of a plan's command lines, before WF_ variables; nil: defaults of Environ
	Secrets   func() secret.Mask       // what must not be recorded or shown
	Templates fs.FS                    // prompts/<role>.md
	OwnRules  string                   // the directory of the user's own rules; "" for none
	Report    func(Progress)           // called for each event, from several goroutines; may be nil
	Jobs      int                      // tasks worked on at once; zero means one
	Lease     time.Duration            // of a claim; zero means wf.lease
	Throwaway bool                     // new plans are those of a throwaway repository
	ByRule    bool                     // decisions follow from a rule, and no agent is asked
	Landing   *RunLanding              // of a run that lands; nil for others
	Labels    func() []string          // of this machine; nil: it has none

	// Watch receives a run's current work, and what was spent, whenever that changes, from one goroutine; may be nil.
	// It may keep the state but not change it.
	Watch func(*plan.State, []Doing, Spent)

	reviewed atomic.Pointer[reviewedPlan]
	expanded expand.Memory

	scratch *scratch // of the current run, nil outside of one
	seen    *sightings

	joined sync.Map // by joinedRun, what the run lines of a judge gave on joined changes: []plan.CriterionResult

	said sync.Map // lines about rules: once is enough

	leaseMu   sync.Mutex // guards Lease while it is looked up
	ownerOnce sync.Once
	self      owner
}

// Doing is one piece of a run's current work.
type Doing struct {
	Task      plan.TaskID // the ACTION, also while it is reviewed
	What      string      // attempt, review, ...
	Agent     string
	Since     time.Time
	Elsewhere bool // another process does it; Agent says who
}

// Progress is one thing that happened, for people to read.
type Progress struct {
	Task plan.TaskID
	Text string
}

func (e *Engine) report(id plan.TaskID, text string) {
	if e.Report != nil {
		e.Report(Progress{id, e.Secrets().Text(text)})
	}
}

// Run carries the plan out until it is done or can't go on without somebody. The returned state says which; an error
// means that the work itself broke off (a cancelled context, a repository that can't be written).
func (e *Engine) Run(ctx context.Context, id plan.ID) (*plan.State, error) {
	s, err := e.newRun(id).loop(ctx)
	if s != nil && err == nil {
		err = e.closeTasks(context.WithoutCancel(ctx), id)
	}
	return s, err
}

// Step does exactly one thing that is ready, and reports whether there was one.
func (e *Engine) Step(ctx context.Context, id plan.ID) (*plan.State, bool, error) {
	r := e.newRun(id)
	r.once = true
	state, err := r.loop(ctx)
	return state, r.started > 0, err
}

// Settle does what needs neither an agent nor a maker, as Run does it: checks whose lines are trusted, what fills a
// GOAL, grafts, decisions that take effect. snap is what the caller has read of the plan: if that has nothing of the
// kind, the rest is not read. It waits for nobody, and does nothing in a paused plan.
func (e *Engine) Settle(ctx context.Context, snap *gitstore.Snapshot) error {
	r := e.newRun(snap.ID)
	r.alone = true
	if len(r.next(snap.State())) == 0 {
		return nil
	}
	_, err := r.loop(ctx)
	return err
}

// commandEnv is the environment of a plan's command lines, before the WF_ variables.
func (e *Engine) commandEnv() ([]string, error) {
	if e.Commands == nil {
		return process.Allowed(e.Environ, nil), nil
	}
	return e.Commands()
}
