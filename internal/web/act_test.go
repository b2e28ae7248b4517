package web

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gitwf/internal/plan"
)

func TestDecisionsAreCommands(t *testing.T) {
	s := newSite(t, nil)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x"}, nil)
	tests := []struct {
		name, action string
		form         []string
		want         []string
	}{
		{
			"approve", "review", []string{"task", "PAGE-1", "version", "v1", "verdict", "approve"},
			[]string{"review", "--plan=WFS-site", "--approve", "--artifact=v1", "--criterion=A1=none", "--criterion=A2=none", "--",
				"PAGE-1"},
		},
		{
			"reject with a verdict for a criterion", "review",
			[]string{"task", "PAGE-1", "version", "v1", "verdict", "reject", "criterion.A1", "fail", "evidence.A1",
				"it: does not", "criterion.A2", "", "evidence.A2", "no time", "message", "-m --approve", "score", "40"},
			[]string{"review", "--plan=WFS-site", "--reject", "--artifact=v1", "--score=40", "--criterion=A1=fail:it: does not",
				"--criterion=A2=none:no time", "--message=-m --approve", "--", "PAGE-1"},
		},
		{"retry", "retry", []string{"task", "PAGE-1", "message", "again\r\nand again"},
			[]string{"retry", "--plan=WFS-site", "--message=again\nand again", "--", "PAGE-1"}},
		{"abandon", "abandon", []string{"task", "PAGE-1", "message", "no", "sure", "yes"},
			[]string{"abandon", "--plan=WFS-site", "--message=no", "--", "PAGE-1"}},
		{"restore", "retry", []string{"task", "PAGE-1"}, []string{"retry", "--plan=WFS-site", "--", "PAGE-1"}},
		{"pause", "pause", []string{"message", "--lunch"}, []string{"pause", "--plan=WFS-site", "--message=--lunch"}},
		{"resume", "resume", nil, []string{"resume", "--plan=WFS-site"}},
		{"answer", "answer", []string{"task", "PAGE-1", "question", "q1", "text", "--option=x"},
			[]string{"answer", "--plan=WFS-site", "--question=q1", "--", "PAGE-1", "--option=x"}},
		{"an answer that would be standard input", "answer", []string{"task", "PAGE-1", "text", "-"},
			[]string{"answer", "--plan=WFS-site", "--", "PAGE-1", "- "}},
		{"choose", "answer", []string{"task", "PAGE-1", "option", "o1"},
			[]string{"answer", "--plan=WFS-site", "--option=o1", "--", "PAGE-1"}},
		{"export", "export", []string{"option", "commit", "option", "partial", "option", "root=/etc"},
			[]string{"export", "--plan=WFS-site", "--commit", "--partial"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := len(s.commands())
			answer, text := s.ask(http.MethodPost, sitePath+"/do/"+tt.action, s.form(tt.form...), nil)
			ran := s.commands()[before:]
			if answer.StatusCode != http.StatusOK || len(ran) != 1 || !slices.Equal(ran[0], tt.want) {
				t.Fatalf("status %d, ran %q, want %q", answer.StatusCode, ran, tt.want)
			}
			mustHave(t, text, "carried out &lt;b&gt;"+tt.action+"&lt;/b&gt;")
			if again := s.page(answer.Request.URL.RequestURI()); strings.Contains(again, "carried out") {
				t.Error("what was said is said again")
			}
		})
	}
}

