package backend

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"gitwf/internal/wiretest"
)

// services are the two kinds that ask over HTTP, each with its own protocol.
var services = []struct{ kind, path, keyEnv string }{
	{KindOpenAI, "/v1", "OPENAI_API_KEY"},
	{KindAnthropic, "", "ANTHROPIC_API_KEY"},
}

const testKey = "sk-test-0123456789"

func TestService(t *testing.T) {
	tests := []struct {
		name   string
		turns  []wiretest.Turn
		cfg    Config
		reason Reason // of the error, "" for a reply
		want   string // the reply, or words of the error
		tries  int    // requests that the server saw
	}{
		{name: "reply", turns: []wiretest.Turn{{Text: "hello"}}, want: "hello", tries: 1},
		{name: "rate limit, then a reply", turns: []wiretest.Turn{{Status: 429,
			Header: map[string]string{"Retry-After": "1"}}, {Text: "hello"}}, want: "hello", tries: 2},
		{name: "overload, then a reply", turns: []wiretest.Turn{{Status: 529}, {Status: 503}, {Text: "hello"}}, want: "hello",
			tries: 3},
		{name: "broken connection, then a reply", turns: []wiretest.Turn{{Reset: true}, {Text: "hello"}}, want: "hello",
			tries: 2},
		{name: "always overloaded", turns: []wiretest.Turn{{Status: 529, Times: -1, Text: "too much"}}, reason: Transient,
			want: "HTTP 529: too much (tried 3 times)", tries: 3},
		{
			name: "a wait that is too long", turns: []wiretest.Turn{{Status: 429,
				Header: map[string]string{"Retry-After": "3600"}}}, cfg: Config{Timeout: time.Minute},
			reason: Transient, want: "too late for the time-out", tries: 1,
		},
		{name: "wrong key", turns: []wiretest.Turn{{Status: 401, Text: "bad key " + testKey, Times: -1}}, reason: Unavailable,
			want: "HTTP 401: bad key [masked]", tries: 1},
		{name: "bad request", turns: []wiretest.Turn{{Status: 400, Text: "no such\x1b[31m model", Times: -1}}, reason: Failed,
			want: "HTTP 400: no such model", tries: 1},
		{name: "refusal", turns: []wiretest.Turn{{Text: "no", Stop: wiretest.StopRefusal}}, reason: Refused, tries: 1},
		{name: "no answer in time", turns: []wiretest.Turn{{Text: "late", DelayMS: 20000}},
			cfg: Config{Timeout: 300 * time.Millisecond}, reason: TimedOut, want: "no answer within", tries: 1},
		{name: "not JSON", turns: []wiretest.Turn{{Raw: "<html>"}}, reason: Malformed, tries: 1},
		{name: "huge", turns: []wiretest.Turn{{Text: strings.Repeat("x", MaxReply)}}, reason: Malformed,
			want: "longer than 16 MiB", tries: 1},
	}
	for _, s := range services {
		for _, tt := range tests {
			t.Run(s.kind+"/"+tt.name, func(t *testing.T) {
				server := wiretest.Start(t, tt.turns...)
				cfg := tt.cfg
				cfg.Kind, cfg.Model, cfg.BaseURL = s.kind, "m-1", server.URL+s.path
				b := made(t, cfg, environ(t, s.keyEnv+"="+testKey))
				reply, err := b.Ask(t.Context(), Request{Prompt: "hi"})
				if n := len(server.Requests()); n != tt.tries {
					t.Errorf("the server was asked %d times, want %d", n, tt.tries)
				}
				if tt.reason != "" {
					e := wantReason(t, err, tt.reason, tt.want)
					if strings.Contains(e.Error(), testKey) || strings.Contains(e.Error(), "\x1b") {
						t.Errorf("the error shows too much: %q", e)
					}
					return
				}
				if err != nil || reply.Text != tt.want || reply.Truncated || reply.Model != "m-1" {
					t.Errorf("got %+v, %v", reply, err)
				}
			})
		}
	}
}

