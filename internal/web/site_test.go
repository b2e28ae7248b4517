package web

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
	"gitwf/internal/repotest"
)

// sitePlan has what a hostile plan would have: markup in every text.
const sitePlan = `
title: Site <script>alert("title")</script>
top_task: Make the site "><img src=x onerror=alert(1)>
root_acceptance_criteria:
  - {id: R1, statement: "It is there </ul><script>alert('root')</script>"}
tasks:
  - task_id: G-1
    title: Goal
    tasks:
      - task_id: PAGE-1
        title: "Page \"><svg onload=alert('t')>"
        description: "About <b>it</b> \e[31m"
        estimated_person_days: 1
        covers: [R1]
        deliverable_spec: {files: [index.html, "*"], format: html}
        acceptance_criteria:
          - {id: A1, statement: "It opens <i>well</i>"}
          - {id: A2, statement: It is short}
  - task_id: POST-1
    title: Post
    estimated_person_days: 1
    covers: [R1]
    depends_on: [PAGE-1]
    deliverable_spec: {filename: post.txt}
    acceptance_criteria: [{id: A1, statement: It is short}]
`

// site is a server for a repository, and a browser with the cookie.
type site struct {
	*repotest.Repo
	t       *testing.T
	server  *Server
	http    *httptest.Server
	browser *http.Client

	mu  sync.Mutex
	ran [][]string // the command lines that were run
}

const sitePath = "/plan/WFS-site"

func newSite(t *testing.T, change func(*Options)) *site {
	t.Helper()
	s := &site{Repo: repotest.New(t), t: t}
	s.Begin(sitePlan)
	o := Options{
		Weights: func() (estimate.Weights, error) { return estimate.Weights{Base: 1}, nil },
		Store:   s.Store, Now: func() time.Time { return repotest.Now.Add(time.Hour) },
		State: func(ctx context.Context, snap *gitstore.Snapshot) (*plan.State, error) {
			claims, err := s.Store.Claims(ctx, snap.ID)
			return plan.Derive(snap.Plan, snap.Records, claims, repotest.Now.Add(time.Hour)), err
		},
		Inbox: func(context.Context) ([]engine.Item, error) {
			return []engine.Item{{Plan: "WFS-site", On: "PAGE-1", Title: "<script>alert(1)</script>", Asks: engine.ActReview,
				Since: repotest.Now, Wait: engine.Wait{Task: "CHECK-PAGE-1", Text: "<img src=x> \x1b[31m", Act: engine.ActReview}}}, nil
		},
		Read: func(ctx context.Context, snap *gitstore.Snapshot) (*readmodel.Plan, error) {
			trust, err := engine.OpenTrust(t.TempDir())
			if err != nil {
				return nil, err
			}
			policy, err := s.Store.Policy(ctx)
			if err != nil {
				return nil, err
			}
			agents := agent.NewSet(func() (agent.Settings, error) { return agent.Settings{}, nil }, nil)
			return readmodel.Reader{Engine: &engine.Engine{Store: s.Store, Trust: trust, Agents: agents,
				Policy: policy.Policy, Assign: func() (agent.Assignment, error) { return agent.Assignment{}, nil },
				Now: func() time.Time { return repotest.Now.Add(time.Hour) }}}.Read(ctx, snap)
		},
		Tail: func(plan.ID, plan.TaskID) []byte { return nil },
		Commands: func(_ context.Context, args []string) Outcome {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.ran = append(s.ran, args)
			return Outcome{Output: "carried out <b>" + args[0] + "</b>", OK: true}
		},
	}
	if change != nil {
		change(&o)
	}
	var err error
	if s.server, err = New(o); err != nil {
		t.Fatal(err)
	}
	s.http = httptest.NewServer(s.server)
	t.Cleanup(func() {
		s.server.end()
		s.server.endRuns()
		s.http.Close()
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.browser = &http.Client{Jar: jar}
	if code, _ := s.get(s.server.Address(s.http.Listener)[len(s.http.URL):]); code != http.StatusOK {
		t.Fatalf("the printed address answers %d", code)
	}
	return s
}

// ask sends a request as the browser, modified by change.
func (s *site) ask(method, path, body string, change func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	r, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", s.http.URL)
	}
	if change != nil {
		change(r)
	}
	answer, err := s.browser.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer, string(text)
}

func (s *site) get(path string) (int, string) {
	s.t.Helper()
	answer, text := s.ask(http.MethodGet, path, "", nil)
	return answer.StatusCode, text
}

// page gets a page that must exist.
func (s *site) page(path string) string {
	s.t.Helper()
	code, text := s.get(path)
	if code != http.StatusOK {
		s.t.Fatalf("%s: status %d\n%s", path, code, text)
	}
	return text
}

// form is the content of one of the page's own forms.
func (s *site) form(fields ...string) string {
	v := url.Values{"page": {s.server.pageToken()}}
	for i := 0; i+1 < len(fields); i += 2 {
		v.Add(fields[i], fields[i+1])
	}
	return v.Encode()
}

func (s *site) commands() [][]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ran
}

// hostile is a version with everything that a deliverable might contain.
func (s *site) hostile() {
	s.Version("PAGE-1", "exec", map[string]string{
		"index.html":       "<h1>hi</h1><script>parent.document.title='owned'</script>",
		"note.md":          "# Note\n\n<script>alert(1)</script>\n\n[bad](javascript:alert(1)) [good](https://example.com)\n\n| a |\n| - |\n| b |\n",
		"data.json":        `{"b":1,"a":"<script>"}`,
		"pic.svg":          `<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`,
		"bin":              "\x00\x01\x02",
		"long.txt":         strings.Repeat("a line of text\n", 40_000),
		"escape.txt":       "red \x1b[31m text",
		"sub/dir/é #%.txt": "inside",
	}, nil)
}

var rawAddress = regexp.MustCompile(`(?:src|href)="(/raw/[A-Za-z0-9_-]+/[^"?]*)`)

// raw is the address of a file as its preview has it.
func (s *site) raw(path string) string {
	s.t.Helper()
	found := rawAddress.FindAllStringSubmatch(s.page(path), -1)
	if len(found) == 0 {
		s.t.Fatalf("%s shows nothing below /raw/", path)
	}
	return found[len(found)-1][1] // of a preview, which comes after the download
}

func mustNotHave(t *testing.T, text string, bad ...string) {
	t.Helper()
	for _, b := range bad {
		if strings.Contains(text, b) {
			t.Errorf("the page has %q", b)
		}
	}
}

func mustHave(t *testing.T, text string, good ...string) {
	t.Helper()
	for _, g := range good {
		if !strings.Contains(text, g) {
			t.Errorf("the page lacks %q", g)
		}
	}
}

// rejectedAndRedone is a rejected version and the next one.
func (s *site) rejectedAndRedone() {
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "one\ntwo\nthree\n"}, nil)
	s.Review("PAGE-1", 1, "ann", plan.Rejected, func(r *plan.Review) { r.Reason = "two is <b>wrong</b>" })
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "one\n2\nthree\nfour\n"}, nil)
}
