package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// What a schema that anybody may have written is bounded by. Its expressions are those of RE2, which never backtrack.
const (
	maxText         = 256 << 10 // bytes
	maxLevels       = 64
	maxParts        = 2000
	maxInstructions = 5000 // of one expression
)

// dialect is the only one that a schema may name.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// kind says what a keyword holds.
type kind uint8

const (
	holdsText kind = iota // and whatever else encoding/json checks by the field's type
	holdsSchema
	holdsSchemas // in a list
	holdsNamed   // in an object
	holdsCount
	holdsNumber
	holdsPattern
	says // something for people: an annotation, which no value can fail
)

// holdsOf says what a keyword holds, if Read knows it.
func holdsOf(keyword string) (holds kind, known bool) {
	switch keyword {
	case "type", "const", "enum", "required", "dependentRequired", "uniqueItems", "$ref":
		return holdsText, true
	case "properties", "patternProperties", "$defs":
		return holdsNamed, true
	case "additionalProperties", "items", "if", "then", "else", "not", "contains", "propertyNames":
		return holdsSchema, true
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return holdsSchemas, true
	case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", "minContains",
		"maxContains":
		return holdsCount, true
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return holdsNumber, true
	case "pattern":
		return holdsPattern, true
	case "title", "description", "$comment", "default", "format", "examples", "deprecated", "readOnly", "writeOnly",
		"$id", "$schema":
		return says, true
	}
	return 0, false
}

// Read parses a schema that anybody may have written: bounded, without references to other documents, and with nothing
// that would be ignored. An error names the place as a JSON pointer.
func Read(text []byte) (*Schema, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("read a schema: it has %d bytes, more than %d", len(text), maxText)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	r := reader{}
	clean, err := r.schema(v, "#", 0)
	if err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	if text, err = json.Marshal(clean); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	return Parse(text)
}

type reader struct{ parts int }

// schema returns a part with what Parse reads. true and false become schemas that everything or nothing fits.
func (r *reader) schema(v any, at string, level int) (map[string]any, error) {
	if r.parts++; r.parts > maxParts || level > maxLevels {
		return nil, fmt.Errorf("%s: more than %d parts, or %d levels", at, maxParts, maxLevels)
	}
	switch v := v.(type) {
	case bool:
		if v {
			return map[string]any{}, nil
		}
		return map[string]any{"not": map[string]any{}}, nil
	case map[string]any:
		clean := make(map[string]any, len(v))
		for _, name := range sortedKeys(v) {
			holds, known := holdsOf(name)
			if !known {
				return nil, fmt.Errorf("%s: the keyword %q is not known here", at, name)
			}
			got, err := r.keyword(name, holds, v[name], at+"/"+name, level)
			if err != nil {
				return nil, err
			}
			switch {
			case name == "const" && got == nil: // which Schema.Const can't tell from nothing
				clean["allOf"] = append([]any{map[string]any{"type": "null"}}, list(clean["allOf"])...)
			case holds != says || isShown(name, got):
				clean[name] = got
			}
		}
		return clean, nil
	}
	return nil, fmt.Errorf("%s: a schema is an object, true or false", at)
}

func (r *reader) keyword(name string, holds kind, v any, at string, level int) (any, error) {
	wrong := func(want string) error { return fmt.Errorf("%s: expected %s", at, want) }
	switch holds {
	case holdsSchema:
		if _, all := v.(bool); all && name == "additionalProperties" {
			return v, nil
		}
		return r.schema(v, at, level+1)
	case holdsSchemas:
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return nil, wrong("a list of schemas")
		}
		clean := make([]any, len(list))
		for i, item := range list {
			var err error
			if clean[i], err = r.schema(item, at+"/"+strconv.Itoa(i), level+1); err != nil {
				return nil, err
			}
		}
		return clean, nil
	case holdsNamed:
		object, ok := v.(map[string]any)
		if !ok {
			return nil, wrong("an object of schemas")
		}
		clean := make(map[string]any, len(object))
		for _, key := range sortedKeys(object) {
			var err error
			if name == "patternProperties" {
				err = checkPattern(key, at)
			}
			if err == nil {
				clean[key], err = r.schema(object[key], at+"/"+pointerEscapes.Replace(key), level+1)
			}
			if err != nil {
				return nil, err
			}
		}
		return clean, nil
	case holdsCount:
		n, ok := wholeNumber(v)
		if !ok {
			return nil, wrong("a whole number, 0 or more")
		}
		return n, nil
	case holdsNumber:
		n, ok := v.(json.Number)
		if f, err := n.Float64(); !ok || err != nil || !isSmall(n) || name == "multipleOf" && !(f > 0) {
			return nil, wrong("a number that can be compared with")
		}
		return n, nil
	case holdsPattern:
		expr, ok := v.(string)
		if !ok {
			return nil, wrong("a regular expression")
		}
		return expr, checkPattern(expr, at)
	}
	return r.plain(name, v, at, level)
}