// Where a rubric is rated, the form has a field for each dimension, and none for a score.
func TestRatings(t *testing.T) {
	s := newSite(t, nil)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x"}, nil)
	state := s.Snapshot("WFS-site").State()
	state.CheckOf("PAGE-1").Rubric = &plan.Rubric{Scale: 5, Dimensions: map[string]float64{"cost": 1, "<b>worth": 2}, Pass: 60}
	ask := func(form ...string) ([]string, error) {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.PostForm = url.Values{"verdict": {"approve"}, "version": {"v1"}}
		for i := 0; i < len(form); i += 2 {
			r.PostForm.Set(form[i], form[i+1])
		}
		r.Form = r.PostForm
		return decision("review", state, state.Tasks["PAGE-1"], r)
	}
	got, err := ask("rating.cost", "4.5")
	if want := []string{"--approve", "--artifact=v1", "--rating=<b>worth=none", "--rating=cost=4.5", "--criterion=A1=none",
		"--criterion=A2=none"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask(); err != nil || len(got) != 4 {
		t.Errorf("nothing rated: %q, %v", got, err)
	}
	for _, bad := range []string{"6", "-1", "x", "NaN"} {
		if got, err := ask("rating.cost", bad); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
}

func TestDecisionsThatAreRefused(t *testing.T) {
	s := newSite(t, nil)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x"}, nil)
	tests := []struct {
		name, action string
		form         []string
		want         int    // the status
		said         string // on the task's page, where the form can be mended
	}{
		{"no verdict", "review", []string{"task", "PAGE-1", "version", "v1"}, http.StatusOK, "the form has no verdict"},
		{"another version than the newest", "review", []string{"task", "PAGE-1", "version", "v0", "verdict", "approve"},
			http.StatusOK, "PAGE-1 has a newer version, v1, than the one you looked at, v0: look again"},
		{"no such task", "review", []string{"task", "PAGE-9", "version", "v1", "verdict", "approve"}, http.StatusNotFound, ""},
		{"a task that is a flag", "retry", []string{"task", "--all"}, http.StatusNotFound, ""},
		{"a score that is a flag", "review", []string{"task", "PAGE-1", "version", "v1", "verdict", "approve", "score",
			"--x"}, http.StatusOK, "a score is a number from 0 to 100"},
		{"a command that is not offered", "waive", []string{"task", "PAGE-1"}, http.StatusNotFound, ""},
		{"abandon without saying that it is meant", "abandon", []string{"task", "PAGE-1", "message", "no"}, http.StatusOK,
			"say that you mean it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			answer, text := s.ask(http.MethodPost, sitePath+"/do/"+tt.action, s.form(tt.form...), nil)
			if answer.StatusCode != tt.want || len(s.commands()) > 0 {
				t.Errorf("status %d, want %d; ran %q\n%s", answer.StatusCode, tt.want, s.commands(), text)
			}
			if tt.said != "" {
				mustHave(t, text, `class="said bad"`, tt.said)
			}
		})
	}
}

func TestUpload(t *testing.T) {
	var content string
	s := newSite(t, func(o *Options) {
		o.Commands = func(_ context.Context, args []string) Outcome {
			name := strings.TrimPrefix(args[2], "--file=")
			data, err := os.ReadFile(name)
			content = fmt.Sprint(filepath.Base(name), " ", string(data), " ", err)
			return Outcome{OK: true, Output: name}
		}
	})
	said := ""
	send := func(name string) *http.Response {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		_ = form.WriteField("page", s.server.pageToken())
		_ = form.WriteField("task", "PAGE-1")
		part, err := form.CreateFormFile("file", name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = part.Write([]byte("rules"))
		form.Close()
		answer, text := s.ask(http.MethodPost, sitePath+"/do/answer", body.String(), func(r *http.Request) {
			r.Header.Set("Content-Type", form.FormDataContentType())
		})
		said = text
		if name := strings.TrimSpace(text); answer.StatusCode == http.StatusOK && strings.Contains(name, "no such file") {
			t.Error(name)
		}
		return answer
	}
	if answer := send("rules.txt"); answer.StatusCode != http.StatusOK || content != "rules.txt rules <nil>" {
		t.Errorf("status %d, the command saw %q", answer.StatusCode, content)
	}
	content = ""
	if answer := send("../../climb.txt"); content != "" && content != "climb.txt rules <nil>" {
		t.Errorf("status %d, the command saw %q", answer.StatusCode, content)
	}
	content = ""
	send(".git")
	mustHave(t, said, ".git is no name for a file that can be handed in")
	if content != "" {
		t.Errorf("a file called .git: the command saw %q", content)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "git-wf-ui-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
