package web

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"

	"gitwf/internal/graph"
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
	Sampled  bool
	Keys     bool   // the policy has some
	Unproven string // why we can't tell who signed
	Chart    chart
	Rejected []rejections
	Spent    []spent
	Slowest  int // number of tasks in Spent, out of all
}

// rejections is how often a task was rejected.
type rejections struct {
	Task  plan.TaskID
	Title string
	N     int
	Share int // of the bar, in percent
}

// spent is how long a task was in each status, as far as the history tells.
type spent struct {
	Task  plan.TaskID
	Title string
	In    []time.Duration // by class, in the order of graph.Classes()
	Total time.Duration
}

const (
	eventsOnPage = 200
	mostSamples  = 800 // events whose state the charts use
	mostSpent    = 50
)

func (s *Server) historyPage(w http.ResponseWriter, r *http.Request) error {
	snap, state, err := s.asked(r)
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
	samples, sampled := sample(all)
	p.Sampled = sampled
	figures, err := s.figures(r.Context(), snap.ID, samples)
	if err != nil {
		return err
	}
	p.Chart = burnUp(samples, figures)
	p.Rejected = rejected(state)
	p.Spent, p.Slowest = spentIn(samples, figures, state, s.Now())
	return s.show(w, r, http.StatusOK, "history", p)
}

// sample takes every nth moment of a long history, including the first and the last.
func sample(all []moment) ([]moment, bool) {
	if len(all) <= mostSamples {
		return all, false
	}
	var some []moment
	for i := range mostSamples {
		some = append(some, all[i*(len(all)-1)/(mostSamples-1)])
	}
	return some, true
}

// rejected counts how often fault was found with each task, largest first.
func rejected(s *plan.State) []rejections {
	var list []rejections
	most := 0
	for id, t := range s.Tasks {
		n := 0
		for _, r := range s.Records.Of(id).Reviews {
			if r.FindsFault() {
				n++
			}
		}
		if n > 0 {
			list, most = append(list, rejections{Task: id, Title: plain.Line(t.Title), N: n}), max(most, n)
		}
	}
	for i := range list {
		list[i].Share = 100 * list[i].N / most
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Or(b.N-a.N, cmp.Compare(a.Task, b.Task)) < 0
	})
	return list
}

func titleOf(s *plan.State, id plan.TaskID) string {
	if t := s.Tasks[id]; t != nil {
		return plain.Line(t.Title)
	}
	return ""
}

// spentIn adds up how long the tasks were in each status. The time between two events counts for the status after the
// first one. Claims are not in the history, so nothing is IN_PROGRESS there.
func spentIn(at []moment, figures []*figure, s *plan.State, now time.Time) ([]spent, int) {
	place := map[graph.Class]int{}
	for i, c := range graph.Classes() {
		place[c] = i
	}
	class := map[plan.Status]int{}
	by := map[plan.TaskID]*spent{}
	for i, f := range figures {
		end := now
		if i+1 < len(at) {
			end = at[i+1].Time
		}
		for id, status := range f.status {
			if i+1 == len(at) && (status == plan.StatusDone || status == plan.StatusAbandoned) {
				continue // it ends there
			}
			c, known := class[status]
			if !known {
				c = place[graph.ClassOf(status)]
				class[status] = c
			}
			t := by[id]
			if t == nil {
				t = &spent{Task: id, Title: titleOf(s, id), In: make([]time.Duration, len(place))}
				by[id] = t
			}
			if d := end.Sub(at[i].Time); d > 0 {
				t.In[c] += d
				if status != plan.StatusDone {
					t.Total += d
				}
			}
		}
	}
	var list []spent
	for _, t := range by {
		list = append(list, *t)
	}
	sort.Slice(list, func(i, j int) bool {
		a, b := list[i], list[j]
		return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(a.Task, b.Task)) < 0
	})
	return list[:min(len(list), mostSpent)], len(list)
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
