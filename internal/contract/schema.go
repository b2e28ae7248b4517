package contract

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	schemakind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

//go:embed reply.schema.json
var schemaJSON []byte

const (
	schemaName = "reply.schema.json"
	schemaID   = "https://git-wf.invalid/" + schemaName
)

// Schema is the JSON Schema of a reply.
func Schema() []byte { return bytes.Clone(schemaJSON) }

// definitions waits for its first use: compiling costs more than most commands do. The kinds of reply are compiled each
// alone, so that an error speaks of the kind that was meant and not of all others as well.
var definitions = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	compiled := map[string]*jsonschema.Schema{}
	for _, result := range []ResultType{Artifact, NeedsInput, Noop, Error, Review, Feasibility} {
		def := strings.ToLower(string(result))
		schema, err := compile("/$defs/" + def)
		if err != nil {
			return nil, err
		}
		compiled[def] = schema
	}
	return compiled, nil
})

// compile makes the part of the schema at a JSON pointer usable, "" for the whole.
func compile(pointer string) (*jsonschema.Schema, error) {
	return schema.Compile(schemaID, schemaJSON, pointer)
}

// definition is the name of the part of the schema that a reply must fit.
func definition(object map[string]any) string { return strings.ToLower(str(object, keyResult)) }

// checkSchema holds a reply against its part of the schema and translates what does not fit.
func checkSchema(def string, object map[string]any) ([]*Violation, error) {
	compiled, err := definitions()
	if err != nil {
		return nil, err
	}
	schema := compiled[def]
	err = schema.Validate(object)
	if err == nil {
		return nil, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, fmt.Errorf("check a reply: %w", err)
	}
	t := translator{root: schema}
	t.collect(invalid)
	slices.SortStableFunc(t.found, func(a, b *Violation) int { return strings.Compare(a.JSONPath, b.JSONPath) })
	return slices.CompactFunc(t.found, func(a, b *Violation) bool { return a.JSONPath == b.JSONPath && a.Code == b.Code }), nil
}

// maxFound is where looking for more violations ends.
const maxFound = 1000

// translator turns what the validator finds into violations.
type translator struct {
	root  *jsonschema.Schema
	found []*Violation
}

func (t *translator) collect(e *jsonschema.ValidationError) {
	for _, c := range e.Causes {
		t.collect(c)
	}
	if len(e.Causes) > 0 || len(t.found) >= maxFound {
		return
	}
	at := e.InstanceLocation
	v := &Violation{
		Code: CodeBadValue, Schema: strings.TrimPrefix(e.SchemaURL, strings.TrimSuffix(schemaID, schemaName)),
		JSONPath: jsonPath(at), ExampleFix: example(at, t.root),
	}
	switch k := e.ErrorKind.(type) {
	case *schemakind.Required:
		for _, name := range k.Missing {
			field := append(slices.Clone(at), name)
			t.found = append(t.found, &Violation{CodeMissingField, v.Schema, jsonPath(field), "a value", "nothing", example(field, t.root), nil})
		}
		return
	case *schemakind.AdditionalProperties:
		slices.Sort(k.Properties)
		t.found = append(t.found, &Violation{
			CodeUnknownField, v.Schema, v.JSONPath, "no fields but " + strings.Join(schema.Fields(schema.At(t.root, at)), ", "),
			quoted(k.Properties), "leave out " + quoted(k.Properties), nil,
		})
		return
	case *schemakind.Type:
		v.Code, v.Expected, v.Actual = CodeWrongType, strings.Join(k.Want, " or "), k.Got
	case *schemakind.Enum:
		v.Expected, v.Actual = "one of "+values(k.Want), shownValue(k.Got)
	case *schemakind.MinLength:
		v.Expected, v.Actual = "a text that says something", "an empty one"
	case *schemakind.MaxLength:
		v.Code, v.Expected, v.Actual = CodeTooLarge, "at most "+plan.Count(k.Want, "character"), plan.Count(k.Got, "character")
	case *schemakind.MinItems:
		v.Expected, v.Actual = "at least "+plan.Count(k.Want, "item"), plan.Count(k.Got, "item")
	case *schemakind.MaxItems:
		v.Code, v.Expected, v.Actual = CodeTooLarge, "at most "+plan.Count(k.Want, "item"), plan.Count(k.Got, "item")
		if k.Want == 0 {
			t.foreign(v)
		}
	case *schemakind.Pattern:
		t.foreign(v) // the only pattern is that of a blank
	case *schemakind.Minimum:
		v.Expected, v.Actual = "at least "+decimal(k.Want), decimal(k.Got)
	case *schemakind.ExclusiveMinimum:
		v.Expected, v.Actual = "more than "+decimal(k.Want), decimal(k.Got)
	case *schemakind.Maximum:
		v.Expected, v.Actual = "at most "+decimal(k.Want), decimal(k.Got)
	default:
		v.Expected, v.Actual = "what the schema says", plan.OneLine(e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
	t.found = append(t.found, v)
}

// foreign says that a field belongs to another kind of reply: whichever was meant, the other would be lost.
func (t *translator) foreign(v *Violation) {
	name := strings.TrimPrefix(v.JSONPath, "$.")
	v.Code, v.Expected, v.Actual = CodeContradiction, "no "+name+" in a reply of this result_type", "some"
	v.ExampleFix = "leave " + name + " out, or give the reply the result_type that it belongs to"
}

func jsonPath(location []string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, part := range location {
		if strings.Trim(part, "0123456789") == "" {
			b.WriteString("[" + part + "]") // no field that the schema knows is a number
		} else {
			b.WriteString("." + part)
		}
	}
	return b.String()
}

func values(all []any) string {
	var out []string
	for _, v := range all {
		if v != nil {
			out = append(out, shownValue(v))
		}
	}
	return strings.Join(out, ", ")
}

func quoted(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, shown(n))
	}
	return some(out)
}

// shownValue is a JSON value in a message.
func shownValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case string:
		return shown(v)
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return fmt.Sprint(v)
}

func decimal(r *big.Rat) string {
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// example shows a field with the schema's own example for it; of a list, with the examples of an item's fields.
func example(location []string, root *jsonschema.Schema) string {
	if len(location) == 0 {
		return ""
	}
	v := exampleValue(schema.At(root, location))
	data, err := json.Marshal(v)
	if v == nil || err != nil {
		return "leave it out"
	}
	name := location[len(location)-1]
	if strings.Trim(name, "0123456789") == "" {
		return string(data)
	}
	return `"` + name + `": ` + string(data)
}

func exampleValue(s *jsonschema.Schema) any {
	s = schema.Deref(s)
	switch {
	case s == nil:
		return nil
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Items2020 != nil:
		return []any{exampleValue(s.Items2020)}
	case len(s.Properties) > 0:
		m := map[string]any{}
		for _, name := range s.Required {
			m[name] = exampleValue(s.Properties[name])
		}
		return m
	}
	return nil
}
