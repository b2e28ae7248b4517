package schema

import (
	"cmp"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"gitwf/internal/pattern"
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

	Below         Keyword = "exclusiveMaximum"
	MultipleOf    Keyword = "multipleOf"
	AnyOf         Keyword = "anyOf"
	OneOf         Keyword = "oneOf"
	Not           Keyword = "not"
	Unique        Keyword = "uniqueItems"
	Contains      Keyword = "contains"
	MinProperties Keyword = "minProperties"
	MaxProperties Keyword = "maxProperties"
	Dependent     Keyword = "dependentRequired"
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
	w.checkValue(s, nil, v)
	return w.found
}

// ErrTooComplex says that a value can't be checked within the steps that it may take. It has not passed.
var ErrTooComplex = errors.New("too complex to be checked")

// CheckWithin is Check in a bounded number of steps, of about a microsecond each, and with a bounded number of
// problems.
func (s *Schema) CheckWithin(v any, steps int) ([]Problem, error) {
	w := walker{left: &steps, most: 1000, sizes: map[string]int{}}
	w.checkValue(s, nil, v)
	if steps < 0 {
		return nil, ErrTooComplex
	}
	return w.found, nil
}

type walker struct {
	found []Problem
	left  *int           // steps; nil has no end
	most  int            // problems; 0 has no end
	sizes map[string]int // of expressions, in instructions
}

// spend takes steps, and reports whether there were as many.
func (w *walker) spend(steps int) bool {
	if w.left == nil {
		return true
	}
	*w.left -= max(steps, 1)
	return *w.left >= 0
}

// fits reports whether a value fits, on the walker's steps.
func (w *walker) fits(s *Schema, v any) bool {
	alone := walker{left: w.left, most: 1, sizes: w.sizes}
	alone.checkValue(s, nil, v)
	return len(alone.found) == 0
}

// addProblem adds a problem if wrong.
func (w *walker) addProblem(wrong bool, s *Schema, at []string, p Problem) {
	if wrong && (w.most == 0 || len(w.found) < w.most) {
		p.Schema, p.At = s, slices.Clone(at)
		w.found = append(w.found, p)
	}
}

// checkValue checks a value against a schema. If its type or enum does not fit, it checks nothing else.
func (w *walker) checkValue(s *Schema, at []string, v any) {
	if !w.spend(1 + len(at)/8) {
		return
	}
	switch {
	case !s.Type.has(v):
		w.addProblem(true, s, at, Problem{Keyword: Type, Got: v})
		return
	case s.Const != nil && !w.equal(s.Const, v):
		w.addProblem(true, s, at, Problem{Keyword: Const, Got: v})
		return
	case s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return w.equal(e, v) }):
		w.addProblem(true, s, at, Problem{Keyword: Enum, Got: v})
		return
	}
	if s.Ref != nil {
		w.checkValue(s.Ref, at, v)
	}
	switch TypeOf(v) {
	case "object":
		w.checkObject(s, at, v.(map[string]any))
	case "array":
		w.checkList(s, at, v.([]any))
	case "string":
		w.checkText(s, at, v.(string))
	case "number":
		w.checkNumber(s, at, v)
	}
	for _, part := range s.AllOf {
		w.checkValue(part, at, v)
	}
	w.checkAlternatives(s, at, v)
}

// checkAlternatives checks what a value must fit one of, or none of.
func (w *walker) checkAlternatives(s *Schema, at []string, v any) {
	if s.If != nil && (s.Then != nil || s.Else != nil) {
		if then := cmp.Or(s.Then, &Schema{}); w.fits(s.If, v) {
			w.checkValue(then, at, v)
		} else if s.Else != nil {
			w.checkValue(s.Else, at, v)
		}
	}
	fit := func(part *Schema) bool { return w.fits(part, v) }
	w.addProblem(s.AnyOf != nil && !slices.ContainsFunc(s.AnyOf, fit), s, at, Problem{Keyword: AnyOf, Got: v})
	if s.OneOf != nil {
		n := 0
		for _, part := range s.OneOf {
			if n < 2 && fit(part) {
				n++
			}
		}
		w.addProblem(n != 1, s, at, Problem{Keyword: OneOf, Got: v, Len: n})
	}
	w.addProblem(s.Not != nil && w.fits(s.Not, v), s, at, Problem{Keyword: Not, Got: v})
}

