package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/plain"
)

// A version says by the names of records what it was made from. Once that is no longer approved the version is stale:
// it is made again, unless a reviewer says that it holds all the same. What a person made says nothing, nor does a
// version from before these records: nobody makes it again by themselves, and export compares the documents.

// follows reports whether the task is redone when an input changes. Whether a version is, also depends on who made it.
// What fills a GOAL is rendered once.
func (t *Task) follows() bool {
	return t.Decides == nil && t.Fill == nil && (t.Follows == nil || *t.Follows || t.Judges != nil)
}

// sourceEntries are the records of what a version was made from, where the task follows that, and of the mode that was
// ordered.
func (s *State) sourceEntries(t *TaskState, a Artifact, version int, byPerson bool) []Entry {
	var add []Entry
	dir, mode := t.TaskID.Dir()+"/", ""
	if t.Judges != nil && t.ordered {
		mode = t.order.Mode
	}
	if t.follows() && (!byPerson || t.Judges != nil) {
		for _, in := range a.Inputs {
			if mode != "" && s.Tasks[in.TaskID].Status != StatusDone {
				continue // it is read as it is, and left out of the verdicts: that it changes is no surprise
			}
			l := linkRecord{version, in.TaskID, VersionNumber(in.ArtifactID)}
			path := recordPath("artifacts", false, formFrom, values{n: version, name: l.name()})
			add = append(add, Entry{Path: dir + path, Data: []byte{}})
		}
	}
	if mode != "" {
		path := recordPath("artifacts", false, formMode, values{n: version, word: mode})
		add = append(add, Entry{Path: dir + path, Data: []byte{}})
	}
	return add
}

// saysFrom reports whether a version says what it was made from.
func (r *TaskRecords) saysFrom(version int) bool {
	return slices.ContainsFunc(r.From, func(l linkRecord) bool { return l.Version == version })
}

// staleInputs are the versions that a version of the task was made from and that are no longer approved, or are made
// anew.
func (s *State) staleInputs(t *TaskState, version int) []linkRecord {
	if !t.follows() {
		return nil
	}
	r := s.Records.Of(t.TaskID)
	var stale []linkRecord
	for _, l := range r.From {
		in := s.Tasks[l.Task]
		switch {
		case l.Version != version || in == nil || in.NodeType != Action:
		case in.Status == StatusAbandoned && !s.Records.Of(l.Task).dropped():
		case in.Status == StatusDone && (in.Approved == l.Of || s.sameFiles(t, l) ||
			r.holdsFor(linkRecord{version, l.Task, in.Approved})):
		default:
			stale = append(stale, l)
		}
	}
	return stale
}

// sameFiles reports whether what is approved now has the files of what a version was made from. A judge speaks of
// versions.
func (s *State) sameFiles(t *TaskState, l linkRecord) bool {
	r := s.Records.Of(l.Task)
	then, had := r.Version(l.Of)
	now, has := r.Version(s.Tasks[l.Task].Approved)
	return t.Judges == nil && had && has && then.Files == now.Files
}

// addFollower notes what the newest version of a task was made from. List makes a longer list of followers.
func (s *State) addFollower(t *TaskState, longer func(list []int, place int) []int) {
	if t.NodeType != Action || t.Active == 0 {
		return
	}
	for _, l := range s.Records.Of(t.TaskID).From {
		if in := s.Tasks[l.Task]; in != nil && l.Version == t.Active {
			s.followers[in.place] = longer(s.followers[in.place], t.place)
		}
	}
}

// demoteUndone finds the tasks that are not done although their newest version is approved: those of judges that
// have not taken effect, the stale ones, and those that are by what is not done. Before, the tasks are as their own
// records say; they are all that may be so, and no other changes by them. Where versions were made from each other,
// which takes an amendment that turns a dependency round, one that is stale makes all of them so.
func (s *State) demoteUndone(tasks []*TaskState) {
	var undone []*TaskState
	toApply := map[*TaskState]bool{}
	visit := func(t *TaskState) {
		switch {
		case t.NodeType != Action || t.Status != StatusDone && !toApply[t]:
		case len(s.staleInputs(t, t.Approved)) > 0:
			t.Status = StatusToBeModified
			delete(toApply, t)
			undone = append(undone, t)
		case !toApply[t] && t.Judges != nil && !s.checkApplied(t):
			toApply[t] = true
			undone = append(undone, t)
		}
	}
	for _, t := range tasks {
		visit(t)
	}
	for next := 0; next < len(undone); next++ {
		for _, i := range s.followers[undone[next].place] {
			visit(s.order[i])
		}
	}
	for _, t := range undone {
		if t.Status == StatusToBeModified { // the reason names all that is stale
			t.reason = VersionID(t.Active) + " is stale: " + s.staleText(s.staleInputs(t, t.Approved))
		}
	}
}

