package web

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

type historyPage struct {
	page
	All      int
	Events   []moment // newest first
	Newer    int      // first event of the previous page, zero if there is none
	Older    int
	Keys     bool   // the policy has some
	Unproven string // why we can't tell who signed
}

const eventsOnPage = 200

func (s *Server) historyPage(w http.ResponseWriter, r *http.Request) error {
	snap, _, err := s.asked(r)
	if err != nil {
		return err
	}
	all, err := s.moments(r.Context(), snap)
	if err != nil {
		return err
	}
	p := historyPage{page: s.planHead(r, snap, "history"), All: len(all)}
	p.Live = true
	last := len(all)
	if n, err := strconv.Atoi(r.URL.Query().Get("upto")); err == nil && n > 0 && n < last {
		last, p.Newer = n, min(n+eventsOnPage, len(all))
	}
	first := max(last-eventsOnPage, 0)
	p.Older = first
	p.Events = slices.Clone(all[first:last])
	slices.Reverse(p.Events)
	if err := s.tell(r.Context(), snap, p.Events); err != nil {
		return err
	}
	if p.Keys, err = s.signEvents(r.Context(), p.Events); err != nil {
		p.Unproven = plain.Line(err.Error())
	}
	return s.show(w, r, http.StatusOK, "history", p)
}

// tell adds to moments what was said in them, of a plan with roles.
func (s *Server) tell(ctx context.Context, snap *gitstore.Snapshot, moments []moment) error {
	talk := export.TalkOf(ctx, s.Store, snap)
	if talk == nil {
		return nil
	}
	commits := each.Of(moments, func(m moment) plan.OID { return m.Commit })
	added, err := s.Store.Added(ctx, commits)
	if err != nil {
		return err
	}
	for i, m := range moments {
		moments[i].Said = talk.Tell(m.LogEntry, added[m.Commit])
	}
	return nil
}

// moment is one event of a plan's history.
type moment struct {
	gitstore.LogEntry
	N  int // from 1
	Of int

	// of the events that a page lists
	Said   []export.Said // of a plan with roles
	Signed signed
}

// Task is the task that the event is about, "" for none.
func (m moment) Task() plan.TaskID {
	if id := plan.TaskID(m.Trailers["Wf-Task"]); id.Valid() {
		return id
	}
	return ""
}

// Verdict is that of the review which the event records, "" for none.
func (m moment) Verdict() plan.Verdict { return plan.Verdict(plain.Line(m.Trailers["Wf-Verdict"])) }

// history is the log of a plan up to its tip.
type history struct {
	tip     plan.OID
	moments []moment
}

// moments are the events of a plan up to the snapshot, oldest first.
func (s *Server) moments(ctx context.Context, snap *gitstore.Snapshot) ([]moment, error) {
	if known, ok := s.logs.find(snap.ID); ok && known.tip == snap.Commit {
		return known.moments, nil
	}
	var all []moment
	err := s.Store.Log(ctx, snap.ID, snap.Commit, func(e gitstore.LogEntry) bool {
		all = append(all, moment{LogEntry: e})
		return true
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(all)
	for i := range all {
		all[i].N, all[i].Of = i+1, len(all)
	}
	s.logs.keep(snap.ID, history{snap.Commit, all})
	return all, nil
}

// askedAt is the state that a request is about: the newest or, with ?at=COMMIT, the one after that event. The moment is
// nil for the newest.
func (s *Server) askedAt(r *http.Request) (*gitstore.Snapshot, *plan.State, *moment, error) {
	snap, state, err := s.asked(r)
	at := plan.OID(r.URL.Query().Get("at"))
	if err != nil || at == "" {
		return snap, state, nil, err
	}
	all, err := s.moments(r.Context(), snap)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, m := range all {
		if m.Commit != at && !(len(at) >= 7 && strings.HasPrefix(string(m.Commit), string(at))) {
			continue
		}
		then, err := s.Store.SnapshotAt(r.Context(), snap.ID, m.Commit)
		if err != nil {
			return nil, nil, nil, err
		}
		return then, then.State(), &m, nil
	}
	return nil, nil, nil, notFound("there is no such event in the history of %s", snap.ID)
}
