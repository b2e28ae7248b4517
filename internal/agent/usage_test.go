package agent

import (
	"testing"

	"gitwf/internal/backend"
	"gitwf/internal/plan"
)

// TestUsage counts what a session costs once, whether its numbers are of a reply or of the session so far.
func TestUsage(t *testing.T) {
	reply := func(in, out int64, session, resumed bool) backend.Reply {
		return backend.Reply{Model: "m", Resumed: resumed,
			Usage: backend.Usage{InputTokens: in, OutputTokens: out, Known: true, Session: session}}
	}
	for _, tt := range []struct {
		name    string
		spent   plan.Usage
		replies []backend.Reply
		in, out int64
	}{
		{"of each reply", plan.Usage{InputTokens: 50}, []backend.Reply{reply(100, 10, false, true), reply(20, 3, false, true)},
			120, 13},
		{"a new session", plan.Usage{InputTokens: 50}, []backend.Reply{reply(100, 10, true, false), reply(120, 13, true, true)},
			120, 13},
		{"a session that goes on", plan.Usage{InputTokens: 100, OutputTokens: 10},
			[]backend.Reply{reply(130, 14, true, true), reply(150, 20, true, true)}, 50, 10},
		{"a session that is lost", plan.Usage{InputTokens: 100, OutputTokens: 10},
			[]backend.Reply{reply(130, 14, true, true), reply(40, 5, true, false)}, 70, 9},
	} {
		u := usage{counted: tt.spent}
		for _, r := range tt.replies {
			u.add(r)
		}
		if sum := u.total; sum.InputTokens != tt.in || sum.OutputTokens != tt.out {
			t.Errorf("%s: %d in, %d out; want %d and %d", tt.name, sum.InputTokens, sum.OutputTokens, tt.in, tt.out)
		}
	}
}
