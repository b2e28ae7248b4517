package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"syscall"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/estimate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Engine carries out the plans of one repository.
type Engine struct {
	Store     *gitstore.Store
	Trust     *Trust
	Agents    *agent.Set
	Weights   func() (estimate.Weights, error) // of the rule that estimates tasks; read when it is needed
	Policy    plan.Policy                      // of the repository
	Now       func() time.Time
	Environ   []string       // of the commands that work for us, before the WF_ variables
	Templates fs.FS          // prompts/<role>.md
	Report    func(Progress) // called for each thing that happens, from several goroutines; may be nil
	Jobs      int            // tasks worked on at once; zero means one
	Lease     time.Duration  // of a claim; zero means DefaultLease

	scratch *scratch // of the run that is under way, nil outside of one
}

// DefaultLease is how long a claim holds unless its owner renews it.
const DefaultLease = 5 * time.Minute

// Progress is one thing that happened, for people to read.
type Progress struct {
	Task plan.TaskID
	Text string
}

func (e *Engine) report(id plan.TaskID, text string) {
	if e.Report != nil {
		e.Report(Progress{id, text})
	}
}

// Run carries the plan out until it is done or nothing can go on without somebody. The state it returns says which;
// an error means that the work itself broke off (a cancelled context, a repository that can't be written).
func (e *Engine) Run(ctx context.Context, id plan.ID) (*plan.State, error) {
	return e.newRun(id).loop(ctx)
}

func (e *Engine) newRun(id plan.ID) *run {
	return &run{
		Engine: e, id: id, running: map[plan.TaskID]bool{}, waited: map[plan.TaskID]bool{}, untrusted: map[plan.TaskID]int{},
		done: make(chan outcome),
	}
}

// Step does exactly one thing that is ready, and reports whether there was one.
func (e *Engine) Step(ctx context.Context, id plan.ID) (*plan.State, bool, error) {
	r := e.newRun(id)
	r.once = true
	state, err := r.loop(ctx)
	return state, r.started > 0, err
}

// run is one call of Run or Step.
type run struct {
	*Engine
	id      plan.ID
	running map[plan.TaskID]bool // by the ACTION, also while its CHECK is at work
	done    chan outcome
	claims  plan.Claims          // of other processes, as last read
	waited  map[plan.TaskID]bool // of these it was said that the run waits for them
	once    bool
	started int

	planning  bool                // only tasks that make plans
	untrusted map[plan.TaskID]int // planning tasks, by the version whose command lines may not run
}

// outcome is how one piece of work ended.
type outcome struct {
	task plan.TaskID
	err  error
}

func (r *run) loop(ctx context.Context) (*plan.State, error) {
	place, err := newScratch()
	if err != nil {
		return nil, err
	}
	r.scratch = place
	defer func() {
		r.scratch = nil
		place.remove()
	}()
	var firstErr error
	if err := r.readClaims(ctx); err != nil {
		return nil, err
	}
	if err := r.takeInputs(ctx, r.id); err != nil {
		return nil, err
	}
	pause := shortestPause
	for {
		state, err := r.state(ctx)
		if err != nil {
			firstErr = errors.Join(firstErr, err)
		}
		if firstErr == nil && ctx.Err() == nil {
			for _, w := range r.next(state) {
				r.start(ctx, w)
			}
		}
		if len(r.running) == 0 {
			if firstErr == nil {
				firstErr = ctx.Err()
			}
			if firstErr != nil || r.once || !r.othersWork() {
				return state, firstErr
			}
			// What the others do may make more work, or end the plan.
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, longestPause)
			continue
		}
		out := <-r.done
		pause = shortestPause
		delete(r.running, out.task)
		var untrusted *untrustedError
		switch {
		case errors.As(out.err, &untrusted):
			r.untrusted[untrusted.task] = untrusted.version
		case errors.Is(out.err, gitstore.ErrClaimed):
			// Another process has it. Look at what the others hold before choosing again.
			if err := r.readClaims(ctx); err != nil {
				firstErr = errors.Join(firstErr, err)
			}
		case out.err != nil && firstErr == nil:
			firstErr = out.err
		}
	}
}