// checkApplied reports whether an approved version of a task that judges or decides has taken effect. If not, it
// says so.
func (s *State) checkApplied(t *TaskState) bool {
	switch r := s.Records.Of(t.TaskID); {
	case !r.hasActed(t.Active):
		t.Status, t.reason = StatusReadyToCheck, VersionID(t.Active)+" is to be applied"
		return false
	case t.Judges != nil && r.mode(t.Active) != "":
		t.Status = StatusPending // it has judged a part; the whole is to come
		return false
	}
	return true
}

// Stale says why a task's approved version is to be made again: what it was made from is no longer approved. It is ""
// if it is not. known is false of a version that does not say what it was made from.
func (s *State) Stale(id TaskID) (why string, known bool) {
	t := s.Tasks[id]
	if t == nil || t.Approved == 0 || !s.Records.Of(id).saysFrom(t.Approved) {
		return "", t != nil && !t.follows()
	}
	return s.staleText(s.staleInputs(t, t.Approved)), true
}

// staleText names for people the first of what has changed, and what is approved now.
func (s *State) staleText(links []linkRecord) string {
	if len(links) == 0 {
		return ""
	}
	return "made from " + strings.Join(plain.Some(links, 5, func(l linkRecord) string {
		now := "approved is " + VersionID(s.Tasks[l.Task].Approved)
		switch s.Tasks[l.Task].Status {
		case StatusDone:
		case StatusAbandoned:
			now = "which was dropped"
		default:
			now = "which is made anew"
		}
		return fmt.Sprintf("%s %s, %s", l.Task, VersionID(l.Of), now)
	}), "; ")
}

func (r *TaskRecords) holdsFor(l linkRecord) bool { return slices.Contains(r.Holds, l) }

// StillHolds records a reviewer's word that a task's approved version holds for what its inputs are now, so that it is
// not made again.
type StillHolds struct {
	Task     TaskID
	Decision Decision // by whom, and why
	Author   Actor
	Seat     string   // the role that they speak for, "" for themselves
	Version  Artifact // the approved one: of what a person made only its document says what from
}

// Apply is refused unless the version is stale, what it follows is approved anew, and the reviewer may review the task.
func (e StillHolds) Apply(s *State) (Change, error) {
	t, err := s.actionNamed(e.Task)
	if err != nil {
		return Change{}, err
	}
	r := s.Records.Of(t.TaskID)
	stale := s.staleInputs(t, t.Approved)
	for _, in := range s.OutdatedOf(e.Version) {
		stale = append(stale, linkRecord{t.Approved, in.TaskID, VersionNumber(in.ArtifactID)})
	}
	switch {
	case t.Approved == 0 || t.Approved != t.Active || len(stale) == 0:
		return Change{}, refuse(t.TaskID, "no approved version of it was made from what has changed since")
	case t.Judges != nil:
		return Change{}, refuse(t.TaskID, "judges: what has changed is judged anew")
	case e.Decision.By == ReviewerChecks && t.Changes(): // the diff is the same
	case !s.MayReview(t.TaskID, cmp.Or(e.Seat, e.Decision.By)):
		return Change{}, refuse(t.TaskID, "%s is not among its reviewers (%s)", cmp.Or(e.Seat, e.Decision.By),
			strings.Join(s.Reviewers(t.TaskID), ", "))
	}
	c := Change{
		Trailers: trailers(eventReview, t.TaskID, "Wf-Artifact", VersionID(t.Approved), "Wf-Agent", e.Decision.By),
		Body:     e.Decision.Reason, Author: e.Author,
	}
	if e.Seat != "" {
		c.Trailers = append(c.Trailers, Trailer{"Wf-Seat", e.Seat})
	}
	var said []string
	for i, l := range stale {
		in := s.Tasks[l.Task]
		if in.Status != StatusDone {
			return Change{}, refuse(t.TaskID, "%s is being made anew", l.Task)
		}
		now := linkRecord{t.Approved, l.Task, in.Approved}
		if r.holdsFor(now) {
			continue
		}
		path := recordPath("holds", false, 0, values{n: len(r.Holds) + i + 1, version: now.Version, name: now.name()})
		c.Add = append(c.Add, Entry{Path: t.TaskID.Dir() + "/" + path, Data: Document(e.Decision)})
		said = append(said, string(l.Task)+" "+VersionID(now.Of))
	}
	c.Subject = fmt.Sprintf("%s: %s holds for %s", t.TaskID, VersionID(t.Approved), strings.Join(said, ", "))
	return c, nil
}

// OutdatedOf are the inputs of a task's approved version for which something else is approved now, where nobody makes
// it again by themselves because its name says nothing of them: a person made it, or it is from before such names.
func (s *State) OutdatedOf(a Artifact) []Input {
	t, r, version := s.Tasks[a.TaskID], s.Records.Of(a.TaskID), VersionNumber(a.ArtifactID)
	if t == nil || t.Approved != version || !t.follows() || t.Judges != nil || r.saysFrom(version) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(a.Inputs), func(in Input) bool {
		now := s.Tasks[in.TaskID]
		l := linkRecord{version, in.TaskID, VersionNumber(in.ArtifactID)}
		return now == nil || now.Status == StatusAbandoned || now.Approved == l.Of || s.sameFiles(t, l) ||
			r.holdsFor(linkRecord{version, in.TaskID, now.Approved})
	})
}

