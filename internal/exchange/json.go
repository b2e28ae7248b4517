package exchange

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/pattern"
)

// listOf are the items of a list, none of anything else.
func listOf(n *document.Node) []document.Node {
	if n == nil || n.Kind != document.Array {
		return nil
	}
	return n.Kids
}

// keysOf are the names of the fields of an object, in order.
func keysOf(o *document.Node) []string {
	keys := each.Of(o.Kids, func(n document.Node) string { return n.Key })
	slices.Sort(keys)
	return keys
}

// textOf is a scalar as text: people write ids as numbers or as strings.
func textOf(v any) string {
	switch v := v.(type) {
	case *document.Node:
		if v != nil && len(v.Kids) == 0 {
			return textOf(v.Value(document.Exact))
		}
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
	case *document.Node:
		if v != nil && v.Kind == document.String {
			return texts(v.Text)
		}
		var out []string
		for _, item := range listOf(v) {
			if s := strings.TrimSpace(textOf(&item)); s != "" {
				out = append(out, s)
			}
		}
		if out != nil {
			return out
		}
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

// without is an object as plan.json holds it, but for some keys.
func without(o *document.Node, keys ...string) map[string]any {
	m, _ := o.Value(document.Exact).(map[string]any)
	for _, k := range keys {
		delete(m, k)
	}
	return m
}

// jsonLimits bound a document: plan.json takes 100 levels and 1,000 fields, and holds it some levels deep.
var jsonLimits = document.Limits{Depth: 60, Values: 4_000_000, Fields: 900}

// jsonText reads one JSON document whose first line has the given number. What is mended is a finding with its line; so
// is what can't be read at all, and ok is false.
func (r *reader) jsonText(name, text string, line int) (value *document.Node, ok bool) {
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
	return root, err == nil
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

// jsonValue reads a file that is one JSON document.
func (r *reader) jsonValue(name string) (value *document.Node, ok bool) {
	text, ok := r.read(name)
	if !ok {
		return nil, false
	}
	return r.jsonText(name, text, 1)
}

// jsonFile reads a file that is one JSON object.
func (r *reader) jsonFile(name string) (*document.Node, bool) {
	v, ok := r.jsonValue(name)
	if ok && v.Kind != document.Object {
		r.find("wrong-type", name, 1, "is no JSON object", "{...}", "")
		return nil, false
	}
	return v, ok
}

// What kindOf says of them.
const (
	nothing  = "nothing"
	aList    = "a list"
	anObject = "an object"
)

func kindOf(v *document.Node) string {
	switch {
	case v == nil || v.Kind == document.Null:
		return nothing
	case v.Kind == document.String:
		return "text"
	case v.Kind == document.Array:
		return aList
	case v.Kind == document.Object:
		return anObject
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
func refs(v *document.Node) []string {
	if s := textOf(v); s != "" {
		return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == ';' })
	}
	var out []string
	for _, item := range listOf(v) {
		s := firstText(&item, item.Child("id"), item.Child("task_id"), item.Child("depends_on_id"))
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// filesOf are the paths in a list of files, whether they are texts or objects.
func filesOf(v *document.Node) []string {
	var out []string
	for _, item := range listOf(v) {
		s := firstText(&item, item.Child("path"), item.Child("file"), item.Child("target"))
		if p := repositoryPath(s); p != "" {
			out = each.Add(out, p)
		}
	}
	return out
}

var listBox = pattern.Compile(`^\[[ xX~/>-]\]\s+`)
