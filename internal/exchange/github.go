package exchange

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/outline"
	"gitwf/internal/plan"
)

func isIssue(o *document.Node) bool {
	return o.Child("title") != nil && (o.Child("body") != nil || o.Child("number") != nil)
}

// github reads issues as gh or the web interface prints them in JSON. Of a list each issue is a task, and the boxes in
// its body are tasks below it; of one issue the boxes are the tasks, or, without any, itself.
func (r *reader) github(f Found) (*source, *plan.Plan) {
	src := &source{name: f.Name}
	v, ok := r.jsonValue(f.Path)
	if !ok {
		return nil, nil
	}
	if v.Kind == document.Object {
		src.name = firstText(v.Child("title"), f.Name)
		src.fields = without(v, "body")
		_, whole := outline.Cut(textOf(v.Child("body")))
		if src.top = r.boxTasks(src, f.Path, int(v.Line), whole, nil); len(src.items) == 0 {
			src.top = ""
			r.issue(f.Path, v, 0, src)
		}
	}
	for i, doc := range listOf(v) {
		if doc.Kind == document.Object {
			r.issue(f.Path, &doc, i, src)
		} else {
			r.find("wrong-type", f.Path, 0, fmt.Sprintf("[%d] is no issue", i), "{...}", kindOf(&doc))
		}
	}
	return src, nil
}

// issue makes an item of an issue, and items below it of the boxes in its body.
func (r *reader) issue(file string, doc *document.Node, i int, src *source) {
	number := firstText(doc.Child("number"), doc.Child("id"), int64(i+1))
	it := &item{file: file, line: int(doc.Line), title: textOf(doc.Child("title")),
		word:   strings.ToLower(textOf(doc.Child("state"))),
		source: "#" + number, wish: "ISSUE-" + number, fields: without(doc, "number", "title", "state", "body")}
	if reason := firstText(doc.Child("stateReason"), doc.Child("state_reason")); it.word == "closed" && reason != "" {
		it.word = strings.ToLower(reason)
	}
	src.items = append(src.items, it)
	_, whole := outline.Cut(textOf(doc.Child("body")))
	it.text = r.boxTasks(src, file, int(doc.Line), whole, it)
	it.files = pathsIn(it.text)
	if milestone := firstText(doc.Child("milestone").Child("title")); milestone != "" {
		it.parent = "milestone " + milestone
		if !hasSource(src, it.parent) {
			src.items = append(src.items, &item{source: it.parent, title: milestone, heading: true, file: file,
				line: int(doc.Line)})
		}
	}
}

func hasSource(src *source, id string) bool {
	return slices.ContainsFunc(src.items, func(it *item) bool { return it.source == id })
}
