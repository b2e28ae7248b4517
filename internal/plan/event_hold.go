package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
		if r.holds(now) {
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
		return now == nil || now.Status == StatusAbandoned || now.Approved == l.Of || s.sameFor(t, l) ||
			r.holds(linkRecord{version, in.TaskID, now.Approved})
	})
}

// Holds reports whether a reviewer says that a version holds for the version of an input that is approved now.
func (s *State) Holds(a Artifact, input TaskID) bool {
	return s.Records.Of(a.TaskID).holds(linkRecord{VersionNumber(a.ArtifactID), input, s.approvedOf(input)})
}
