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
		if err := base.State().Admits(ev); err != nil {
			return commitInfo{}, plan.Change{}, err
		}
		change, err := ev.Apply(base.State())
		return commitInfo{oid: base.Commit, tree: base.Tree}, change, err
	}
	c, change, err := a.run(ctx)
	if err != nil {
		return nil, err
	}
	k, err := s.read(context.WithoutCancel(ctx), id, c)
	if err != nil {
		return nil, err
	}
	return &Appended{Commit: c.oid, Change: change, Snapshot: k.snap}, nil
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
	s                 *Store
	id                plan.ID // whose writers queue
	ref               string
	now               time.Time
	claim             *plan.Claim
	batch             *Batch
	person, committer plan.Actor
	again             bool         // something was not as expected
	policy            *plan.Policy // as it was before, of an event that changes the policy; else nil

	begins func(context.Context, *Batch) (plan.OID, error) // the tree of an event that begins a new history; else nil
	also   []refChange                                     // that belong to the event, and come first

	// decide looks at the tip, which is empty for a history that is to begin, and says what the event adds to it.
	decide func(ctx context.Context) (tip commitInfo, change plan.Change, err error)
}

// run makes the event's commit. It decides again as often as somebody else is faster.
func (a *appending) run(ctx context.Context) (c commitInfo, change plan.Change, err error) {
	if a.batch == nil {
		a.batch = a.s.NewBatch()
	}
	if a.person, err = a.s.Person(ctx); err != nil {
		return c, change, err
	}
	if a.committer, err = a.s.ident(ctx, "GIT_COMMITTER_IDENT"); err != nil {
		return c, change, err
	}
	unlock, err := a.s.lockPlan(ctx, a.id)
	if err != nil {
		return c, change, err
	}
	defer unlock()
	for {
		mark := len(a.batch.order)
		c, change, err := a.once(ctx)
		if err != nil {
			a.batch.rollback(mark)
		}
		if !errors.Is(err, errMoved) {
			return c, change, err
		}
		a.again = true
		if err := pause(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond); err != nil {
			return c, change, err
		}
	}
}

// once tries to append the event to the tip as it is now.
func (a *appending) once(ctx context.Context) (c commitInfo, change plan.Change, err error) {
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
		return c, change, err
	}
	changes := []refChange{{ref: a.ref, old: tip.oid}}
	if a.claim != nil {
		held, err := a.held(ctx)
		if err != nil {
			return c, change, err
		}
		changes = append(changes, held)
	}
	tree, parent, err := a.result(ctx, tip, change)
	if err != nil {
		return c, change, err
	}
	if c, err = a.addCommit(ctx, tree, parent, change); err != nil {
		return c, change, err
	}
	if err := errors.Join(a.batch.write(ctx), a.batch.finish(false)); err != nil {
		return c, change, err
	}
	changes[0].new = c.oid
	if err := a.move(ctx, changes); err != nil {
		return c, change, err
	}
	// From here on the event has happened: nobody's giving up can undo it.
	return c, change, s.survive(context.WithoutCancel(ctx), a.batch)
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
	c, err := s.commit(ctx, ref)
	switch {
	case create && errors.Is(err, ErrNoPlan):
		return &Snapshot{ID: id, Plan: &plan.Plan{PlanID: id}}, nil
	case err != nil:
		return nil, err
	case create:
		return nil, ErrPlanExists
	}
	k, err := s.read(ctx, id, c)
	if err != nil {
		return nil, err
	}
	return k.snap, nil
}

// move moves the refs, or finds out why git did not.
func (a *appending) move(ctx context.Context, changes []refChange) error {
	// git gives refs their values in this order, one after the other.
	return a.s.moveRefs(ctx, a.s.events, a.batch, slices.Concat(a.also, changes), func(ctx context.Context) (bool, error) {
		now, err := a.s.commit(ctx, a.ref)
		switch {
		case err != nil && !errors.Is(err, ErrNoPlan):
			return false, err
		case now.oid == changes[0].new:
			a.letGo(ctx, changes)
			return true, nil
		case now.oid != changes[0].old:
			return false, errMoved
		}
		if err := a.stillApplies(ctx); err != nil {
			return false, err
		}
		if a.claim != nil {
			held, _, err := a.s.ownClaim(ctx, a.id, *a.claim)
			if err == nil && held.oid != changes[1].old {
				err = errMoved
			}
			return false, err
		}
		return false, nil
	})
}

// letGo deletes the claim of an event that has happened: git gives refs their new values one after the other, and one
// that was killed in the midst of that has left the claim. What can't be deleted now expires by itself.
func (a *appending) letGo(ctx context.Context, changes []refChange) {
	if a.claim == nil {
		return
	}
	_ = a.s.moveRefs(ctx, a.s.events, a.batch, changes[1:2], func(ctx context.Context) (bool, error) {
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
