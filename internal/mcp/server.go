package mcp

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"gitwf/internal/schema"
)

// versions are the versions of the protocol that are spoken, the newest first.
var versions = []string{"2025-11-25", "2025-06-18"}

const (
	badJSON, badMessage, badMethod, badParams = -32700, -32600, -32601, -32602 // the codes of errors

	mostBytes = 32 << 20        // of a message
	beat      = 5 * time.Second // after which a call says that it is still at work
)

// Server answers one client.
type Server struct {
	Name, Version string
	Instructions  string // what the client's model should know of the tools
	Tools         []Tool
	Call          func(context.Context, Call) Result // one at a time, but for tools that only read

	end    context.CancelCauseFunc
	client string
	last   chan struct{} // is closed when the last call that does more than read is over
	calls  sync.WaitGroup

	mu      sync.Mutex
	running map[any]context.CancelFunc // by their ids
	out     *json.Encoder
}

// Tool is a tool as tools/list has it.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations map[string]bool `json:"annotations"`
}

// Reads reports whether the tool changes nothing.
func (t *Tool) Reads() bool { return t.Annotations["readOnlyHint"] }

// Call is a call of one of the tools.
type Call struct {
	Client    string // as it calls itself; "" if it does not
	Tool      Tool
	Arguments map[string]any    // which the tool's schema allows
	Progress  func(text string) // says what is going on
}

// Result is what came of a call.
type Result struct {
	Content []map[string]string `json:"content"`
	Failed  bool                `json:"isError"`
}

// Said is the result that consists of texts; empty ones are left out.
func Said(failed bool, texts ...string) Result {
	r := Result{[]map[string]string{}, failed}
	for _, text := range texts {
		if text != "" {
			r.Content = append(r.Content, map[string]string{"type": "text", "text": text})
		}
	}
	return r
}

// Serve answers until the input ends, and the calls that have begun by then, or until ctx does. It fails with
// bufio.ErrTooLong at a message that is too long.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, s.end = context.WithCancelCause(ctx)
	s.running, s.out, s.last = map[any]context.CancelFunc{}, json.NewEncoder(out), make(chan struct{})
	s.out.SetEscapeHTML(false)
	close(s.last)
	go func() {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, mostBytes)
		for ctx.Err() == nil && lines.Scan() {
			s.receive(ctx, lines.Bytes())
		}
		s.calls.Wait()
		s.end(cmp.Or(lines.Err(), io.EOF))
	}()
	<-ctx.Done() // nothing stops a read
	s.calls.Wait()
	if err := context.Cause(ctx); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// isID reports whether a value can be an id: a text or a whole number.
func isID(v any) bool {
	n, isNumber := v.(json.Number)
	_, isText := v.(string)
	return isText || isNumber && !strings.ContainsAny(string(n), ".eE")
}

// in is a field of an object; nil if the object is none, or has no such field.
func in(object any, name string) any {
	fields, _ := object.(map[string]any)
	return fields[name]
}

func (s *Server) receive(ctx context.Context, line []byte) {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	err := d.Decode(&m)
	method, _ := m["method"].(string)
	id, asks := m["id"]
	_, isObject := m["params"].(map[string]any)
	switch {
	case len(bytes.TrimSpace(line)) == 0:
	case !utf8.Valid(line) || !json.Valid(line):
		s.fail(nil, badJSON, "expected JSON on one line, in UTF-8")
	case err != nil || asks && !isID(id) || m["jsonrpc"] != "2.0" || method == "":
		s.fail(id, badMessage, "expected one message of JSON-RPC 2.0 with a method, and a text or whole number as id")
	case m["params"] != nil && !isObject:
		s.fail(id, badParams, "the params are no object")
	case asks:
		s.answer(ctx, id, method, m["params"])
	case method == "notifications/cancelled" && isID(in(m["params"], "requestId")):
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.running[in(m["params"], "requestId")]; cancel != nil {
			cancel()
		}
	}
}

func (s *Server) answer(ctx context.Context, id any, method string, params any) {
	switch method {
	case "initialize":
		version, _ := in(params, "protocolVersion").(string)
		s.client, _ = in(in(params, "clientInfo"), "name").(string)
		if version == "" {
			s.fail(id, badParams, "protocolVersion is missing")
			return
		}
		if !slices.Contains(versions, version) {
			version = versions[0]
		}
		s.send("id", id, "result", map[string]any{
			"protocolVersion": version, "capabilities": map[string]any{"tools": struct{}{}},
			"serverInfo": map[string]string{"name": s.Name, "version": s.Version}, "instructions": s.Instructions,
		})
	case "ping":
		s.send("id", id, "result", struct{}{})
	case "tools/list":
		s.send("id", id, "result", map[string]any{"tools": s.Tools})
	case "tools/call":
		i := slices.IndexFunc(s.Tools, func(t Tool) bool { return t.Name == in(params, "name") })
		args, isObject := in(params, "arguments").(map[string]any)
		token := in(in(params, "_meta"), "progressToken")
		if i < 0 || !isObject && in(params, "arguments") != nil || token != nil && !isID(token) {
			s.fail(id, badParams, "no such tool, arguments that are no object, or a progressToken that is no id")
			return
		}
		s.begin(ctx, id, token, Call{Client: s.client, Tool: s.Tools[i], Arguments: args})
	default:
		s.fail(id, badMethod, fmt.Sprintf("there is no method %.100q", method))
	}
}

// begin has a call done. One that does more than read waits until those before it are over. What is cancelled says
// nothing any more.
func (s *Server) begin(ctx context.Context, id, token any, call Call) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.running[id] = cancel
	s.mu.Unlock()
	n := 0
	call.Progress = func(text string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if n++; token != nil && ctx.Err() == nil {
			s.write("method", "notifications/progress", "params",
				map[string]any{"progressToken": token, "progress": n, "message": text})
		}
	}
	go func() {
		for time.Sleep(beat); ctx.Err() == nil; time.Sleep(beat) {
			call.Progress("still at work")
		}
	}()
	before, over := s.last, make(chan struct{})
	if !call.Tool.Reads() {
		s.last = over
	}
	s.calls.Go(func() {
		if !call.Tool.Reads() {
			<-before
		}
		result := s.do(ctx, call)
		close(over)
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.running, id); ctx.Err() == nil {
			s.write("id", id, "result", result)
		}
		cancel()
	})
}

// do carries a call out, if its arguments are what the tool takes.
func (s *Server) do(ctx context.Context, call Call) (r Result) {
	form, err := schema.Parse(call.Tool.InputSchema)
	if err != nil || ctx.Err() != nil {
		return Said(true, fmt.Sprint(err))
	}
	for _, p := range form.Check(call.Arguments) {
		return Said(true, fmt.Sprintf("error: %s: arguments%s: expected %s, found %s\n", call.Tool.Name, p.Place(),
			p.Expected(), p.Found()))
	}
	return s.Call(ctx, call)
}

// fail answers with an error; also what has no id that can be told.
func (s *Server) fail(id any, code int, text string) {
	if !isID(id) {
		id = nil
	}
	s.send("id", id, "error", map[string]any{"code": code, "message": text})
}

func (s *Server) send(key string, value any, with string, what any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(key, value, with, what)
}

// write writes one message, of two fields. If that fails, nobody is there any more.
func (s *Server) write(key string, value any, with string, what any) {
	if err := s.out.Encode(map[string]any{"jsonrpc": "2.0", key: value, with: what}); err != nil {
		s.end(err)
	}
}
