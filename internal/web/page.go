package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/graph"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

type buffer struct{ strings.Builder }

// page is what every page has around its content.
type page struct {
	Title    string // of the window
	Plan     plan.ID
	PlanName string
	Tab      string // the visible part of the plan
	Lang     string
	Token    string // of its forms; "" if nothing may be changed
	Said     *Outcome
	Past     *moment // the shown state, if not the newest
	Live     bool    // its script keeps all of it up to date
}

func (s *Server) page(r *http.Request, title string) page {
	p := page{Title: title, Lang: languageOf(r)}
	if !s.ReadOnly {
		p.Token = s.pageToken()
	}
	return p
}

// May reports whether the page offers changes.
func (p page) May() bool { return p.Token != "" && p.Past == nil }

// PlanURL is the address of a plan's page, or of something below it.
func (p page) PlanURL(parts ...string) string { return planURL(p.Plan, parts...) }

// TaskURL is the address of a task's page, or of something below it.
func (p page) TaskURL(id plan.TaskID, parts ...string) string {
	u := planURL(p.Plan, append([]string{"task", string(id)}, parts...)...)
	if p.Past != nil && len(parts) == 0 {
		u += "?at=" + string(p.Past.Commit)
	}
	return u
}

// OfPlan is the address of another plan's page, or of something below it.
func (p page) OfPlan(id plan.ID, parts ...string) string { return planURL(id, parts...) }

// OfItem is the address of the page on which an item of the inbox is settled.
func (p page) OfItem(item engine.Item) string {
	u := p.OfPlan(item.Plan, "task", string(item.On))
	if item.Asks != "" && p.May() {
		u += "#do-" + item.Asks
	}
	return u
}

func planURL(id plan.ID, parts ...string) string {
	u := "/plan/" + url.PathEscape(string(id))
	for _, part := range parts {
		u += "/" + url.PathEscape(part)
	}
	return u
}

// filePath is a path of an artifact as part of an address.
func filePath(name string) string {
	return (&url.URL{Path: name}).EscapedPath()
}

// asked is the plan that a request is about, and its state.
func (s *Server) asked(r *http.Request) (*gitstore.Snapshot, *plan.State, error) {
	id := plan.ID(r.PathValue("plan"))
	if !id.Valid() {
		return nil, nil, notFound("there is no such plan")
	}
	snap, err := s.Store.Snapshot(r.Context(), id)
	if err != nil {
		return nil, nil, err
	}
	state, err := s.State(r.Context(), snap)
	return snap, state, err
}

// askedTask is askedAt, with the task that the request is about.
func (s *Server) askedTask(r *http.Request) (snap *gitstore.Snapshot, state *plan.State, t *plan.TaskState, at *moment,
	err error) {
	if snap, state, at, err = s.askedAt(r); err != nil {
		return nil, nil, nil, nil, err
	}
	if t = state.Tasks[plan.TaskID(r.PathValue("task"))]; t == nil {
		return nil, nil, nil, nil, notFound("there is no such task in %s", state.Plan.PlanID)
	}
	return snap, state, t, at, nil
}

func (s *Server) home(w http.ResponseWriter, r *http.Request) error {
	first := "/plans"
	if s.Plan != "" {
		first = planURL(s.Plan)
	}
	http.Redirect(w, r, first, http.StatusSeeOther)
	return nil
}

type plansPage struct {
	page
	Inbox []engine.Item
	Plans []readmodel.Entry
}

func (s *Server) plansPage(w http.ResponseWriter, r *http.Request) (err error) {
	p := plansPage{page: s.page(r, "Plans")}
	p.Live = true
	if p.Inbox, err = s.Inbox(r.Context()); err != nil {
		return err
	}
	if p.Plans, err = readmodel.List(r.Context(), s.Store, s.Now()); err != nil {
		return err
	}
	return s.show(w, r, http.StatusOK, "plans", p)
}

// said is the output of the command that led to this page; loading the page again does not repeat it.
func (s *Server) said(r *http.Request) *Outcome {
	if o, ok := s.outcomes.take(r.URL.Query().Get("said")); ok {
		return &o
	}
	return nil
}

// functions are what the templates call, in one language.
func functions(lang string) template.FuncMap {
	return template.FuncMap{
		"t":     func(text string) string { return translate(lang, text) },
		"tf":    func(text string, args ...any) string { return fmt.Sprintf(translate(lang, text), args...) },
		"line":  func(v any) string { return plain.Line(fmt.Sprint(v)) },
		"lines": func(v any) string { return plain.Text(fmt.Sprint(v)) },
		"class": graph.ClassOf,
		"word":  func(c graph.Class) string { return translate(lang, c.Word()) },
		"is":    func(s plan.Status) string { return translate(lang, s.String()) },
		"rated": readmodel.Rated,
		"when":  func(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") },
		"iso":   func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"size":  plain.Bytes,
		"took":  took,
		"ms":    func(n int64) string { return took(time.Duration(n) * time.Millisecond) },
		"base":  path.Base,
		"text":  engine.TakesText,
		"short": func(oid plan.OID) string { return fmt.Sprintf("%.8s", oid) },
		"words": func() (string, error) {
			text, err := json.Marshal(dictionary(lang))
			return string(text), err
		},
		"classes": graph.Classes,
	}
}

// took formats a duration for people.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 48*time.Hour:
		return d.Round(time.Second).String()
	}
	return fmt.Sprintf("%.1f d", d.Hours()/24)
}

// static sends the page's own scripts and styles, all embedded in the program.
func (s *Server) static(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("name")
	kind := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml"}[path.Ext(name)]
	data, err := staticFiles.ReadFile("static/" + name)
	if name == "graph.css" {
		_, data, err = drawn(r.Context(), graph.Graph{})
	}
	if err != nil || kind == "" {
		return notFound("there is no such file")
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	return nil
}

// languages are the page's languages; the first is that of its templates.
func languages() []string { return []string{"en", "zh"} }

// languageOf is the language of ours that a browser wants most (RFC 9110, 12.5.4), the first if it wants none.
func languageOf(r *http.Request) string {
	best, most := languages()[0], 0.0
	for part := range strings.SplitSeq(r.Header.Get("Accept-Language"), ",") {
		name, parameter, _ := strings.Cut(strings.TrimSpace(part), ";")
		q := 1.0
		if value, ok := strings.CutPrefix(strings.TrimSpace(parameter), "q="); ok {
			q, _ = strconv.ParseFloat(value, 64) // 0, which means unwanted, if it is no number
		}
		name, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(name)), "-")
		if q > most && slices.Contains(languages(), name) {
			best, most = name, q
		}
	}
	return best
}

// chinese maps every English text of the page to Chinese. The texts of a plan, a command or the engine stay as they
// are.
var chinese = sync.OnceValue(func() map[string]string {
	words := map[string]string{}
	data, err := templateFiles.ReadFile("templates/zh.json")
	if err == nil {
		err = json.Unmarshal(data, &words)
	}
	if err != nil {
		panic("templates/zh.json: " + err.Error()) // it is a part of the program
	}
	return words
})

// dictionary has the texts of the page in a language; none for English, which the templates and scripts have.
func dictionary(lang string) map[string]string {
	if lang == "zh" {
		return chinese()
	}
	return nil
}

// translate returns a text of the page in a language.
func translate(lang, text string) string {
	if found, ok := dictionary(lang)[text]; ok {
		return found
	}
	return text
}
