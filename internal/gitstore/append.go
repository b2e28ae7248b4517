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

}

// Appended is an event that is now part of a plan's history.
type Appended struct {
	Commit   plan.OID
	Change   plan.Change
	Snapshot *Snapshot // after the event: of the whole plan or, if it is about one task (plan.About), near that
}

// errMoved signals that the ref moved first: decide the event again.
var errMoved = errors.New("the plan has moved")

// Append records an event as one commit: it applies the event to the plan's newest state, writes what the event adds
// and moves the plan's ref. If somebody else was faster, Append starts again on the new state, so it refuses an event
// whose precondition no longer holds. After an error nothing has changed, unless the error describes something that
// came after the commit.
func (s *Store) Append(ctx context.Context, id plan.ID, ev plan.Event, o AppendOptions) (*Appended, error) {
	if !o.Create && s.Works == "" {
		_ = s.Refresh(ctx, id)
	}
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
	a := &appending{s: s, id: id, ref: ref, now: o.Now, claim: o.Claim, batch: o.Batch, view: s.wholePlan}
	if task, ok := plan.About(ev); ok {
		a.view = s.nearTask(task)
	}
	a.decide = func(ctx context.Context) (commitInfo, plan.Change, error) {
		base, err := a.baseSnapshot(ctx, o.Create)
		if err == nil {
			err = base.State().Admits(ev)
		}
		if err != nil {
			return commitInfo{}, plan.Change{}, err
		}
		change, err := base.State().Decide(ev)
		return commitInfo{oid: base.Commit, tree: base.Tree}, change, err
	}
	done, err := a.appended(ctx)
	if a.done {
		s.noteChanged(id, a.ends)
	}
	return done, err
}

// Pause waits for a time, or until the context ends, which is an error.
func Pause(ctx context.Context, d time.Duration) error {
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

	first, second, tree plan.OID // parents and tree of a join

	// decide looks at the tip, which is empty for a new history, and returns what the event adds.
	decide func(ctx context.Context) (tip commitInfo, change plan.Change, err error)

	again bool        // something was unexpected: look again
	ends  []refChange // deletes the claim

	change plan.Change
	commit commitInfo
	done   bool // the commit is part of the history
}

// appended records the event and reads the plan after it.
func (a *appending) appended(ctx context.Context) (*Appended, error) {
	if err := a.run(ctx); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	k, err := a.s.readKnown(ctx, a.id, a.commit)
	if err != nil {
		return nil, err
	}
	snap, err := a.view(ctx, a.id, k)
	if err != nil {
		return nil, err
	}
	return &Appended{Commit: a.commit.oid, Change: a.change, Snapshot: snap}, nil
}

// run records the event. It decides again each time somebody else is faster.
func (a *appending) run(ctx context.Context) (err error) {
	if a.batch == nil {
		a.batch = a.s.NewBatch()
	}
	if a.person, err = a.s.Person(ctx); err != nil {
		return err
	}
	unlock, err := a.s.lockPlan(ctx, a.id)
	if err != nil {
		return err
	}
	defer unlock()
	for {
		mark := len(a.batch.order)
		err := a.tryOnce(ctx)
		if err != nil && !a.done {
			a.batch.rollback(mark)
		}
		if !errors.Is(err, errMoved) {
			return err
		}
		a.again = true
		if err := Pause(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond); err != nil {
			return err
		}
	}
}

// tryOnce tries to append the event to the current tip.
func (a *appending) tryOnce(ctx context.Context) error {
	s := a.s
	tip, change, err := a.decide(ctx)
	if err != nil && !errors.Is(err, errOneHasOther) {
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
	if err := a.build(ctx, tip, change); err != nil {
		return err
	}
	if err := a.batch.flushWritten(false); err != nil {
		return err
	}
	if err := a.moveRef(ctx, tip); err != nil {
		return err
	}
	// From here on the event has happened: cancelling can no longer undo it.
	a.done = true
	return s.awaitGC(context.WithoutCancel(ctx), a.batch)
}

// build writes what the event adds to the tip.
func (a *appending) build(ctx context.Context, tip commitInfo, change plan.Change) error {
	if a.claim != nil {
		end, err := a.claimEnd(ctx)
		if err != nil {
			return err
		}
		a.ends = []refChange{end}
	}
	tree, parent, err := a.buildTree(ctx, tip, change)
	if err != nil {
		return err
	}
	a.change = change
	if a.commit, err = a.addCommit(ctx, tree, parent, change); err != nil {
		return err
	}
	return a.batch.write(ctx)
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

// moveRef moves the plan's ref from the tip to the event's commit, or finds out why git did not.
func (a *appending) moveRef(ctx context.Context, tip commitInfo) error {
	// git updates refs in this order, one after the other.
	changes := slices.Concat(a.also, []refChange{{a.ref, tip.oid, a.commit.oid}}, a.ends)
	return a.s.moveRefs(ctx, a.s.events, a.batch, changes, func(ctx context.Context) (bool, error) {
		now, err := a.s.commit(ctx, a.ref)
		switch {
		case err != nil && !errors.Is(err, ErrNoPlan):
			return false, err
		case now.oid == a.commit.oid:
			a.deleteClaim(ctx)
			return true, nil
		case now.oid != tip.oid:
			return false, errMoved
		}
		if err := a.stillApplies(ctx); err != nil {
			return false, err
		}
		if a.claim != nil {
			held, _, err := a.s.ownClaim(ctx, a.id, *a.claim)
			if err == nil && held.oid != a.ends[0].old {
				err = errMoved
			}
			return false, err
		}
		return false, nil
	})
}

// deleteClaim deletes the claim of a recorded event. git updates refs one after the other, so a git that was killed
// midway leaves the claim. A claim that can't be deleted now expires by itself.
func (a *appending) deleteClaim(ctx context.Context) {
	if a.claim == nil {
		return
	}
	_ = a.s.moveRefs(ctx, a.s.events, a.batch, a.ends, func(ctx context.Context) (bool, error) {
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
		if err := Pause(ctx, interval); err != nil {
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