func (w *walker) checkObject(s *Schema, at []string, v map[string]any) {
	var missing, unknown []string
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			missing = append(missing, name)
		}
	}
	w.addProblem(missing != nil, s, at, Problem{Keyword: Required, Got: v, Names: missing})
	w.spend(len(s.Required))
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if !w.spend(1) {
			return
		}
		at := append(at, name)
		if s.Names != nil {
			w.checkValue(s.Names, at, name)
		}
		part, known := s.Properties[name]
		if known {
			w.checkValue(part, at, v[name])
		}
		for _, expr := range slices.Sorted(maps.Keys(s.Patterns)) {
			if w.matches(s.exprs[expr], name) {
				known = true
				w.checkValue(s.Patterns[expr], at, v[name])
			}
		}
		switch {
		case known:
		case s.Others.Schema != nil:
			w.checkValue(s.Others.Schema, at, v[name])
		case s.Others.None:
			unknown = append(unknown, name)
		}
	}
	w.addProblem(unknown != nil, s, at, Problem{Keyword: Additional, Got: v, Names: unknown})
	w.addProblem(s.MinProperties != nil && len(v) < *s.MinProperties, s, at,
		Problem{Keyword: MinProperties, Got: v, Len: len(v)})
	w.addProblem(s.MaxProperties != nil && len(v) > *s.MaxProperties, s, at,
		Problem{Keyword: MaxProperties, Got: v, Len: len(v)})
	for _, name := range slices.Sorted(maps.Keys(s.Dependent)) {
		if _, has := v[name]; !has || !w.spend(len(s.Dependent[name])) {
			continue
		}
		lacks := slices.DeleteFunc(slices.Clone(s.Dependent[name]), func(n string) bool { _, ok := v[n]; return ok })
		w.addProblem(len(lacks) > 0, s, at, Problem{Keyword: Dependent, Got: v, Names: lacks})
	}
}

func (w *walker) checkList(s *Schema, at []string, v []any) {
	w.addProblem(s.MinItems != nil && len(v) < *s.MinItems, s, at, Problem{Keyword: MinItems, Got: v, Len: len(v)})
	w.addProblem(s.MaxItems != nil && len(v) > *s.MaxItems, s, at, Problem{Keyword: MaxItems, Got: v, Len: len(v)})
	contained := 0
	for i, item := range v {
		if !w.spend(1) {
			return
		}
		if i < len(s.Prefix) {
			w.checkValue(s.Prefix[i], append(at, strconv.Itoa(i)), item)
		} else if s.Items != nil {
			w.checkValue(s.Items, append(at, strconv.Itoa(i)), item)
		}
		if s.Contains != nil && w.fits(s.Contains, item) {
			contained++
		}
	}
	if s.Contains != nil {
		least := 1
		if s.MinContains != nil {
			least = *s.MinContains
		}
		w.addProblem(contained < least || s.MaxContains != nil && contained > *s.MaxContains, s, at,
			Problem{Keyword: Contains, Got: v, Len: contained})
	}
	w.addProblem(s.Unique && w.repeats(v), s, at, Problem{Keyword: Unique, Got: v})
}

// repeats reports whether two items are equal.
func (w *walker) repeats(list []any) bool {
	seen := make(map[string]bool, len(list))
	for _, item := range list {
		key := string(w.key(nil, item))
		if seen[key] || w.left != nil && *w.left < 0 {
			return seen[key]
		}
		seen[key] = true
	}
	return false
}

