package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// pulseEvery is how often an idle page hears that the server is still there.
const pulseEvery = 15 * time.Second

// mostPages is how many pages may listen at once.
const mostPages = 64

// events are server-sent events: "moved" at first and whenever the plan or a claim on it has moved, whichever process
// moved it, with a word that changes with every move.
func (s *Server) events(w http.ResponseWriter, r *http.Request) error {
	id := plan.ID(r.PathValue("plan"))
	if !id.Valid() {
		return notFound("there is no such plan")
	}
	defer s.listening.Add(-1)
	if s.listening.Add(1) > mostPages {
		return &problem{http.StatusServiceUnavailable, "too many pages are open"}
	}
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	moved := gitstore.Changes(ctx, func() gitstore.Pulse { return s.Store.Pulse(id) })
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	fmt.Fprint(w, "retry: 1000\n\n")
	idle := time.NewTicker(pulseEvery)
	defer idle.Stop()
	for last := ""; ; {
		refs, err := s.Store.Git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", gitstore.RefName(id),
			"refs/workflow-claims/"+string(id)+"/")
		if err == nil && refs != last {
			last = refs
			word, _ := json.Marshal(s.mac(refs))
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
			fmt.Fprint(w, ": still here\n\n")
		}
	}
}
