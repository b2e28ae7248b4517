package backend

import "testing"

func TestWhatACommandReads(t *testing.T) {
	refused := []Refusal{{"one", "no, not one"}, {"two", "no, not two"}}
	for _, tt := range []struct {
		name string
		r    Request
		want string
	}{
		{"a question", Request{Prompt: "count"}, "count"},
		{"in a session of an earlier task", Request{Prompt: "count", Session: "s"}, "count"},
		{"that its session knows", Request{Prompt: "count", Again: "again", Session: "s"}, "again"},
		{"that its lost session knew", Request{Prompt: "count", Again: "again"}, "count"},
		{"told what was wrong, in the session", Request{Prompt: "count", Session: "s", Refused: refused}, "no, not two"},
		{"told what was wrong, without one", Request{Prompt: "count", Refused: refused}, "count\nno, not two"},
	} {
		if got := tt.r.text(); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A fallback that hears what was wrong with a reply gets the whole question too, whatever the first agent's kind.
func TestFallbackHearsTheQuestion(t *testing.T) {
	env := environ(t)
	b := chain{made(t, Config{Name: "gone", Kind: KindClaude, Command: "no-such-program-here"}, env),
		made(t, Config{Name: "b", Kind: KindCommand, Command: "cat"}, env)}
	reply, err := b.Ask(t.Context(), Request{Prompt: "count", Session: "s", SessionOf: "gone",
		Refused: []Refusal{{"one", "no"}}, Dir: t.TempDir(), Environ: env})
	if err != nil || reply.Text != "count\nno" {
		t.Errorf("got %q, %v", reply.Text, err)
	}
}
