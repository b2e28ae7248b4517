package web

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
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
	var commits []plan.OID
	for _, m := range moments {
		commits = append(commits, m.Commit)
	}
	added, err := s.Store.Added(ctx, commits)
	if err != nil {
		return err
	}
	for i := range moments {
		m := &moments[i]
		m.Said = talk.Tell(gitstore.LogEntry{Author: plan.Actor{Name: m.Author}, Subject: m.Subject,
			Trailers: map[string]string{"Wf-Task": string(m.Task)}}, added[m.Commit])
	}
	return nil
}

// momentDocument is what the slider through time shows.
type momentDocument struct {
	N       int                      `json:"n"`
	Of      int                      `json:"of"`
	Commit  plan.OID                 `json:"commit"`
	Author  string                   `json:"author"`
	Time    time.Time                `json:"time"`
	Subject string                   `json:"subject"`
	Classes []tally                  `json:"classes"`
	Tasks   map[plan.TaskID]liveTask `json:"tasks"`
}

// moment is the plan's state after event ?n=N.
func (s *Server) moment(w http.ResponseWriter, r *http.Request) error {
	snap, _, err := s.asked(r)
	if err != nil {
		return err
	}
	all, err := s.moments(r.Context(), snap)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil || n < 1 || n > len(all) {
		return notFound("there is no event %q", plain.Line(r.URL.Query().Get("n")))
	}
	m := all[n-1]
	q := r.URL.Query()
	q.Set("at", string(m.Commit))
	r.URL.RawQuery = q.Encode()
	_, state, _, err := s.askedAt(r)
	if err != nil {
		return err
	}
	d := momentDocument{N: n, Of: len(all), Commit: m.Commit, Author: m.Author, Time: m.Time, Subject: m.Subject,
		Classes: tallies(state), Tasks: liveTasks(languageOf(r), readmodel.Of(state, nil))}
	maps.DeleteFunc(d.Tasks, func(id plan.TaskID, _ liveTask) bool { return state.Tasks[id].NodeType == plan.Check })
	return writeJSON(w, d)
}
