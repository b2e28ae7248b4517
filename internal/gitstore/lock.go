package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// line is where this process's writers to one plan queue.
type line struct {
	turn    chan struct{} // held by the current writer
	waiting []*appending  // events that it may take along, in order of arrival; guarded by Store.mu
}

func (s *Store) line(id plan.ID) *line {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines[id] == nil {
		s.lines[id] = &line{turn: make(chan struct{}, 1)}
	}
	return s.lines[id]
}

// lockPlan queues the writers of one plan on this machine. The compare-and-swap of the ref keeps the history whole, not
// this lock; the lock keeps writers from discarding each other's work. Goroutines queue within the process first, so
// only one of them polls for the file.
func (s *Store) lockPlan(ctx context.Context, id plan.ID) (unlock func(), err error) {
	l := s.line(id)
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.lockTurn(ctx, id, l)
}

func (s *Store) lockTurn(ctx context.Context, id plan.ID, l *line) (unlock func(), err error) {
	file, err := s.lockFile(ctx, filepath.Join(s.commonDir, "wf", "lock"), string(id))
	if err != nil {
		<-l.turn
		return nil, fmt.Errorf("lock plan: %w", err)
	}
	return func() {
		file.Close()
		<-l.turn
	}, nil
}

// enqueue is lockPlan for an event. unlock is nil if the writer in front took the event along, so nothing is left to
// append.
func (a *appending) enqueue(ctx context.Context) (unlock func(), err error) {
	if a.event == nil {
		return a.s.lockPlan(ctx, a.id)
	}
	l := a.s.line(a.id)
	a.taken = make(chan struct{})
	a.s.putInLine(l, a)
	select {
	case <-a.taken:
		return nil, nil
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		if a.s.leaveLine(l, a) {
			return nil, ctx.Err()
		}
		// The current writer has it and will report the outcome soon.
		select {
		case <-a.taken:
			return nil, nil
		case l.turn <- struct{}{}:
		}
	}
	if !a.s.leaveLine(l, a) {
		<-l.turn
		return nil, nil // taken along just before
	}
	return a.s.lockTurn(ctx, a.id, l)
}

func (s *Store) putInLine(l *line, all ...*appending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.waiting = append(l.waiting, all...)
}

// leaveLine reports whether the event was still in line.
func (s *Store) leaveLine(l *line, a *appending) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(l.waiting, a)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// appendNext builds the event that follows the first at once, if there is one.
func (a *appending) appendNext(ctx context.Context, tip commitInfo, group []*built) []*built {
	if a.nextOf == nil {
		return group
	}
	first := group[0]
	a.readAhead(ctx, tip, first)
	// Readers find only objects that have their names. A failure here shows again when the first event is recorded.
	if first.known == nil || a.batch.syncFiles(false) != nil || a.batch.nameObjects(false) != nil {
		return group
	}
	after, err := a.s.wholePlan(ctx, a.id, first.known)
	if err != nil {
		return group
	}
	ev := a.nextOf(ctx, after)
	if ev == nil {
		return group
	}
	next := &appending{s: a.s, id: a.id, ref: a.ref, now: a.now, batch: a.s.NewBatch(), person: a.person,
		view: a.s.viewFor(ev), event: ev}
	if e := next.buildOn(ctx, first); e != nil {
		a.next = next
		group = append(group, e)
	}
	return group
}

// readAhead computes the plan after an event that is not recorded yet.
func (a *appending) readAhead(ctx context.Context, tip commitInfo, e *built) {
	if before, err := a.s.readKnown(ctx, a.id, tip); err == nil && e.known == nil {
		e.known, _ = a.s.readChanges(ctx, a.id, before, e.commit)
	}
}

// appendWaiting builds the waiting events on top of the group, so that one flush and one ref update serve all of them.
// An event that can't simply follow stays in line and waits for its turn.
func (a *appending) appendWaiting(ctx context.Context, tip commitInfo, group []*built) []*built {
	l := a.s.line(a.id)
	a.s.mu.Lock()
	waiting := l.waiting
	l.waiting = nil
	a.s.mu.Unlock()
	if len(waiting) == 0 {
		return group
	}
	a.readAhead(ctx, tip, group[0])
	for _, w := range waiting {
		if e := w.buildOn(ctx, group[len(group)-1]); e != nil {
			group = append(group, e)
		} else {
			a.s.putInLine(l, w)
		}
	}
	return group
}

// buildOn builds the event on top of one that is not recorded yet; nil if it must be decided on the recorded state.
func (a *appending) buildOn(ctx context.Context, before *built) *built {
	if a.again || before.known == nil {
		return nil
	}
	mark := len(a.batch.order)
	a.follows = true
	defer func() { a.follows = false }()
	snap, err := a.view(ctx, a.id, before.known)
	var change plan.Change
	if err == nil {
		change, err = decideEvent(a.event, snap)
	}
	var e *built
	if err == nil {
		e, err = a.build(ctx, before.commit, change)
	}
	if err == nil {
		e.mark = mark
		e.known, err = a.s.readChanges(ctx, a.id, before.known, e.commit)
	}
	if err != nil {
		a.batch.rollback(mark)
		a.again = true
		return nil
	}
	return e
}

// putBack returns the group's unrecorded events to their places in line.
func (a *appending) putBack(group []*built) {
	for _, e := range group {
		e.batch.rollback(e.mark)
		if e.appending == a.next { // it belonged to the state that did not come about
			a.next = nil
			continue
		}
		e.again = true
		a.s.putInLine(a.s.line(a.id), e.appending)
	}
}

// LockWorktree serializes changes to something next to this worktree, under a name. The lock ends with its process,
// however that ends.
func (s *Store) LockWorktree(ctx context.Context, name string) (unlock func(), err error) {
	file, err := s.lockFile(ctx, filepath.Join(s.gitDir, "wf", "lock", "worktree"), name)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { file.Close() }, nil
}

func (s *Store) lockFile(ctx context.Context, dir, name string) (*flock.Flock, error) {
	const interval = time.Millisecond
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	// Another user of a shared repository must be able to lock the same file.
	file := flock.New(filepath.Join(dir, name), flock.SetPermissions(0o666))
	at := shell.Word(file.Path())
	defer s.TellIfSlow("waiting for another git wf, which has locked " + at + ": fuser " + at + " names its process")()
	if _, err := file.TryLockContext(ctx, interval); err != nil {
		return nil, err
	}
	return file, nil
}
