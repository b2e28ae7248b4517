package exchange

import (
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/plan"
)

func isBead(o *document.Node) bool { return o.Child("issue_type") != nil }

// isBeads reports whether lines of JSON are issues: beads keeps other lists beside them.
func isBeads(file, text string) bool {
	first, _ := (&reader{}).jsonText(file, firstLine(text), 1)
	return text == "" || hasTitle(first)
}

const minutesADay = 60 * hoursADay

// beads reads issues.jsonl: one issue a line, or a list of them.
func (r *reader) beads(f Found) (*source, *plan.Plan) {
	text, ok := r.read(f.Path)
	if !ok {
		return nil, nil
	}
	src := &source{name: f.Name}
	if name, below := strings.CutSuffix(f.Path, "/.beads/issues.jsonl"); below {
		src.name = name[strings.LastIndexByte(name, '/')+1:]
	}
	add := func(v *document.Node, line int) {
		if v.Kind != document.Object {
			r.find("wrong-type", f.Path, line, "is no issue", "{...}", kindOf(v))
			return
		}
		if it := r.beadsIssue(f.Path, line, v); it != nil {
			src.items = append(src.items, it)
		}
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		v, ok := r.jsonText(f.Path, text, 1)
		for _, item := range listOf(v) {
			add(&item, int(item.Line))
		}
		if !ok {
			return nil, nil
		}
	} else {
		line := 0
		for row := range strings.Lines(text) {
			line++
			if strings.TrimSpace(row) == "" {
				continue
			}
			if v, ok := r.jsonText(f.Path, row, line); ok {
				add(v, line)
			}
		}
	}
	src.nestByNumber()
	return src, nil
}

func (r *reader) beadsIssue(file string, line int, doc *document.Node) *item {
	id := strings.TrimSpace(textOf(doc.Child("id")))
	if id == "" {
		r.find("missing-field", file, line, "the issue has no id; left out", `"id": "bd-1"`, "nothing")
		return nil
	}
	word := textOf(doc.Child("status"))
	if word == "tombstone" || textOf(doc.Child("deleted_at")) != "" {
		r.note("deleted", file, line, id+" was deleted there; left out")
		return nil
	}
	it := &item{
		source: id, wish: id, file: file, line: line, title: textOf(doc.Child("title")), word: word,
		fields: without(doc, "id", "title", "description", "design", "notes", "acceptance_criteria", "status"),
	}
	if strings.TrimSpace(it.title) == "" {
		r.note("missing-field", file, line, id+" has no title")
	}
	var parts []string
	for _, field := range []struct{ key, head string }{{"description", ""}, {"design", "Design:\n"},
		{"notes", "Notes:\n"}} {
		if s := strings.TrimSpace(textOf(doc.Child(field.key))); s != "" {
			parts = append(parts, field.head+s)
		}
	}
	it.text = strings.Join(parts, "\n\n")
	it.criteria = append(it.criteria, texts(doc.Child("acceptance_criteria"))...)
	it.files = pathsIn(it.text)
	if m, err := strconv.ParseInt(textOf(doc.Child("estimated_minutes")), 10, 64); err == nil && m > 0 {
		it.days = min(float64(m)/minutesADay, 10_000)
	}
	for _, dep := range listOf(doc.Child("dependencies")) {
		if dep.Kind != document.Object {
			r.find("wrong-type", file, line, id+" has a dependency that is no object", "{...}", kindOf(&dep))
			continue
		}
		on := firstText(dep.Child("depends_on_id"), dep.Child("id"))
		switch textOf(dep.Child("type")) {
		case "parent-child":
			if it.parent == "" {
				it.parent = on
			}
		case "blocks", "":
			if on != "" {
				it.deps = each.Add(it.deps, on)
			}
		}
	}
	return it
}
