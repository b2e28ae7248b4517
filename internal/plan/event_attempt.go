package plan

import (
	"fmt"
	"strconv"
)

// AddAttempt records an attempt that left no artifact or, when its task is a CHECK, no review of the version.
type AddAttempt struct {
	Attempt Attempt // AttemptID is assigned by Apply
	Version int     // of the CHECK's target; zero for an ACTION
	Log     []byte  // what the attempt printed
	Notes   []Note  // that came with it
	Author  Actor
}

// Apply is refused for a task that the plan does not have, for a kind of attempt that has no record, and unless an
// attempt of a CHECK, and only that, names a version of its target.
func (e AddAttempt) Apply(s *State) (Change, error) {
	a := e.Attempt
	target := s.Subject(a.TaskID)
	isCheck := target != nil && target.TaskID != a.TaskID
	if target == nil || target.NodeType != Action {
		return Change{}, refuse(a.TaskID, "no such task in %s", s.Plan.PlanID)
	}
	r := s.Records.Of(target.TaskID)
	_, exists := r.Version(e.Version)
	switch {
	case attemptPhrase[a.Kind] == "":
		return Change{}, refuse(a.TaskID, "%q is no kind of attempt", a.Kind)
	case isCheck && !exists:
		return Change{}, refuse(a.TaskID, "%s has no version %q to review", target.TaskID, VersionID(e.Version))
	case !isCheck && e.Version != 0:
		return Change{}, refuse(a.TaskID, "an attempt that made %s is no failed one", VersionID(e.Version))
	}
	rec := AttemptRecord{N: nextNumber(r.Attempts), Version: e.Version, Kind: a.Kind}
	a.AttemptID = "a" + strconv.Itoa(rec.N)
	dir := target.TaskID.Dir() + "/"
	add := []Entry{{Path: dir + rec.Path(), Data: Document(a)}}
	if len(e.Log) > 0 {
		add = append(add, Entry{Path: dir + rec.Log(), Data: e.Log})
	}
	add = append(add, s.notesOf(e.Notes, a.Agent, string(a.TaskID)+" "+a.AttemptID, a.CreatedAt)...)
	return Change{
		Subject:  fmt.Sprintf("%s: attempt %s: %s", a.TaskID, a.AttemptID, attemptPhrase[a.Kind]),
		Body:     a.Message,
		Trailers: trailers(eventAttempt, a.TaskID, "Wf-Agent", a.Agent),
		Author:   e.Author,
		Add:      add,
	}, nil
}

var attemptPhrase = map[string]string{
	AttemptError:      "failed",
	AttemptLost:       "lost",
	AttemptNeedsInput: "needs input",
	AttemptNoop:       "left nothing",
}

// Retry starts a task's counters anew, after it used up its attempts or its rounds.
type Retry struct {
	Task     TaskID
	Decision Decision
}

// Apply is refused unless the task, or its CHECK, is blocked on somebody's decision.
func (e Retry) Apply(s *State) (Change, error) {
	t := s.Subject(e.Task)
	if t == nil || t.NodeType != Action {
		return Change{}, refuse(e.Task, "no such ACTION in %s", s.Plan.PlanID)
	}
	check := s.CheckOf(t.TaskID)
	if t.Status != StatusWaitingExternal && (check == nil || check.Status != StatusWaitingExternal) {
		return Change{}, refuse(e.Task, "is %s; only a task that used up its attempts can be retried", t.Status)
	}
	r := s.Records.Of(t.TaskID)
	return Change{
		Subject:  fmt.Sprintf("%s: retry", t.TaskID),
		Body:     e.Decision.Reason,
		Trailers: trailers(eventRetry, t.TaskID),
		Add:      []Entry{r.resetEntry(t.TaskID, newestOf(r.Reviews).N, e.Decision)},
	}, nil
}

// resetEntry is the record after which none of the present attempts count, and no review up to a number.
func (r *TaskRecords) resetEntry(id TaskID, review int, d Decision) Entry {
	rec := resetRecord{N: nextNumber(r.Resets), Attempt: newestOf(r.Attempts).N, Review: review}
	return Entry{Path: id.Dir() + "/" + rec.path(), Data: Document(d)}
}
