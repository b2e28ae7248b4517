package engine

import (
	"context"
	"slices"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// RunLanding has a run land each change as soon as it is approved, one after the other: the next attempt on the same
// files begins with it.
type RunLanding struct {
	LandOptions
	Done Landed // of each task the last try
}

// lands reports whether a task's change is approved and to land. A version is tried once, and a task as often as it may
// be made.
func (r *run) lands(s *plan.State, t *plan.TaskState) bool {
	tried := r.tried[t.TaskID]
	return t.Changes() && t.Status == plan.StatusDone && s.Delivers(t.TaskID, t.Approved) &&
		!s.Records.Of(t.TaskID).Landed(t.Approved) && !slices.Contains(tried, t.Approved) &&
		len(tried) < s.Plan.Limits().MaxAttempts
}

// nextToLand is the first change to land, nil if there is none or one is landing.
func (r *run) nextToLand(s *plan.State) *plan.TaskState {
	if r.Landing == nil {
		return nil
	}
	for _, w := range r.running {
		if w.what == "land" {
			return nil
		}
	}
	for _, id := range s.Changes() {
		if t := s.Tasks[id]; r.lands(s, t) {
			return t
		}
	}
	return nil
}

func (r *run) land(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	o, all := r.Landing.LandOptions, r.Landing.Done.Tasks
	o.Tasks = []plan.TaskID{t.TaskID}
	done, err := r.Land(ctx, id, o)
	if done.After == "" {
		return err
	}
	for _, l := range done.Tasks {
		r.report(l.TaskID, l.Outcome())
		all = slices.DeleteFunc(all, func(o plan.Landing) bool { return o.TaskID == l.TaskID })
	}
	done.Tasks, done.GivenUp = append(all, done.Tasks...), append(r.Landing.Done.GivenUp, done.GivenUp...)
	done.NotRun = append(r.Landing.Done.NotRun, done.NotRun...)
	r.Landing.Done = done
	return err
}

// waitsToLand reports whether an attempt touches what another task has changed that may soon land: it would have to be
// made again.
func (r *run) waitsToLand(s *plan.State, w work) bool {
	if r.Landing == nil || w.what != "attempt" {
		return false
	}
	for _, t := range s.Tasks {
		soon := r.lands(s, t)
		if t.Status == plan.StatusReadyToCheck && t.Changes() {
			_, soon = r.reviewWork(s, t)
			soon = soon && r.may(t)
		}
		if soon && plandoc.SameFocus(t.Task, w.task.Task) {
			return true
		}
	}
	return false
}
