package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// server has a tool that says back what it is given, and one that waits until the test lets it end, or for its own end.
func server(let <-chan struct{}) *Server {
	form := json.RawMessage(`{"type": "object", "properties": {"text": {"type": "string"}}, "additionalProperties": false}`)
	return &Server{Name: "test", Version: "1", Instructions: "Do well.",
		Tools: []Tool{
			{Name: "echo", Description: "Says it back.", InputSchema: form, Annotations: map[string]bool{"readOnlyHint": true}},
			{Name: "wait", Description: "Waits.", InputSchema: form},
		},
		Call: func(ctx context.Context, c Call) Result {
			text, _ := c.Arguments["text"].(string)
			if c.Tool.Name == "wait" {
				c.Progress("waiting")
				select {
				case <-let:
				case <-ctx.Done():
				}
			}
			return Said(false, c.Client+": "+text)
		}}
}

// answer is what a message of the server has.
type answer struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func answers(t *testing.T, out []byte) (all []answer) {
	t.Helper()
	for line := range bytes.Lines(out) {
		var a answer
		if err := json.Unmarshal(line, &a); err != nil || a.JSONRPC != "2.0" || !bytes.HasSuffix(line, []byte("\n")) {
			t.Fatalf("%v: %q", err, line)
		}
		all = append(all, a)
	}
	return all
}

// What comes in is answered line by line, whatever it is; "" is no answer.
func TestAnswers(t *testing.T) {
	begin := func(version string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","clientInfo":{"name":"me"}}}`
	}
	call := func(id, params string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + params + `}`
	}
	for _, tt := range []struct{ in, want string }{
		{begin("2025-06-18"), `1 {"capabilities":{"tools":{}},"instructions":"Do well.","protocolVersion":"2025-06-18"`},
		{begin("2025-11-25"), `"protocolVersion":"2025-11-25"`},
		{begin("2024-11-05"), `"protocolVersion":"2025-11-25"`},
		{begin("2099-01-01"), `"protocolVersion":"2025-11-25"`},
		{`{"jsonrpc":"2.0","id":1,"method":"initialize"}`, `1 -32602`},
		{`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `"a" {}`},
		{`{"jsonrpc":"2.0","id":2,"method":"ping","params":null}` + "\r", `2 {}`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, `"name":"echo"`},
		{call("3", `{"name":"echo","arguments":{"text":"<hi>\n"}}`), `3 {"content":[{"text":": <hi>\n","type":"text"}],"isError":false}`},
		{call("3", `{"name":"echo"}`), `"isError":false`},
		{call("3", `{"name":"echo","arguments":{"commit":"x"}}`), `expected no other fields, found \"commit\"\n","type":"text"}],"isError":true}`},
		{call("3", `{"name":"echo","arguments":{"text":7}}`), `arguments/text: expected string, found number`},
		{call("3", `{"name":"echo","arguments":[]}`), `3 -32602`},
		{call("3", `{"name":"gone"}`), `3 -32602`},
		{call("3", `{"name":"echo","_meta":{"progressToken":{}}}`), `3 -32602`},
		{call("3", `[]`), `3 -32602`},
		{call("3", `{"name":{}}`), `3 -32602`},
		{call("3", `{"NAME":"echo"}`), `3 -32602`},
		{`{"jsonrpc":"2.0","id":4,"method":"resources/list"}`, `4 -32601`},
		{`{"jsonrpc":"2.0","id":4,"method":"notifications/initialized"}`, `4 -32601`},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}}`, ""},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`, ""}, // nobody waits for it
		{"", ""},
		{"  \t", ""},
		{`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, `null -32600`},
		{`"ping"`, `null -32600`},
		{`{"id":5,"method":"ping"}`, `5 -32600`},
		{`{"jsonrpc":"1.0","id":5,"method":"ping"}`, `5 -32600`},
		{`{"jsonrpc":"2.0","id":5}`, `5 -32600`},
		{`{"jsonrpc":"2.0","id":5,"method":7}`, `5 -32600`},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, `null -32600`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, `null -32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `null -32600`},
		{`{"jsonrpc":"2.0","id":5,"method":"ping"`, `null -32700`},
		{`{"jsonrpc":"2.0","id":5,"method":"ping"} {}`, `null -32700`},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", `null -32700`},
		{strings.Repeat("[", 20_000), `null -32700`},
	} {
		var out bytes.Buffer
		if err := server(nil).Serve(t.Context(), strings.NewReader(tt.in+"\n"+`{"jsonrpc":"2.0","id":99,"method":"ping"}`), &out); err != nil {
			t.Errorf("%.100q: %v", tt.in, err)
		}
		got, alive := "", false
		for _, a := range answers(t, out.Bytes()) {
			switch {
			case string(a.ID) == "99":
				alive = true // it goes on after whatever came
			case a.Error != nil:
				got += fmt.Sprintf("%s %d", cmpOr(a.ID), a.Error.Code)
			default:
				got += fmt.Sprintf("%s %s", a.ID, a.Result)
			}
		}
		if !alive || !strings.Contains(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%.100q: got %q, want %q; goes on: %v", tt.in, got, tt.want, alive)
		}
	}
}

func cmpOr(id json.RawMessage) string {
	if id == nil {
		return "null"
	}
	return string(id)
}

// conversation is a client that writes and reads lines.
type conversation struct {
	t     *testing.T
	in    *io.PipeWriter
	out   *bufio.Scanner
	ended chan error
}

func converse(t *testing.T, ctx context.Context, s *Server) *conversation {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := &conversation{t, toServer, bufio.NewScanner(fromServer), make(chan error, 1)}
	go func() {
		c.ended <- s.Serve(ctx, in, out)
		out.Close()
	}()
	return c
}

func (c *conversation) say(lines ...string) {
	for _, line := range lines {
		if _, err := io.WriteString(c.in, line+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *conversation) hears(want string) {
	c.t.Helper()
	if !c.out.Scan() || !strings.Contains(c.out.Text(), want) {
		c.t.Fatalf("got %q, want %q", c.out.Text(), want)
	}
}

const waiting = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":{},"_meta":{"progressToken":"p%[1]d"}}}`

// A call says how it goes on; one that is cancelled says nothing more, and those behind it go on. What only reads waits
// for nobody. When the input ends, what has begun is finished.
func TestCalls(t *testing.T) {
	let := make(chan struct{})
	c := converse(t, t.Context(), server(let))
	c.say(fmt.Sprintf(waiting, 1))
	c.hears(`"params":{"message":"waiting","progress":1,"progressToken":"p1"}`)
	c.say(fmt.Sprintf(waiting, 2)) // behind it
	c.say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}`)
	c.hears(`{"id":3,`)
	c.say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"enough"}}`)
	c.hears(`"params":{"message":"waiting","progress":1,"progressToken":"p2"}`)
	c.in.Close()
	let <- struct{}{}
	c.hears(`{"id":2,`)
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

// When the server is stopped, or nobody reads its answers, the calls end.
func TestEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	c := converse(t, ctx, server(nil))
	c.say(fmt.Sprintf(waiting, 1))
	c.hears("waiting")
	stop()
	if err := <-c.ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	in, _ := io.Pipe()
	gone := errors.New("gone")
	said := io.MultiReader(strings.NewReader(fmt.Sprintf(waiting+"\n", 1)), in)
	if err := server(nil).Serve(t.Context(), said, writerOf(gone)); !errors.Is(err, gone) {
		t.Error(err)
	}
	long := `{"jsonrpc":"2.0","id":5,"method":"ping","params":"` + strings.Repeat("x", mostBytes) + `"}`
	if err := server(nil).Serve(t.Context(), strings.NewReader(long), io.Discard); !errors.Is(err, bufio.ErrTooLong) {
		t.Error(err)
	}
	if err := server(nil).Serve(t.Context(), iotest.ErrReader(gone), io.Discard); !errors.Is(err, gone) {
		t.Error(err)
	}
}

