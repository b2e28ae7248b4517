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
)

// AppendOptions say how an event is appended.
type AppendOptions struct {
	Now    time.Time   // of the event: the commit's time, and the time at which statuses are derived
	Batch  *Batch      // objects that the event names, written and flushed with its own
	Create bool        // the event begins the plan, which must not exist yet
	Claim  *plan.Claim // given back in the same transaction; the event is refused if it is no longer ours
}

// Appended is an event that has become part of a plan's history.
type Appended struct {
	Commit   plan.OID
	Change   plan.Change
	Snapshot *Snapshot // after the event
}

// errMoved: somebody else moved the ref first, and the event has to be decided again.
var errMoved = errors.New("the plan has moved")

// Append makes one commit of an event: it applies the event to the newest state of the plan, writes what the event
// adds, and moves the plan's ref. When somebody else is faster it starts again on the new state, so an event whose
// precondition no longer holds is refused. After an error nothing has changed, unless the error says that it is about
// what has happened already.
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
	a := &appending{s: s, id: id, ref: ref, now: o.Now, claim: o.Claim, batch: o.Batch}
	a.decide = func(ctx context.Context) (commitInfo, plan.Change, error) {
		base, err := s.base(ctx, id, ref, o.Create)
		if err != nil {
			return commitInfo{}, plan.Change{}, err
		}
		change, err := apply(ev, base)
		return commitInfo{oid: base.Commit, tree: base.Tree}, change, err
	}
	if !o.Create {
		a.event = ev
	}
	return a.appended(ctx)
}

