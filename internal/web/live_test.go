package web

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
)

// listen opens the event stream and yields the words of its "moved" events.
func (s *site) listen(ctx context.Context) <-chan string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.http.URL+"/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.browser.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		s.t.Fatalf("the stream is %q", got)
	}
	words := make(chan string, 10)
	go func() {
		defer close(words)
		defer answer.Body.Close()
		lines := bufio.NewScanner(answer.Body)
		for lines.Scan() {
			if word, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				words <- word
			}
		}
	}()
	return words
}

func wait(t *testing.T, words <-chan string) string {
	t.Helper()
	select {
	case w, ok := <-words:
		if !ok {
			t.Fatal("the stream has ended")
		}
		return w
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		return ""
	}
}

func TestEventsFollowTheRefsWhoeverMovesThem(t *testing.T) {
	for _, format := range []string{"files", "packed"} {
		t.Run(format, func(t *testing.T) {
			s := newSite(t, nil)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			words := s.listen(ctx)
			first := wait(t, words)
			began := time.Now()
			if format == "packed" {
				s.Git("pack-refs", "--all")
			}
			tip := s.Forge("refs/workflow/WFS-site", map[string]string{"notes/0001-learning.md": "moved by another process"})
			second := wait(t, words)
			if took := time.Since(began); second == first || took > pulseEvery {
				t.Errorf("the word is %s after %s, in %s", second, first, took)
			}
			var d liveDocument
			if err := json.Unmarshal([]byte(s.page(sitePath+"/live")), &d); err != nil || d.Tip != tip {
				t.Errorf("the page is at %s, the plan at %s: %v", d.Tip, tip, err)
			}
			if _, err := s.Store.Claim(ctx, "WFS-site", plan.Claim{Task: "PAGE-1", Agent: "robot", Started: time.Now(),
				Expires: time.Now().Add(time.Hour)}); err != nil {
				t.Fatal(err)
			}
			third := wait(t, words)
			s.Git("update-ref", "refs/workflow-remotes/origin/WFS-site", string(tip))
			if fourth := wait(t, words); third == second || fourth == third {
				t.Error("a claim, or what a remote has, is not told")
			}
		})
	}
}

func TestNobodyIsAskedWhileNoPageIsOpen(t *testing.T) {
	s := newSite(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	words := s.listen(ctx)
	wait(t, words)
	stop()
	for range words {
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if s.server.listening.Load() == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the refs are still looked at")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestTooManyPages(t *testing.T) {
	s := newSite(t, nil)
	s.server.listening.Store(mostPages)
	if code, _ := s.get("/events"); code != http.StatusServiceUnavailable {
		t.Errorf("status %d", code)
	}
}

func TestRunningTaskAndItsLog(t *testing.T) {
	s := newSite(t, func(o *Options) {
		o.Tail = func(_ plan.ID, task plan.TaskID) []byte {
			return []byte(strings.Repeat("x", 10_000) + "\nthe end of " + string(task) + " \x1b[31m<b>\n")
		}
	})
	now := s.server.Now()
	if _, err := s.Store.Claim(t.Context(), "WFS-site", plan.Claim{Task: "PAGE-1", Agent: "robot <i>", Started: now,
		Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{sitePath, sitePath + "/task/PAGE-1"} {
		text := s.page(path)
		mustHave(t, text, "robot &lt;i&gt;", "the end of PAGE-1 \ufffd[31m&lt;b&gt;", `data-since="2026-03-04T06:06:07Z"`)
		mustNotHave(t, text, strings.Repeat("x", 5000))
	}
	mustHave(t, s.page(sitePath+"/task/PAGE-1/tail"), "the end of PAGE-1 \ufffd[31m<b>")
}
