package exchange

import (
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

func isBead(o *object) bool { return o.has("issue_type") }

// isBeads reports whether lines of JSON are issues: beads keeps other lists beside them.
func isBeads(file, text string) bool {
	v, _ := (&reader{}).jsonText(file, firstLine(text), 1)
	first, _ := v.(*object)
	return text == "" || first.has("id") && first.has("title")
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
	add := func(v any, line int) {
		doc, ok := v.(*object)
		if !ok {
			r.find("wrong-type", f.Path, line, "is no issue", "{...}", kindOf(v))
			return
		}
		if it := r.beadsIssue(f.Path, line, doc); it != nil {
			src.items = append(src.items, it)
		}
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		v, ok := r.jsonText(f.Path, text, 1)
		list, _ := v.([]any)
		for _, v := range list {
			line := 1
			if doc, ok := v.(*object); ok {
				line = doc.line
			}
			add(v, line)
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

func (r *reader) beadsIssue(file string, line int, doc *object) *item {
	id := strings.TrimSpace(doc.str("id"))
	if id == "" {
		r.find("missing-field", file, line, "the issue has no id; left out", `"id": "bd-1"`, "nothing")
		return nil
	}
	word := doc.str("status")
	if word == "tombstone" || doc.str("deleted_at") != "" {
		r.note("deleted", file, line, id+" was deleted there; left out")
		return nil
	}
	it := &item{
		source: id, wish: id, file: file, line: line, title: doc.str("title"), word: word,
		fields: doc.without("id", "title", "description", "design", "notes", "acceptance_criteria", "status"),
	}
	if strings.TrimSpace(it.title) == "" {
		r.note("missing-field", file, line, id+" has no title")
	}
	var parts []string
	for _, field := range []struct{ key, head string }{{"description", ""}, {"design", "Design:\n"},
		{"notes", "Notes:\n"}} {
		if s := strings.TrimSpace(doc.str(field.key)); s != "" {
			parts = append(parts, field.head+s)
		}
	}
	it.text = strings.Join(parts, "\n\n")
	it.criteria = append(it.criteria, texts(doc.get("acceptance_criteria"))...)
	it.files = pathsIn(it.text)
	if m, ok := doc.get("estimated_minutes").(int64); ok && m > 0 {
		it.days = min(float64(m)/minutesADay, 10_000)
	}
	for _, v := range doc.list("dependencies") {
		dep, ok := v.(*object)
		if !ok {
			r.find("wrong-type", file, line, id+" has a dependency that is no object", "{...}", kindOf(v))
			continue
		}
		on := firstText(dep.get("depends_on_id"), dep.get("id"))
		switch dep.str("type") {
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
