package exchange

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Issue is what is to become a task of a register.
type Issue struct {
	Title, Text     string
	Severity        string // one of Severities, "" for none
	Criteria, Paths []string
	Number, URL     string // where it comes from, "" for nowhere
	Closed          bool   // there
}

// Severities are those of issues, the worst first.
var Severities = []string{"critical", "high", "medium", "low"}

// Issues reads issues as gh issue list --json or GitHub's REST API has them, pull requests left out. What can't be
// taken is a finding.
func Issues(name string, data []byte) ([]Issue, plan.Findings) {
	r := &reader{fsys: Text("issues", data)}
	var all []Issue
	if text, ok := r.decode(name, data); ok {
		v, ok := r.jsonText(name, text, 1)
		list := listOf(v)
		if ok && v.Kind != document.Array {
			list = []document.Node{*v}
		}
		for i, doc := range list {
			if !isIssue(&doc) {
				r.find("wrong-type", name, 0, fmt.Sprintf("[%d] is no issue", i), "number, title and body",
					kindOf(&doc))
				continue
			}
			issue := issueOf(&doc)
			if kindOf(doc.Child("pull_request")) == nothing && !strings.Contains(issue.URL, "/pull/") {
				all = append(all, issue)
			}
		}
	}
	return all, r.findings
}

// issueOf reads an issue. The empty boxes of its text are what must be true of it.
func issueOf(doc *document.Node) Issue {
	i := Issue{Title: textOf(doc.Child("title")), Text: textOf(doc.Child("body")),
		Number: firstText(doc.Child("number")), URL: firstText(doc.Child("html_url"), doc.Child("url")),
		Closed: stateOf(textOf(doc.Child("state"))) == over}
	if !webAddress.Get().MatchString(i.URL) {
		i.URL = ""
	}
	i.Paths = pathsIn(i.Text)
	_, whole := outline.Cut(i.Text)
	whole.Walk(func(n, _ *outline.Node) bool {
		if n.Boxed && strings.TrimSpace(n.Box) == "" && n.Text != "" {
			i.Criteria = append(i.Criteria, "#"+i.Number+": "+n.Text)
		}
		return true
	})
	worst := len(Severities)
	for _, label := range listOf(doc.Child("labels")) {
		name := firstText(&label, label.Child("name"))
		word := strings.ToLower(name[strings.LastIndexAny(name, " :/")+1:]) // of "priority: high", or "P1"
		for at, severity := range Severities[:worst] {
			if word == severity || word == fmt.Sprintf("p%d", at) {
				worst, i.Severity = at, severity
			}
		}
	}
	return i
}

var webAddress = pattern.Compile(`^https?://[!-~]{1,500}$`)

// Task is the issue as a task without an id: a change of the paths that it names, or of any. It fails if the text is
// longer than a plan may have it.
func (i Issue) Task() (*plan.Task, error) {
	if n := utf8.RuneCountInString(i.Title + i.Text); n > maxText {
		return nil, fmt.Errorf("%s: the text has %d characters, expected at most %d", plain.Line(cmp.Or(i.Number,
			i.Title)), n, maxText)
	}
	a := &assembler{out: &Imported{}}
	t := &plan.Task{NodeType: plan.Action, Title: a.title(i.Title, "#"+i.Number), EstimatedPersonDays: 1,
		Meta: map[string]any{}}
	for key, value := range map[string]string{"severity": i.Severity, "number": i.Number, "url": i.URL} {
		if value != "" {
			t.Meta[key] = value
		}
	}
	text := i.Text
	if utf8.RuneCountInString(i.Title) > maxTitle {
		text = i.Title + "\n\n" + text
	}
	a.complete(&item{criteria: i.Criteria, files: i.Paths, days: 1}, t, text)
	if len(i.Criteria) == 0 {
		t.AcceptanceCriteria[0].Statement = fmt.Sprintf("what %q asks for is there, what it says is wrong is not",
			t.Title)
	}
	return t, nil
}
