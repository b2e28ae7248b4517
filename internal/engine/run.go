package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sort"
	"sync/atomic"
	"time"

	"gitwf/internal/act"
	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// run is one call of Run or Step: a step over the derived state, in a loop that sleeps until something changes. Between
// steps it remembers only its own current work, and what it need not say or try twice.
type run struct {
	*Engine
	id      plan.ID
	running map[plan.TaskID]work // by the ACTION, also while its CHECK is at work
	done    chan outcome
	freed   chan struct{}        // signals that only recording remains of a piece of work
	held    plan.Claims          // of other processes, as last read
	claims  plan.Claims          // those of them that hold
	waited  map[plan.TaskID]bool // the user knows that the run waits for these
	once    bool
	works   *Works // of a worker; nil for other runs
	started int

	alone     bool                     // only what needs neither an agent nor a maker
	planning  bool                     // only tasks that make plans
	untrusted map[plan.TaskID]int      // planning tasks, by the version whose command lines may not run
	undecided map[plan.TaskID]plan.OID // deciding tasks, by the state in which no rule has anything to decide
	outages   map[string]*outage       // agents that can't be asked
	tried     map[plan.TaskID][]int    // versions whose landing was tried
	stalled   []string                 // those of them that have work now
	commit    plan.OID                 // of the state that was read last
	asked     []openQuestion           // of roles, in that state

	budget   []budget
	spending Spent // in that state; known where there is a budget or somebody watches
	spendOn  tally
	over     error // no budget has room for the call that is next
}

func (e *Engine) newRun(id plan.ID) *run {
	return &run{
		Engine: e, id: id, running: map[plan.TaskID]work{}, claims: plan.Claims{}, waited: map[plan.TaskID]bool{},
		untrusted: map[plan.TaskID]int{},
		undecided: map[plan.TaskID]plan.OID{}, outages: map[string]*outage{},
		tried: map[plan.TaskID][]int{}, spendOn: tally{},
		done: make(chan outcome), freed: make(chan struct{}, 1),
	}
}

// outcome is how one piece of work ended.
type outcome struct {
	task plan.TaskID
	err  error
}

func (r *run) loop(ctx context.Context) (*plan.State, error) {
	_, leaseErr := r.leaseTime(ctx, 0)
	_, environErr := r.commandEnv()
	if err := cmp.Or(leaseErr, r.canAssign(), environErr, r.mayBegin(ctx)); err != nil {
		return nil, err
	}
	var err error
	if r.budget, err = r.budgets(ctx); err != nil {
		return nil, err
	}
	place, err := r.newScratch(ctx)
	if err != nil {
		return nil, err
	}
	r.scratch, r.seen = place, &sightings{first: map[plan.TaskID]sighting{}}
	defer func() {
		r.scratch, r.seen = nil, nil
		place.remove()
	}()
	if err := cmp.Or(r.readClaims(ctx), r.takeInputs(ctx, r.id)); err != nil {
		return nil, err
	}
	return r.steps(ctx)
}

// mayBegin refuses new work in a plan whose session takes none.
func (r *run) mayBegin(ctx context.Context) error {
	snap, err := r.Store.Snapshot(ctx, r.id)
	if err != nil {
		return err
	}
	if snap.Plan.Register && !r.planning {
		return registerError(snap.ID)
	}
	return snap.State().MayBegin()
}

// steps repeats the step until nothing is left to do or to wait for.
func (r *run) steps(ctx context.Context) (*plan.State, error) {
	var failed error
	for {
		pulse := r.Store.Pulse(r.id) // before reading the state: any later change is a reason to look again
		state, err := r.state(ctx)
		failed = errors.Join(failed, err)
		if failed == nil && ctx.Err() == nil {
			for _, w := range r.next(state) {
				r.start(ctx, w)
			}
		}
		r.show(state)
		if len(r.running) == 0 {
			rests, err := r.rests(ctx, failed, state)
			if rests || err != nil {
				return state, err
			}
			if r.works != nil && r.works.again {
				r.works.again = false
				continue
			}
		}
		if out, ended := r.await(ctx, pulse); ended {
			failed = errors.Join(failed, r.finish(ctx, out, failed))
		}
	}
}

