package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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

// Read parses a schema that anybody may have written: bounded, without references to other documents, and with nothing
// that would be ignored. An error names the place as a JSON pointer.
func Read(text []byte) (*Schema, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("read a schema: it has %d bytes, more than %d", len(text), maxText)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil {
		v, err = (&reader{}).schema(v, "#", 0)
	}
	if err == nil {
		text, err = json.Marshal(v)
	}
	if err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	return Parse(text)
}

// reader checks the parts of a schema and brings them, in place, into the form that Parse takes.
type reader struct{ parts int }

// schema returns a part. true and false become schemas that everything or nothing fits.
func (r *reader) schema(v any, at string, level int) (any, error) {
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
		for _, name := range slices.Sorted(maps.Keys(v)) {
			got, err := r.keyword(name, v[name], at, level)
			if err != nil {
				return nil, err
			}
			if v[name] = got; got != nil {
				continue
			}
			if delete(v, name); name == "const" { // of null, which Schema.Const can't tell from nothing
				others, _ := v["allOf"].([]any)
				v["allOf"] = append([]any{map[string]any{"type": "null"}}, others...)
			}
		}
		return v, nil
	}
	return nil, fmt.Errorf("%s: a schema is an object, true or false", at)
}

// keyword returns what a keyword holds, nil for what says nothing that a value can fail or people are shown.
func (r *reader) keyword(name string, v any, above string, level int) (_ any, err error) {
	at := above + "/" + name
	wrong := func(want string) (any, error) { return nil, fmt.Errorf("%s: expected %s", at, want) }
	switch name {
	case "properties", "patternProperties", "$defs":
		object, ok := v.(map[string]any)
		if !ok {
			return wrong("an object of schemas")
		}
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if name == "patternProperties" {
				err = checkPattern(key, at)
			}
			if err == nil {
				object[key], err = r.schema(object[key], at+"/"+pointerEscapes.Replace(key), level+1)
			}
			if err != nil {
				return nil, err
			}
		}
	case "additionalProperties", "items", "if", "then", "else", "not", "contains", "propertyNames":
		if _, all := v.(bool); all && name == "additionalProperties" {
			return v, nil
		}
		return r.schema(v, at, level+1)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return wrong("a list of schemas")
		}
		for i, item := range list {
			if list[i], err = r.schema(item, at+"/"+strconv.Itoa(i), level+1); err != nil {
				return nil, err
			}
		}
	case "required", "dependentRequired", "uniqueItems": // Parse checks them by the field's type
	case "title", "description":
		if _, ok := v.(string); !ok {
			return nil, nil
		}
	case "examples":
		if _, ok := v.([]any); !ok || checkSane(v, at, 0) != nil {
			return nil, nil
		}
	case "$comment", "default", "format", "deprecated", "readOnly", "writeOnly":
		return nil, nil
	default:
		return r.value(name, v, above, level)
	}
	return v, nil
}

// value is keyword for what holds no schema.
func (r *reader) value(name string, v any, above string, level int) (any, error) {
	at := above + "/" + name
	wrong := func(want string) (any, error) { return nil, fmt.Errorf("%s: expected %s", at, want) }
	text, isText := v.(string)
	switch name {
	case "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties",
		"minContains", "maxContains":
		n, ok := wholeNumber(v)
		if !ok {
			return wrong("a whole number, 0 or more")
		}
		return n, nil
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		n, ok := v.(json.Number)
		if f, err := n.Float64(); !ok || err != nil || !isSmall(n) || name == "multipleOf" && !(f > 0) {
			return wrong("a number that can be compared with")
		}
	case "pattern":
		if !isText {
			return wrong("a regular expression")
		}
		return v, checkPattern(text, at)
	case "$schema":
		if strings.TrimSuffix(text, "#") != dialect {
			return wrong(dialect)
		}
		return nil, nil
	case "$id":
		if !isText || level > 0 {
			return wrong("no $id but of the whole")
		}
		return nil, nil
	case "$ref":
		if text != "#" && !strings.HasPrefix(text, "#/") {
			return wrong("a reference to a part of this schema, such as #/$defs/item")
		}
	case "type":
		names, ok := v.([]any)
		if isText {
			names, ok = []any{text}, true
		}
		if !ok || len(names) == 0 || slices.ContainsFunc(names, func(n any) bool { return !isType(n) }) {
			return wrong("null, boolean, number, integer, string, array or object, or a list of them")
		}
	case "enum":
		if list, ok := v.([]any); !ok || len(list) == 0 {
			return wrong("a list of values")
		}
		return v, checkSane(v, at, 0)
	case "const":
		return v, checkSane(v, at, 0)
	default:
		return nil, fmt.Errorf("%s: the keyword %q is not known here", above, name)
	}
	return v, nil
}

func isType(v any) bool {
	name, ok := v.(string)
	return ok && slices.Contains(typeNames, name)
}

// checkSane refuses numbers and nesting that are dear to compare.
func checkSane(v any, at string, level int) (err error) {
	if level > maxLevels {
		return fmt.Errorf("%s: more than %d levels", at, maxLevels)
	}
	switch v := v.(type) {
	case json.Number:
		if !isSmall(v) {
			return fmt.Errorf("%s: the number %.40s is out of range", at, v)
		}
	case []any:
		for i := 0; i < len(v) && err == nil; i++ {
			err = checkSane(v[i], at, level+1)
		}
	case map[string]any:
		return checkSane(slices.Collect(maps.Values(v)), at, level)
	}
	return err
}

// isSmall reports whether a number is one that a float64 can hold: 1e999999999 has a billion digits.
func isSmall(n json.Number) bool {
	const digits = 400
	if _, err := n.Float64(); err != nil || len(n) > digits {
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
	n, err := instructions(expr)
	if err != nil {
		return fmt.Errorf("%s: the pattern can't be used: %w", at, err)
	}
	if n > maxInstructions {
		return fmt.Errorf("%s: the pattern is too large", at)
	}
	return nil
}

// instructions is how much an expression does with each byte, at most.
func instructions(expr string) (int, error) {
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(prog.Inst), nil
}
