package plandoc

import (
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"gitwf/internal/document"
	"gitwf/internal/plan"
)

// fieldInfo is one field of a struct as JSON sees it.
type fieldInfo struct {
	name      string
	index     int
	omitEmpty bool
}

// structInfo lists a struct's fields in the order of their JSON names, which is the order of the canonical form.
type structInfo struct {
	fields []fieldInfo
	names  []string
	byName map[string]fieldInfo
}

// structs describes every struct that plan.json is made of. It is computed once and never changed.
var structs = sync.OnceValue(func() map[reflect.Type]*structInfo {
	infos := map[reflect.Type]*structInfo{}
	describe(reflect.TypeFor[plan.Plan](), infos)
	return infos
})

func describe(t reflect.Type, infos map[reflect.Type]*structInfo) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		describe(t.Elem(), infos)
		return
	case reflect.Struct:
	default:
		return
	}
	if infos[t] != nil {
		return
	}
	info := &structInfo{byName: map[string]fieldInfo{}}
	infos[t] = info
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		f := fieldInfo{name, i, options == "omitempty"}
		info.fields = append(info.fields, f)
		info.byName[name] = f
		info.names = append(info.names, name)
		describe(field.Type, infos)
	}
	sort.Slice(info.fields, func(i, j int) bool { return info.fields[i].name < info.fields[j].name })
	slices.Sort(info.names)
}

// fillError is a value that does not fit the field it is meant for.
type fillError struct {
	code     string
	path     string
	line     int
	text     string
	expected string
}

func (e *fillError) Error() string { return e.finding().Error() }

func (e *fillError) finding() plan.Finding {
	return plan.Finding{Code: e.code, Path: e.path, Line: e.line, Message: e.text, Expected: e.expected}
}

// under prefixes the path, on the way out of the recursion: it is only built when something is wrong.
func (e *fillError) under(part string) *fillError {
	switch {
	case e.path == "":
		e.path = part
	case e.path[0] == '[':
		e.path = part + e.path
	default:
		e.path = part + "." + e.path
	}
	return e
}

// filler stores nodes in structs, by the json tags. Field names match exactly.
type filler struct{ infos map[reflect.Type]*structInfo }

func newFiller() filler { return filler{structs()} }

// object fills the struct that v is, but for the keys to skip.
func (f filler) object(n *document.Node, v reflect.Value, skip ...string) *fillError {
	if n.Kind != document.Object {
		return wrongKind(n, "object")
	}
	info := f.infos[v.Type()]
	for i := range n.Kids {
		kid := &n.Kids[i]
		field, ok := info.byName[kid.Key]
		if slices.Contains(skip, kid.Key) {
			continue
		}
		if !ok {
			return (&fillError{code: "unknown-field", line: int(kid.Line),
				text: unknownField(kid.Key, info.names)}).under(kid.Key)
		}
		if err := f.fill(kid, v.Field(field.index)); err != nil {
			return err.under(kid.Key)
		}
	}
	return nil
}

func unknownField(key string, known []string) string {
	text := "unknown field " + plan.Quote(key)
	if strings.Contains(key, " ") {
		return text + "; in YAML, text with a comma or a colon needs quotes"
	}
	if guess := nearest(key, known); guess != "" {
		text += "; did you mean " + guess + "?"
	}
	return text
}

func wrongKind(n *document.Node, want string) *fillError {
	return &fillError{
		code: "wrong-type", line: int(n.Line), expected: want,
		text: "is of the wrong type: " + n.Kind.String(),
	}
}

func (f filler) fill(n *document.Node, v reflect.Value) *fillError {
	switch v.Kind() {
	case reflect.String:
		if n.Kind != document.String {
			return wrongKind(n, "string")
		}
		v.SetString(n.Text)
	case reflect.Bool:
		if n.Kind != document.Bool {
			return wrongKind(n, "boolean")
		}
		v.SetBool(n.Text == "true")
	case reflect.Int, reflect.Int64, reflect.Float64:
		return fillNumber(n, v)
	case reflect.Slice:
		return f.slice(n, v)
	case reflect.Map:
		if n.Kind != document.Object {
			return wrongKind(n, "object")
		}
		if len(n.Kids) > 0 {
			v.Set(reflect.ValueOf(n.Value(document.Exact)))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return f.object(n, v.Elem())
	case reflect.Struct:
		return f.object(n, v)
	default:
		panic("plan: no way to read a " + v.Type().String())
	}
	return nil
}

func fillNumber(n *document.Node, v reflect.Value) *fillError {
	if n.Kind != document.Number {
		return wrongKind(n, "number")
	}
	value := document.Exact(n.Text)
	switch x := value.(type) {
	case int64:
		if v.Kind() == reflect.Float64 {
			v.SetFloat(float64(x))
			return nil
		}
		if !v.OverflowInt(x) {
			v.SetInt(x)
			return nil
		}
	case float64:
		if v.Kind() == reflect.Float64 {
			v.SetFloat(x)
			return nil
		}
	}
	return &fillError{code: "wrong-type", line: int(n.Line), expected: "whole number", text: "is out of range: " + n.Text}
}

// slice leaves an empty list nil, so that it equals one that is absent.
func (f filler) slice(n *document.Node, v reflect.Value) *fillError {
	if n.Kind != document.Array {
		return wrongKind(n, "array")
	}
	if len(n.Kids) == 0 {
		return nil
	}
	list := reflect.MakeSlice(v.Type(), len(n.Kids), len(n.Kids))
	for i := range n.Kids {
		if err := f.fill(&n.Kids[i], list.Index(i)); err != nil {
			return err.under(fmt.Sprintf("[%d]", i))
		}
	}
	v.Set(list)
	return nil
}

// nearest is the candidate that a misspelt word most likely means, "" if none is near.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", max(2, len(word)/3)+1
	if len(word) > 64 {
		return ""
	}
	for _, c := range candidates {
		if d := editDistance(strings.ToLower(word), c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// editDistance is Levenshtein's, over bytes: the known words are ASCII.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