// rests reports whether a run without current work is over, and with which error.
func (r *run) rests(ctx context.Context, failed error, s *plan.State) (bool, error) {
	if failed == nil {
		failed = ctx.Err()
	}
	if failed != nil || r.once && r.started > 0 {
		return true, failed
	}
	if waits, down := r.stall(); waits || down != nil || r.once || r.alone {
		return !waits, down
	}
	if r.works != nil {
		return r.idle(ctx, s)
	}
	if len(r.claims) == 0 { // no claim has blocked us yet; that does not mean that nobody works here
		if err := r.readClaims(ctx); err != nil {
			return true, err
		}
	}
	return !r.othersWork(), nil
}

// finish records the outcome of a piece of work. It reports an earlier failure once: a full disk fails for all.
func (r *run) finish(ctx context.Context, out outcome, failed error) error {
	w := r.running[out.task]
	by := w.agent
	if w.what == "land" {
		r.tried[out.task] = append(r.tried[out.task], w.task.Approved)
	}
	delete(r.running, out.task)
	var down *OutageError
	if errors.As(out.err, &down) {
		r.started--
		return r.down(ctx, out.task, down)
	}
	if delete(r.outages, by); r.works != nil && out.err == nil {
		r.works.begun, r.works.tries = true, 0
	}
	var untrusted *untrustedError
	var session *plan.SessionError
	var undecided *undecidedError
	switch {
	case errors.As(out.err, &undecided):
		r.undecided[undecided.task] = undecided.at
	case errors.As(out.err, &session):
		r.started-- // paused before the work began; the next look ends the run
	case errors.As(out.err, &untrusted):
		r.untrusted[untrusted.task] = untrusted.version
	case errors.Is(out.err, gitstore.ErrClaimed), r.works != nil && out.err != nil && r.bearLoss(out.err) == nil:
		// Another process has it. Read the others' claims before choosing again.
		if r.started--; r.works != nil {
			r.works.missed(ctx)
		}
		return r.readClaims(ctx)
	case failed == nil:
		return out.err
	}
	return nil
}

// How a run with room for more work learns of some. Looking at the pulse costs a few microseconds.
const (
	pulseTime = 200 * time.Millisecond
	lookTime  = 5 * time.Second // after this, look at the repository itself, whatever the pulse says
)

// await sleeps until a piece of work ends, or a change may allow more work.
func (r *run) await(ctx context.Context, pulse gitstore.Pulse) (out outcome, ended bool) {
	var tick <-chan time.Time
	if !r.once && r.room() > 0 && ctx.Err() == nil {
		t := time.NewTicker(pulseTime)
		defer t.Stop()
		tick = t.C
	}
	var interrupted <-chan struct{}
	if len(r.running) == 0 {
		interrupted = ctx.Done()
	}
	most := lookTime
	if r.works != nil { // not all at once, and the more rarely the longer there is nothing to do
		most = time.Second + rand.N(lookTime+min(r.Now().Sub(cmp.Or(r.works.since, r.Now())), 3*lookTime))
	}
	if r.works != nil && r.works.Idle > 0 {
		most = min(most, r.works.Idle)
	}
	for began := time.Now(); ; {
		select {
		case out := <-r.done:
			return out, true
		case <-r.freed:
			return outcome{}, false
		case <-interrupted:
			return outcome{}, false
		case <-tick:
			if r.Store.Pulse(r.id) != pulse || r.fallen() || r.returns() || time.Since(began) > most {
				return outcome{}, false
			}
		}
	}
}

// fallen reports whether a claim of another process no longer holds: it expired, or its process is gone.
func (r *run) fallen() bool {
	for id := range r.claims {
		if _, _, ok := r.standing(r.held[id], r.Now()); !ok {
			return true
		}
	}
	return false
}