func TestServiceRequest(t *testing.T) {
	for _, s := range services {
		t.Run(s.kind, func(t *testing.T) {
			server := wiretest.Start(t, wiretest.Turn{Match: "fourth$", Text: "cut o", Stop: wiretest.StopLength,
				Usage: wiretest.Usage{Input: 70, Output: 9, Cached: 30}})
			b := made(t, Config{Kind: s.kind, Model: "m-1", BaseURL: server.URL + s.path, KeyEnv: "MY_KEY"},
				environ(t, "MY_KEY="+testKey))
			reply, err := b.Ask(t.Context(), Request{
				Prompt:  "first",
				Refused: []Refusal{{"", "nothing was said"}, {"second", "third"}, {" ", "fourth"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := (Usage{InputTokens: 70, OutputTokens: 9, CachedTokens: 30, Known: true}); reply.Usage != want {
				t.Errorf("got usage %+v, want %+v", reply.Usage, want)
			}
			if reply.Text != "cut o" || !reply.Truncated {
				t.Errorf("got %q, truncated %t", reply.Text, reply.Truncated)
			}
			asked := server.Requests()[0]
			body := string(asked.Body)
			last := -1
			for _, word := range []string{"first", "nothing was said", "second", "third", "fourth"} {
				at := strings.Index(body, word)
				if at <= last {
					t.Errorf("%q is not where it belongs in %s", word, body)
				}
				last = at
			}
			if key := asked.Header.Get("X-Api-Key") + strings.TrimPrefix(asked.Header.Get("Authorization"),
				"Bearer "); key != testKey {
				t.Errorf("got the key %q", key)
			}
		})
	}
}

// Ask honours Retry-After in both of its forms.
func TestRetryAfterWaited(t *testing.T) {
	seconds := func() string { return "1" }
	// A date has whole seconds: 3 s from now, cut, are more than 2 s.
	date := func() string { return time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat) }
	for _, form := range []func() string{seconds, date} {
		value := form()
		server := wiretest.Start(t, wiretest.Turn{Status: 429, Header: map[string]string{"Retry-After": value}},
			wiretest.Turn{Text: "hello"})
		b := made(t, Config{Kind: KindOpenAI, Model: "m", BaseURL: server.URL + "/v1"}, environ(t))
		begin := time.Now()
		if _, err := b.Ask(t.Context(), Request{Prompt: "hi"}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < time.Second {
			t.Errorf("Retry-After %s: asked again after %s", value, took)
		}
	}
}

// A local server needs no key; the vendor's own service does, and so does one whose variable is named.
func TestServiceKey(t *testing.T) {
	for _, s := range services {
		server := wiretest.Start(t, wiretest.Turn{Text: "hello"})
		local := made(t, Config{Kind: s.kind, Model: "m", BaseURL: server.URL + s.path}, environ(t))
		if reply, err := local.Ask(t.Context(), Request{Prompt: "hi"}); err != nil || reply.Text != "hello" {
			t.Errorf("%s: got %+v, %v", s.kind, reply, err)
		}
		wantReason(t, made(t, Config{Kind: s.kind, Model: "m"}, environ(t)).Missing(), Unavailable, s.keyEnv)
		named := made(t, Config{Kind: s.kind, Model: "m", BaseURL: server.URL, KeyEnv: "OTHER"}, environ(t, s.keyEnv+"=x"))
		_, err := named.Ask(t.Context(), Request{Prompt: "hi"})
		wantReason(t, err, Unavailable, "OTHER")
	}
}

func TestNobodyListens(t *testing.T) {
	server, stop := wiretest.Serve()
	stop()
	b := made(t, Config{Kind: KindOpenAI, Model: "m", BaseURL: server.URL}, environ(t))
	_, err := b.Ask(t.Context(), Request{Prompt: "hi"})
	wantReason(t, err, Transient, "no answer from the service")
}

func TestQuotaUsedUp(t *testing.T) {
	server := wiretest.Start(t, wiretest.Turn{Status: 429,
		Raw: `{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}`, Times: -1})
	b := made(t, Config{Kind: KindOpenAI, Model: "m", BaseURL: server.URL}, environ(t))
	_, err := b.Ask(t.Context(), Request{Prompt: "hi"})
	wantReason(t, err, Unavailable, "pay")
}

// A service can't redirect the key elsewhere.
func TestRedirect(t *testing.T) {
	for _, s := range services {
		thief := wiretest.Start(t, wiretest.Turn{Text: "thanks"})
		server := wiretest.Start(t, wiretest.Turn{Status: http.StatusTemporaryRedirect,
			Header: map[string]string{"Location": thief.URL + "/v1/messages"}})
		b := made(t, Config{Kind: s.kind, Model: "m", BaseURL: server.URL + s.path}, environ(t, s.keyEnv+"="+testKey))
		_, err := b.Ask(t.Context(), Request{Prompt: "hi"})
		wantReason(t, err, Malformed)
		if n := len(thief.Requests()) + len(thief.Others()); n != 0 {
			t.Errorf("%s: it followed", s.kind)
		}
	}
}

// The log says why there is a pause.
func TestRetryLogged(t *testing.T) {
	server := wiretest.Start(t, wiretest.Turn{Status: 503, Text: "down " + testKey}, wiretest.Turn{Text: "hello"})
	b := made(t, Config{Kind: KindAnthropic, Model: "m", BaseURL: server.URL}, environ(t, "ANTHROPIC_API_KEY="+testKey))
	var log strings.Builder
	if _, err := b.Ask(t.Context(), Request{Prompt: "hi", Session: "s", Log: &log}); err != nil {
		t.Fatal(err)
	}
	if want := "tester: busy: HTTP 503: down [masked]: trying again in "; !strings.HasPrefix(log.String(), want) {
		t.Errorf("got %q, want %q", &log, want)
	}
}