// Holds reports whether a reviewer says that a version holds for the version of an input that is approved now.
func (s *State) Holds(a Artifact, input TaskID) bool {
	return s.Records.Of(a.TaskID).holdsFor(linkRecord{VersionNumber(a.ArtifactID), input, s.approvedOf(input)})
}

// An approved version is made again on a person's word: because what it was approved by changes, or because they ask
// for it. The record is a rejection by `overtaken`, which finds no fault: it counts towards no limit, and what has
// landed stays proven. The plan without approval then goes on as after any rejection.

// redoable reports whether a person may have versions of the task made again. Verdicts, decisions and plans follow from
// what they are about.
func (t *Task) redoable() bool {
	return t.NodeType == Action && !t.Planning() && t.Judges == nil && t.Decides == nil
}

// SetAside are the versions of a task that are set aside if it is made again: all approved ones, oldest first. It fails
// for a task that has none, that is abandoned, or that follows from others.
func (s *State) SetAside(id TaskID) (versions []ArtifactRecord, err error) {
	if t := s.Tasks[id]; t != nil && t.NodeType == Check {
		return nil, &RefusedError{id, "reviews each version of " + string(t.ReviewTargetTaskID),
			"git wf rerun " + string(t.ReviewTargetTaskID)}
	}
	t, err := s.actionNamed(id)
	switch {
	case err != nil:
		return nil, err
	case t.Planning():
		return nil, &RefusedError{id, "makes the plan, which is changed and not made again", "git wf plan --edit"}
	case !t.redoable():
		return nil, &RefusedError{id, "follows from other tasks, and is made again when they are", "git wf rerun"}
	case t.Status == StatusAbandoned:
		return nil, &RefusedError{id, "is abandoned", "git wf retry " + string(id)}
	case t.Approved == 0:
		return nil, &RefusedError{id, "has no approved version that could be made again: it is " + t.Status.String(),
			"git wf run"}
	}
	for _, v := range s.Records.Of(id).Artifacts {
		if s.VersionVerdict(id, VersionID(v.Version)) == Approved {
			versions = append(versions, v)
		}
	}
	return versions, nil
}

// Redone are the records as they are once all approved versions of some tasks are to be made again.
func (s *State) Redone(ids []TaskID) Records {
	r := s.Records
	r.Tasks = maps.Clone(r.Tasks)
	for _, id := range ids {
		versions, _ := s.SetAside(id)
		after := *r.Of(id)
		after.Reviews = slices.Clip(after.Reviews)
		for _, v := range versions {
			after.Reviews = append(after.Reviews, ReviewRecord{N: nextNumber(after.Reviews), Version: v.Version,
				Reviewer: reviewerOvertook, Verdict: Rejected})
		}
		r.Tasks[id] = &after
	}
	return r
}

// FindsFault reports whether the review rejects a version for what it is.
func (r ReviewRecord) FindsFault() bool {
	return r.Verdict == Rejected && r.Reviewer != reviewerOvertook
}

// FindsFault reports the same of a review's document.
func (r Review) FindsFault() bool {
	return ReviewRecord{Reviewer: r.Reviewer, Verdict: r.Verdict}.FindsFault()
}

// LastingVerdict is the verdict on a version for what it is: one that is merely to be made again stays what was
// approved.
func (s *State) LastingVerdict(id TaskID, artifactID string) Verdict {
	r := *s.Records.Of(id)
	r.Reviews = slices.DeleteFunc(slices.Clone(r.Reviews),
		func(v ReviewRecord) bool { return v.Reviewer == reviewerOvertook })
	v, _ := s.verdict(id, &r, VersionNumber(artifactID))
	return v
}

// Impact are the tasks that new approved versions of some tasks have made again, in plan order, as the plan is now:
// those that follow them, directly or not, and those that judge any of them. A person is asked about what a person
// made, and what these yield stays until then. What has no approved version yet is made anyway.
func (s *State) Impact(ids ...TaskID) (again, asks []TaskID) {
	changed := map[TaskID]bool{}
	of := s.resolveGoals(ids)
	for _, leaf := range of {
		changed[leaf] = true
	}
	asked := map[TaskID]bool{}
	for grows := true; grows; {
		grows = false
		for _, t := range s.order {
			if t.NodeType != Action || t.Approved == 0 || changed[t.TaskID] || asked[t.TaskID] || !t.follows() ||
				t.Status == StatusAbandoned ||
				!slices.ContainsFunc(s.Inputs(t.TaskID), func(in TaskID) bool { return changed[in] }) {
				continue
			}
			grows = true
			if s.Records.Of(t.TaskID).saysFrom(t.Approved) {
				changed[t.TaskID] = true
			} else {
				asked[t.TaskID] = true
			}
		}
	}
	for _, t := range s.order {
		switch {
		case asked[t.TaskID]:
			asks = append(asks, t.TaskID)
		case changed[t.TaskID] && !slices.Contains(of, t.TaskID):
			again = append(again, t.TaskID)
		}
	}
	return again, asks
}
