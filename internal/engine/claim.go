package engine

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"gitwf/internal/check"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// DefaultLease is how long a claim holds unless its owner renews it.
const DefaultLease = 5 * time.Minute

// leaseKey is the git setting that overrides DefaultLease.
const leaseKey = "wf.lease"

const shortestLease = time.Second

// ParseLease reads the length of a lease: a number with a unit, or of seconds.
func ParseLease(setting, value string) (time.Duration, error) {
	d, err := time.ParseDuration(value)
	if seconds, atoiErr := strconv.Atoi(value); atoiErr == nil && seconds <= int(plan.MaxLease/time.Second) {
		d, err = time.Duration(seconds)*time.Second, nil
	}
	if err != nil || d < shortestLease || d > plan.MaxLease {
		return 0, fault.Usage("git config wf.lease 5m",
			"%s: expected a time from %s to %s, such as 5m, 90s or 300 (seconds), found %q",
			setting, shortestLease, plan.MaxLease, plain.Line(value))
	}
	return d, nil
}

// leaseTime is how long a claim holds: as long as wanted or, if that is zero, Lease or wf.lease.
func (e *Engine) leaseTime(ctx context.Context, wanted time.Duration) (time.Duration, error) {
	e.leaseMu.Lock()
	defer e.leaseMu.Unlock()
	if wanted > 0 || e.Lease > 0 {
		return cmp.Or(wanted, e.Lease), nil
	}
	lease := DefaultLease
	text, set, err := e.Store.Config(ctx, leaseKey)
	if set && err == nil {
		lease, err = ParseLease(leaseKey, text)
	}
	if err == nil {
		e.Lease = lease
	}
	return lease, err
}

// owner is this process, as its claims name it.
func (e *Engine) owner() owner {
	e.ownerOnce.Do(func() { e.self = thisOwner() })
	return e.self
}

// standing returns until when a claim holds, by the clock here; if it no longer holds, ok is false and why says so.
// Nobody here knows the end of a claim with impossible times: it holds, and a run watches whether it is renewed.
func (e *Engine) standing(c plan.Claim, now time.Time) (until time.Time, why string, ok bool) {
	until = c.Until(e.owner().host)
	switch {
	case c.HandedIn:
		return now.Add(plan.MaxLease), "", true
	case c.Vacant():
		return until, "was given back", false
	case e.owner().find(c) == ended:
		return until, fmt.Sprintf("its owner, process %d, is gone", c.PID), false
	case !now.Before(until):
		// This machine may be too busy to renew it in time; a process that hangs gets one more lease.
		if late := until.Add(cmp.Or(e.Lease, DefaultLease)); now.Before(late) && e.owner().find(c) == alive {
			return late, "", true
		}
		return until, "expired", false
	case c.Misdated(now):
		if e.seen.overdue(c, now, e.Lease) {
			return until, "was not renewed while this run watched", false
		}
		return now.Add(plan.MaxLease), "", true
	}
	return until, "", true
}

// Standing returns the claims that hold, as seen from here, until when others here have to respect them.
func (e *Engine) Standing(claims plan.Claims, now time.Time) plan.Claims {
	all := plan.Claims{}
	for id, c := range claims {
		if until, _, ok := e.standing(c, now); ok {
			c.Expires = until
			all[id] = c
		}
	}
	return all
}

// StateNow derives a plan's state under the claims that hold now.
func StateNow(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, now time.Time) (*plan.State, error) {
	claims, err := store.Claims(ctx, snap.ID)
	if err != nil {
		return nil, err
	}
	return snap.StateUnder((&Engine{}).Standing(claims, now), now), nil
}

// hold is a claim on a task that is renewed until it is released, and the work under it.
type hold struct {
	plan     plan.ID
	claim    plan.Claim
	ended    int  // claims of the task that have left a record
	released bool // together with its event
	lost     bool // we took over a claim whose owner did not come back
	stop     func()
	work     context.Context // ends when the claim is lost: somebody else may then do the same work

	// as read under the claim
	snap  *gitstore.Snapshot
	state *plan.State
	task  *plan.TaskState // that is worked on: of a claim on a CHECK, its target

	began    time.Time
	prepared []plan.Prepared
	rules    []string // that the agent was told
	log      bytes.Buffer
}

// took is how long the work has taken.
func (e *Engine) took(h *hold) time.Duration { return e.Now().Sub(h.began) }

