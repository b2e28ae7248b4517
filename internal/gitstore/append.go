package gitstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

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
	a := &appending{s: s, id: id, ref: ref, ev: ev, AppendOptions: o, batch: o.Batch}
	if a.batch == nil {
		a.batch = s.NewBatch()
	}
	if a.person, err = s.Person(ctx); err != nil {
		return nil, err
	}
	if a.committer, err = s.ident(ctx, "GIT_COMMITTER_IDENT"); err != nil {
		return nil, err
	}
	unlock, err := s.lockPlan(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	for {
		mark := len(a.batch.order)
		done, err := a.once(ctx)
		if err != nil {
			a.batch.rollback(mark)
		}
		if !errors.Is(err, errMoved) {
			return done, err
		}
		if err := pause(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// appending is one event on its way into a plan.
type appending struct {
	AppendOptions
	s                 *Store
	id                plan.ID
	ref               string
	ev                plan.Event
	batch             *Batch
	person, committer plan.Actor
}

// once tries to append the event to the tip as it is now.
func (a *appending) once(ctx context.Context) (*Appended, error) {
	s := a.s
	base, err := a.base(ctx)
	if err != nil {
		return nil, err
	}
	changes := []refChange{{ref: a.ref, old: base.Commit}}
	if a.Claim != nil {
		held, ref, err := s.ownClaim(ctx, a.id, *a.Claim)
		if err != nil {
			return nil, err
		}
		changes = append(changes, refChange{ref: ref, old: held.oid})
	}
	change, err := a.ev.Apply(plan.Derive(base.Plan, base.Records, nil, a.Now))
	if err != nil {
		return nil, err
	}
	tree, err := s.writeChange(ctx, a.batch, base.Tree, change)
	if err != nil {
		return nil, err
	}
	next, err := a.addCommit(tree, base.Commit, change)
	if err != nil {
		return nil, err
	}
	if err := a.batch.Flush(ctx); err != nil {
		return nil, err
	}
	changes[0].new = next.oid
	if err := a.move(ctx, changes); err != nil {
		return nil, err
	}
	return a.finish(ctx, next, change)
}

// base is what the event is applied to; for a new plan a snapshot with no commit.
func (a *appending) base(ctx context.Context) (*Snapshot, error) {
	c, err := a.s.commit(ctx, a.ref)
	switch {
	case a.Create && errors.Is(err, ErrNoPlan):
		return &Snapshot{ID: a.id, Plan: &plan.Plan{PlanID: a.id}}, nil
	case err != nil:
		return nil, err
	case a.Create:
		return nil, ErrPlanExists
	}
	k, err := a.s.read(ctx, a.id, c)
	if err != nil {
		return nil, err
	}
	return k.snap, nil
}

// move moves the refs, or finds out why git did not.
func (a *appending) move(ctx context.Context, changes []refChange) error {
	return a.s.moveRefs(ctx, a.s.events, a.batch, changes, func(ctx context.Context) (bool, error) {
		now, err := a.s.commit(ctx, a.ref)
		switch {
		case err != nil && !errors.Is(err, ErrNoPlan):
			return false, err
		case now.oid == changes[0].new:
			return true, nil
		case now.oid != changes[0].old:
			return false, errMoved
		}
		if a.Claim != nil {
			held, _, err := a.s.ownClaim(ctx, a.id, *a.Claim)
			if err == nil && held.oid != changes[1].old {
				err = errMoved
			}
			return false, err
		}
		return false, nil
	})
}

// finish makes sure that the event is there to stay and reads the plan as it is now. It no longer stops when the
// caller gives up: the event has happened.
func (a *appending) finish(ctx context.Context, c commitInfo, change plan.Change) (*Appended, error) {
	ctx = context.WithoutCancel(ctx)
	if err := a.s.survive(ctx, a.batch); err != nil {
		return nil, err
	}
	k, err := a.s.read(ctx, a.id, c)
	if err != nil {
		return nil, err
	}
	return &Appended{Commit: c.oid, Change: change, Snapshot: k.snap}, nil
}

// survive returns when no gc that began before a ref named the batch's objects can take them any more. A gc that
// begins later finds them named. Only `gc --prune=now` takes objects so young, but what a running gc was told is not to
// be seen, so each one is waited for a moment, once.
func (s *Store) survive(ctx context.Context, b *Batch) error {
	const longest, interval = 2 * time.Second, 2 * time.Millisecond
	for begin := time.Now(); ; {
		gc := s.runningGC()
		if err := b.restore(ctx); err != nil {
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
