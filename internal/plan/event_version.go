package plan

import (
	"fmt"
	"strconv"
)

// Begin starts a plan; Plan comes from Bootstrap. A person who hands in a plan also hands in its first version,
// Artifact, and with a workflow the Files that it is made from. Otherwise the planning task's agent makes a
// version, from the top task and Files.
type Begin struct {
	Plan     *Plan
	Artifact Artifact // none if it has no task id
	Files    []InputDocument
	Author   Actor
}

// Apply is refused if the plan exists already.
func (e Begin) Apply(s *State) (Change, error) {
	if len(s.Plan.Tasks) > 0 {
		return Change{}, fmt.Errorf("plan %s exists already", s.Plan.PlanID)
	}
	add, _ := s.Records.Of(PlanTaskID).inputEntries(PlanTaskID, e.Files)
	if e.Artifact.TaskID == "" {
		return Change{
			Subject:  fmt.Sprintf("%s: plan %q is to be made", PlanTaskID, e.Plan.Title),
			Body:     e.Plan.TopTask,
			Trailers: trailers(EventPlan, PlanTaskID),
			Author:   e.Author,
			Add:      add,
			Plan:     e.Plan,
		}, nil
	}
	c, err := NewVersion{Artifact: e.Artifact, Author: e.Author}.Apply(Derive(e.Plan, s.Records, nil,
		e.Artifact.CreatedAt))
	if err != nil {
		return Change{}, err
	}
	c.Plan, c.Add = e.Plan, append(c.Add, add...)
	c.Subject = fmt.Sprintf("%s: plan %q, v1 by %s", e.Artifact.TaskID, e.Plan.Title, e.Artifact.Agent)
	c.Body = e.Plan.TopTask
	c.Trailers[0].Value = EventPlan
	return c, nil
}

// NewVersion adds a version of a deliverable.
type NewVersion struct {
	Artifact Artifact // ArtifactID is assigned by Apply
	Notes    []Note   // that came with it
	Author   Actor
	// a person's hand-in starts the counters anew: it is the way out of a task that used up its attempts
	ByPerson bool
	Before   Artifact // of a task that is DONE: the approved version, which alone says what it was made from
}

// Apply is refused unless the task can have a new version: its inputs are approved, no question about
// it is open, and it is neither abandoned nor done. A person may make a done task again if its inputs
// have changed since.
func (e NewVersion) Apply(s *State) (Change, error) {
	t, err := s.actionNamed(e.Artifact.TaskID)
	if err != nil {
		return Change{}, err
	}
	switch {
	case t.Status == StatusDone && (!e.ByPerson || len(s.OutdatedOf(e.Before)) == 0):
		return Change{}, &RefusedError{t.TaskID, "is done with " + VersionID(t.Approved),
			"git wf rerun " + string(t.TaskID)}
	case t.Status == StatusAbandoned:
		return Change{}, refuse(t.TaskID, "is abandoned")
	case t.Status == StatusDoneElsewhere:
		return Change{}, &RefusedError{t.TaskID, "was done elsewhere; without done_elsewhere it is to be done here",
			"git wf plan --edit"}
	case t.Status == StatusWaitingInput:
		return Change{}, refuse(t.TaskID, "waits for input: %s", s.Reason(t))
	case t.Status == StatusWaitingExternal && !e.ByPerson:
		return Change{}, &RefusedError{t.TaskID, s.Reason(t), "git wf retry " + string(t.TaskID)}
	case t.Status == StatusPending || t.Waits():
		return Change{}, refuse(t.TaskID, "%s", s.Reason(t))
	}
	for _, in := range e.Artifact.Inputs {
		if v, ok := s.Records.Of(in.TaskID).Version(s.approvedOf(in.TaskID)); !ok || v.Files != in.Tree {
			return Change{}, refuse(t.TaskID, "its input %s %s is no longer the approved version", in.TaskID,
				in.ArtifactID)
		}
	}
	r := s.Records.Of(t.TaskID)
	rec := ArtifactRecord{Version: r.Active() + 1}
	a := e.Artifact
	a.ArtifactID = VersionID(rec.Version)
	dir := t.TaskID.Dir() + "/"
	c := Change{
		Subject:  fmt.Sprintf("%s: %s by %s", t.TaskID, a.ArtifactID, a.Agent),
		Body:     a.Summary,
		Trailers: trailers(eventArtifact, t.TaskID, "Wf-Artifact", a.ArtifactID, "Wf-Agent", a.Agent),
		Author:   e.Author,
		Add: []Entry{{Path: dir + rec.Path(), Data: Document(a)},
			{Path: dir + rec.FilesPath(), OID: a.Tree}},
	}
	c.Add = append(c.Add, s.notesOf(e.Notes, a.Agent, string(t.TaskID)+" "+a.ArtifactID, a.CreatedAt)...)
	d := Decision{By: a.Agent, CreatedAt: a.CreatedAt}
	c.Add = append(c.Add, s.sourceEntries(t, a, rec.Version, e.ByPerson)...)
	switch {
	case e.ByPerson && (t.Attempts > 0 || t.Lost > 0 || t.Rejected > 0):
		d.Reason = "handed in by a person"
		c.Add = append(c.Add, r.resetEntry(t.TaskID, newestOf(r.Reviews).N, d))
	case t.Lost > 0:
		d.Reason = "a version was made after lost attempts"
		c.Add = append(c.Add, r.resetEntry(t.TaskID, r.Reset().Review, d))
	}
	return c, nil
}

func (s *State) approvedOf(id TaskID) int {
	if t := s.Tasks[id]; t != nil {
		return t.Approved
	}
	return 0
}

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
