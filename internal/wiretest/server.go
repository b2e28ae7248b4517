package wiretest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server answers requests from a script until its test ends.
type Server struct {
	URL string // http://127.0.0.1:port; the OpenAI APIs are below /v1

	mu       sync.Mutex
	turns    []Turn
	used     []int // how often each turn was used
	requests []Request
	calls    int // numbers the answers and the tool calls
}

// Request is a client's request.
type Request struct {
	Wire   string // messages, chat, responses or gemini; "" for anything else
	Method string
	Path   string
	Header http.Header
	Body   []byte
	Model  string
	Prompt string // the user's last text
	Stream bool
	Turn   int // the turn that answered it, -1 if none
}

// Start starts a server that closes when the test ends.
func Start(t testing.TB, turns ...Turn) *Server {
	t.Helper()
	s, stop := Serve(turns...)
	t.Cleanup(stop)
	return s
}

// Serve starts a server, and returns the function that closes it.
func Serve(turns ...Turn) (*Server, func()) {
	s := &Server{turns: turns, used: make([]int, len(turns))}
	h := httptest.NewServer(s)
	s.URL = h.URL
	return s, h.Close
}

// Requests returns the requests to a model so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool { return r.Wire == "" })
}

// Others returns the requests to no model so far: whatever else a client asks its vendor.
func (s *Server) Others() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.requests), func(r Request) bool { return r.Wire != "" })
}

// wire is one vendor's protocol.
type wire interface {
	read(path string, body []byte) (Request, error)
	whole(a answer) any
	events(a answer) []event
	failure(status int, message string) any
}

// answer is a turn with what the wires need in addition.
type answer struct {
	Turn
	n     int // the answer's number, from 1
	model string
}

// event is one server-sent event; done is a last line that is not JSON.
type event struct {
	name string
	data any
	done string
}

// find returns the protocol of a path.
func find(path string) (string, wire) {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return "messages", messages{}
	case strings.HasSuffix(path, "/chat/completions"):
		return "chat", chat{}
	case strings.HasSuffix(path, "/responses"):
		return "responses", responses{}
	case strings.HasSuffix(path, ":generateContent"), strings.HasSuffix(path, ":streamGenerateContent"):
		return "gemini", gemini{}
	}
	return "", nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	name, speaks := find(r.URL.Path)
	if speaks == nil || r.Method != http.MethodPost {
		s.record(Request{Method: r.Method, Path: r.URL.Path, Header: r.Header, Body: body, Turn: -1})
		other(w, r)
		return
	}
	req, err := speaks.read(r.URL.Path, body)
	req.Wire, req.Method, req.Path, req.Header, req.Body, req.Turn = name, r.Method, r.URL.Path, r.Header, body, -1
	if err != nil {
		s.record(req)
		send(w, http.StatusBadRequest, speaks.failure(http.StatusBadRequest, err.Error()))
		return
	}
	turn, n := s.choose(req)
	if turn == nil {
		message := fmt.Sprintf("no turn of the script is left for the prompt %.200q", req.Prompt)
		send(w, http.StatusBadRequest, speaks.failure(http.StatusBadRequest, message))
		return
	}
	turn.answer(w, r, speaks, req, n)
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// choose uses the first remaining turn that matches the request, and records both.
func (s *Server) choose(r Request) (*Turn, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	for i, t := range s.turns {
		if t.Times >= 0 && s.used[i] >= max(t.Times, 1) {
			continue
		}
		if regexp.MustCompile(t.Match).MatchString(r.Prompt) && regexp.MustCompile(t.Body).Match(r.Body) {
			s.used[i]++
			r.Turn = i
			s.requests = append(s.requests, r)
			return &t, s.calls
		}
	}
	s.requests = append(s.requests, r)
	return nil, 0
}

// answer sends the turn.
func (t Turn) answer(w http.ResponseWriter, r *http.Request, speaks wire, req Request, n int) {
	if t.DelayMS > 0 {
		select {
		case <-time.After(time.Duration(t.DelayMS) * time.Millisecond):
		case <-r.Context().Done():
			return
		}
	}
	if t.Reset {
		reset(w)
		return
	}
	for k, v := range t.Header {
		w.Header().Set(k, v)
	}
	a := answer{Turn: t, n: n, model: req.Model}
	switch {
	case t.Raw != "":
		if t.Header["Content-Type"] == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(max(t.Status, http.StatusOK))
		io.WriteString(w, t.Raw)
	case t.Status != 0:
		message := t.Text
		if message == "" {
			message = "scripted failure"
		}
		send(w, t.Status, speaks.failure(t.Status, message))
	case req.Stream:
		stream(w, speaks.events(a))
	default:
		send(w, http.StatusOK, speaks.whole(a))
	}
}

// reset breaks the connection, so that the client reads an end of file or a reset instead of a response.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		conn.Close()
	}
}

func send(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func stream(w http.ResponseWriter, events []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	for _, e := range events {
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		if e.done != "" {
			fmt.Fprintf(w, "data: %s\n\n", e.done)
			continue
		}
		data, err := json.Marshal(e.data)
		if err != nil {
			return
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}

// other answers requests to no model: clients check whether the host is up, count tokens and list models.
func other(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		send(w, http.StatusOK, object{"input_tokens": 100})
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		send(w, http.StatusOK, object{"totalTokens": 100})
	case strings.HasSuffix(r.URL.Path, "/models"):
		send(w, http.StatusOK, object{"object": "list", "data": []object{}, "models": []object{}})
	case r.URL.Path == "/":
		send(w, http.StatusOK, object{})
	default:
		send(w, http.StatusNotFound, object{"error": object{"message": "no such path here"}})
	}
}

// object is a JSON object.
type object = map[string]any

// content is a text or a list of parts, some of them texts.
type content []part

type part struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Text: text}}
		return nil
	}
	var parts []part
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	*c = parts
	return nil
}

// text joins the texts of the content.
func (c content) text() string {
	var texts []string
	for _, p := range c {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// message is what the messages of the chat, Messages and Responses APIs have in common.
type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// lastText returns the user's last text. Tool results are not texts.
func lastText(all []message) string {
	for _, m := range slices.Backward(all) {
		if text := m.Content.text(); m.Role == "user" && text != "" {
			return text
		}
	}
	return ""
}