// key writes a value so that equal values are written alike: 1 and 1.0 are.
func (w *walker) key(to []byte, v any) []byte {
	if !w.spend(1) {
		return to
	}
	switch v := v.(type) {
	case []any:
		to = append(to, '[')
		for _, item := range v {
			to = append(w.key(to, item), ',')
		}
		return append(to, ']')
	case map[string]any:
		to = append(to, '{')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			to = append(w.key(append(strconv.AppendQuote(to, name), ':'), v[name]), ',')
		}
		return append(to, '}')
	case string:
		w.spend(len(v) / lettersAStep)
		return strconv.AppendQuote(to, v)
	case bool:
		return strconv.AppendBool(to, v)
	case nil:
		return append(to, 'n')
	}
	return append(to, Rat(v).RatString()...)
}

// What a step is worth: so many bytes of text looked at, or bytes times instructions of an expression.
const (
	lettersAStep = 128
	matchesAStep = 64
)

// matches reports whether a text matches. That takes a time that grows with the text times the expression.
func (w *walker) matches(expr *pattern.Pattern, text string) bool {
	if w.left != nil {
		name := expr.Get().String()
		if _, known := w.sizes[name]; !known {
			w.sizes[name], _ = instructions(name) // Parse has refused what can't be used
		}
		if !w.spend(1 + len(text)*w.sizes[name]/matchesAStep) {
			return false
		}
	}
	return expr.Get().MatchString(text)
}

func (w *walker) checkText(s *Schema, at []string, v string) {
	if s.MinLength != nil || s.MaxLength != nil {
		w.spend(len(v) / lettersAStep)
		n := utf8.RuneCountInString(v)
		w.addProblem(s.MinLength != nil && n < *s.MinLength, s, at, Problem{Keyword: MinLength, Got: v, Len: n})
		w.addProblem(s.MaxLength != nil && n > *s.MaxLength, s, at, Problem{Keyword: MaxLength, Got: v, Len: n})
	}
	w.addProblem(s.Pattern != "" && !w.matches(s.exprs[s.Pattern], v), s, at, Problem{Keyword: Pattern, Got: v})
}

func (w *walker) checkNumber(s *Schema, at []string, v any) {
	if s.Minimum == nil && s.Maximum == nil && s.Above == nil && s.Below == nil && s.MultipleOf == nil {
		return
	}
	w.spend(4)
	n := Rat(v)
	w.addProblem(s.Minimum != nil && n.Cmp(Rat(*s.Minimum)) < 0, s, at, Problem{Keyword: Minimum, Got: v})
	w.addProblem(s.Maximum != nil && n.Cmp(Rat(*s.Maximum)) > 0, s, at, Problem{Keyword: Maximum, Got: v})
	w.addProblem(s.Below != nil && n.Cmp(Rat(*s.Below)) >= 0, s, at, Problem{Keyword: Below, Got: v})
	w.addProblem(s.MultipleOf != nil && !new(big.Rat).Quo(n, Rat(*s.MultipleOf)).IsInt(), s, at,
		Problem{Keyword: MultipleOf, Got: v})
	w.addProblem(s.Above != nil && n.Cmp(Rat(*s.Above)) <= 0, s, at, Problem{Keyword: Above, Got: v})
}

// equal compares two values, numbers by what they are worth.
func (w *walker) equal(want, v any) bool {
	kind := TypeOf(v)
	if kind != TypeOf(want) || kind == "" || !w.spend(1) {
		return false
	}
	switch kind {
	case "number":
		return Rat(want).Cmp(Rat(v)) == 0
	case "array":
		return slices.EqualFunc(want.([]any), v.([]any), w.equal)
	case "object":
		return maps.EqualFunc(want.(map[string]any), v.(map[string]any), w.equal)
	case "string":
		w.spend(len(v.(string)) / lettersAStep)
	}
	return want == v
}