// How often a run that waits for others looks at what they do.
const (
	shortestPause = 50 * time.Millisecond
	longestPause  = 2 * time.Second
)

// readClaims reads what other processes hold. Our own claims are left out: r.running knows them better.
func (r *run) readClaims(ctx context.Context) error {
	claims, err := r.Store.Claims(context.WithoutCancel(ctx), r.id)
	if err != nil {
		return err
	}
	maps.DeleteFunc(claims, func(_ plan.TaskID, c plan.Claim) bool {
		return c.Host == hostname() && c.PID == os.Getpid() || ownerGone(c)
	})
	r.claims = claims
	return nil
}

// othersWork reports whether another process is at work on the plan, and says so once for each task. A person's review
// does not count: it takes as long as it takes.
func (r *run) othersWork() bool {
	work := false
	for id, c := range r.claims {
		if c.Agent == plan.ReviewerPerson || !r.Now().Before(c.Expires) {
			continue
		}
		work = true
		if !r.waited[id] {
			r.waited[id] = true
			r.report(id, fmt.Sprintf("in work by %s in process %d on %s, whose claim holds until %s", c.Agent, c.PID, c.Host, c.Expires.Local().Format(time.TimeOnly)))
		}
	}
	return work
}

func (r *run) state(ctx context.Context) (*plan.State, error) {
	if len(r.claims) > 0 { // they change without a word to us
		if err := r.readClaims(ctx); err != nil {
			return nil, err
		}
	}
	snap, err := r.Store.Snapshot(context.WithoutCancel(ctx), r.id)
	if err != nil {
		return nil, err
	}
	return snap.StateUnder(r.claims, r.Now()), nil
}

// work is one piece of work that the engine can do now.
type work struct {
	task *plan.TaskState // an ACTION
	do   func(ctx context.Context, id plan.ID, t *plan.TaskState) error
}

// next chooses what to start, up to the number of jobs.
func (r *run) next(s *plan.State) []work {
	free := max(r.Jobs, 1) - len(r.running)
	if r.once {
		free = min(free, 1-r.started)
	}
	var chosen []work
	choose := func(w work) {
		if len(chosen) < free && !r.running[w.task.TaskID] {
			chosen = append(chosen, w)
		}
	}
	for _, t := range s.Ungrafted() {
		choose(work{t, r.graft})
	}
	for _, t := range s.Ready() {
		if len(chosen) >= free {
			break // in a long plan far more is ready than can be started
		}
		if w, ok := r.Engine.work(s, t); ok && r.may(w.task) {
			choose(w)
		}
	}
	return chosen
}

// may reports whether the run works on the task.
func (r *run) may(t *plan.TaskState) bool {
	if r.planning && !t.Planning() {
		return false
	}
	version, waits := r.untrusted[t.TaskID]
	return !waits || version != t.Active
}

// work says what the engine itself can do about a ready task; ok is false when somebody else must act.
func (e *Engine) work(s *plan.State, t *plan.TaskState) (w work, ok bool) {
	if t.NodeType == plan.Check {
		target := s.Tasks[t.ReviewTargetTaskID]
		switch s.NextReviewStep(target.TaskID) {
		case plan.StepRunChecks:
			return work{target, e.review}, e.Trust.AllCriteria(target.Task)
		case plan.StepPlan:
			return work{target, e.reviewPlan}, true
		case plan.StepPerson:
			reviewer, ok := e.reviewingAgent(s, target)
			return work{target, func(ctx context.Context, id plan.ID, t *plan.TaskState) error {
				return e.reviewByAgent(ctx, id, t, reviewer)
			}}, ok
		}
		return work{}, false
	}
	name := e.agentOf(t.Task)
	if name == agent.NameExec {
		return work{t, e.attempt}, e.Trust.Has(t.Run)
	}
	return work{t, e.attempt}, e.Agents.Knows(name)
}

