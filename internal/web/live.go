package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// How often to look at refs while a page is open, and how often an idle page hears that the server is still there.
const (
	lookEvery  = 400 * time.Millisecond
	pulseEvery = 15 * time.Second
)

// mostPages is how many pages may listen at once.
const mostPages = 64

// live tells open pages that a plan or a claim has moved, whichever process moved it. It asks git for the refs, so the
// ref format does not matter, and only while a page is open.
type live struct {
	s *Server

	mu      sync.Mutex
	pages   map[chan string]bool
	refs    string // as last seen
	stop    context.CancelFunc
	stopped bool
}

func newLive(s *Server) *live { return &live{s: s, pages: map[chan string]bool{}} }

// join subscribes a page to changes; the channel is closed when the server ends. It is nil if there are too many pages.
func (l *live) join() chan string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || len(l.pages) >= mostPages {
		return nil
	}
	c := make(chan string, 1)
	l.pages[c] = true
	if l.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		l.stop = cancel
		go l.look(ctx)
	}
	return c
}

func (l *live) leave(c chan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pages, c)
	if len(l.pages) == 0 && l.stop != nil {
		l.stop()
		l.stop, l.refs = nil, ""
	}
}

func (l *live) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	if l.stop != nil {
		l.stop()
	}
	for c := range l.pages {
		close(c)
		delete(l.pages, c)
	}
}

// look asks for the refs while anybody listens.
func (l *live) look(ctx context.Context) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		refs, err := l.s.Store.Git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/workflow/",
			"refs/workflow-claims/")
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			l.tell(ctx, refs)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tell sends the refs to every page if they have changed. A page that has not read the last message gets the newest.
func (l *live) tell(ctx context.Context, refs string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil || refs == l.refs {
		return
	}
	l.refs = refs
	for c := range l.pages {
		select {
		case <-c:
		default:
		}
		c <- refs
	}
}

// events are server-sent events: "moved" whenever a plan or claim has moved, with a word that changes with every move.
func (l *live) events(w http.ResponseWriter, r *http.Request) error {
	c := l.join()
	if c == nil {
		return &problem{http.StatusServiceUnavailable, "too many pages are open"}
	}
	defer l.leave(c)
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	fmt.Fprint(w, "retry: 1000\n\n")
	if err := out.Flush(); err != nil {
		return err
	}
	pulse := time.NewTicker(pulseEvery)
	defer pulse.Stop()
	for {
		var err error
		select {
		case <-r.Context().Done():
			return nil
		case <-pulse.C:
			_, err = fmt.Fprint(w, ": still here\n\n")
		case refs, open := <-c:
			if !open {
				return nil
			}
			word, _ := json.Marshal(l.s.mac(refs))
			_, err = fmt.Fprintf(w, "event: moved\ndata: %s\n\n", word)
		}
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			return nil // the page is gone
		}
	}
}