func writerOf(err error) io.Writer { return failing{err} }

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// text is an id as one text.
func text(id json.RawMessage) string {
	var v any
	d := json.NewDecoder(bytes.NewReader(id))
	d.UseNumber()
	if d.Decode(&v) != nil || !isID(v) {
		return ""
	}
	return fmt.Sprintf("%T %v", v, v)
}

// Whatever comes in, what goes out is one message a line; each line gets at most one answer, and an id is answered only if
// it was asked under it.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{`{"jsonrpc":"2.0","id":"a","method":"ping"}`, `[{"jsonrpc":"2.0"}]`, "\xff\n{}\n\n",
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"},"_meta":{"progressToken":1}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","clientInfo":{"name":"\u0000"}}}`} {
		f.Add([]byte(seed))
	}
	let := make(chan struct{})
	close(let)
	f.Fuzz(func(t *testing.T, data []byte) {
		var out bytes.Buffer
		if err := server(let).Serve(t.Context(), bytes.NewReader(data), &out); err != nil {
			t.Fatal(err)
		}
		asked := []string{""} // what has none that can be told
		lines := bytes.Split(data, []byte("\n"))
		for _, line := range lines {
			var m map[string]json.RawMessage
			_ = json.Unmarshal(line, &m)
			asked = append(asked, text(m["id"]))
		}
		all := slices.DeleteFunc(answers(t, out.Bytes()), func(a answer) bool { return a.Method == "notifications/progress" })
		if len(all) > len(lines) {
			t.Fatalf("%d answers to %d lines", len(all), len(lines))
		}
		for _, a := range all {
			if a.Method != "" || !slices.Contains(asked, text(a.ID)) || (a.Error == nil) == (a.Result == nil) {
				t.Fatalf("to %q: %+v", data, a)
			}
		}
	})
}
