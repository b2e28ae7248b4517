package exchange

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/pattern"
)

// object is a JSON object with the line on which it begins. Values are string, bool, int64, float64, nil, []any and
// *object.
type object struct {
	line   int
	fields map[string]any
}

func (o *object) get(key string) any {
	if o == nil {
		return nil
	}
	return o.fields[key]
}

func (o *object) has(key string) bool {
	if o == nil {
		return false
	}
	_, ok := o.fields[key]
	return ok
}

func (o *object) str(key string) string { return textOf(o.get(key)) }

func (o *object) object(key string) *object {
	child, _ := o.get(key).(*object)
	return child
}

func (o *object) list(key string) []any {
	list, _ := o.get(key).([]any)
	return list
}

// textOf is a scalar as text: people write ids as numbers or as strings.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

// texts are the scalars of a list; a single one is a list of itself, lines of it items of the list.
func texts(v any) []string {
	switch v := v.(type) {
	case []any:
		var out []string
		for _, item := range v {
			if s := strings.TrimSpace(textOf(item)); s != "" {
				out = append(out, s)
			}
		}
		return out
	case string:
		var out []string
		for line := range strings.Lines(v) {
			line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "-*•"))
			line = strings.TrimSpace(listBox.Get().ReplaceAllString(line, ""))
			if line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	if s := textOf(v); s != "" {
		return []string{s}
	}
	return nil
}

// value is a value without lines, as plan.json holds it.
func value(v any) any {
	switch v := v.(type) {
	case *object:
		return v.plain()
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = value(item)
		}
		return list
	}
	return v
}

func (o *object) plain() map[string]any {
	m := make(map[string]any, len(o.fields))
	for k, v := range o.fields {
		m[k] = value(v)
	}
	return m
}

// without is the object as plan.json holds it, but for some keys.
func (o *object) without(keys ...string) map[string]any {
	m := o.plain()
	for _, k := range keys {
		delete(m, k)
	}
	return m
}

// jsonLimits bound a document: plan.json takes 100 levels and 1,000 fields, and holds it some levels deep.
var jsonLimits = document.Limits{Depth: 60, Values: 4_000_000, Fields: 900}

// jsonText reads one JSON document whose first line has the given number. What is mended is a finding with its line; so
// is what can't be read at all, and ok is false.
func (r *reader) jsonText(name, text string, line int) (value any, ok bool) {
	before := len(r.findings)
	relaxed := false
	root, err := document.JSON{Limits: jsonLimits, FirstLine: line, Comments: true, Mend: func(f *document.Fault) {
		m := mended[f.Problem]
		switch f.Problem {
		case document.Comment:
			if !relaxed { // what it says is said to people, of the file
				r.note(m.code, name, f.Line, m.text)
			}
			relaxed = true
		case document.DuplicateKey, document.OutOfRange:
			r.find(m.code, name, f.Line, m.text, "", f.Subject)
		default:
			r.find(m.code, name, f.Line, m.text, "", "")
		}
	}}.Parse(text)
	if f, ok := errors.AsType[*document.Fault](err); ok {
		r.findings = r.findings[:min(before, len(r.findings))] // of a document that counts for nothing
		r.find("syntax", name, f.Line, "is no JSON: "+f.Text(), "JSON as RFC 8259 has it", "")
		return nil, false
	}
	return valueOf(root), err == nil
}

const noComments = "JSON has no comments, and no comma behind the last item"

// mended says what came of a fault.
var mended = map[document.Problem]struct{ code, text string }{
	document.Comment:      {"json-comments", noComments + "; read without them"},
	document.DuplicateKey: {"duplicate-key", "has a field twice in one object; the first counts"},
	document.TooManyFields: {"too-many", fmt.Sprintf("has more than %d fields in an object; left out",
		jsonLimits.Fields)},
	document.TooDeep: {
		"too-deep", fmt.Sprintf("is nested more than %d levels deep; what is below is left out", jsonLimits.Depth),
	},
	document.OutOfRange: {"bad-number", "has a number out of range; kept as text"},
	document.NUL:        {"nul", "has the character NUL in a text; replaced"},
	document.HalfPair:   {"half-pair", "has half of a surrogate pair in a text; replaced"},
}

func valueOf(n *document.Node) any {
	switch n.Kind {
	case document.Object:
		o := &object{line: int(n.Line), fields: make(map[string]any, len(n.Kids))}
		for i := range n.Kids {
			o.fields[n.Kids[i].Key] = valueOf(&n.Kids[i])
		}
		return o
	case document.Array:
		list := make([]any, len(n.Kids))
		for i := range n.Kids {
			list[i] = valueOf(&n.Kids[i])
		}
		return list
	}
	return n.Value(document.Exact)
}

// jsonValue reads a file that is one JSON document.
func (r *reader) jsonValue(name string) (value any, ok bool) {
	text, ok := r.read(name)
	if !ok {
		return nil, false
	}
	return r.jsonText(name, text, 1)
}

// jsonFile reads a file that is one JSON object.
func (r *reader) jsonFile(name string) (*object, bool) {
	v, ok := r.jsonValue(name)
	if !ok {
		return nil, false
	}
	o, ok := v.(*object)
	if !ok {
		r.find("wrong-type", name, 1, "is no JSON object", "{...}", "")
	}
	return o, ok
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "nothing"
	case string:
		return "text"
	case []any:
		return "a list"
	case *object:
		return "an object"
	}
	return textOf(v)
}

func firstText(values ...any) string {
	for _, v := range values {
		if s := strings.TrimSpace(textOf(v)); s != "" {
			return s
		}
	}
	return ""
}

// refs are the ids in a list of references, whether they are texts, numbers or objects.
func refs(v any) []string {
	list, ok := v.([]any)
	if !ok {
		if s := textOf(v); s != "" {
			return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
		}
		return nil
	}
	var out []string
	for _, item := range list {
		s := textOf(item)
		if o, ok := item.(*object); ok {
			s = firstText(o.get("id"), o.get("task_id"), o.get("depends_on_id"))
		}
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// filesOf are the paths in a list of files, whether they are texts or objects.
func filesOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		s := textOf(item)
		if o, ok := item.(*object); ok {
			s = firstText(o.get("path"), o.get("file"), o.get("target"))
		}
		if p := repositoryPath(s); p != "" {
			out = each.Add(out, p)
		}
	}
	return out
}

var listBox = pattern.Compile(`^\[[ xX~/>-]\]\s+`)
