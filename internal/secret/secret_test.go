package secret

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gitwf/internal/plan"
)

func TestMaskText(t *testing.T) {
	environ := []string{
		"PATH=/usr/local/bin", "OPENAI_API_KEY=topsecret1", "LONG_KEY=topsecret1-and-more", "MINE=my-passw0rd", "TAB_KEY=a", "LOCAL=k",
		"db_password=hunter2hunter2", "GIT_TRACE=1234567890",
	}
	m := NewMask(environ, "MINE", "LOCAL")
	tests := []struct{ name, in, want string }{
		{"values of variables", "x topsecret1 hunter2hunter2 my-passw0rd", "x [masked] [masked] [masked]"},
		{"the longer value first", "topsecret1-and-more", "[masked]"},
		{"innocent values", "a /usr/local/bin 1234567890", "a /usr/local/bin 1234567890"},
		{"a value that stands for no key", "a kind word", "a kind word"},
		{"a session's random name", "AKIAQ2DL3MZ7YVX4WNB5RTCKPE", "AKIAQ2DL3MZ7YVX4WNB5RTCKPE"},
		{"a value that was cut", "...nter2hunter2\nx hunter2hunt", "...[masked]\nx [masked]"},
		{"keys of services", "ghp_" + strings.Repeat("a1", 18) + " sk-" + strings.Repeat("a1", 12) + " AKIAABCDEFGHIJKLMNOP",
			"[masked] [masked] [masked]"},
		{"a web token", "Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmnop", "Bearer [masked]"},
		{"a private key", "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n[masked]\nb"},
		{"a private key that was cut", "-----BEGIN PRIVATE KEY-----\nMIIE", "[masked]"},
		{"an environment", "SHELL=/bin/sh\nSTRIPE_SECRET=whsec_0123\nexport A_TOKEN=\"12345678\"\n",
			"SHELL=/bin/sh\nSTRIPE_SECRET=[masked]\nexport A_TOKEN=\"[masked]\"\n"},
		{"a login", "https://ann:hunter2@example.com/x", "https://ann:[masked]@example.com/x"},
		{"object ids", "commit 3a3394c2b6f1d0e4a5968778695a4b3c2d1e0f00 and sha256 " + strings.Repeat("0123456789abcdef", 4),
			"commit 3a3394c2b6f1d0e4a5968778695a4b3c2d1e0f00 and sha256 " + strings.Repeat("0123456789abcdef", 4)},
		{"words", "task-management-in-twenty-letters, sk-folding-cube-animation-here, MONKEY: banana",
			"task-management-in-twenty-letters, sk-folding-cube-animation-here, MONKEY: banana"},
		{"an address", "see http://127.0.0.1:8080/a@b", "see http://127.0.0.1:8080/a@b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := m.Text(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// No value is left, wherever it stands, and masking twice is masking once.
func TestMaskTwice(t *testing.T) {
	const secret = "s3cr3t-v4lue-of-a-variable"
	m := NewMask([]string{"X_KEY=" + secret})
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.SampledFrom([]string{secret, secret[:12], secret[12:], " ", "\n", "...", "A_TOKEN=",
			"://u:", "@", "word"})).Draw(t, "pieces")
		once := m.Text(strings.Join(pieces, ""))
		if strings.Contains(once, secret) {
			t.Fatalf("left in %q", once)
		}
		if twice := m.Text(once); twice != once {
			t.Fatalf("%q becomes %q", once, twice)
		}
	})
}

