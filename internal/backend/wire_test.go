package backend

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/wiretest"
)

// A request contains this and nothing else. The vendors' programs read more variables; here only those in
// docs/agents.md count.
func TestWireRequest(t *testing.T) {
	vars := []string{
		"ANTHROPIC_BASE_URL=http://127.0.0.1:1", "ANTHROPIC_AUTH_TOKEN=other-token", "ANTHROPIC_CUSTOM_HEADERS=X-Other: 1",
		"OPENAI_BASE_URL=http://127.0.0.1:1", "OPENAI_ORG_ID=org", "OPENAI_PROJECT_ID=project", "OPENAI_ADMIN_KEY=other-key",
		"OPENAI_API_KEY=" + testKey, "ANTHROPIC_API_KEY=" + testKey,
	}
	for _, kv := range vars {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	wires := map[string]struct {
		path, body string
		header     http.Header
	}{
		KindOpenAI: {
			path: "/base/v1/chat/completions",
			body: `{"model":"m-1","messages":[{"role":"user","content":"hi <b> & é"},` +
				`{"role":"assistant","content":"second"},{"role":"user","content":"third"}]}`,
			header: http.Header{"Authorization": {"Bearer " + testKey}},
		},
		KindAnthropic: {
			path: "/base/v1/messages",
			body: `{"model":"m-1","max_tokens":16000,"messages":[` +
				`{"role":"user","content":[{"type":"text","text":"hi <b> & é"}]},` +
				`{"role":"assistant","content":[{"type":"text","text":"second"}]},` +
				`{"role":"user","content":[{"type":"text","text":"third"}]}]}`,
			header: http.Header{"X-Api-Key": {testKey}, "Anthropic-Version": {"2023-06-01"}},
		},
	}
	for _, s := range services {
		t.Run(s.kind, func(t *testing.T) {
			server := wiretest.Start(t, wiretest.Turn{Text: "hello"})
			c := Config{Kind: s.kind, Model: "m-1", BaseURL: server.URL + "/base" + s.path + "/"}
			r := Request{Prompt: "hi <b> & é", Refused: []Refusal{{"second", "third"}}}
			if _, err := made(t, c, environ(t, vars...)).Ask(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			want, got := wires[s.kind], server.Requests()[0]
			for name, value := range map[string]string{
				"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "git-wf", "Accept-Encoding": "gzip",
			} {
				want.header.Set(name, value)
			}
			got.Header.Del("Content-Length")
			if diff := cmp.Diff(want.header, got.Header); diff != "" {
				t.Errorf("headers:\n%s", diff)
			}
			if diff := cmp.Diff(want.body, strings.TrimSpace(string(got.Body))); diff != "" {
				t.Errorf("body:\n%s", diff)
			}
			if got.Path != want.path {
				t.Errorf("asked %s, want %s", got.Path, want.path)
			}
		})
	}
}

// Without a base URL, a service is asked at the vendor's address.
func TestEndpoint(t *testing.T) {
	for _, tt := range []struct{ base, usual, path, want string }{
		{"", "https://api.openai.com/v1", "chat/completions", "https://api.openai.com/v1/chat/completions"},
		{"", "https://api.anthropic.com", "v1/messages", "https://api.anthropic.com/v1/messages"},
		{"http://localhost:8080", "https://x", "v1/messages", "http://localhost:8080/v1/messages"},
		{"http://localhost/a%2Fb/", "https://x", "v1/messages", "http://localhost/a%2Fb/v1/messages"},
	} {
		got, err := service{cfg: Config{BaseURL: tt.base}}.endpoint(tt.usual, tt.path)
		if err != nil || got != tt.want {
			t.Errorf("%q: got %s, %v, want %s", tt.base, got, err, tt.want)
		}
	}
}

// Errors come in the vendors' form and in those of services that imitate them.
func TestWireErrors(t *testing.T) {
	tests := []struct {
		name, kind, body string
		status           int
		header           map[string]string
		reason           Reason
		want             string
	}{
		{"number for code", KindOpenAI, `{"error":{"message":"no","type":"x","code":400}}`, 400, nil, Failed, "HTTP 400: no"},
		{"text for error", KindOpenAI, `{"error":"no such model"}`, 404, nil, Failed, "HTTP 404: no such model"},
		{"no object", KindOpenAI, `{"object":"error","message":"too long"}`, 400, nil, Failed, "HTTP 400: too long"},
		{"HTML", KindOpenAI, `<html>`, 400, nil, Failed, "HTTP 400: Bad Request"},
		{"HTML of a proxy", KindAnthropic, `<html>`, 403, nil, Unavailable, "HTTP 403: Forbidden"},
		{"list", KindOpenAI, `[{"error":{"message":"no"}}]`, 400, nil, Failed, "HTTP 400: Bad Request"},
		{"unknown status", KindAnthropic, `{}`, 499, nil, Failed, "HTTP 499: no message"},
		{"content filter", KindOpenAI, `{"error":{"message":"no","code":"content_filter"}}`, 400, nil, Refused,
			"HTTP 400: no"},
		{"billing", KindOpenAI, `{"error":{"message":"pay","code":"insufficient_quota"}}`, 429, nil, Unavailable,
			"HTTP 429: pay"},
		{"Anthropic's request", KindAnthropic, `{"error":{"message":"no"}}`, 400, map[string]string{"request-id": "req_1"},
			Failed, "HTTP 400: no (request req_1)"},
		{"OpenAI's request", KindOpenAI, `{"error":{"message":"no"}}`, 400, map[string]string{"x-request-id": "req_2"},
			Failed, "HTTP 400: no (request req_2)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := wiretest.Start(t, wiretest.Turn{Status: tt.status, Raw: tt.body, Header: tt.header})
			_, err := made(t, Config{Kind: tt.kind, Model: "m", BaseURL: server.URL}, environ(t)).Ask(t.Context(),
				Request{Prompt: "hi"})
			wantReason(t, err, tt.reason, tt.want)
		})
	}
}

// Answers that a test server does not make: of several blocks, without an end, of another form.
func TestMessageAnswer(t *testing.T) {
	const blocks = `{"model":"m-2","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"ab"},` +
		`{"type":"text","text":"c"}],"usage":{"input_tokens":5,"cache_read_input_tokens":30,"output_tokens":9}`
	for _, tt := range []struct {
		name, answer string
		reason       Reason
		want         string // the text, or words of the error
	}{
		{"whole", blocks + `,"stop_reason":"end_turn"}`, "", "abc"},
		{"no end", blocks + `}`, Malformed, "does not say why it ends"},
		{"refusal", blocks + `,"stop_reason":"refusal"}`, Refused, "refused"},
		{"no JSON", blocks, Malformed, "can't be read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply, err := readMessage([]byte(tt.answer))
			if tt.reason != "" {
				wantReason(t, err, tt.reason, tt.want)
				return
			}
			want := Reply{Text: tt.want, Model: "m-2", Usage: Usage{InputTokens: 35, OutputTokens: 9, CachedTokens: 30,
				Known: true}}
			if diff := cmp.Diff(want, reply); diff != "" || err != nil {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	for _, stop := range []string{"max_tokens", "model_context_window_exceeded"} {
		reply, err := readMessage([]byte(blocks + `,"stop_reason":"` + stop + `"}`))
		if err != nil || !reply.Truncated {
			t.Errorf("%s: got %+v, %v", stop, reply, err)
		}
	}
}

// Cancelling in mid-answer returns the cause at once, without a retry.
func TestCancelInAnswer(t *testing.T) {
	for _, s := range services {
		t.Run(s.kind, func(t *testing.T) {
			began := make(chan bool, 2)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, "{")
				w.(http.Flusher).Flush()
				began <- true
				<-r.Context().Done()
			}))
			defer server.Close()
			why := errors.New("the user had enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-began
				cancel(why)
			}()
			_, err := made(t, Config{Kind: s.kind, Model: "m", BaseURL: server.URL}, environ(t)).Ask(ctx, Request{Prompt: "hi"})
			if !errors.Is(err, why) || len(began) != 0 {
				t.Errorf("got %v, and %d more requests", err, len(began))
			}
		})
	}
}