func apply(ev plan.Event, to *Snapshot) (plan.Change, error) {
	if err := to.State().Admits(ev); err != nil {
		return plan.Change{}, err
	}
	return ev.Apply(to.State())
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// appending is one event on its way into a history: a plan's, or the policy's.
type appending struct {
	s      *Store
	id     plan.ID // whose writers queue
	ref    string
	now    time.Time
	claim  *plan.Claim
	batch  *Batch
	person plan.Actor
	policy *plan.Policy // as it was before, of an event that changes the policy; else nil

	begins func(context.Context, *Batch) (plan.OID, error) // the tree of an event that begins a new history; else nil
	also   []refChange                                     // that belong to the event, and come first

	// decide looks at the tip, which is empty for a history that is to begin, and says what the event adds to it.
	decide func(ctx context.Context) (tip commitInfo, change plan.Change, err error)

	event plan.Event    // of one that the writer in front of it may take along; else nil
	taken chan struct{} // closed when that one has done so
	again bool          // something was not as expected: it is looked at, and the event goes alone

	follows bool // it is being built on top of one that is not recorded yet
	done    recorded
}

// recorded is what has become of an event.
type recorded struct {
	commit commitInfo
	change plan.Change
	known  *known // the plan after it, where that had to be found out
	err    error  // of what comes after the record
}

// appended makes the event's commit and reads the plan after it.
func (a *appending) appended(ctx context.Context) (*Appended, error) {
	done, err := a.run(ctx)
	if err == nil && done.known == nil {
		done.known, err = a.s.read(context.WithoutCancel(ctx), a.id, done.commit)
	}
	if err != nil {
		return nil, err
	}
	return &Appended{Commit: done.commit.oid, Change: done.change, Snapshot: done.known.snap}, nil
}

// run makes the event's commit. It decides again as often as somebody else is faster.
func (a *appending) run(ctx context.Context) (done recorded, err error) {
	if a.batch == nil {
		a.batch = a.s.NewBatch()
	}
	if a.person, err = a.s.Person(ctx); err != nil {
		return done, err
	}
	unlock, err := a.queue(ctx)
	if err != nil {
		return done, err
	}
	if unlock == nil {
		return a.done, a.done.err
	}
	defer unlock()
	for {
		mark := len(a.batch.order)
		err := a.once(ctx)
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

// once tries to append the event to the tip as it is now, and those that wait behind it with it.
func (a *appending) once(ctx context.Context) error {
	s := a.s
	tip, change, err := a.decide(ctx)
	if err != nil {
		s.forget() // a refusal may rest on a tip that is no longer the newest
		tip, change, err = a.decide(ctx)
	}
	if err != nil {
		if a.claim != nil { // what whoever took the claim over has done meanwhile may be all that is in the way
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
	group := []*built{first}
	if a.event != nil && !a.again {
		group = a.takeAlong(ctx, tip, first)
	}
	defer func() { a.putBack(group[1:]) }()
	batches := make([]*Batch, len(group))
	for i, e := range group {
		batches[i] = e.batch
	}
	if err := s.finish(false, batches...); err != nil {
		if len(group) > 1 {
			err = errMoved // what is wrong may not be wrong with the first of them
		}
		return err
	}
	if err := a.move(ctx, tip, group, batches); err != nil {
		return err
	}
	// From here on the events have happened: nobody's giving up can undo them.
	for _, e := range group {
		e.recorded.err = s.survive(context.WithoutCancel(ctx), e.batch)
		e.done = e.recorded
	}
	s.remember(a.id, group[len(group)-1].known)
	for _, e := range group[1:] {
		close(e.taken)
	}
	group = group[:1]
	return a.done.err
}

// built is an event whose objects are on their way to the disk.
type built struct {
	*appending
	recorded
	ends []refChange // of the event's claim
	mark int         // how many objects the batch had before
}

// build writes what the event adds to the tip.
func (a *appending) build(ctx context.Context, tip commitInfo, change plan.Change) (*built, error) {
	e := &built{appending: a}
	if a.claim != nil {
		end, err := a.held(ctx)
		if err != nil {
			return nil, err
		}
		e.ends = append(e.ends, end)
	}
	tree, parent, err := a.result(ctx, tip, change)
	if err != nil {
		return nil, err
	}
	e.change = change
	if e.commit, err = a.addCommit(ctx, tree, parent, change); err != nil {
		return nil, err
	}
	return e, a.batch.write(ctx)
}

// held is the end of the claim. It is taken for unchanged since it was made: git does not delete another one, and then it is
// looked at.
func (a *appending) held(ctx context.Context) (refChange, error) {
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

// base is what an event is applied to; for a new plan a snapshot with no commit.
func (s *Store) base(ctx context.Context, id plan.ID, ref string, create bool) (*Snapshot, error) {
	if create {
		_, err := s.commit(ctx, ref)
		switch {
		case errors.Is(err, ErrNoPlan):
			return &Snapshot{ID: id, Plan: &plan.Plan{PlanID: id}}, nil
		case err != nil:
			return nil, err
		}
		return nil, ErrPlanExists
	}
	k, err := s.readNamed(ctx, id, ref)
	if err != nil {
		return nil, err
	}
	return k.snap, nil
}

// move moves the plan's ref from the tip to the newest commit of the group, or finds out why git did not.
func (a *appending) move(ctx context.Context, tip commitInfo, group []*built, batches []*Batch) error {
	newest := group[len(group)-1].commit.oid
	// git gives refs their values in this order, one after the other.
	changes := append(slices.Clone(a.also), refChange{a.ref, tip.oid, newest})
	for _, e := range group {
		changes = append(changes, e.ends...)
	}
	return a.s.moveRefs(ctx, a.s.events, batches, changes, func(ctx context.Context) (bool, error) {
		now, err := a.s.commit(ctx, a.ref)
		switch {
		case err != nil && !errors.Is(err, ErrNoPlan):
			return false, err
		case now.oid == newest:
			for _, e := range group {
				e.letGo(ctx, e.ends)
			}
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

// letGo deletes the claim of an event that has happened: git gives refs their new values one after the other, and one
// that was killed in the midst of that has left the claim. What can't be deleted now expires by itself.
func (a *appending) letGo(ctx context.Context, ends []refChange) {
	if len(ends) == 0 {
		return
	}
	_ = a.s.moveRefs(ctx, a.s.events, []*Batch{a.batch}, ends, func(ctx context.Context) (bool, error) {
		_, _, err := a.s.ownClaim(ctx, a.id, *a.claim)
		return errors.Is(err, ErrClaimed), nil
	})
}

// survive returns when no gc that began before a ref named the batch's objects can take them any more. A gc that
// begins later finds them named. Only `gc --prune=now` takes objects so young, but what a running gc was told is not to
// be seen, so each one is waited for a moment, once.
func (s *Store) survive(ctx context.Context, b *Batch) error {
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

// runningGC identifies the gc that works in the repository now, by the file with which git keeps others away.
func (s *Store) runningGC() string {
	st, err := os.Lstat(filepath.Join(s.commonDir, "gc.pid"))
	if err != nil {
		return ""
	}
	return st.ModTime().String()
}
