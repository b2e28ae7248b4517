package web

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/graph"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

// liveMarkup is what a plan's markup would look like if it were live.
var liveMarkup = []string{"<script>alert", "<img src=x", "<svg onload", "<i>well", "<b>it</b>", "<b>wrong"}

func TestPagesShowMarkupAsText(t *testing.T) {
	s := newSite(t, nil)
	s.rejectedAndRedone()
	for _, path := range []string{
		"/plans", sitePath, sitePath + "/task/PAGE-1", sitePath + "/task/G-1", sitePath + "/history", sitePath + "/picture",
		sitePath + "/live",
		sitePath + "/task/PAGE-1/compare", sitePath + "/task/PAGE-1/file/v1/index.html", sitePath + "/task/NONE-1",
		"/plan/%3Cb%3E",
	} {
		t.Run(path, func(t *testing.T) {
			_, text := s.get(path)
			mustNotHave(t, text, liveMarkup...)
			if strings.ContainsRune(text, '\x1b') {
				t.Error("an escape sequence got through")
			}
		})
	}
	mustHave(t, s.page("/"), `href="/plan/WFS-site/task/PAGE-1#do-review"`, "&lt;img src=x&gt;", `href="/plan/WFS-site">WFS-site</a>`)
	mustHave(t, s.page(sitePath+"/task/PAGE-1"), "v1", "REJECTED", "v2", `aria-label="REJECTED.md"`, "<h1>REJECTED</h1>")
}

func TestNotFound(t *testing.T) {
	s := newSite(t, nil)
	s.hostile()
	for _, path := range []string{
		"/plan/WFS-none", "/plan/policy", "/plan/..%2f..%2fetc", sitePath + "/task/NONE-1", sitePath +
			"/task/PAGE-1/file/v9/index.html",
		sitePath + "/task/PAGE-1/file/v1/nothing", sitePath + "/task/PAGE-1/attempt/1", sitePath + "/task/PAGE-1/attempt/x",
		sitePath + "/task/PAGE-1/compare?a=v1&b=v7",
		sitePath + "?at=0000000000000000000000000000000000000000", sitePath + "?at=HEAD", sitePath + "?at=--help",
		"/static/nothing.css", "/static/..%2fserver.go", "/static/",
	} {
		if code, text := s.get(path); code != http.StatusNotFound {
			t.Errorf("%s: status %d\n%.300s", path, code, text)
		}
	}
}

func TestStateAtAnEarlierEvent(t *testing.T) {
	s := newSite(t, nil)
	s.rejectedAndRedone()
	log := strings.Fields(s.Git("log", "--format=%H", "--reverse", "refs/workflow/WFS-site"))
	if len(log) != 4 {
		t.Fatalf("%d events", len(log))
	}
	for i, want := range []string{"ready", "awaiting review", "to be made again", "awaiting review"} {
		text := s.page(sitePath + "/task/PAGE-1?at=" + log[i])
		mustHave(t, text, ">"+want+"<", fmt.Sprintf("event %d of 4", i+1))
		mustNotHave(t, text, `method="post"`)
	}
	text := s.page(sitePath + "/history")
	mustHave(t, text, "PAGE-1: reject v1", "Ada")
	if n := strings.Count(text, `<li value="`); n != 4 {
		t.Errorf("%d events are listed", n)
	}
}

// The page has the sum of each file that the manifest of a bundle will have.
func TestTaskPageHasTheSumOfEachFile(t *testing.T) {
	s := newSite(t, nil)
	s.Approved("PAGE-1", "index.html", "<p>one</p>")
	mustHave(t, s.page(sitePath+"/task/PAGE-1"), fmt.Sprintf("sha256 %x<", sha256.Sum256([]byte("<p>one</p>"))))
}

