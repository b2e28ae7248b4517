package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

// Offer is a task for an agent that works outside a run, with what the agent must know.
type Offer struct {
	Snapshot *gitstore.Snapshot
	Task     *plan.TaskState
	Claim    *plan.Claim // nil unless requested
	Prompt   prompt.Prompt
	Inputs   []plan.Input
	Feedback string // the REJECTED.md of the version to redo
}

// HandIn is the command that hands in the task's files, with PATH in their place.
func (o *Offer) HandIn() string {
	claim := ""
	if o.Claim != nil {
		claim = fmt.Sprintf(" --claim %d", o.Claim.Number)
	}
	if o.Task.Changes() {
		return fmt.Sprintf("git wf submit %s%s --worktree", o.Task.TaskID, claim)
	}
	return fmt.Sprintf("git wf submit %s%s PATH...", o.Task.TaskID, claim)
}

// Wanted says which task an outside agent wants.
type Wanted struct {
	Task    plan.TaskID   // "" means any
	Agent   string        // its name
	Session string        // of the agent; "" if it is not known
	Claim   bool          // claim it
	Lease   time.Duration // of the claim; zero means wf.lease
}

// Offer finds the next task for an outside agent, and claims it if requested. It returns nil if there is none now.
// Tasks for that agent come first, then those for anybody, then those that a run would do by their run line.
func (e *Engine) Offer(ctx context.Context, id plan.ID, w Wanted) (*Offer, error) {
	for {
		snap, err := e.Store.Snapshot(ctx, id)
		if err != nil {
			return nil, err
		}
		claims, err := e.Store.Claims(ctx, id)
		if err != nil {
			return nil, err
		}
		claims = e.Standing(claims, e.Now())
		s := snap.StateUnder(claims, e.Now())
		if err := s.MayBegin(); err != nil && s.SessionStatus() == plan.SessionPaused {
			return nil, err
		}
		if snap.Plan.Register {
			return nil, registerError(id)
		}
		t, err := e.choose(s, claims, w)
		if err != nil || t == nil {
			return nil, err
		}
		o := &Offer{Snapshot: snap, Task: t}
		if w.Claim {
			if o.Claim, err = e.claimOutside(ctx, id, t.TaskID, w); errors.Is(err, gitstore.ErrClaimed) {
				continue // somebody was faster
			}
			if err != nil {
				return nil, err
			}
		}
		if err := e.describe(ctx, snap, o); err != nil {
			return nil, err
		}
		return o, nil
	}
}

// choose finds the wanted task.
func (e *Engine) choose(s *plan.State, claims plan.Claims, w Wanted) (*plan.TaskState, error) {
	if w.Task != "" {
		t := s.Tasks[w.Task]
		if err := s.RefuseContainer(w.Task, "git wf next TASK"); err != nil {
			return nil, err
		}
		switch {
		case t == nil || t.NodeType != plan.Action || t.Planning():
			return nil, &plan.RefusedError{Task: w.Task, Reason: "is no task that makes a deliverable",
				Hint: "git wf next --explain"}
		case !ready(t):
			reason := t.Status.String()
			if why := s.Reason(t); why != "" {
				reason += ": " + why
			}
			return nil, &plan.RefusedError{Task: w.Task, Reason: "is " + reason, Hint: "git wf next --explain"}
		}
		if why := barred(s, t.Task, true, claims); why != "" {
			return nil, &plan.RefusedError{Task: w.Task, Reason: why, Hint: "git wf next"}
		}
		return t, nil
	}
	var best *plan.TaskState
	bestRank := 0
	for _, t := range s.Ready() {
		if t.NodeType != plan.Action || t.Planning() || barred(s, t.Task, true, claims) != "" {
			continue
		}
		if rank, ok := e.suits(s.Plan, t.Task, w.Agent); ok && (best == nil || rank < bestRank) {
			best, bestRank = t, rank
		}
	}
	return best, nil
}

// suits ranks how well a task suits an outside agent: less is better.
func (e *Engine) suits(p *plan.Plan, t *plan.Task, name string) (rank int, ok bool) {
	by := agent.Name(t)
	if by == agent.NameManual && p.HasRole(t.Role) && name != "" &&
		(p.Roles[t.Role].Agent == name || e.Agents.Read().Roles[t.Role] == name) {
		by = name
	}
	switch {
	case name != "" && by == name:
		return 0, true
	case by == agent.NameManual:
		return 1, true
	case by == agent.NameExec:
		return 2, true
	}
	return 0, false
}

// claimOutside takes a claim that no process renews: it ends unless the agent renews it. The agent is assumed to work
// in a worktree of the repository.
func (e *Engine) claimOutside(ctx context.Context, id plan.ID, task plan.TaskID, w Wanted) (*plan.Claim, error) {
	h, err := e.claimFor(ctx, id, plan.Claim{Task: task, Agent: w.Agent, Session: w.Session, Worktree: true}, w.Lease)
	if err != nil {
		return nil, err
	}
	if err = e.readAgain(ctx, h); err == nil {
		err = e.keepsClear(ctx, h)
	}
	if err == nil && (!h.isReady() || h.claim.Number <= h.state.ClaimsEnded(task)) {
		// Since we chose the task, somebody has done it, or claimed it and recorded something.
		err = fmt.Errorf("%s: %w", task, gitstore.ErrClaimed)
	}
	if err != nil {
		e.release(ctx, h)
		return nil, err
	}
	return &h.claim, nil
}

// describe fills in what the agent must know.
func (e *Engine) describe(ctx context.Context, snap *gitstore.Snapshot, o *Offer) error {
	s := snap.State()
	t := s.Tasks[o.Task.TaskID]
	o.Inputs = approvedInputs(snap, s, t.TaskID)
	var err error
	if o.Prompt, err = e.Prompt(ctx, snap, t.TaskID, o.HandIn()); err == nil {
		o.Feedback, err = e.Feedback(ctx, snap, t)
	}
	return err
}