// readClaims reads other processes' claims. It omits ours: r.running knows them better.
func (r *run) readClaims(ctx context.Context) error {
	if r.works == nil || r.works.only == "" { // claims that are known from elsewhere end there
		_ = r.Store.Refresh(ctx, r.id)
	}
	claims, err := r.Store.Claims(context.WithoutCancel(ctx), r.id)
	if err != nil {
		return err
	}
	maps.DeleteFunc(claims, func(_ plan.TaskID, c plan.Claim) bool { return r.owner().owns(c) })
	r.seen.note(claims, r.Now())
	r.held, r.claims = claims, r.Standing(claims, r.Now())
	return nil
}

// othersWork reports whether another process works on the plan, and says so once for each task. A person's review or an
// outside agent's claim does not count: it takes as long as it takes.
func (r *run) othersWork() bool {
	work := false
	for _, id := range slices.Sorted(maps.Keys(r.claims)) {
		c := r.claims[id]
		if c.Agent == plan.ReviewerPerson || c.PID <= 0 {
			continue
		}
		work = true
		if !r.waited[id] {
			r.waited[id] = true
			r.report(id, fmt.Sprintf("in work by %s, whose claim holds until %s", ownerOf(c),
				c.Expires.Local().Format(time.TimeOnly)))
		}
	}
	return work
}

func (r *run) state(ctx context.Context) (*plan.State, error) {
	if len(r.claims) > 0 || r.works != nil { // they change without telling us
		if err := r.readClaims(ctx); err != nil {
			return nil, err
		}
	}
	snap, err := r.Store.Snapshot(context.WithoutCancel(ctx), r.id)
	if err != nil {
		return nil, err
	}
	r.commit = snap.Commit
	s := snap.StateUnder(r.claims, r.Now())
	r.asked, err = r.consults(context.WithoutCancel(ctx), snap, s)
	if err == nil && (len(r.budget) > 0 || r.Watch != nil) {
		r.spending, err = r.Spent(context.WithoutCancel(ctx), snap, r.spendOn)
	}
	return s, err
}

// work is one piece of work that the engine can do now.
type work struct {
	task      *plan.TaskState // an ACTION
	do        doer
	what      string // attempt, review, ...
	agent     string
	worktree  bool // the agent works in a checkout of the repository
	since     time.Time
	recording *atomic.Bool // nothing else remains of it
}

type doer func(ctx context.Context, id plan.ID, t *plan.TaskState) error

// mostRecords bounds the number of waiting records for each job.
const mostRecords = 8

// room is how many pieces of work can be started. Work that only has to be recorded waits for the disk and frees its
// slot; but with a single job, one thing comes after the other.
func (r *run) room() int {
	jobs := max(r.Jobs, 1)
	busy := len(r.running)
	if jobs > 1 {
		recording := 0
		for _, w := range r.running {
			if w.recording.Load() {
				recording++
			}
		}
		busy -= min(recording, mostRecords*jobs)
	}
	room := jobs - busy
	if r.once {
		room = min(room, 1-r.started)
	}
	return room
}

