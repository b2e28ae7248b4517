package exchange

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/outline"
	"gitwf/internal/plan"
)

func isIssue(o *object) bool { return o.has("title") && (o.has("body") || o.has("number")) }

// github reads issues as gh or the web interface prints them in JSON. Of a list each issue is a task, and the boxes in
// its body are tasks below it; of one issue the boxes are the tasks, or, without any, itself.
func (r *reader) github(f Found) (*source, *plan.Plan) {
	src := &source{name: f.Name}
	v, ok := r.jsonValue(f.Path)
	if !ok {
		return nil, nil
	}
	switch v := v.(type) {
	case *object:
		src.name = firstText(v.get("title"), f.Name)
		src.fields = v.without("body")
		_, whole := outline.Cut(v.str("body"))
		if src.top = r.boxTasks(src, f.Path, v.line, whole, nil); len(src.items) == 0 {
			src.top = ""
			r.issue(f.Path, v, 0, src)
		}
	case []any:
		for i, v := range v {
			if doc, ok := v.(*object); ok {
				r.issue(f.Path, doc, i, src)
			} else {
				r.find("wrong-type", f.Path, 0, fmt.Sprintf("[%d] is no issue", i), "{...}", kindOf(v))
			}
		}
	}
	return src, nil
}

// issue makes an item of an issue, and items below it of the boxes in its body.
func (r *reader) issue(file string, doc *object, i int, src *source) {
	number := firstText(doc.get("number"), doc.get("id"), int64(i+1))
	it := &item{file: file, line: doc.line, title: doc.str("title"), word: strings.ToLower(doc.str("state")),
		source: "#" + number, wish: "ISSUE-" + number, fields: doc.without("number", "title", "state", "body")}
	if reason := firstText(doc.get("stateReason"), doc.get("state_reason")); it.word == "closed" && reason != "" {
		it.word = strings.ToLower(reason)
	}
	src.items = append(src.items, it)
	_, whole := outline.Cut(doc.str("body"))
	it.text = r.boxTasks(src, file, doc.line, whole, it)
	it.files = pathsIn(it.text)
	if milestone := firstText(doc.object("milestone").get("title")); milestone != "" {
		it.parent = "milestone " + milestone
		if !hasSource(src, it.parent) {
			src.items = append(src.items, &item{source: it.parent, title: milestone, heading: true, file: file,
				line: doc.line})
		}
	}
}

func hasSource(src *source, id string) bool {
	return slices.ContainsFunc(src.items, func(it *item) bool { return it.source == id })
}