// Feedback is the REJECTED.md of the version of a task that is to be redone; "" if there is none.
func (e *Engine) Feedback(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (string, error) {
	if t.Verdict != plan.Rejected {
		return "", nil
	}
	w := workDir{snap: snap, task: t}
	err := e.lastReview(ctx, &w, t.Active)
	return string(w.rejection), err
}

// Rehearse runs the criteria of a change on the files of this worktree, as they run on what is handed in, and records
// nothing. It returns those that would reject it. Nothing runs where a line is not trusted.
func (e *Engine) Rehearse(ctx context.Context, id plan.ID, task plan.TaskID) (failed []plan.CriterionResult,
	err error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	s := snap.State()
	t := s.Tasks[task]
	if t == nil || !t.Changes() || !t.HasRun() || !e.Trust.AllCriteria(t.Task) {
		return nil, nil
	}
	batch := e.Store.NewBatch()
	defer batch.Discard()
	base, tree, files, err := e.submittedChange(ctx, batch, snap, t, Submission{Task: task, Worktree: true})
	if err == nil {
		err = batch.Flush(ctx)
	}
	if err != nil {
		return nil, err
	}
	a := e.newArtifact(task, "", tree, files, approvedInputs(snap, s, task))
	a.Base = base
	results, err := e.examine(ctx, snap, s, check.Subject{Task: t.Task, Artifact: a})
	for _, r := range results {
		if r.Severity == plan.Must && !r.Passed() {
			r.Evidence = e.Secrets().Text(r.Evidence)
			failed = append(failed, r)
		}
	}
	return failed, err
}

// adopt continues a claim by its number. It refuses an older number: somebody else has claimed the task since.
func (e *Engine) adopt(ctx context.Context, id plan.ID, task plan.TaskID, number int) (*hold, error) {
	found, _, err := e.claimOn(ctx, id, task)
	if err != nil {
		return nil, err
	}
	if found.Vacant() || found.Number != number || found.PID > 0 {
		return nil, e.notHeld(task, number, found)
	}
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	ended := snap.State().ClaimsEnded(task)
	return &hold{plan: id, claim: found, ended: ended, stop: func() {}, began: found.Started}, nil
}

// notHeld says why a claim does not hold under its number, and what to do.
func (e *Engine) notHeld(task plan.TaskID, number int, found plan.Claim) error {
	refused := &plan.RefusedError{Task: task, Hint: fmt.Sprintf("git wf next %s --claim, and go on under its number",
		task)}
	switch {
	case found.Vacant():
		refused.Reason = fmt.Sprintf("claim %d is over: its work was recorded, or it was given back or taken over",
			number)
	case found.Number == number:
		refused.Reason = fmt.Sprintf("claim %d belongs to a run: %s", number, ownerOf(found))
		refused.Hint = "git wf status"
	case found.Number > number:
		refused.Reason = fmt.Sprintf("claim %d was taken over: claim %d is held by %s until %s", number, found.Number,
			ownerOf(found), found.Expires.Local().Format(time.DateTime))
		refused.Hint = fmt.Sprintf("git wf next %s --explain; what you made is still yours to hand in, once the "+
			"task is free again", task)
	default:
		refused.Reason = fmt.Sprintf("there was no claim %d; the newest is claim %d, held by %s", number, found.Number,
			ownerOf(found))
		refused.Hint = "git wf next --explain"
	}
	return refused
}

// RenewClaim extends an outside agent's claim; lease zero means wf.lease. An expired claim can be
// renewed until somebody takes it over.
func (e *Engine) RenewClaim(ctx context.Context, id plan.ID, task plan.TaskID, number int,
	lease time.Duration) (plan.Claim, error) {
	lease, err := e.leaseTime(ctx, lease)
	if err != nil {
		return plan.Claim{}, err
	}
	h, err := e.adopt(ctx, id, task, number)
	if err != nil {
		return plan.Claim{}, err
	}
	c, err := e.Store.Renew(ctx, id, h.claim, e.Now().Add(lease))
	return c, e.orNotHeld(err, task, number)
}

// ReleaseClaim releases an outside agent's claim. With a reason, it records a failed attempt, which counts; without
// one, it says nothing about the task.
func (e *Engine) ReleaseClaim(ctx context.Context, id plan.ID, task plan.TaskID, number int, reason string) error {
	h, err := e.adopt(ctx, id, task, number)
	if err != nil {
		return err
	}
	if reason == "" {
		return e.orNotHeld(e.Store.Vacate(ctx, id, h.claim), task, number)
	}
	return e.orNotHeld(e.failWith(ctx, h, errors.New(reason)), task, number)
}

func (e *Engine) orNotHeld(err error, task plan.TaskID, number int) error {
	if claimed, ok := errors.AsType[*gitstore.ClaimedError](err); ok {
		return e.notHeld(task, number, claimed.Held)
	}
	return err
}

// reservedNames are names that an outside agent can't have: they mean somebody else in a plan.
var reservedNames = [...]string{agent.NameExec, agent.NameManual, plan.AgentOutline, plan.AgentWorkflow,
	plan.ReviewerChecks, plan.ReviewerPlan, plan.ReviewerPerson}

// CheckAgentName says what is wrong with the name of an outside agent, "" for nothing.
func CheckAgentName(name string) string {
	const most = 100
	switch {
	case name == "" || len(name) > most || plain.Line(name) != name:
		return fmt.Sprintf("expected a name of at most %d bytes, on one line", most)
	case slices.Contains(reservedNames[:], name):
		return name + " stands for something else in plans"
	}
	return ""
}