// Whatever the expression of a form finds contains one of its marks.
func TestMarks(t *testing.T) {
	long := strings.Repeat("a1", 20)
	pieces := []string{long, strings.ToUpper(long), "sk-", "github_pat_", "glpat-", "xox", "b-", "AKIA", "ASIA", "AIza",
		"npm_", "hf_", "eyJ", ".", "-----BEGIN ", "-----END ", "RSA ", "PRIVATE KEY-----", "X_", "PASS", "WORD", "WD", "PHRASE",
		"CREDENTIALS", "TOKEN", "SECRET", "KEY", "gh", "p", "o", "u", "s", "r", "_", "=", "://", ":", "@", " ", "\n"}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 6).Draw(t, "pieces"), "")
		for _, f := range []secretForm{tokens, settings, logins} {
			if f.expr.Get().MatchString(s) && !f.marked(s) {
				t.Fatalf("%q matches %s without a mark", s, f.expr.Get())
			}
		}
	})
}

// Every text of an agent that an event records goes through the mask.
func TestMaskEvent(t *testing.T) {
	const secret = "s3cr3t-v4lue"
	m := NewMask([]string{"X_KEY=" + secret})
	criteria := []plan.CriterionResult{{ID: "A1", Evidence: secret}}
	prepared := []plan.Prepared{{Output: secret, Problem: secret}}
	attempt := plan.AddAttempt{Log: []byte(secret), Attempt: plan.Attempt{
		TaskID: "IMPL-1", Kind: plan.AttemptError, Message: secret, Preparation: prepared,
	}}
	asks := attempt
	asks.Attempt.Kind = plan.AttemptNeedsInput
	tree, other := plan.OID(strings.Repeat("1", 40)), plan.OID(strings.Repeat("2", 40))
	p := &plan.Plan{RootTaskID: "GOAL-1", Tasks: []*plan.Task{
		{TaskID: "GOAL-1", NodeType: plan.Goal},
		{TaskID: "IMPL-1", NodeType: plan.Action, ParentTaskID: "GOAL-1"},
		{TaskID: "CHECK-IMPL-1", NodeType: plan.Check, ReviewTargetTaskID: "IMPL-1"},
	}}
	v1 := plan.ParseTaskRecords([]plan.Name{{Path: "artifacts/v1/artifact.json"}, {Path: "artifacts/v1/files", OID: tree}})
	s := plan.Derive(p, plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{"IMPL-1": v1}}, nil, time.Now())
	for _, ev := range []plan.Event{
		plan.NewVersion{Artifact: plan.Artifact{TaskID: "IMPL-1", Tree: other, Agent: "exec", Summary: secret,
			Preparation: prepared}},
		attempt,
		plan.AddCheck{Checked: plan.Checked{TaskID: "IMPL-1", ReviewedArtifactID: "v1", Tree: tree, Criteria: criteria}},
		plan.Ask{Attempt: asks, Questions: []plan.Question{{Name: "n", Question: secret}}},
	} {
		c, err := m.Event(ev).Apply(s)
		if err != nil {
			t.Fatalf("%T: %v", ev, err)
		}
		text := c.Subject + c.Body
		for _, e := range c.Add {
			text += string(e.Data)
		}
		if strings.Contains(text, secret) || !strings.Contains(text, Masked) {
			t.Errorf("%T records %s", ev, text)
		}
	}
	got := m.Event(plan.AddReview{Review: plan.Review{Criteria: criteria, Reason: secret,
		Suggestions: []plan.Suggestion{{Text: secret}}}}).(plan.AddReview).Review
	if got.Criteria[0].Evidence != Masked || got.Reason != Masked || got.Suggestions[0].Text != Masked {
		t.Errorf("a review records %+v", got)
	}
	for email, want := range map[string]string{"wise@agents.git-wf.invalid": Masked, "ann@example.com": secret} {
		answer := plan.AnswerQuestion{Answer: plan.Answer{Text: secret}, Author: plan.Actor{Name: "wise", Email: email}}
		if got := m.Event(answer).(plan.AnswerQuestion).Answer.Text; got != want {
			t.Errorf("an answer of %s records %s", email, got)
		}
	}
	if criteria[0].Evidence != secret || prepared[0].Output != secret {
		t.Error("the mask changes what it was given")
	}
}