// agentOf is the name of the agent that does a task.
func (e *Engine) agentOf(t *plan.Task) string {
	if t.Agent == "" && t.Run == "" {
		if name := e.Agents.Executor(); name != "" {
			return name
		}
	}
	return agent.Name(t)
}

func (r *run) start(ctx context.Context, w work) {
	r.running[w.task.TaskID] = true
	r.started++
	go func() {
		r.done <- outcome{w.task.TaskID, w.do(ctx, r.id, w.task)}
	}()
}

// endClaim lets a claim expire now if its process was killed: nobody should wait for the end of the lease of one that
// can't come back. A claim of this very process is such a one too: whoever held it here has let go of the task, or would
// not ask for it again. It reports whether it did; the number of the claim goes on.
func (e *Engine) endClaim(ctx context.Context, id plan.ID, task plan.TaskID, now time.Time) bool {
	claims, err := e.Store.Claims(ctx, id)
	if err != nil {
		return false // the claim stands, and that is reported
	}
	held, ok := claims[task]
	if !ok || !ownerGone(held) && !(held.Host == hostname() && held.PID == os.Getpid()) {
		return false
	}
	_, err = e.Store.Renew(ctx, id, held, now)
	return err == nil
}

// ownerGone reports whether the process that holds a claim is known to have ended: only one of this machine can be.
func ownerGone(c plan.Claim) bool {
	if c.Host != hostname() || c.PID <= 0 {
		return false
	}
	p, err := os.FindProcess(c.PID)
	if err != nil {
		return true // Windows finds no process that has ended
	}
	defer p.Release()
	return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// hold is a claim on a task, renewed until it is given up.
type hold struct {
	claim    plan.Claim
	released bool // with the event that it was for
	stop     context.CancelFunc
}

// claim takes the task, or fails with gitstore.ErrClaimed. The context it returns ends when the claim is lost.
func (e *Engine) claim(ctx context.Context, id plan.ID, task plan.TaskID, agent string) (*hold, context.Context, error) {
	lease := e.Lease
	if lease == 0 {
		lease = DefaultLease
	}
	now := e.Now()
	want := plan.Claim{
		Task: task, Agent: agent, Session: rand.Text(), Host: hostname(), PID: os.Getpid(), Started: now, Expires: now.Add(lease),
	}
	c, err := e.Store.Claim(ctx, id, want)
	if errors.Is(err, gitstore.ErrClaimed) && e.endClaim(ctx, id, task, now) {
		c, err = e.Store.Claim(ctx, id, want)
	}
	if err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	h := &hold{claim: c, stop: stop}
	go func() {
		tick := time.NewTicker(lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if _, err := e.Store.Renew(ctx, id, c, e.Now().Add(lease)); err != nil {
					stop() // without a claim somebody else may do the same work
					return
				}
			}
		}
	}()
	return h, ctx, nil
}

// letGo gives up a claim, unless an event has released it.
func (e *Engine) letGo(ctx context.Context, id plan.ID, h *hold) {
	h.stop()
	if h.released {
		return
	}
	// A claim that can't be deleted now expires by itself.
	_ = e.Store.Release(context.WithoutCancel(ctx), id, h.claim)
}

// append records an event and releases the claim in the same transaction. What was done is recorded even if the user
// wants to stop: a cancelled context must not throw finished work away.
func (e *Engine) append(ctx context.Context, id plan.ID, ev plan.Event, h *hold, batch *gitstore.Batch) (*gitstore.Appended, error) {
	o := gitstore.AppendOptions{Now: e.Now(), Batch: batch}
	if h != nil {
		o.Claim = &h.claim
		h.stop()
	}
	done, err := e.Store.Append(context.WithoutCancel(ctx), id, ev, o)
	if h != nil {
		h.released = err == nil
	}
	return done, err
}
