package engine

import (
	"context"
	"fmt"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// RunLanding has a run land each change as soon as it is approved, one after the other: the next attempt on the same
// files begins with it.
type RunLanding struct {
	LandOptions
	Done Landed // of each task the last try
	Err  error  // why landing stopped
}

// findDue finds the approved changes to land, in order. A version is tried once on each tip of the branch, and a task
// as often as it may be made.
func (r *run) findDue(s *plan.State) {
	if r.Landing == nil || r.alone || r.landing() {
		return
	}
	if r.due = nil; r.Landing.Err != nil {
		return
	}
	_, _, open := export.Kinds(s)
	for _, id := range s.Changes(open...) {
		t := s.Tasks[id]
		isOpen := slices.Contains(open, id) && t.Status == plan.StatusDone // of none, s.Changes lists all
		if isOpen && r.tried[id] != r.tryOf(t) && r.tries[id] < s.Plan.Limits().MaxAttempts {
			r.due = append(r.due, t)
		}
	}
}

// tryOf names the landing of a task's version on the branch as it is.
func (r *run) tryOf(t *plan.TaskState) string {
	return fmt.Sprintf("v%d on %s", t.Approved, r.Landing.Done.After)
}

// landing reports whether a change is landing now.
func (r *run) landing() bool {
	for _, w := range r.running {
		if w.what == "land" {
			return true
		}
	}
	return false
}

// land lands a task's change. While it does, nothing else looks at what it writes.
func (r *run) land(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	defer func() { r.tried[t.TaskID] = r.tryOf(t) }()
	o, to := r.Landing.LandOptions, r.Landing
	o.Tasks = []plan.TaskID{t.TaskID}
	done, err := r.Land(ctx, id, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if to.Err = err; done.After == "" {
		return nil
	}
	for _, l := range done.Tasks {
		r.report(l.TaskID, l.Outcome())
		if l.Commit == "" {
			r.tries[l.TaskID]++
		}
	}
	to.Done.add(done)
	return nil
}

// add adds what was done later.
func (l *Landed) add(next Landed) {
	for _, t := range next.Tasks {
		l.Tasks = slices.DeleteFunc(l.Tasks, func(o plan.Landing) bool { return o.TaskID == t.TaskID })
		delete(l.broken, t.TaskID)
	}
	next.Tasks, next.GivenUp, next.NotRun = append(l.Tasks, next.Tasks...), union(l.GivenUp, next.GivenUp),
		union(l.NotRun, next.NotRun)
	for id, x := range l.broken {
		next.broken[id] = x
	}
	*l = next
}

func union(list, more []string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// waitsToLand reports whether an attempt touches what another task has changed that may soon land: it would have to be
// made again.
func (r *run) waitsToLand(s *plan.State, w work) bool {
	if r.Landing == nil || w.what != "attempt" {
		return false
	}
	for _, t := range s.Tasks {
		soon := among(r.due, t.TaskID)
		if !soon && t.Status == plan.StatusReadyToCheck && t.Changes() {
			_, soon = r.reviewWork(s, t)
			soon = soon && r.may(t)
		}
		if soon && plandoc.SameFocus(t.Task, w.task.Task) {
			return true
		}
	}
	return false
}