// take takes a claim, if necessary over from somebody whose claim no longer holds, or fails with gitstore.ErrClaimed.
func (e *Engine) take(ctx context.Context, id plan.ID, want plan.Claim) (*hold, error) {
	refreshErr := e.Store.Refresh(ctx, id)
	snap, err := e.Store.Near(ctx, id, want.Task)
	if err = cmp.Or(refreshErr, err); err != nil {
		return nil, err
	}
	if err := mayClaim(snap.State(), want); err != nil {
		return nil, err
	}
	h := &hold{plan: id, ended: snap.State().ClaimsEnded(want.Task), stop: func() {}, began: e.Now()}
	var found plan.Claim
	for tries, there := 3, false; !there; tries-- {
		want.Number = h.ended + 1
		h.claim, err = e.Store.Claim(ctx, id, want)
		if !errors.Is(err, gitstore.ErrClaimed) || tries == 0 {
			return h, err
		}
		var lookErr error // a claim that ended just before we looked does not block us
		if found, there, lookErr = e.claimOn(ctx, id, want.Task); lookErr != nil {
			return nil, lookErr
		}
	}
	_, _, stands := e.standing(found, want.Started)
	ours := e.owner().owns(found) // its holder in this process has released it, or would not ask again
	// Its work was recorded, in another clone.
	over := found.Number > 0 && found.Number <= h.ended
	if stands && !ours && !over {
		return nil, &gitstore.ClaimedError{Held: found}
	}
	for {
		h.lost = !found.Vacant() && !ours && !over
		want.Number = max(found.Number, h.ended) + 1
		h.claim, err = e.Store.TakeOver(ctx, id, found, want)
		var now *gitstore.ClaimedError // a remote may know that it was given back
		if !errors.As(err, &now) || !now.Held.Vacant() || now.Held.Number == 0 || found.Vacant() {
			return h, err
		}
		found = now.Held
	}
}

// mayClaim refuses new work in a plan whose session takes none. In a paused one a person may still review.
func mayClaim(s *plan.State, want plan.Claim) error {
	if s.SessionStatus() == plan.SessionPaused && want.Agent == plan.ReviewerPerson {
		return nil
	}
	return s.MayBegin()
}

// claimOn is the claim on a task, a vacant one if there is none.
func (e *Engine) claimOn(ctx context.Context, id plan.ID, task plan.TaskID) (c plan.Claim, there bool, err error) {
	claims, err := e.Store.Claims(ctx, id)
	c, there = claims[task]
	c.Task = task
	return c, there, err
}

// claim claims a task for this process and renews the claim, or fails with gitstore.ErrClaimed.
func (e *Engine) claim(ctx context.Context, id plan.ID, want plan.Claim) (*hold, error) {
	want.PID, want.Process = e.owner().pid, e.owner().process
	return e.claimFor(ctx, id, want, 0)
}

// claimFor claims a task for a time, zero means wf.lease. Only a claim of this process is renewed.
func (e *Engine) claimFor(ctx context.Context, id plan.ID, want plan.Claim,
	lease time.Duration) (*hold, error) {
	lease, err := e.leaseTime(ctx, lease)
	if err != nil {
		return nil, err
	}
	want.Session, want.Host, want.Started = cmp.Or(want.Session, rand.Text()), e.owner().host, e.Now()
	want.Expires = want.Started.Add(lease)
	h, err := e.take(ctx, id, want)
	if err != nil {
		return nil, err
	}
	err = e.Store.Refresh(ctx, id) // the work may have been done, elsewhere
	if want.PID > 0 {
		e.keepRenewing(ctx, h, lease)
	}
	if err = cmp.Or(err, e.recordLost(ctx, h)); err != nil {
		e.release(ctx, h)
		return nil, err
	}
	return h, nil
}

// underClaim claims a task, reads the plan again and does the work, unless that is not due any more:
// somebody else was faster.
func (e *Engine) underClaim(ctx context.Context, id plan.ID, want plan.Claim, due func(*hold) bool,
	do func(*hold) error) error {
	h, err := e.claim(ctx, id, want)
	if err != nil {
		return err
	}
	defer e.release(ctx, h)
	if err := e.readAgain(ctx, h); err != nil || !due(h) {
		return err
	}
	if err := e.keepsClear(ctx, h); err != nil {
		return err
	}
	return do(h)
}

// readAgain reads the plan now that nobody else can work on the task.
func (e *Engine) readAgain(ctx context.Context, h *hold) (err error) {
	if h.snap, err = e.Store.Snapshot(ctx, h.plan); err == nil {
		h.state = h.snap.State()
		h.task = h.state.Subject(h.claim.Task)
	}
	return err
}

// isReady reports whether the claimed task can be worked on, or the CHECK be run, now.
func (h *hold) isReady() bool { return ready(h.state.Tasks[h.claim.Task]) }

// keepRenewing renews a claim until it is released.
func (e *Engine) keepRenewing(ctx context.Context, h *hold, lease time.Duration) {
	work, cancel := context.WithCancel(ctx)
	h.work = work
	done := make(chan struct{})
	h.stop = sync.OnceFunc(func() {
		cancel()
		<-done // a renewal in progress would undo the release that follows
	})
	claim, expires := h.claim, h.claim.Expires
	go func() {
		defer close(done)
		tick := time.NewTicker(lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-work.Done():
				return
			case due := <-tick.C:
				if late := time.Since(due); late > lease/6 { // a busy machine
					lease = min(2*lease, plan.MaxLease)
					tick.Reset(lease / 3)
				}
			}
			next := e.Now().Add(lease)
			_, err := e.Store.Renew(context.WithoutCancel(work), h.plan, claim, next)
			switch {
			case err == nil:
				expires = next
			case errors.Is(err, gitstore.ErrClaimed) || !e.Now().Before(expires):
				cancel()
				return
			}
			// Otherwise the renewal failed for now, and there is time to retry.
		}
	}()
}

