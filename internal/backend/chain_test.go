package backend

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestChain(t *testing.T) {
	unixOnly(t)
	configs := map[string]Config{
		"good":     {Kind: KindCommand, Command: "echo from good"},
		"second":   {Kind: KindCommand, Command: "echo from second"},
		"busy":     {Kind: KindCommand, Command: "exit 75", Fallback: []string{"gone", "good"}},
		"gone":     {Kind: KindClaude, Command: "no-such-program-here", Fallback: []string{"second", "busy"}},
		"slow":     {Kind: KindCommand, Command: "sleep 60", Timeout: 200 * time.Millisecond, Fallback: []string{"good"}},
		"wrong":    {Kind: KindCommand, Command: "exit 1", Fallback: []string{"good"}},
		"never":    {Kind: KindCommand, Command: "exit 69", Fallback: []string{"wrong"}},
		"lost":     {Kind: KindCommand, Command: "cat", Fallback: []string{"nobody"}},
		"hopeless": {Kind: KindCommand, Command: "exit 69", Fallback: []string{"none"}},
		"none":     {Kind: KindCommand, Command: "exit 69"},
		"careful":  {Kind: KindCommand, Command: "exit 69", Fallback: []string{"lost", "typo"}},
		"typo":     {Kind: "comand", Fallback: []string{"late"}},
		"late": {Kind: KindCommand, Command: "cat", Wrong: errors.New("timeout: soon is no time"),
			Fallback: []string{"good"}},
	}
	for name, c := range configs {
		c.Name = name
		configs[name] = c
	}
	get := func(name string) (Config, bool) {
		c, ok := configs[name]
		return c, ok
	}
	tests := []struct {
		name   string
		agent  string // the agent that answers
		reason Reason
		words  string // in what is skipped, or in the error
	}{
		{"good", "good", "", ""},
		{"busy", "second", "", "tried 3 times"}, // through gone, whose own fallback comes before good
		{"slow", "good", "", "timed out"},
		{"wrong", "", Failed, "exit status 1"},
		{"never", "", Failed, "exit status 69"},
		{"hopeless", "", Unavailable, "none: unavailable"},
		// The chain skips fallbacks with unusable settings, but asks their own fallbacks.
		{"careful", "good", "", "lost: unavailable: agent lost: fallback: no agent is called nobody"},
		{"careful", "good", "", "typo: unavailable: agent typo: kind: comand is none of"},
		{"careful", "good", "", "late: unavailable: timeout: soon is no time"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := environ(t)
			b, err := NewChain(tt.name, get, nil, env)
			if err != nil {
				t.Fatal(err)
			}
			hurry(b)
			reply, err := b.Ask(t.Context(), Request{Prompt: "x", Dir: t.TempDir(), Environ: env})
			if tt.reason != "" {
				wantReason(t, err, tt.reason)
				if !strings.Contains(err.Error(), tt.words) {
					t.Errorf("got %v, want %q in it", err, tt.words)
				}
				return
			}
			if err != nil || reply.Agent != tt.agent || !strings.Contains(strings.Join(reply.Skipped, "\n"), tt.words) {
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
	for name, want := range map[string]string{"lost": "no agent is called nobody", "x": "no agent is called x",
		"typo": "kind: comand is none of", "late": "soon is no time"} {
		if _, err := NewChain(name, get, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", name, err, want)
		}
	}
}

// hurry makes the retries of a chain quick.
func hurry(b Backend) {
	switch b := b.(type) {
	case *asker:
		b.retry = quick
	case chain:
		for _, one := range b {
			hurry(one)
		}
	}
}

// A session belongs to the agent that began it.
func TestChainSession(t *testing.T) {
	var got []string
	spy := func(name string, reason Reason) Backend { return spying{name, reason, &got} }
	c := chain{spy("a", Unavailable), spy("b", "")}
	for of, want := range map[string]string{"a": "a:s a,b:s a", "b": "a:s b,b:s b", "": "a:s ,b: "} {
		got = nil
		if _, err := c.Ask(t.Context(), Request{Prompt: "x", Session: "s", SessionOf: of}); err != nil {
			t.Fatal(err)
		}
		if s := strings.Join(got, ","); s != want {
			t.Errorf("session of %q: got %q, want %q", of, s, want)
		}
	}
	b := made(t, Config{Name: "b", Kind: KindCommand, Command: "cat"}, environ(t))
	reply, err := b.Ask(t.Context(), Request{Prompt: "x", Session: "s", SessionOf: "a", Dir: t.TempDir(),
		Environ: environ(t)})
	if err != nil || reply.Resumed {
		t.Errorf("got %+v, %v: another agent's session was taken up", reply, err)
	}
}

func TestChainMissing(t *testing.T) {
	env := environ(t)
	gone := made(t, Config{Name: "gone", Kind: KindCodex, Command: "no-such-program-here"}, env)
	keyless := made(t, Config{Name: "keyless", Kind: KindOpenAI, Model: "m"}, env)
	err := chain{gone, keyless}.Missing()
	for _, want := range []string{"gone: unavailable", "npm install -g @openai/codex", "keyless: unavailable",
		"OPENAI_API_KEY"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
	local := made(t, Config{Name: "local", Kind: KindOpenAI, Model: "m", BaseURL: "http://127.0.0.1:1/v1"}, env)
	if err := (chain{gone, local}).Missing(); err != nil {
		t.Errorf("got %v: the second is there", err)
	}
}

// spying records the sessions that it is asked to continue.
type spying struct {
	name   string
	reason Reason
	got    *[]string
}

func (s spying) Missing() error { return nil }

func (s spying) Ask(_ context.Context, r Request) (Reply, error) {
	*s.got = append(*s.got, s.name+":"+r.Session+" "+r.SessionOf)
	if s.reason != "" {
		return Reply{}, &Error{Agent: s.name, Reason: s.reason}
	}
	return Reply{Agent: s.name}, nil
}