// plain checks the keywords that hold no schema.
func (r *reader) plain(name string, v any, at string, level int) (any, error) {
	wrong := func(want string) error { return fmt.Errorf("%s: expected %s", at, want) }
	switch name {
	case "$schema":
		if s, _ := v.(string); strings.TrimSuffix(s, "#") != dialect {
			return nil, wrong(dialect)
		}
	case "$id":
		if _, ok := v.(string); !ok || level > 0 {
			return nil, wrong("no $id but of the whole")
		}
	case "$ref":
		if s, ok := v.(string); !ok || s != "#" && !strings.HasPrefix(s, "#/") {
			return nil, wrong("a reference to a part of this schema, such as #/$defs/item")
		}
	case "type":
		names, ok := v.([]any)
		if s, one := v.(string); one {
			names, ok = []any{s}, true
		}
		if !ok || len(names) == 0 || slices.ContainsFunc(names, func(n any) bool { return !isType(n) }) {
			return nil, wrong("null, boolean, number, integer, string, array or object, or a list of them")
		}
	case "enum":
		if list, ok := v.([]any); !ok || len(list) == 0 {
			return nil, wrong("a list of values")
		}
	}
	if name == "const" || name == "enum" {
		return v, checkSane(v, at, 0)
	}
	return v, nil
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// isShown reports whether an annotation is one that people are shown.
func isShown(name string, v any) bool {
	switch name {
	case "title", "description":
		_, ok := v.(string)
		return ok
	case "examples":
		_, ok := v.([]any)
		return ok && checkSane(v, "", 0) == nil
	}
	return false
}

func isType(v any) bool {
	s, _ := v.(string)
	switch s {
	case "null", "boolean", "number", "integer", "string", "array", "object":
		return true
	}
	return false
}

// checkSane refuses numbers and nesting that are dear to compare.
func checkSane(v any, at string, level int) error {
	var err error
	switch v := v.(type) {
	case json.Number:
		if !isSmall(v) {
			err = fmt.Errorf("%s: the number %.40s is out of range", at, v)
		}
	case []any:
		for _, item := range v {
			if err == nil {
				err = checkSane(item, at, level+1)
			}
		}
	case map[string]any:
		for _, item := range v {
			if err == nil {
				err = checkSane(item, at, level+1)
			}
		}
	}
	if err == nil && level > maxLevels {
		err = fmt.Errorf("%s: more than %d levels", at, maxLevels)
	}
	return err
}

// isSmall reports whether a number is one that a float64 can hold: 1e999999999 has a billion digits.
func isSmall(n json.Number) bool {
	const digits = 400
	f, err := n.Float64()
	if len(n) > digits || err != nil || math.IsInf(f, 0) {
		return false
	}
	_, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	e, err := strconv.Atoi(exponent)
	return exponent == "" || err == nil && e >= -digits && e <= digits
}

// wholeNumber is the value of a count, which may be written as 1.0.
func wholeNumber(v any) (int, bool) {
	n, ok := v.(json.Number)
	if !ok || !isSmall(n) {
		return 0, false
	}
	r := Rat(n)
	if !r.IsInt() || r.Sign() < 0 || !r.Num().IsInt64() || r.Num().Int64() > math.MaxInt32 {
		return 0, false
	}
	return int(r.Num().Int64()), true
}

// checkPattern checks that a regular expression can be used, and is no burden.
func checkPattern(expr, at string) error {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return fmt.Errorf("%s: the pattern can't be used: %w", at, err)
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(prog.Inst) > maxInstructions {
		return fmt.Errorf("%s: the pattern is too large", at)
	}
	return nil
}

// instructions is how much an expression does with each byte, at most.
func instructions(expr string) int {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return maxInstructions
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return maxInstructions
	}
	return len(prog.Inst)
}

func sortedKeys(m map[string]any) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