// recordLost records that the worker whose claim we took over did not come back. Such attempts have a limit of their
// own (max_lost), so that a task that kills its worker can't go on for ever.
func (e *Engine) recordLost(ctx context.Context, h *hold) error {
	if !h.lost {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // the claim is ours already, and nobody else would record it
	snap, err := e.Store.Near(ctx, h.plan, h.claim.Task)
	if err != nil {
		return err
	}
	version, lost := 0, h.claim.Number-1
	t := snap.State().Tasks[h.claim.Task]
	if t != nil && t.NodeType == plan.Check {
		version = t.Active
	}
	ended := snap.State().ClaimsEnded(h.claim.Task)
	if t == nil || t.NodeType == plan.Check && version == 0 || ended > h.ended && ended >= lost {
		h.ended = ended
		return nil // there was nothing to work on, or it has been recorded elsewhere since
	}
	attempt := plan.AddAttempt{Version: version, Author: AgentActor(h.claim.Agent), Attempt: plan.Attempt{
		TaskID: h.claim.Task, Kind: plan.AttemptLost, Agent: h.claim.Agent, CreatedAt: plan.Second(e.Now()),
		Message: fmt.Sprintf("the worker that held claim %d did not come back", lost),
	}}
	done, err := e.Store.Append(ctx, h.plan, attempt, gitstore.AppendOptions{Now: e.Now()})
	if err != nil {
		return err
	}
	h.lost, h.ended = false, done.Snapshot.State().ClaimsEnded(h.claim.Task)
	return nil
}

// release releases a claim, unless an event has released it.
func (e *Engine) release(ctx context.Context, h *hold) {
	h.stop()
	if h.released {
		return
	}
	// A claim that can't be released now expires by itself.
	ctx = context.WithoutCancel(ctx)
	if h.claim.Number > h.ended+1 {
		_ = e.Store.Vacate(ctx, h.plan, h.claim) // otherwise the next claim would reuse a number
		return
	}
	_ = e.Store.Release(ctx, h.plan, h.claim)
}

// append records an event and releases the claim in the same transaction. It records finished work even if the user
// cancels: a cancelled context must not throw it away.
func (e *Engine) append(ctx context.Context, id plan.ID, ev plan.Event, h *hold,
	batch *gitstore.Batch) (*gitstore.Appended, error) {
	tellRecording(ctx)
	ctx = context.WithoutCancel(ctx)
	o := gitstore.AppendOptions{Now: e.Now(), Batch: batch}
	if h != nil {
		o.Claim = &h.claim
		h.stop()
	}
	done, err := e.Store.Append(ctx, id, e.Secrets().Event(ev), o)
	if h != nil && errors.Is(err, gitstore.ErrClaimed) {
		e.fenced(h)
	}
	if h == nil || err != nil {
		return done, err
	}
	h.released = true
	if h.claim.Number > done.Snapshot.State().ClaimsEnded(h.claim.Task) {
		// More claims have ended than have left a record: keep the number, so that it is not used again.
		_, _ = e.Store.Claim(ctx, id, plan.Claim{Task: h.claim.Task, Number: h.claim.Number})
	}
	return done, nil
}

// record is append; then it reports the event, in the words of says.
func (e *Engine) record(ctx context.Context, id plan.ID, task plan.TaskID, ev plan.Event, h *hold,
	batch *gitstore.Batch, says func(plan.Change) string) error {
	done, err := e.append(ctx, id, ev, h, batch)
	if err != nil {
		return err
	}
	e.report(task, says(done.Change))
	if _, isReview := ev.(plan.AddReview); !isReview {
		return nil
	}
	unmet, err := e.Unmet(ctx, done.Snapshot, task)
	if unmet != "" {
		e.report(task, unmet)
	}
	return err
}

// recordReview records a review and reports it, with the first finding if there are some.
func (e *Engine) recordReview(ctx context.Context, id plan.ID, rev plan.Review, of check.Subject, h *hold,
	findings []string, notes ...plan.Note) error {
	ev := reviewEvent(rev, of)
	ev.Notes = notes
	return e.record(ctx, id, of.Task.TaskID, ev, h, nil, func(plan.Change) string {
		return describeReview(rev, findings)
	})
}

func reviewEvent(rev plan.Review, of check.Subject) plan.AddReview {
	return plan.AddReview{Review: rev, Artifact: of.Artifact, Render: check.File, Author: AgentActor(rev.By())}
}

// ownerOf says for people who holds a claim, and where.
func ownerOf(c plan.Claim) string {
	who := plain.Line(c.Agent)
	if c.PID > 0 {
		return fmt.Sprintf("%s in process %d on %s", who, c.PID, plain.Line(c.Host))
	}
	return fmt.Sprintf("%s (claim %d)", who, c.Number)
}
