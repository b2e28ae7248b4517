package gitstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// AppendOptions says how Append records an event.
type AppendOptions struct {
	Now    time.Time   // the commit's time, and the time at which statuses are derived
	Batch  *Batch      // objects that the event names; written and flushed together with its own
	Create bool        // begin a new plan; it must not exist yet
	Claim  *plan.Claim // released in the same transaction; if it is no longer ours, Append refuses the event

	// Next may return an event that follows at once; nil: none. One flush and one ref update then record both, each as
	// a commit of its own. Next sees the plan after the first event and can read its objects, but no ref names them
	// yet. Writers to the plan wait meanwhile, so Next must be quick. What it returns may not be recorded: see
	// Appended.Next.
	Next func(ctx context.Context, after *Snapshot) plan.Event
}

// Appended is an event that is now part of a plan's history.
type Appended struct {
	Commit   plan.OID
	Change   plan.Change
	Snapshot *Snapshot    // after the event: of the whole plan or, if it is about one task (plan.About), near that
	Next     *plan.Change // of the event that AppendOptions.Next returned; nil if that was not recorded
}

// errMoved signals that the ref moved first: decide the event again.
var errMoved = errors.New("the plan has moved")

// Append records an event as one commit: it applies the event to the plan's newest state, writes what the event adds
// and moves the plan's ref. If somebody else was faster, Append starts again on the new state, so it refuses an event
// whose precondition no longer holds. After an error nothing has changed, unless the error describes something that
// came after the commit.
func (s *Store) Append(ctx context.Context, id plan.ID, ev plan.Event, o AppendOptions) (*Appended, error) {
	done, err := s.append(ctx, id, ev, o)
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", id, err)
	}
	return done, nil
}

func (s *Store) append(ctx context.Context, id plan.ID, ev plan.Event, o AppendOptions) (*Appended, error) {
	ref, err := planRef(id)
	if err != nil {
		return nil, err
	}
	a := &appending{s: s, id: id, ref: ref, now: o.Now, claim: o.Claim, batch: o.Batch, view: s.wholePlan,
		nextOf: o.Next}
	if task, ok := plan.About(ev); ok {
		a.view = s.nearTask(task)
	}
	a.decide = func(ctx context.Context) (commitInfo, plan.Change, error) {
		base, err := a.baseSnapshot(ctx, o.Create)
		if err != nil {
			return commitInfo{}, plan.Change{}, err
		}
		change, err := decideEvent(ev, base)
		return commitInfo{oid: base.Commit, tree: base.Tree}, change, err
	}
	return a.appended(ctx)
}