func TestAccepted(t *testing.T) {
	for header, want := range map[string]string{
		"": "en", "zh": "zh", "zh-Hant-TW": "zh", "ZH-cn": "zh", "de-DE,en;q=0.8": "en", "fr, zh;q=0.5": "zh",
		"en;q=0.4, zh;q=0.5": "zh",
		"zh, en":             "zh", "en, zh": "en", "zh;q=0, en;q=0.1": "en", "zh;q=0": "en", "zh;q=x": "en", "*": "en", ";;,,-": "en",
		"zh ; q=0.3": "zh",
	} {
		r := &http.Request{Header: http.Header{"Accept-Language": {header}}}
		if got := languageOf(r); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}

func TestLanguages(t *testing.T) {
	s := newSite(t, nil)
	accept := func(lang string) string {
		_, text := s.ask(http.MethodGet, sitePath, "", func(r *http.Request) { r.Header.Set("Accept-Language", lang) })
		return text
	}
	mustHave(t, accept("zh-CN,zh;q=0.9,en;q=0.8"), `<html lang="zh">`, "关键路径", "等待其他任务")
	mustHave(t, accept("de-DE,en;q=0.8"), `<html lang="en">`, "Critical path")
}

// TestEveryTextIsTranslated reads the texts of templates and scripts.
func TestEveryTextIsTranslated(t *testing.T) {
	texts := map[string]bool{}
	names, err := filepath.Glob("templates/*.html")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	call := regexp.MustCompile(`\b(?:t|tf) "((?:[^"\\]|\\.)*)"`)
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, action := range regexp.MustCompile(`\{\{[^}]*\}\}`).FindAllString(string(data), -1) {
			for _, m := range call.FindAllStringSubmatch(action, -1) {
				texts[m[1]] = true
			}
		}
	}
	scripts, err := filepath.Glob("static/*.js")
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, name := range scripts {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`word\((?:\w+ \? )?"([^"]*)"(?: : "([^"]*)")?`).FindAllStringSubmatch(string(data), -1) {
			for _, text := range m[1:] {
				if text != "" {
					texts[text] = true
				}
			}
		}
	}
	for _, c := range graph.Classes() {
		texts[c.Word()] = true
	}
	texts[plan.StatusWaitingInput.String()] = true // the others are the words of their classes
	verbs := regexp.MustCompile(`%[-+0-9.]*[a-z]`)
	for text := range texts {
		zh, ok := chinese()[text]
		if !ok {
			t.Errorf("no Chinese for %q", text)
		}
		if a, b := fmt.Sprint(verbs.FindAllString(text, -1)), fmt.Sprint(verbs.FindAllString(zh, -1)); a != b {
			t.Errorf("%q wants %s, its Chinese %s", text, a, b)
		}
	}
	for text := range chinese() {
		if !texts[text] && text != "Plans" && text != "Error" && text != "added" && text != "removed" && text != "changed" &&
			text != "renamed" && text != "same" {
			t.Errorf("%q is translated, but nothing says it", text)
		}
	}
}

func TestPlanThatNoRuleHasSeen(t *testing.T) {
	s := newSite(t, func(o *Options) {
		read := o.Read
		o.Read = func(ctx context.Context, snap *gitstore.Snapshot) (*readmodel.Plan, error) {
			p, err := read(ctx, snap)
			for _, t := range snap.Plan.Tasks {
				if err == nil {
					p.Waits = append(p.Waits, engine.Wait{Task: t.TaskID, Act: engine.ActSubmit})
				}
			}
			return p, err
		}
	})
	for name, change := range map[string]func(p *plan.Plan){
		"no root":   func(p *plan.Plan) { p.RootTaskID = "NONE-1" },
		"a circle":  func(p *plan.Plan) { p.Task("G-1").ParentTaskID = "PAGE-1" },
		"no tasks":  func(p *plan.Plan) { p.Tasks = nil },
		"no spec":   func(p *plan.Plan) { p.Task("PAGE-1").DeliverableSpec = nil },
		"no target": func(p *plan.Plan) { p.Task("CHECK-PAGE-1").ReviewTargetTaskID = "NONE-1" },
		"no check":  func(p *plan.Plan) { p.Task("CHECK-PAGE-1").NodeType = plan.Action },
		"own input": func(p *plan.Plan) { p.Task("PAGE-1").DependsOn = []plan.TaskID{"POST-1"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := s.Mark()
			defer s.In(t, m)
			s.Replan(change)
			for _, path := range []string{sitePath, sitePath + "/live", sitePath + "/picture?checks=1", sitePath + "/history",
				"/plans", sitePath + "/task/PAGE-1", sitePath + "/task/CHECK-PAGE-1"} {
				if code, text := s.get(path); code != http.StatusOK && (name != "no tasks" || code != http.StatusNotFound) {
					t.Errorf("%s: status %d\n%.2000s", path, code, text)
				}
			}
		})
	}
}

// TestPageKnowsWhatStatusKnows holds the page to what git wf status says: claims in the list of plans, who approved
// their own work, what is made from something that has changed since, and one word for each status.
func TestPageKnowsWhatStatusKnows(t *testing.T) {
	s := newSite(t, nil)
	if _, err := s.Store.Git(t.Context(), "config", "remote.origin.url", "nowhere"); err != nil {
		t.Fatal(err)
	}
	mustHave(t, s.page("/plans"), "WFS-site", ">pending<")
	now := s.server.Now()
	if _, err := s.Store.Claim(t.Context(), "WFS-site", plan.Claim{Task: "PAGE-1", Agent: "robot", Started: now,
		Host: "elsewhere", PID: 1, Expires: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/plans", sitePath, sitePath + "/task/PAGE-1"} {
		mustHave(t, s.page(path), ">in progress<")
		mustNotHave(t, s.page(path), "IN_PROGRESS", "PENDING")
	}
	s.rejectedAndRedone()
	s.Review("PAGE-1", 2, "robot", plan.Approved, func(rev *plan.Review) { rev.SelfReviewed = true })
	mustHave(t, s.page(sitePath), "self-reviewed")
	s.Git("update-ref", "refs/workflow-remotes/origin/WFS-site", "refs/workflow/WFS-site~1")
	mustHave(t, s.page(sitePath), "1 of yours not at origin yet")
}
