package plan

import (
	"cmp"
	"slices"
	"sort"
	"strings"
)

// Where a plan's tree keeps what is about the whole of it.
const (
	SessionDir = "session" // paused, resumed, completed
	NotesDir   = "notes"   // what was learned
)

// SessionStatus says whether a plan is being worked on. It is derived, never stored.
type SessionStatus string

// The states of a session.
const (
	SessionActive    SessionStatus = "active"
	SessionPaused    SessionStatus = "paused"
	SessionCompleted SessionStatus = "completed"
)

// phase is how far a plan has come. It is derived, never stored.
type phase string

// The phases of a plan.
const (
	phasePlan      phase = "PLAN"      // the plan itself is being made
	phaseImplement phase = "IMPLEMENT" // something is still to be made
	phaseReview    phase = "REVIEW"    // everything is made; what is left is judging it
)

// sessionRecord is one file below session/. Its kind is that of the event: eventPaused, eventResumed or eventCompleted.
type sessionRecord struct {
	N    int
	Kind string
}

// Path is where the record is in the plan's tree.
func (r sessionRecord) path() string {
	return recordPath(SessionDir, true, 0, values{n: r.N, word: r.Kind})
}

func (r sessionRecord) number() int { return r.N }

// noteRecord is one file below notes/.
type noteRecord struct {
	N        int
	Category string // one of noteCategories, or what a newer program calls it
}

// Path is where the record is in the plan's tree.
func (r noteRecord) Path() string {
	return recordPath(NotesDir, true, 0, values{n: r.N, word: r.Category})
}

func (r noteRecord) number() int { return r.N }

// WithSession adds what the names below session/ and notes/ say. Names that the format does not know have no effect. Of
// two records with one number, which only a merge or a foreign writer makes, the one that leaves more open has the last
// word.
func (r Records) WithSession(session, notes []string) Records {
	r.Session, r.Notes = nil, nil
	for _, name := range session {
		if v, ok := KindOf(SessionDir, true).values(name); ok {
			r.Session = append(r.Session, sessionRecord{v.n, v.word})
		}
	}
	for _, name := range notes {
		if v, ok := KindOf(NotesDir, true).values(name); ok {
			r.Notes = append(r.Notes, noteRecord{v.n, v.word})
		}
	}
	sort.Slice(r.Session, func(i, j int) bool {
		a, b := r.Session[i], r.Session[j]
		return cmp.Or(a.N-b.N, strings.Compare(a.Kind, b.Kind)) < 0 // completed, paused, resumed
	})
	sort.Slice(r.Notes, func(i, j int) bool {
		a, b := r.Notes[i], r.Notes[j]
		return cmp.Or(a.N-b.N, strings.Compare(a.Category, b.Category)) < 0
	})
	return r
}

// SessionStatus is what the newest record of the session says.
func (s *State) SessionStatus() SessionStatus {
	switch newestOf(s.Records.Session).Kind {
	case eventPaused:
		return SessionPaused
	case eventCompleted:
		return SessionCompleted
	}
	return SessionActive
}

// Phase is how far the plan has come.
func (s *State) Phase() phase {
	if len(s.Plan.Grafts) == 0 {
		return phasePlan
	}
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		if t := s.Tasks[id]; t.Status != StatusDone && t.Status != StatusReadyToCheck {
			return phaseImplement
		}
	}
	return phaseReview
}

// CompletedPhases are those that the plan has behind it, in order. The last one ends with the root.
func (s *State) CompletedPhases() []phase {
	all, now := []phase{phasePlan, phaseImplement, phaseReview}, s.Phase()
	if now == phaseReview && (s.Root().Status == StatusDone || s.SessionStatus() == SessionCompleted) {
		return all
	}
	return all[:slices.Index(all, now)]
}

// openWork is a task that keeps a plan from being completed.
type openWork struct {
	Task    TaskID `json:"task_id"`
	Status  Status `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Command string `json:"command"` // that brings it further; engine fills it in
}

// Open lists what is not finished, in plan order: every ACTION that is neither DONE nor abandoned, and every approved
// plan that is not part of the plan yet.
func (s *State) Open() []openWork {
	var open []openWork
	for _, t := range s.order {
		if t.NodeType != Action || t.Status.Gone() {
			continue
		}
		w := openWork{Task: t.TaskID, Status: t.Status, Reason: s.Reason(t)}
		if t.Status == StatusDone {
			if !t.Planning() || s.shape.grafted[t.TaskID] {
				continue
			}
			w.Reason = "is approved, and not part of the plan yet"
		}
		open = append(open, w)
	}
	return open
}