func decideEvent(ev plan.Event, to *Snapshot) (plan.Change, error) {
	if err := to.State().Admits(ev); err != nil {
		return plan.Change{}, err
	}
	return to.State().Decide(ev)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// appending is one event on its way into a history: a plan's or the policy's.
type appending struct {
	s      *Store
	id     plan.ID // the writers of this history queue under this name
	ref    string
	now    time.Time
	claim  *plan.Claim
	batch  *Batch
	view   view // what of the plan the event looks at
	person plan.Actor
	policy *policy.Policy // the policy before an event that changes it; else nil

	begins func(context.Context, *Batch) (plan.OID, error) // tree of an event that begins a new history; else nil
	also   []refChange                                     // other refs that move with the event, before its own

	// decide looks at the tip, which is empty for a new history, and returns what the event adds.
	decide func(ctx context.Context) (tip commitInfo, change plan.Change, err error)

	again   bool // something was unexpected: look again, and record the event alone
	follows bool // builds on an event that is not recorded yet
	done    recorded

	nextOf func(context.Context, *Snapshot) plan.Event // AppendOptions.Next
	next   *appending                                  // the event that it returned; nil if there is none
}

// recorded is the outcome of an event.
type recorded struct {
	commit commitInfo
	change plan.Change
	known  *known // the plan after the event, if that was computed
	err    error  // from what follows the commit
}

// appended records the event and reads the plan after it.
func (a *appending) appended(ctx context.Context) (*Appended, error) {
	done, err := a.run(ctx)
	if err == nil && done.known == nil {
		done.known, err = a.s.readKnown(context.WithoutCancel(ctx), a.id, done.commit)
	}
	if err != nil {
		return nil, err
	}
	snap, err := a.view(context.WithoutCancel(ctx), a.id, done.known)
	if err != nil {
		return nil, err
	}
	appended := &Appended{Commit: done.commit.oid, Change: done.change, Snapshot: snap}
	if a.next != nil && a.next.done.commit.oid != "" {
		appended.Next = &a.next.done.change
	}
	return appended, nil
}

// run records the event. It decides again each time somebody else is faster.
func (a *appending) run(ctx context.Context) (done recorded, err error) {
	if a.batch == nil {
		a.batch = a.s.NewBatch()
	}
	if a.person, err = a.s.Person(ctx); err != nil {
		return done, err
	}
	unlock, err := a.s.lockPlan(ctx, a.id)
	if err != nil {
		return done, err
	}
	defer unlock()
	for {
		mark := len(a.batch.order)
		err := a.tryOnce(ctx)
		if err != nil && a.done.commit.oid == "" {
			a.batch.rollback(mark)
		}
		if !errors.Is(err, errMoved) {
			return a.done, err
		}
		a.again = true
		if err := pause(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond); err != nil {
			return a.done, err
		}
	}
}

// tryOnce tries to append the event, and the one that follows at once, to the current tip.
func (a *appending) tryOnce(ctx context.Context) error {
	s := a.s
	tip, change, err := a.decide(ctx)
	if err != nil {
		s.forget() // the tip that led to the refusal may be stale
		tip, change, err = a.decide(ctx)
	}
	if err != nil {
		if a.claim != nil { // only the new holder of a claim that was taken over may be in the way
			if _, _, lost := s.ownClaim(ctx, a.id, *a.claim); errors.Is(lost, ErrClaimed) {
				err = lost
			}
		}
		return err
	}
	first, err := a.build(ctx, tip, change)
	if err != nil {
		return err
	}
	group, batches := []*built{first}, []*Batch{a.batch}
	if next := a.buildNext(ctx, tip, first); next != nil {
		group, batches = append(group, next), append(batches, next.batch)
		defer func() {
			if next.done.commit.oid == "" {
				next.batch.Discard()
				a.next = nil
			}
		}()
	}
	if err := s.flushBatches(false, batches...); err != nil {
		if a.next != nil {
			err = errMoved // the failure may not concern the first event
		}
		return err
	}
	if err := a.moveRef(ctx, tip, group, batches); err != nil {
		return err
	}
	// From here on the events have happened: cancelling can no longer undo them.
	for _, e := range group {
		e.err = s.awaitGC(context.WithoutCancel(ctx), e.batch)
		e.done = e.recorded
		s.remember(a.id, e.known)
	}
	if a.next != nil {
		a.done.err = errors.Join(a.done.err, a.next.done.err)
	}
	return a.done.err
}

// buildNext builds the event that follows the first at once, if there is one.
func (a *appending) buildNext(ctx context.Context, tip commitInfo, first *built) *built {
	if a.nextOf == nil || a.again {
		return nil
	}
	before, err := a.s.readKnown(ctx, a.id, tip)
	if err == nil {
		first.known, err = a.s.readChanges(ctx, a.id, before, first.commit)
	}
	// Readers find only objects that have their names. A failure here shows again when the first event is recorded.
	if err != nil || a.batch.syncFiles(false) != nil || a.batch.nameObjects(false) != nil {
		return nil
	}
	after, err := a.s.wholePlan(ctx, a.id, first.known)
	if err != nil {
		return nil
	}
	ev := a.nextOf(ctx, after)
	if ev == nil {
		return nil
	}
	next := &appending{s: a.s, id: a.id, ref: a.ref, now: a.now, batch: a.s.NewBatch(), person: a.person, follows: true}
	change, err := decideEvent(ev, after)
	var e *built
	if err == nil {
		e, err = next.build(ctx, first.commit, change)
	}
	if err == nil {
		e.known, err = a.s.readChanges(ctx, a.id, first.known, e.commit)
	}
	if err != nil { // it can be recorded only on the recorded state
		next.batch.Discard()
		return nil
	}
	a.next = next
	return e
}

// built is an event whose objects are being written.
type built struct {
	*appending
	recorded
	ends []refChange // deletes the event's claim
}

// build writes what the event adds to the tip.
func (a *appending) build(ctx context.Context, tip commitInfo, change plan.Change) (*built, error) {
	e := &built{appending: a}
	if a.claim != nil {
		end, err := a.claimEnd(ctx)
		if err != nil {
			return nil, err
		}
		e.ends = append(e.ends, end)
	}
	tree, parent, err := a.buildTree(ctx, tip, change)
	if err != nil {
		return nil, err
	}
	e.change = change
	if e.commit, err = a.addCommit(ctx, tree, parent, change); err != nil {
		return nil, err
	}
	return e, a.batch.write(ctx)
}

// claimEnd returns the change that deletes the claim, as if nobody had changed it: git would refuse.
func (a *appending) claimEnd(ctx context.Context) (refChange, error) {
	if a.again {
		held, ref, err := a.s.ownClaim(ctx, a.id, *a.claim)
		return refChange{ref: ref, old: held.oid}, err
	}
	ref, err := claimRef(a.id, a.claim.Task)
	if err != nil {
		return refChange{}, err
	}
	data, err := encodeClaim(*a.claim)
	return refChange{ref: ref, old: plan.OID(plumbing.ComputeHash(plumbing.BlobObject, data).String())}, err
}

// baseSnapshot is the snapshot that an event applies to; for a new plan it has no commit.
func (a *appending) baseSnapshot(ctx context.Context, create bool) (*Snapshot, error) {
	if create {
		_, err := a.s.commit(ctx, a.ref)
		switch {
		case errors.Is(err, ErrNoPlan):
			return &Snapshot{ID: a.id, Plan: &plan.Plan{PlanID: a.id}}, nil
		case err != nil:
			return nil, err
		}
		return nil, ErrPlanExists
	}
	return a.s.readNamed(ctx, a.id, a.ref, a.view)
}

// moveRef moves the plan's ref from the tip to the group's newest commit, or finds out why git did not.
func (a *appending) moveRef(ctx context.Context, tip commitInfo, group []*built, batches []*Batch) error {
	newest := group[len(group)-1].commit.oid
	// git updates refs in this order, one after the other.
	changes := append(append(slices.Clone(a.also), refChange{a.ref, tip.oid, newest}), group[0].ends...)
	return a.s.moveRefs(ctx, a.s.events, batches, changes, func(ctx context.Context) (bool, error) {
		now, err := a.s.commit(ctx, a.ref)
		switch {
		case err != nil && !errors.Is(err, ErrNoPlan):
			return false, err
		case now.oid == newest:
			a.deleteClaim(ctx, group[0].ends)
			return true, nil
		case now.oid != tip.oid || len(group) > 1:
			return false, errMoved
		}
		if err := a.stillApplies(ctx); err != nil {
			return false, err
		}
		if a.claim != nil {
			held, _, err := a.s.ownClaim(ctx, a.id, *a.claim)
			if err == nil && held.oid != group[0].ends[0].old {
				err = errMoved
			}
			return false, err
		}
		return false, nil
	})
}

// deleteClaim deletes the claim of a recorded event. git updates refs one after the other, so a git that was killed
// midway leaves the claim. A claim that can't be deleted now expires by itself.
func (a *appending) deleteClaim(ctx context.Context, ends []refChange) {
	if len(ends) == 0 {
		return
	}
	_ = a.s.moveRefs(ctx, a.s.events, []*Batch{a.batch}, ends, func(ctx context.Context) (bool, error) {
		_, _, err := a.s.ownClaim(ctx, a.id, *a.claim)
		return errors.Is(err, ErrClaimed), nil
	})
}

// awaitGC waits until no gc that began before a ref named the batch's objects can delete them any more. A gc that
// begins later finds them reachable. Only `gc --prune=now` deletes objects this young, but we can't see a running gc's
// options, so awaitGC waits for each gc briefly, once.
func (s *Store) awaitGC(ctx context.Context, b *Batch) error {
	const longest, interval = 2 * time.Second, 2 * time.Millisecond
	for begin := time.Now(); ; {
		gc := s.runningGC()
		if _, err := b.restore(ctx); err != nil {
			return fmt.Errorf("keep the objects of what has happened already: %w", err)
		}
		if gc == "" || s.gcAwaited.Load() == gc {
			return nil
		}
		if time.Since(begin) > longest {
			s.gcAwaited.Store(gc)
		}
		if err := pause(ctx, interval); err != nil {
			return err
		}
	}
}

// runningGC identifies the gc that runs in the repository now, by git's own gc lock file.
func (s *Store) runningGC() string {
	st, err := os.Lstat(filepath.Join(s.commonDir, "gc.pid"))
	if err != nil {
		return ""
	}
	return st.ModTime().String()
}