// next chooses what to start, up to the number of jobs.
func (r *run) next(s *plan.State) []work {
	if s.MayBegin() != nil {
		return nil // the plan was paused meanwhile: finish the current work and start nothing
	}
	free := r.room()
	r.stalled, r.over = nil, nil
	var chosen []work
	choose := func(w work) {
		if r.alone && r.Agents.Knows(w.agent) || r.works != nil && r.works.only != "" &&
			r.works.only != w.task.TaskID {
			return
		}
		if r.outageRests(w.agent) {
			r.stalled = each.Add(r.stalled, w.agent)
			return
		}
		if _, busy := r.running[w.task.TaskID]; len(chosen) < free && !busy && !r.crossed(s, w, chosen) &&
			!r.overspends(w, chosen) {
			chosen = append(chosen, w)
		}
	}
	if !r.Policy.NoWaivers {
		for _, t := range s.ToAccept() {
			choose(work{task: t, do: r.accept, what: "accept", agent: plan.AgentWorkflow})
		}
	}
	for _, t := range s.ToDrop() {
		choose(work{task: t, do: r.drop, what: "drop", agent: plan.AgentWorkflow})
	}
	for _, t := range s.ToApply() {
		if t.Decides != nil {
			choose(work{task: t, do: r.applyDecision, what: "apply", agent: plan.ReviewerDecision})
		}
		if group := s.Together(t.TaskID); len(group) > 0 && group[0] == t.TaskID {
			choose(work{task: t, do: r.applyVerdicts, what: "apply", agent: plan.ReviewerVerdicts})
		}
	}
	for _, t := range s.Declined() {
		choose(work{task: t, do: r.decline, what: "apply", agent: plan.ReviewerDecision})
	}
	for _, t := range s.Ungrafted() {
		if !r.may(t) {
			continue
		}
		choose(work{task: t, do: r.graft, what: "graft", agent: t.Agent})
	}
	if t := r.nextToLand(s); t != nil {
		choose(work{task: t, do: r.land, what: "land", agent: r.Landing.Person.Name, worktree: true})
	}
	for _, q := range r.asked {
		do := func(ctx context.Context, id plan.ID, _ *plan.TaskState) error { return r.answerFor(ctx, id, q) }
		if t := s.Tasks[q.TaskID]; r.may(t) {
			choose(work{task: t, do: do, what: "consult", agent: q.adviser.agent})
		}
	}
	for _, t := range r.order(s.Ready()) {
		if len(chosen) >= free {
			break // in a long plan far more is ready than can be started
		}
		if r.alone && t.NodeType == plan.Action && t.Fill == nil {
			continue
		}
		if w, ok := r.Engine.work(s, t); ok && r.may(w.task) {
			choose(w)
		}
	}
	return chosen
}

// may reports whether the run works on the task.
func (r *run) may(t *plan.TaskState) bool {
	if r.planning && !t.Planning() || t.Decides != nil && r.undecided[t.TaskID] == r.commit {
		return false
	}
	version, waits := r.untrusted[t.TaskID]
	return !waits || version != t.Active
}

// crossed reports whether work has no place beside the current work: in a window, on its paths, or in its conversation.
func (r *run) crossed(s *plan.State, w work, chosen []work) bool {
	if r.talks(s, w, chosen) || r.waitsToLand(s, w) {
		return true
	}
	claims := maps.Clone(r.claims)
	for _, other := range slices.AppendSeq(slices.Clone(chosen), maps.Values(r.running)) {
		claims[other.task.TaskID] = plan.Claim{Worktree: other.worktree}
	}
	return barred(s, w.task.Task, w.worktree, claims) != ""
}

// barred says why work on a task can't begin beside that under claims, "" if it can: a window above it is full, or it
// is work in a worktree, and some in another touches the same paths.
func barred(s *plan.State, t *plan.Task, worktree bool, claims plan.Claims) string {
	if why := s.Crowded(t.TaskID, claims); why != "" || !worktree {
		return why
	}
	for id, c := range claims {
		if other := s.Tasks[id]; c.Worktree && id != t.TaskID && other != nil && plandoc.SameFocus(other.Task, t) {
			return "is about the same paths as " + string(id) + ", which is being worked on"
		}
	}
	return ""
}

// work says what the engine itself can do about a ready task; ok is false if somebody else must act.
func (e *Engine) work(s *plan.State, t *plan.TaskState) (w work, ok bool) {
	if t.NodeType == plan.Check {
		return e.reviewWork(s, s.Tasks[t.ReviewTargetTaskID])
	}
	if t.Fill != nil {
		return work{task: t, do: e.renderFill, what: "render", agent: t.Agent}, true
	}
	name := e.agentOf(s.Plan, t.Task)
	by := func(do func(context.Context, plan.ID, *plan.TaskState, string) error) doer {
		return func(ctx context.Context, id plan.ID, t *plan.TaskState) error { return do(ctx, id, t, name) }
	}
	w = work{task: t, do: by(e.attempt), what: "attempt", agent: name, worktree: e.inWorktree(name, t.Task) ||
		t.Changes()}
	if t.Decides != nil && e.ByRule {
		w.do, w.agent = e.decideByRule, act.ByRule
		return w, true
	}
	if t.Changes() && t.Verdict == plan.Approved { // it did not land, or what it builds on has changed
		w.do = by(e.move)
		return w, true
	}
	return w, e.mayAttempt(s, t)
}

