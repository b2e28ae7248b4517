package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// pulseEvery is how often an idle page hears that the server is still there.
const pulseEvery = 15 * time.Second

// mostPages is how many pages may listen at once.
const mostPages = 64

// events are server-sent events: "here" every now and then, "moved" at first and whenever a plan or a claim on it has
// moved, whichever process moved it, with a word for each such plan that changes with every move. They are of all
// plans, so that a browser needs one stream for all its windows.
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
	last := map[plan.ID]string{}
	for {
		words, err := s.words(ctx)
		if err == nil {
			maps.DeleteFunc(words, func(id plan.ID, word string) bool { return last[id] == word })
			maps.Copy(last, words)
			if text, err := json.Marshal(words); err == nil && len(words) > 0 {
				fmt.Fprintf(w, "event: moved\ndata: %s\n\n", text)
			}
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

// words are what stands for the present state of each plan.
func (s *Server) words(ctx context.Context) (map[plan.ID]string, error) {
	refs, err := s.Store.Git(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/workflow/",
		"refs/workflow-claims/")
	if err != nil {
		return nil, err
	}
	of := map[plan.ID]string{}
	for line := range strings.Lines(refs) {
		_, name, _ := strings.Cut(strings.TrimPrefix(line, "refs/"), "/")
		id := plan.ID(name[:strings.IndexAny(name, "/ ")])
		of[id] += line
	}
	for id, lines := range of {
		if ran := s.ranOf(id); ran != nil {
			lines += fmt.Sprint(ran.Started, ran.Going)
		}
		of[id] = s.mac(lines)
	}
	return of, nil
}
