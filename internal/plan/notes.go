package plan

import (
	"slices"
	"strings"

	"gitwf/internal/plain"
)

// Progress counts the deliverables that are DONE, and all of them.
func (s *State) Progress() (done, all int) {
	leaves := s.Leaves(s.Plan.RootTaskID)
	for _, id := range leaves {
		if s.Tasks[id].Status == StatusDone {
			done++
		}
	}
	return done, len(leaves)
}

// Unread lists the approved deliverables that nobody has read: their run lines alone have passed them.
func (s *State) Unread() (ids []TaskID) {
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		t := s.Tasks[id]
		read := slices.ContainsFunc(s.Records.Of(id).Reviews, func(r ReviewRecord) bool {
			return r.Version == t.Approved && !builtIn(r.Reviewer)
		})
		if t.Approved > 0 && t.Judges == nil && t.Decides == nil && !read {
			ids = append(ids, id)
		}
	}
	return ids
}

// Notes are what follows a task's status where tasks are listed: the newest review, or the seats that have spoken; what
// was waived, what the caller knows of its proof, what it waits for, why it is stale, and what failed. Empty ones are
// left out.
func (s *State) Notes(t *TaskState, proof []string, stale string) string {
	var notes []string
	if reviews := s.Records.Of(t.TaskID).Reviews; len(reviews) > 0 {
		last := reviews[len(reviews)-1]
		for _, r := range reviews { // the newest of those that made the verdict
			if r.Version == t.Active && r.Verdict == t.Verdict {
				last = r
			}
		}
		if last.Version != t.Active || s.seatNote(t) == "" {
			notes = append(notes, s.Word(t.TaskID, last))
		}
	}
	if waived := s.WaivedNote(t.TaskID); waived != "" {
		notes = append(notes, waived)
	}
	notes = append(notes, s.StandingNotes(t)...)
	notes = append(notes, proof...)
	if why := s.Reason(t); why != "" && t.Status != StatusDone {
		notes = append(notes, plain.Line(why))
	}
	if stale != "" && !strings.Contains(t.reason, stale) {
		notes = append(notes, "stale: "+stale)
	}
	if t.Attempts > 0 {
		notes = append(notes, plain.Count(t.Attempts, "attempt")+" failed")
	}
	if t.Lost > 0 && t.Status != StatusWaitingExternal {
		notes = append(notes, plain.Count(t.Lost, "worker")+" lost")
	}
	return strings.Join(notes, "; ")
}
