package web

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
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
			[]string{"review", "--plan=WFS-site", "--approve", "--artifact=v1", "--", "PAGE-1"},
		},
		{
			"reject with a verdict for a criterion", "review",
			[]string{"task", "PAGE-1", "version", "v1", "verdict", "reject", "criterion.A1", "fail", "evidence.A1",
				"it: does not", "criterion.A2", "", "evidence.A2", "no time", "message", "-m --approve", "score", "40"},
			[]string{"review", "--plan=WFS-site", "--reject", "--artifact=v1", "--score=40", "--criterion=A1=fail:it: does not",
				"--criterion=A2=none:no time", "--message=-m --approve", "--", "PAGE-1"},
		},
		{"another version than the newest, which the command refuses", "review",
			[]string{"task", "PAGE-1", "version", "v0", "verdict", "approve", "score", "--x"},
			[]string{"review", "--plan=WFS-site", "--approve", "--artifact=v0", "--score=--x", "--", "PAGE-1"}},
		{"no version", "review", []string{"task", "PAGE-1", "verdict", "approve"},
			[]string{"review", "--plan=WFS-site", "--approve", "--artifact=none", "--", "PAGE-1"}},
		{"retry", "retry", []string{"task", "PAGE-1", "message", "again\r\nand again"},
			[]string{"retry", "--plan=WFS-site", "--message=again\nand again", "--", "PAGE-1"}},
		{"abandon", "abandon", []string{"task", "PAGE-1", "message", "no", "sure", "yes"},
			[]string{"abandon", "--plan=WFS-site", "--message=no", "--", "PAGE-1"}},
		{"restore", "retry", []string{"task", "PAGE-1"}, []string{"retry", "--plan=WFS-site", "--", "PAGE-1"}},
		{"pause", "pause", []string{"message", "--lunch"}, []string{"pause", "--plan=WFS-site", "--message=--lunch"}},
		{"resume", "resume", nil, []string{"resume", "--plan=WFS-site"}},
		{"complete", "complete", []string{"message", "well"}, []string{"complete", "--plan=WFS-site", "--message=well"}},
		{"answer", "answer", []string{"task", "PAGE-1", "question", "q1", "text", "--option=x"},
			[]string{"answer", "--plan=WFS-site", "--question=q1", "--", "PAGE-1", "--option=x"}},
		{"an answer that would be standard input", "answer", []string{"task", "PAGE-1", "text", "-"},
			[]string{"answer", "--plan=WFS-site", "--", "PAGE-1", "- "}},
		{"choose", "answer", []string{"task", "PAGE-1", "option", "o1"},
			[]string{"answer", "--plan=WFS-site", "--option=o1", "--", "PAGE-1"}},
		{"hand in a commit", "submit", []string{"task", "PAGE-1", "commit", "--output=x", "message", "done"},
			[]string{"submit", "--plan=WFS-site", "--commit=--output=x", "--message=done", "--", "PAGE-1"}},
		{"retry from the list", "retry", []string{"task", "PAGE-1", "from", "plan"},
			[]string{"retry", "--plan=WFS-site", "--", "PAGE-1"}},
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
	counts := &plan.Rubric{Deductions: map[string]float64{"critical": 25, "low": 1}, Pass: 60}
	s := newSite(t, func(o *Options) {
		derive := o.State
		o.State = func(ctx context.Context, snap *gitstore.Snapshot) (*plan.State, error) {
			state, err := derive(ctx, snap)
			state.CheckOf("PAGE-1").Rubric = counts
			return state, err
		}
	})
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
	if want := []string{"--approve", "--artifact=v1", "--rating=<b>worth=none", "--rating=cost=4.5"}; err != nil ||
		!slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ask(); err != nil || len(got) != 2 {
		t.Errorf("nothing rated: %q, %v", got, err)
	}
	page := s.page(sitePath + "/task/PAGE-1")
	mustHave(t, page, "How many findings of each class", `name="rating.critical" min="0" step="1"`)
	state.CheckOf("PAGE-1").Rubric = counts
	got, err = ask("rating.critical", "0", "rating.low", "2")
	if want := []string{"--approve", "--artifact=v1", "--rating=critical=0", "--rating=low=2"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("counted: %q, %v", got, err)
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
		{"no such task", "review", []string{"task", "PAGE-9", "version", "v1", "verdict", "approve"}, http.StatusNotFound, ""},
		{"a task that is a flag", "retry", []string{"task", "--all"}, http.StatusNotFound, ""},
		{"a command that is not offered", "waive", []string{"task", "PAGE-1"}, http.StatusNotFound, ""},
		{"hand in nothing", "submit", []string{"task", "PAGE-1", "content.index.html", " \r\n"}, http.StatusOK,
			"nothing is handed in"},
		{"hand in for a goal", "submit", []string{"task", "G-1", "content.index.html", "x"}, http.StatusOK,
			"G-1 is no task that makes a deliverable"},
		{"a file that is not declared", "submit", []string{"task", "PAGE-1", "content.../../x", "x"}, http.StatusOK,
			"nothing is handed in"},
		{"stop a run that is none", "stop", nil, http.StatusOK, "no run that was started here is at work"},
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

// What is written in the page, and what is uploaded, becomes the files that a task declares.
func TestHandIn(t *testing.T) {
	spec := &plan.DeliverableSpec{Files: []string{"index.html", "sub/note.md", "*.png"}, OutputDir: "out"}
	send := func(uploads []string, fields map[string]string) (map[string]string, error) {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		for name, text := range fields {
			_ = form.WriteField(name, text)
		}
		for _, name := range uploads {
			part, err := form.CreateFormFile("file", name)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = part.Write([]byte("uploaded"))
		}
		form.Close()
		r := httptest.NewRequest(http.MethodPost, "/", &body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Fatal(err)
		}
		dir, paths, err := handedIn(r, spec, func(string) string { return "as it was\n" })
		defer os.RemoveAll(dir)
		got := map[string]string{}
		for _, top := range paths {
			if data, err := os.ReadFile(top); err == nil {
				got[filepath.Base(top)] = string(data)
				continue
			}
			if err := fs.WalkDir(os.DirFS(top), ".", func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					data, _ := os.ReadFile(filepath.Join(top, name))
					got[name] = string(data)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		return got, err
	}
	got, err := send([]string{"note.md", "a.png", "../b.png", ""}, map[string]string{
		"content.out/index.html": "  <p>\r\n\r\n", "content.out/sub/note.md": "as it was", "content.out/other": "not this"})
	want := map[string]string{"out/index.html": "  <p>\n", "out/sub/note.md": "uploaded", "out/a.png": "uploaded",
		"out/b.png": "uploaded"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	got, err = send([]string{"note.md"}, map[string]string{"content.out/sub/note.md": "as I want it"})
	if err == nil || !strings.Contains(err.Error(), "out/sub/note.md is both written here and chosen as a file") {
		t.Errorf("a text and a file: %v, %v", got, err)
	}
	for want, uploads := range map[string][]string{
		"nothing is handed in": {""}, "out/.git is no name": {".git"}, "out/a.png is handed in twice": {"a.png", "x/a.png"},
		"out/sub/note.md is handed in twice, or as a file": {"sub", "note.md"},
	} {
		if got, err := send(uploads, nil); err == nil || !strings.Contains(err.Error(), want) || len(got) > 0 {
			t.Errorf("%q: %v, %v", uploads, got, err)
		}
	}
	spec.Files = []string{"page.html"}
	if got, err := send([]string{"b.html"}, nil); err != nil || len(got) != 1 || got["b.html"] != "uploaded" {
		t.Errorf("a file of another name is not left to the command: %v, %v", got, err)
	}
	spec.OutputDir = "../up"
	if got, err := send([]string{"a.png"}, nil); err == nil {
		t.Errorf("outside of the deliverable: %v", got)
	}
}

// A run goes on without its page, one at a time, until it ends or is stopped; the server waits for its end.
func TestRun(t *testing.T) {
	began, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	s := newSite(t, func(o *Options) {
		o.Commands = func(ctx context.Context, args []string) Outcome {
			began <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return Outcome{Output: strings.Join(args, " ") + " <b>was interrupted</b>"}
		}
	})
	do := func(action, want string) {
		t.Helper()
		_, text := s.ask(http.MethodPost, sitePath+"/do/"+action, s.form(), nil)
		mustHave(t, text, want)
	}
	words := s.listen(t.Context())
	first := wait(t, words)
	do("run", "the run has begun")
	<-began
	if word := wait(t, words); word == first {
		t.Error("no page hears of the run")
	}
	do("run", "a run that was started here is at work on this plan")
	mustHave(t, s.page(sitePath), "A run that was started here is at work.")
	do("stop", "the run is stopping")
	<-ended
	wait(t, words)
	mustHave(t, s.page(sitePath), "run --plan=WFS-site --quiet &lt;b&gt;was interrupted&lt;/b&gt;", "Run the plan")

	do("run", "the run has begun")
	<-began
	s.server.endRuns()
	select {
	case <-ended:
	default:
		t.Error("the server did not wait for the run")
	}
	if o := s.server.run("WFS-site"); o.OK {
		t.Error("a run begins after the end")
	}
}

func TestNothingIsOfferedThatThePlanRefuses(t *testing.T) {
	s := newSite(t, nil)
	record := func(ev plan.Event) {
		t.Helper()
		if _, err := s.Store.Append(t.Context(), repotest.ID, ev, gitstore.AppendOptions{Now: repotest.Now}); err != nil {
			t.Fatal(err)
		}
	}
	page := sitePath + "/task/PAGE-1"
	mustHave(t, s.page(page), `id="do-submit"`, `id="do-abandon"`)
	record(plan.Pause{Decision: plan.Decision{By: "Ada", CreatedAt: repotest.Now}})
	text := s.page(page)
	mustHave(t, text, "WFS-site is paused: no work begins in it", `id="do-abandon"`)
	mustNotHave(t, text, `id="do-submit"`)
	record(plan.Resume{Decision: plan.Decision{By: "Ada", CreatedAt: repotest.Now}})

	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x"}, nil)
	s.Review("PAGE-1", 1, "ann", plan.Approved, nil)
	s.Version("POST-1", "exec", map[string]string{"post.txt": "x"}, nil)
	s.Review("POST-1", 1, "ann", plan.Approved, nil)
	mustHave(t, s.page(page), `id="do-review"`)
	record(plan.Complete{Seen: s.Snapshot(repotest.ID).State().Records.Count(), Document: plan.CompletionDocument{
		PlanID: repotest.ID, By: "Ada", CreatedAt: repotest.Now}})
	text = s.page(page)
	mustHave(t, text, "WFS-site is completed: it is read, exported and verified")
	mustNotHave(t, text, "<form method=\"post\"")
	mustHave(t, s.page(sitePath), `id="do-session"`)
}
