package web

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// pulseEvery is how often an idle page hears that the server is still there.
const pulseEvery = 15 * time.Second

// mostPages is how many pages may listen at once.
const mostPages = 64

// events are server-sent events: "here" every now and then, "moved" at first and whenever a plan or a claim on one has
// moved, whichever process moved it, with a word that changes with every move. They are of all plans, so that a browser
// needs one stream for all its windows.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	defer s.listening.Add(-1)
	if s.listening.Add(1) > mostPages {
		return &problem{http.StatusServiceUnavailable, "too many pages are open"}
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	moved := gitstore.Changes(ctx, s.pulse)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, "retry: 1000\n\n")
	idle := time.NewTicker(pulseEvery)
	defer idle.Stop()
	last := ""
	for {
		if word, err := s.word(ctx); err == nil && word != last {
			last = word
			fmt.Fprintf(w, "event: moved\ndata: %s\n\n", word)
		}
		if http.NewResponseController(w).Flush() != nil {
			return nil // the page is gone
		}
		select {
		case <-ctx.Done():
			return nil
		case <-s.over:
			return nil
		case <-moved:
		case <-idle.C:
			fmt.Fprint(w, "event: here\ndata: still\n\n")
		}
	}
}

// word stands for the present state of all plans.
func (s *Server) word(ctx context.Context) (string, error) {
	moves := s.pulse().moves
	refs, err := s.Store.Git(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/workflow/",
		"refs/workflow-claims/", "refs/workflow-remotes/")
	return s.mac(fmt.Sprint(refs, moves)), err
}

// runs are the runs that were started from the page, at most one of a plan at a time. They end with the server.
type runs struct {
	mu    sync.Mutex
	of    map[plan.ID]ran
	moves int64          // how often one has begun or ended
	going sync.WaitGroup // no more begin once over is set
	over  bool
}

// ran is the newest run of a plan.
type ran struct {
	Started time.Time
	Going   bool
	Said    string // in the end
	stop    func()
}

// run starts git wf run in the background: it may take hours, and the page shows what it does.
func (s *Server) run(id plan.ID) Outcome {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	switch {
	case s.runs.over:
		return Outcome{Output: "error: git wf ui is ending"}
	case s.runs.of[id].Going:
		return Outcome{Output: "error: a run that was started here is at work on this plan"}
	}
	ctx, stop := context.WithCancel(context.Background())
	began := ran{Started: s.Now(), Going: true, stop: stop}
	if s.runs.of == nil {
		s.runs.of = map[plan.ID]ran{}
	}
	s.runs.of[id] = began
	s.runs.moves++
	s.runs.going.Add(1)
	go func() {
		defer s.runs.going.Done()
		defer stop()
		o := s.Commands(ctx, []string{"run", "--plan=" + string(id), "--quiet"})
		s.runs.mu.Lock()
		defer s.runs.mu.Unlock()
		began.Going, began.Said = false, plain.Text(o.Output)
		s.runs.of[id] = began
		s.runs.moves++
	}()
	return Outcome{OK: true, Output: "the run has begun"}
}

// stopRun interrupts the run that was started here, as Ctrl+C does on a terminal.
func (s *Server) stopRun(id plan.ID) Outcome {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	if !s.runs.of[id].Going {
		return Outcome{Output: "error: no run that was started here is at work on this plan"}
	}
	s.runs.of[id].stop()
	return Outcome{OK: true, Output: "the run is stopping"}
}

// ranOf is the newest run of a plan that was started here; nil if there was none.
func (s *Server) ranOf(id plan.ID) *ran {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	if r, ok := s.runs.of[id]; ok {
		return &r
	}
	return nil
}

// endRuns interrupts all runs and waits for their end.
func (s *Server) endRuns() {
	s.runs.mu.Lock()
	s.runs.over = true
	for _, r := range s.runs.of {
		r.stop()
	}
	s.runs.mu.Unlock()
	s.runs.going.Wait()
}

// pulse changes when a plan, a claim or a run that was started here does.
type pulse struct {
	refs  gitstore.Pulse
	moves int64
}

func (s *Server) pulse() pulse {
	s.runs.mu.Lock()
	defer s.runs.mu.Unlock()
	return pulse{s.Store.Pulse(""), s.runs.moves}
}