// mayAttempt reports whether the engine itself can have a task's next version made.
func (e *Engine) mayAttempt(s *plan.State, t *plan.TaskState) bool {
	name := e.agentOf(s.Plan, t.Task)
	_, waits := e.waitForWork(s, t)
	return !waits && (name == agent.NameExec || e.Agents.Knows(name))
}

func (e *Engine) reviewWork(s *plan.State, target *plan.TaskState) (w work, ok bool) {
	w = work{task: target, what: "review"}
	switch s.NextReviewStep(target.TaskID) {
	case plan.StepRunChecks:
		w.do, w.agent = e.review, plan.ReviewerChecks
		return w, e.lacks(s, target.Task).Text == ""
	case plan.StepPlan:
		w.do, w.agent = e.reviewPlanAlone, plan.ReviewerPlan
		return w, true
	case plan.ReviewerDecision:
		w.do, w.agent = e.reviewDecision, plan.ReviewerDecision
		return w, true
	case plan.ReviewerVerdicts:
		w.do, w.agent = e.reviewVerdicts, plan.ReviewerVerdicts
		return w, true
	case plan.StepPerson:
		who, ok := e.reviewingAgent(s, target)
		ok = ok && e.Agents.Missing(who.agent, e.mayReview(s, target, who)) == nil
		w.agent = who.agent
		w.do = func(ctx context.Context, id plan.ID, t *plan.TaskState) error {
			return e.reviewByAgent(ctx, id, t, who)
		}
		return w, ok
	}
	return work{}, false
}

// inWorktree reports whether the agent works on the task in a checkout of the repository.
func (e *Engine) inWorktree(name string, t *plan.Task) bool {
	c, _ := e.Agents.Config(name)
	return c.Workspace == agent.WorkspaceWorktree && roleOf(t) == contract.RoleAction
}

// recordingKey is the context key of the function to call once only recording remains of a piece of work.
type recordingKey struct{}

func tellRecording(ctx context.Context) {
	if tell, ok := ctx.Value(recordingKey{}).(func()); ok {
		tell()
	}
}

func (r *run) start(ctx context.Context, w work) {
	w.since, w.recording = r.Now(), new(atomic.Bool)
	r.running[w.task.TaskID] = w
	r.started++
	if r.works != nil {
		r.works.since, r.works.only = time.Time{}, w.task.TaskID
	}
	ctx = context.WithValue(ctx, recordingKey{}, func() {
		w.recording.Store(true)
		select {
		case r.freed <- struct{}{}:
		default: // the loop will look anyway
		}
	})
	go func() {
		err := w.do(ctx, r.id, w.task)
		if errors.Is(err, gitstore.ErrClaimed) {
			// Two that block each other must not retry in step.
			time.Sleep(time.Duration(1+rand.IntN(30)) * time.Millisecond)
		}
		if errors.Is(err, gitstore.ErrLost) {
			_ = gitstore.Pause(ctx, lostPause)
		}
		r.done <- outcome{w.task.TaskID, err}
	}()
}

// show tells Watch the current work, ours first.
func (r *run) show(s *plan.State) {
	if r.Watch == nil || s == nil {
		return
	}
	var all []Doing
	for id, w := range r.running {
		if !w.recording.Load() { // else it is over in a moment
			all = append(all, Doing{Task: id, What: w.what, Agent: w.agent, Since: w.since})
		}
	}
	for id, c := range r.claims {
		d := Doing{Task: id, What: "attempt", Agent: ownerOf(c), Since: c.Started, Elsewhere: true}
		if t := s.Tasks[id]; t != nil && t.NodeType == plan.Check {
			d.Task, d.What = t.ReviewTargetTaskID, "review"
		}
		all = append(all, d)
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Elsewhere != all[j].Elsewhere {
			return all[j].Elsewhere
		}
		return all[i].Since.Before(all[j].Since)
	})
	r.Watch(s, all, r.spending)
}
