package web

import (
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

//go:embed static
var staticFiles embed.FS

//go:embed templates
var templateFiles embed.FS

// Options are what a Server works with.
type Options struct {
	Store    *gitstore.Store
	Now      func() time.Time
	Plan     plan.ID // the first page is that of this plan; "" for the inbox above the list of plans
	ReadOnly bool    // offer no changes, and make none

	// Commands runs one command of git wf, without the words "git wf". Only arguments from this package begin a flag.
	Commands func(ctx context.Context, args []string) Outcome
	// State derives the current state of a plan, with the current work.
	State func(ctx context.Context, snap *gitstore.Snapshot) (*plan.State, error)
	// Read reads all that is seen of a plan now.
	Read func(ctx context.Context, snap *gitstore.Snapshot) (*readmodel.Plan, error)
	// Inbox lists what waits for a person in all plans, the oldest first.
	Inbox func(ctx context.Context) ([]engine.Item, error)
	// Weights estimate a task where the plan gives no estimate.
	Weights func() (estimate.Weights, error)
	// Tail is the end of the output so far of the work on an ACTION, or of its review; nil if unknown.
	Tail func(id plan.ID, task plan.TaskID) []byte
}

// Outcome is how a command ended.
type Outcome struct {
	Output string // what it printed for people, including errors
	OK     bool
}

// Runs reports whether the command's next step is to run the plan.
func (o Outcome) Runs() bool { return o.OK && strings.Contains(o.Output, "next: git wf run") }

// Server shows the plans of one repository.
type Server struct {
	Options
	token   string                        // of the printed address
	session string                        // of the cookie
	key     []byte                        // of page tokens and of the addresses of deliverables
	pages   map[string]*template.Template // by language
	mux     *http.ServeMux

	listening atomic.Int32  // pages
	over      chan struct{} // closed when the server ends
	end       func()
	logs      recent[plan.ID, history]
	outcomes  recent[string, Outcome] // of commands, until the following page shows them
	trees     recent[string, shelf]   // the keys of deliverables' addresses that were given out

	runs runs
}

// New makes a server; it does not listen yet.
func New(o Options) (*Server, error) {
	s := &Server{Options: o, token: rand.Text(), session: rand.Text(), key: []byte(rand.Text()),
		pages: map[string]*template.Template{}}
	for _, lang := range languages() {
		t, err := template.New("").Funcs(functions(lang)).ParseFS(templateFiles, "templates/*.html")
		if err != nil {
			return nil, fmt.Errorf("read the page's templates: %w", err)
		}
		s.pages[lang] = t
	}
	s.over = make(chan struct{})
	s.end = sync.OnceFunc(func() { close(s.over) })
	s.logs.most, s.outcomes.most, s.trees.most = 50, 50, 500
	s.mux = s.routes()
	return s, nil
}

// Address is the URL that opens the page on a listener. Only the person who started the server sees its token.
func (s *Server) Address(l net.Listener) string {
	return "http://" + l.Addr().String() + "/?token=" + s.token
}

// Serve answers requests until ctx ends, and then finishes the current ones.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		s.end()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
		if h.Shutdown(last) != nil {
			_ = h.Close()
		}
	})
	err := h.Serve(l)
	if !stop() {
		<-ended
	}
	s.endRuns()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// patience is how long a decision in progress may take when the server ends.
const patience = 10 * time.Second

func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	get := func(path string, h handler) { m.Handle("GET "+path, s.answer(h)) }
	get("/{$}", s.home)
	get("/plans", s.plansPage)
	get("/plan/{plan}", s.planPage)
	get("/plan/{plan}/live", s.planLive)
	get("/plan/{plan}/picture", s.picture)
	get("/plan/{plan}/task/{task}", s.taskPage)
	get("/plan/{plan}/task/{task}/tail", s.taskTail)
	get("/plan/{plan}/task/{task}/attempt/{number}", s.attemptLog)
	get("/plan/{plan}/task/{task}/compare", s.comparePage)
	get("/plan/{plan}/task/{task}/file/{version}/{path...}", s.filePage)
	get("/plan/{plan}/history", s.historyPage)
	get("/events", s.events)
	get("/static/{name}", s.static)
	m.HandleFunc("GET /raw/{key}/{path...}", s.raw)
	m.Handle("POST /plan/{plan}/do/{action}", s.answer(s.act))
	return m
}

// handler answers a request, or returns why it can't.
type handler func(w http.ResponseWriter, r *http.Request) error

// problem is an error that knows its HTTP status.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func notFound(format string, args ...any) error {
	return &problem{http.StatusNotFound, fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func (s *Server) answer(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := h(w, r)
		if err == nil || r.Context().Err() != nil {
			return
		}
		s.fail(w, r, err)
	})
}

// fail shows an error as a page.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *problem
	switch {
	case errors.As(err, &p):
	case errors.Is(err, gitstore.ErrNoPlan), errors.Is(err, gitstore.ErrNoActive):
		p = &problem{http.StatusNotFound, err.Error()}
	default:
		p = &problem{http.StatusInternalServerError, err.Error()}
	}
	w.Header().Del("Content-Disposition")
	_ = s.show(w, r, p.status, "error", &errorPage{page: s.page(r, "Error"), Text: plain.Text(p.text)})
}

type errorPage struct {
	page
	Text string
}

// show writes a page. If rendering fails, it returns the error and sends nothing.
func (s *Server) show(w http.ResponseWriter, r *http.Request, status int, name string, data any) error {
	var out buffer
	if err := s.pages[languageOf(r)].ExecuteTemplate(&out, name, data); err != nil {
		return fmt.Errorf("make the page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err := io.WriteString(w, out.String())
	return err
}

// recent keeps what was made or found last, by key, at most so many values. Its zero value with most set is ready.
type recent[K comparable, V any] struct {
	most  int
	mu    sync.Mutex
	by    map[K]V
	order []K // oldest first
}

func (r *recent[K, V]) find(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.by[key]
	return v, ok
}

// take is find, for a value that nobody needs again.
func (r *recent[K, V]) take(key K) (V, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, ok := r.by[key]
	delete(r.by, key)
	return v, ok
}

func (r *recent[K, V]) keep(key K, v V) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.by == nil {
		r.by = map[K]V{}
	}
	if _, known := r.by[key]; !known {
		r.order = append(r.order, key)
	}
	r.by[key] = v
	if len(r.order) > r.most {
		delete(r.by, r.order[0])
		r.order = r.order[1:]
	}
}
