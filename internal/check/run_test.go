package check

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// setup is one whose candidate is a single file, and whose bundle has that file in a directory.
func setup(t *testing.T) Setup {
	t.Helper()
	fill := func(name string) func(context.Context, string) error {
		return func(_ context.Context, dir string) error {
			path := filepath.Join(dir, name)
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("hello\n"), 0o644))
		}
	}
	return Setup{
		Candidate: fill("page.txt"), Bundle: fill("page_IMPL-1/page.txt"), Scratch: t.TempDir(),
		Environ: process.Environ(os.Environ()), Timeout: 30 * time.Second,
	}
}

func TestRun(t *testing.T) {
	tests := []struct {
		name, line, method string
		result             string
		exit               int
		evidence           string
	}{
		{"passes", "cat page.txt", "", plan.ResultPass, 0, "hello"},
		{"fails", "echo out; echo err >&2; exit 7", "", plan.ResultFail, 7, "out\nerr"},
		{"says nothing and passes", "true", "", plan.ResultPass, 0, "exit 0, no output"},
		{"says nothing and fails", "false", "", plan.ResultFail, 1, "exit 1, no output"},
		{"can't run", "no-such-program-here", "", plan.ResultFail, 127, "*not found*"},
		{"does not name its place", "pwd; ls", "", plan.ResultPass, 0, ".\npage.txt"},
		{"looks at the bundle", "ls", plan.RunSmokeTest, plan.ResultPass, 0, "page_IMPL-1"},
		{"never ends", "echo begun; exec sleep 600", "", plan.ResultFail, -1, "*begun\nstopped after *"},
		{"is killed", "kill -9 $$", "", plan.ResultFail, -1, "*ended by a signal*"},
		{"speaks to the terminal", `printf '\033[31mred\033[0m\n'; false`, "", plan.ResultFail, 1, "red"},
		{"says too much", "i=0; while [ $i -lt 3000 ]; do echo 0123456789; i=$((i+1)); done; echo end; false", "",
			plan.ResultFail, 1, "*...*0123456789\nend"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := setup(t)
			if tt.name == "never ends" {
				s.Timeout = time.Second // enough to begin on a busy machine
			}
			method := tt.method
			if method == "" {
				method = plan.StaticCheck
			}
			c := plan.Criterion{ID: "A1", Statement: "is good", Severity: plan.Should, Run: tt.line, CheckMethod: method}
			begin := time.Now()
			results, err := Run(context.Background(), []plan.Criterion{c}, s)
			if err != nil || len(results) != 1 {
				t.Fatalf("%v, %v", results, err)
			}
			r := results[0]
			if r.ID != "A1" || r.Statement != c.Statement || r.Severity != plan.Should || r.By != plan.ReviewerChecks ||
				r.Result != tt.result {
				t.Errorf("result %+v", r)
			}
			if r.ExitCode == nil || *r.ExitCode != tt.exit && tt.exit >= 0 || tt.exit < 0 && *r.ExitCode == 0 {
				t.Errorf("exit code %v, want %d", r.ExitCode, tt.exit)
			}
			if !like(r.Evidence, tt.evidence) || len(r.Evidence) > maxEvidence+100 {
				t.Errorf("evidence %q", r.Evidence)
			}
			if took := time.Since(begin); took > time.Minute || r.DurationMS > took.Milliseconds() {
				t.Errorf("took %s, said %d ms", took, r.DurationMS)
			}
			if left, err := os.ReadDir(s.Scratch); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// like compares with a text in which * stands for anything.
func like(s, pattern string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return s == pattern
	}
	if !strings.HasPrefix(s, parts[0]) || !strings.HasSuffix(s, parts[len(parts)-1]) {
		return false
	}
	for _, p := range parts {
		i := strings.Index(s, p)
		if i < 0 {
			return false
		}
		s = s[i+len(p):]
	}
	return true
}

// A criterion that spoils its copy, or leaves something in it, changes nothing for the next one.
func TestRunInFreshCopies(t *testing.T) {
	s := setup(t)
	var discarded []string
	s.Discard = func(dir string) { discarded = append(discarded, dir) }
	s.Environ = append(s.Environ, "PWD=/nowhere", "WF_REPO=the user's")
	s.Repo = "here"
	line := `test "$(cat page.txt)" = hello && test ! -e left && test "$WF_REPO" = here && test -e "$PWD/page.txt" && rm page.txt && touch left`
	c := plan.Criterion{ID: "A1", Run: line, CheckMethod: plan.StaticCheck}
	results, err := Run(context.Background(), []plan.Criterion{c, {ID: "M1", CheckMethod: plan.ManualReview}, c, c}, s)
	if err != nil || len(results) != 3 {
		t.Fatalf("%v, %v", results, err)
	}
	for _, r := range results {
		if r.ID != "A1" || r.Result != plan.ResultPass {
			t.Errorf("%+v", r)
		}
	}
	seen := map[string]bool{}
	for _, dir := range discarded {
		if filepath.Dir(dir) != s.Scratch || seen[dir] {
			t.Errorf("discarded %v", discarded)
		}
		seen[dir] = true
	}
	if len(seen) != 3 {
		t.Errorf("discarded %v", discarded)
	}
}

// What could not be tried has no result: it must not look like a failure of the candidate.
func TestRunThatFails(t *testing.T) {
	criteria := []plan.Criterion{{ID: "A1", Run: "true"}, {ID: "A2", Run: "true", CheckMethod: plan.RunSmokeTest}}
	broken := errors.New("disk full")
	t.Run("no bundle", func(t *testing.T) {
		s := setup(t)
		s.Bundle = func(context.Context, string) error { return broken }
		if results, err := Run(context.Background(), criteria, s); results != nil || !errors.Is(err, broken) ||
			!strings.Contains(err.Error(), "A2") {
			t.Errorf("%v, %v", results, err)
		}
	})
	t.Run("interrupted", func(t *testing.T) {
		s := setup(t)
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(100*time.Millisecond, cancel)
		results, err := Run(ctx, []plan.Criterion{{ID: "A1", Run: "sleep 60"}}, s)
		if results != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", results, err)
		}
	})
	t.Run("no place", func(t *testing.T) {
		s := setup(t)
		s.Scratch = filepath.Join(s.Scratch, "gone")
		if results, err := Run(context.Background(), criteria, s); results != nil || err == nil {
			t.Errorf("%v, %v", results, err)
		}
	})
}
