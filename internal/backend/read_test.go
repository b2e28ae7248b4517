package backend

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// vendors are the readers of what agents print.
var vendors = map[string]vendor{KindClaude: claude{}, KindCodex: codex{}, KindGemini: gemini{},
	KindOpencode: opencode{}}

// TestStarved tells a program that waited for a connection until its time was up from one that worked so long.
func TestStarved(t *testing.T) {
	for last, want := range map[string]Reason{
		`{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}`: Transient,
		`{"type":"error","message":"the file is not there"}`:                                                          TimedOut,
		`{"type":"item.completed","item":{"text":"curl: connection refused"}}`:                                        TimedOut,
		"": TimedOut,
	} {
		out := output{stdout: []byte(`{"type":"turn.started"}` + "\n" + last + "\n")}
		if got := ReasonOf(starved(&Error{Reason: TimedOut}, out)); got != want {
			t.Errorf("%s: %s, want %s", last, got, want)
		}
	}
}

// TestRead reads shortened output of the real programs.
func TestRead(t *testing.T) {
	tests := []struct {
		name, kind     string
		stdout, stderr string
		exit           int
		reason         Reason // "lost" for a session that is gone
		want           string // the reply, or words of the error
		check          func(Reply) bool
	}{
		{
			name: "cost", kind: KindClaude, want: "hi there",
			stdout: `{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"result":"hi there","stop_reason":"end_turn","session_id":"91f4","total_cost_usd":0.0125,"usage":{"input_tokens":40,"cache_creation_input_tokens":2,"cache_read_input_tokens":10,"output_tokens":5},"modelUsage":{"small":{"outputTokens":1},"large":{"outputTokens":5}}}`,
			check: func(r Reply) bool {
				return r.Usage == Usage{InputTokens: 52, OutputTokens: 5, CachedTokens: 10, CostUSD: 0.0125,
					Known: true} && r.Model == "large" && r.Session == "91f4"
			},
		},
		{name: "cut off", kind: KindClaude, stdout: `{"type":"result","result":"hi th","stop_reason":"max_tokens"}`,
			want: "hi th", check: func(r Reply) bool {
				return r.Truncated
			}},
		{name: "overloaded", kind: KindClaude, exit: 1,
			stdout: `{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 Overloaded"}`, reason: Transient, want: "Overloaded"},
		{name: "refused", kind: KindClaude, exit: 1,
			stdout: `{"type":"result","is_error":true,"result":"API Error: unable to respond","stop_reason":"refusal"}`,
			reason: Refused},
		{name: "not logged in", kind: KindClaude, exit: 1,
			stdout: `{"type":"result","is_error":true,"result":"Not logged in · Please run /login"}`, reason: Unavailable,
			want: "Not logged in"},
		{name: "no login, in plain text", kind: KindClaude, exit: 1, stdout: "Invalid API key · Please run /login\n",
			reason: Unavailable, want: "Invalid API key"},
		{name: "credit used up", kind: KindClaude, exit: 1,
			stdout: `{"type":"result","is_error":true,"api_error_status":400,"result":"Credit balance is too low"}`,
			reason: Unavailable, want: "Credit balance"},
		{name: "session limit", kind: KindClaude, exit: 1,
			stdout: `{"type":"result","is_error":true,"result":"You've hit your session limit · resets 3pm"}`,
			reason: Transient},
		{name: "crash without a network", kind: KindGemini, exit: 1, stderr: "TypeError: fetch failed\n",
			reason: Transient},
		{name: "crash", kind: KindGemini, exit: 1, stderr: "TypeError: x is not a function\n", reason: Failed},
		{name: "no network", kind: KindClaude, exit: 1,
			stdout: `{"type":"result","is_error":true,"result":"API Error: Unable to connect to API (ConnectionRefused)"}`,
			reason: Transient},
		{name: "no result", kind: KindClaude, exit: 1,
			stdout: `{"type":"result","subtype":"error_max_turns","is_error":false,"errors":[]}`, reason: Failed,
			want: "error_max_turns"},
		{name: "session gone", kind: KindClaude, exit: 1, stderr: "No conversation found with session ID: 1111\n",
			reason: "lost"},

		{
			name: "the last message", kind: KindCodex, want: "second",
			stdout: `{"type":"thread.started","thread_id":"01a1"}
not an event
{"type":"item.completed","item":{"type":"agent_message","text":"first"}}
{"type":"item.completed","item":{"type":"command_execution","text":"no"}}
{"type":"error","message":"Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}
{"type":"item.completed","item":{"type":"agent_message","text":"second"}}
{"type":"turn.completed","usage":{"input_tokens":150,"cached_input_tokens":10,"output_tokens":25}}`,
			check: func(r Reply) bool {
				return r.Usage == Usage{InputTokens: 150, OutputTokens: 25, CachedTokens: 10, Known: true, Session: true} &&
					r.Session == "01a1"
			},
		},
		{name: "cut off", kind: KindCodex, exit: 1, want: "cut of", stdout: `{"type":"item.completed","item":{"type":"agent_message","text":"cut of"}}
{"type":"turn.failed","error":{"message":"Incomplete response returned, reason: max_output_tokens"}}`, check: func(r Reply) bool { return r.Truncated }},
		{name: "wrong key", kind: KindCodex, exit: 1,
			stdout: `{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: no, url: http://x"}}`,
			reason: Unavailable, want: "401"},
		{name: "overloaded", kind: KindCodex, exit: 1,
			stdout: `{"type":"error","message":"exceeded retry limit, last status: 429 Too Many Requests"}`, reason: Transient},
		{name: "bad request", kind: KindCodex, exit: 1,
			stdout: `{"type":"turn.failed","error":{"message":"{\"error\":{\"message\":\"no\"}}"}}`, reason: Failed},
		{name: "session gone", kind: KindCodex, exit: 1,
			stderr: "WARNING: x\nError: thread/resume: thread/resume failed: no rollout found for thread id 1 (code -32600)\n\nStack backtrace:\n", reason: "lost"},
		{name: "no key", kind: KindCodex, exit: 1,
			stderr: "Error: Missing environment variable: `CODEX_API_KEY`.\n\nStack backtrace:\n", reason: Unavailable,
			want: "Missing environment variable"},

		{
			name: "statistics", kind: KindGemini, want: "hi there",
			stdout: "{\n  \"session_id\": \"a102\",\n  \"response\": \"hi there\",\n  \"stats\": {\"models\": {\"lite\": {\"tokens\": {\"prompt\": 1, \"candidates\": 1}}, \"pro\": {\"tokens\": {\"prompt\": 50, \"candidates\": 5, \"thoughts\": 3, \"cached\": 10}}}}\n}\n",
			check: func(r Reply) bool {
				return r.Usage == Usage{InputTokens: 51, OutputTokens: 9, CachedTokens: 10, Known: true} && r.Model == "pro" &&
					r.Session == "a102"
			},
		},
		{name: "wrong key", kind: KindGemini, exit: 145,
			stderr: "Warning: colours\n  at x {\n  status: 401\n}\n{\n \"session_id\": \"1\",\n \"error\": {\"type\": \"Error\", \"message\": \"{\\\"error\\\":{\\\"message\\\":\\\"bad key\\\"}}\", \"code\": 401}\n}\n", reason: Unavailable, want: "bad key"},
		{name: "not logged in", kind: KindGemini, exit: 41,
			stderr: "{\n \"error\": {\"message\": \"Invalid auth method selected.\", \"code\": 41}\n}", reason: Unavailable,
			want: "Invalid auth"},
		{name: "busy", kind: KindGemini, exit: 247, stderr: "{\"error\": {\"message\": \"again\", \"code\": 503}}",
			reason: Transient},
		{name: "a name for a code", kind: KindGemini, exit: 1,
			stderr: "{\"error\": {\"message\": \"odd\", \"code\": \"E_ODD\"}}", reason: Failed, want: "odd"},
		{name: "session gone", kind: KindGemini, exit: 42,
			stderr: "Error resuming session: Invalid session identifier \"1\".\n  Use --list-sessions", reason: "lost"},

		{
			name: "steps", kind: KindOpencode, want: "one two",
			stdout: `{"type":"text","sessionID":"ses_1","part":{"messageID":"m1","text":"working"}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","tokens":{"input":100,"output":20,"cache":{"read":5,"write":1}},"cost":0.5}}
{"type":"text","sessionID":"ses_1","part":{"messageID":"m2","text":"one "}}
{"type":"text","sessionID":"ses_1","part":{"messageID":"m2","text":"two"}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","tokens":{"input":10,"output":2,"reasoning":1},"cost":0.25}}`,
			check: func(r Reply) bool {
				return r.Usage == Usage{InputTokens: 116, OutputTokens: 23, CachedTokens: 5, CostUSD: 0.75,
					Known: true} && r.Session == "ses_1"
			},
		},
		{name: "cut off", kind: KindOpencode, stdout: `{"type":"step_finish","part":{"reason":"length"}}`,
			check: func(r Reply) bool {
				return r.Truncated
			}},
		{name: "wrong key", kind: KindOpencode, exit: 1,
			stdout: `{"type":"error","error":{"name":"APIError","data":{"message":"bad key","statusCode":401}}}`,
			reason: Unavailable, want: "bad key"},
		{name: "busy", kind: KindOpencode, exit: 1,
			stdout: `{"type":"error","error":{"name":"APIError","data":{"message":"later","statusCode":429,"responseHeaders":{"retry-after":"7"}}}}`, reason: Transient, want: "later"},
		{name: "refused", kind: KindOpencode, exit: 1, stdout: `{"type":"step_finish","part":{"reason":"content-filter"}}
{"type":"error","error":{"name":"ContentFilterError","data":{"message":"blocked"}}}`, reason: Refused, want: "blocked"},
		{name: "an error without a name", kind: KindOpencode, exit: 1, stdout: `{"type":"error"}`, reason: Failed,
			want: "does not say which"},
		{name: "session gone", kind: KindOpencode, exit: 1, stderr: "Error: Session not found\n", reason: "lost"},
		{name: "no answer", kind: KindOpencode, stdout: `{"type":"step_start"}`, reason: Failed, want: "without an answer"},
	}
	for _, tt := range tests {
		t.Run(tt.kind+"/"+tt.name, func(t *testing.T) {
			reply, err := vendors[tt.kind].read(output{stdout: []byte(tt.stdout), stderr: tt.stderr, exit: tt.exit})
			switch {
			case tt.reason == "lost":
				if !errors.Is(err, errSessionLost) {
					t.Errorf("got %+v, %v, want a lost session", reply, err)
				}
			case tt.reason != "":
				e := wantReason(t, err, tt.reason, tt.want)
				if strings.Contains(tt.stdout, "retry-after") && e.RetryAfter != 7*time.Second {
					t.Errorf("got Retry-After %s", e.RetryAfter)
				}
			case err != nil || reply.Text != tt.want || tt.check != nil && !tt.check(reply):
				t.Errorf("got %+v, %v", reply, err)
			}
		})
	}
}

// Any output of an agent yields a reply or an error that says what to do next.
func FuzzRead(f *testing.F) {
	f.Add(`{"type":"result","result":"x"}`, "", 0)
	f.Add(`{"type":"turn.completed","usage":{}}`, "{\n\"error\":{\"code\":1}}", 1)
	f.Add(`{"type":"step_finish","part":{"reason":"stop"}}`+"\n"+`{"type":"error","error":{"data":{"responseHeaders":{"":"\n"}}}}`, "\n{", 0)
	f.Add(`{"response":"x","stats":{"models":{"":{}}}}`, "Error resuming session:", 41)
	f.Fuzz(func(t *testing.T, stdout, stderr string, exit int) {
		for kind, v := range vendors {
			reply, err := v.read(output{stdout: []byte(stdout), stderr: stderr, exit: exit})
			var e *Error
			switch {
			case err == nil:
			case errors.Is(err, errSessionLost):
			case errors.As(err, &e):
				if e.Reason == "" {
					t.Errorf("%s: an error without a reason: %v", kind, e)
				}
			default:
				t.Errorf("%s: got %+v and %v", kind, reply, err)
			}
		}
	})
}
