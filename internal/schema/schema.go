// Package schema checks a document against a JSON Schema, and finds parts of a schema for error messages. The schema's
// owner decides what such a message says.
//
// It knows the keywords that this program's schemas use and those that people's commonly do, as defined in JSON Schema
// 2020-12, and refuses a schema with any other: a requirement that is ignored is not met. It reports all problems, and
// its tests compare it with a complete implementation. The program does not link that one, because it compiles five
// meta-schemas at every start. Read and CheckWithin are for schemas and values that anybody may have written.
package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/pattern"
)

// Schema is a schema or a part of one. Requirements that it does not have are nil or empty.
type Schema struct {
	Type       Types              `json:"type"`
	Const      any                `json:"const"`
	Enum       []any              `json:"enum"`
	Properties map[string]*Schema `json:"properties"`
	Required   []string           `json:"required"`
	Others     Others             `json:"additionalProperties"` // what fields besides Properties must be
	Items      *Schema            `json:"items"`
	MinItems   *int               `json:"minItems"`
	MaxItems   *int               `json:"maxItems"`
	MinLength  *int               `json:"minLength"` // of a text, in characters
	MaxLength  *int               `json:"maxLength"`
	Pattern    string             `json:"pattern"`
	Minimum    *json.Number       `json:"minimum"`
	Above      *json.Number       `json:"exclusiveMinimum"`
	Maximum    *json.Number       `json:"maximum"`
	AllOf      []*Schema          `json:"allOf"`
	If         *Schema            `json:"if"`
	Then       *Schema            `json:"then"`
	Examples   []any              `json:"examples"`

	Else          *Schema             `json:"else"`
	AnyOf         []*Schema           `json:"anyOf"`
	OneOf         []*Schema           `json:"oneOf"`
	Not           *Schema             `json:"not"`
	Below         *json.Number        `json:"exclusiveMaximum"`
	MultipleOf    *json.Number        `json:"multipleOf"`
	Unique        bool                `json:"uniqueItems"`
	Prefix        []*Schema           `json:"prefixItems"` // of the first items; Items is of the others
	Contains      *Schema             `json:"contains"`
	MinContains   *int                `json:"minContains"`
	MaxContains   *int                `json:"maxContains"`
	MinProperties *int                `json:"minProperties"`
	MaxProperties *int                `json:"maxProperties"`
	Patterns      map[string]*Schema  `json:"patternProperties"`
	Names         *Schema             `json:"propertyNames"`
	Dependent     map[string][]string `json:"dependentRequired"`

	Location string                      `json:"-"` // a URL whose fragment is a JSON pointer
	Ref      *Schema                     `json:"-"` // must hold, too
	exprs    map[string]*pattern.Pattern // of Pattern and Patterns

	RefTo       string             `json:"$ref"`
	Defs        map[string]*Schema `json:"$defs"`
	Title       string             `json:"title"`
	Description string             `json:"description"`
	ID          string             `json:"$id"`
	Dialect     string             `json:"$schema"`
}

// Others is what the fields of an object must be that have no schema by name: nothing that the zero value says.
type Others struct {
	None   bool // there may be no such field
	Schema *Schema
}

// UnmarshalJSON reads true, false or a schema.
func (o *Others) UnmarshalJSON(data []byte) error {
	var any bool
	if json.Unmarshal(data, &any) == nil {
		o.None = !any
		return nil
	}
	return decode(data, &o.Schema)
}

func decode(text []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// Parse parses a schema. Its references may only lead to its own parts.
func Parse(text []byte) (*Schema, error) {
	var s Schema
	if err := decode(text, &s); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	if err := s.link(&s, s.ID+"#"); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.ID, err)
	}
	if at := s.circles(map[*Schema]bool{}); at != "" {
		return nil, fmt.Errorf("read %s: %s refers to itself", s.ID, at)
	}
	return &s, nil
}

// circles finds a part that demands itself of the same value, which no check would end on; "" if there is none.
func (s *Schema) circles(open map[*Schema]bool) string {
	if at := s.circle(open); at != "" {
		return at
	}
	for _, part := range s.parts() {
		if at := part.circles(open); at != "" {
			return at
		}
	}
	return ""
}

// circle follows what is demanded of one value. open are the schemas on the way here, false once they are sound.
func (s *Schema) circle(open map[*Schema]bool) string {
	if s == nil {
		return ""
	}
	if running, known := open[s]; running {
		return s.Location
	} else if known {
		return ""
	}
	open[s] = true
	for _, same := range slices.Concat([]*Schema{s.Ref, s.If, s.Then, s.Else, s.Not}, s.AllOf, s.AnyOf, s.OneOf) {
		if at := same.circle(open); at != "" {
			return at
		}
	}
	open[s] = false
	return ""
}

