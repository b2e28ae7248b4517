package schema

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Keyword is a schema's requirement, by its JSON Schema name.
type Keyword string

// The keywords that a value can fail.
const (
	Type       Keyword = "type"
	Const      Keyword = "const"
	Enum       Keyword = "enum"
	Required   Keyword = "required"
	Additional Keyword = "additionalProperties"
	MinItems   Keyword = "minItems"
	MaxItems   Keyword = "maxItems"
	MinLength  Keyword = "minLength"
	MaxLength  Keyword = "maxLength"
	Pattern    Keyword = "pattern"
	Minimum    Keyword = "minimum"
	Above      Keyword = "exclusiveMinimum"
	Maximum    Keyword = "maximum"
)

// Problem is one requirement that a value fails.
type Problem struct {
	At      []string // the field names and item numbers that lead to the value
	Schema  *Schema  // the schema with the requirement
	Keyword Keyword
	Got     any      // the value
	Len     int      // characters of a text or items of a list, for requirements on length
	Names   []string // fields that are missing or unexpected, sorted if unexpected
}

// Check returns every problem of a value, in the value's order; nil if it fits. The value consists of what
// encoding/json produces, and of int64.
func (s *Schema) Check(v any) []Problem {
	w := walker{}
	w.value(s, nil, v)
	return w.found
}

type walker struct{ found []Problem }

// note adds a problem if wrong.
func (w *walker) note(wrong bool, s *Schema, at []string, p Problem) {
	if wrong {
		p.Schema, p.At = s, slices.Clone(at)
		w.found = append(w.found, p)
	}
}

// value checks a value against a schema. If its type or enum does not fit, it checks nothing else.
func (w *walker) value(s *Schema, at []string, v any) {
	switch {
	case !s.Type.has(v):
		w.note(true, s, at, Problem{Keyword: Type, Got: v})
		return
	case s.Const != nil && !same(s.Const, v):
		w.note(true, s, at, Problem{Keyword: Const, Got: v})
		return
	case s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return same(e, v) }):
		w.note(true, s, at, Problem{Keyword: Enum, Got: v})
		return
	}
	if s.Ref != nil {
		w.value(s.Ref, at, v)
	}
	switch TypeOf(v) {
	case "object":
		w.object(s, at, v.(map[string]any))
	case "array":
		w.list(s, at, v.([]any))
	case "string":
		w.text(s, at, v.(string))
	case "number":
		w.number(s, at, v)
	}
	for _, part := range s.AllOf {
		w.value(part, at, v)
	}
	if s.If != nil && s.Then != nil && len(s.If.Check(v)) == 0 {
		w.value(s.Then, at, v)
	}
}

func (w *walker) object(s *Schema, at []string, v map[string]any) {
	var missing, unknown []string
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			missing = append(missing, name)
		}
	}
	w.note(missing != nil, s, at, Problem{Keyword: Required, Got: v, Names: missing})
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if part := cmp.Or(s.Properties[name], s.Others.Schema); part != nil {
			w.value(part, append(at, name), v[name])
		} else if s.Others.None {
			unknown = append(unknown, name)
		}
	}
	w.note(unknown != nil, s, at, Problem{Keyword: Additional, Got: v, Names: unknown})
}

func (w *walker) list(s *Schema, at []string, v []any) {
	w.note(s.MinItems != nil && len(v) < *s.MinItems, s, at, Problem{Keyword: MinItems, Got: v, Len: len(v)})
	w.note(s.MaxItems != nil && len(v) > *s.MaxItems, s, at, Problem{Keyword: MaxItems, Got: v, Len: len(v)})
	for i, item := range v {
		if s.Items != nil {
			w.value(s.Items, append(at, strconv.Itoa(i)), item)
		}
	}
}

func (w *walker) text(s *Schema, at []string, v string) {
	if s.MinLength != nil || s.MaxLength != nil {
		n := utf8.RuneCountInString(v)
		w.note(s.MinLength != nil && n < *s.MinLength, s, at, Problem{Keyword: MinLength, Got: v, Len: n})
		w.note(s.MaxLength != nil && n > *s.MaxLength, s, at, Problem{Keyword: MaxLength, Got: v, Len: n})
	}
	w.note(s.Pattern != "" && !s.expr.Get().MatchString(v), s, at, Problem{Keyword: Pattern, Got: v})
}

func (w *walker) number(s *Schema, at []string, v any) {
	if s.Minimum == nil && s.Maximum == nil && s.Above == nil {
		return
	}
	n := Rat(v)
	w.note(s.Minimum != nil && n.Cmp(Rat(*s.Minimum)) < 0, s, at, Problem{Keyword: Minimum, Got: v})
	w.note(s.Maximum != nil && n.Cmp(Rat(*s.Maximum)) > 0, s, at, Problem{Keyword: Maximum, Got: v})
	w.note(s.Above != nil && n.Cmp(Rat(*s.Above)) <= 0, s, at, Problem{Keyword: Above, Got: v})
}

// same compares two values that are neither lists nor objects: the schemas name no other values.
func same(want, v any) bool {
	kind := TypeOf(v)
	switch {
	case kind != TypeOf(want) || kind == "array" || kind == "object" || kind == "":
		return false
	case kind == "number":
		return Rat(want).Cmp(Rat(v)) == 0
	}
	return want == v
}