// link sets every part's location and resolves its reference.
func (s *Schema) link(root *Schema, location string) error {
	s.Location = location
	s.exprs = map[string]*pattern.Pattern{}
	for _, expr := range append(slices.Collect(maps.Keys(s.Patterns)), s.Pattern) {
		if _, err := syntax.Parse(expr, syntax.Perl); err != nil {
			return fmt.Errorf("%s has a pattern that can't be used: %w", location, err)
		}
		s.exprs[expr] = pattern.Compile(expr)
	}
	if s.RefTo != "" {
		pointer, ok := strings.CutPrefix(s.RefTo, "#")
		if at, err := url.PathUnescape(pointer); err == nil {
			pointer = at
		}
		if s.Ref = root.Part(pointer); !ok || s.Ref == nil {
			return fmt.Errorf("%s refers to %s, which is not there", location, s.RefTo)
		}
	}
	var errs []error
	for name, part := range s.parts() {
		errs = append(errs, part.link(root, location+"/"+name))
	}
	return errors.Join(errs...)
}

// pointerEscapes are those of a name in a JSON pointer.
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// parts returns the subschemas by their JSON pointers from here.
func (s *Schema) parts() map[string]*Schema {
	all := map[string]*Schema{"items": s.Items, "if": s.If, "then": s.Then, "additionalProperties": s.Others.Schema,
		"else": s.Else, "not": s.Not, "contains": s.Contains, "propertyNames": s.Names}
	for keyword, parts := range map[string]map[string]*Schema{"properties": s.Properties, "$defs": s.Defs,
		"patternProperties": s.Patterns} {
		for name, p := range parts {
			all[keyword+"/"+pointerEscapes.Replace(name)] = p
		}
	}
	for keyword, parts := range map[string][]*Schema{"allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf,
		"prefixItems": s.Prefix} {
		for i, p := range parts {
			all[keyword+"/"+strconv.Itoa(i)] = p
		}
	}
	maps.DeleteFunc(all, func(_ string, p *Schema) bool { return p == nil })
	return all
}

// Part returns the part at a JSON pointer, "" for the whole; nil if there is none.
func (s *Schema) Part(pointer string) *Schema {
	if pointer == "" {
		return s
	}
	for name, p := range s.parts() {
		if rest, ok := strings.CutPrefix(pointer, "/"+name); ok && (rest == "" || rest[0] == '/') {
			return p.Part(rest)
		}
	}
	return nil
}

// At returns the part that describes the value at a place, nil if none does. The place lists the field names and item
// numbers that lead there.
func (s *Schema) At(place []string) *Schema {
	if len(place) == 0 {
		return s.Deref()
	}
	for ; s != nil; s = s.Ref {
		next := s.Properties[place[0]]
		if next == nil {
			next = cmp.Or(s.Items, s.Others.Schema)
		}
		if found := next.At(place[1:]); found != nil {
			return found
		}
		for _, part := range s.AllOf {
			if found := part.Then.At(place); found != nil {
				return found
			}
		}
	}
	return nil
}

// Deref returns the target of a reference, or the schema itself if it is no reference.
func (s *Schema) Deref() *Schema {
	for s != nil && s.Ref != nil {
		s = s.Ref
	}
	return s
}

// Fields returns the names of the fields that an object may have, sorted.
func (s *Schema) Fields() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}

// Types are the types that a value may have, in the order of messages.
type Types []string

// typeNames are all types, in the order of messages.
var typeNames = []string{"null", "boolean", "number", "integer", "string", "array", "object"}

// UnmarshalJSON reads one type or a list of them.
func (t *Types) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = Types{one}
		return nil
	}
	if err := json.Unmarshal(data, (*[]string)(t)); err != nil {
		return err
	}
	slices.SortFunc(*t, func(a, b string) int { return slices.Index(typeNames, a) - slices.Index(typeNames, b) })
	return nil
}

func (t Types) has(v any) bool {
	kind := TypeOf(v)
	return len(t) == 0 || slices.Contains(t, kind) || kind == "number" && slices.Contains(t, "integer") &&
		Rat(v).IsInt()
}

// TypeOf returns the JSON type of a value: "number" for every number, "" for a value that is not JSON.
func TypeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number, float64, int64, int:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return ""
}

// Rat returns the exact value of a number.
func Rat(v any) *big.Rat {
	if i, ok := v.(int64); ok {
		return new(big.Rat).SetInt64(i)
	}
	r, ok := new(big.Rat).SetString(fmt.Sprint(v))
	if !ok {
		return new(big.Rat)
	}
	return r
}
