package contract

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/schema"
)

//go:embed reply.schema.json
var schemaJSON []byte

const (
	schemaName = "reply.schema.json"
	schemaBase = "https://git-wf.invalid/"
)

// Schema is the JSON Schema of a reply.
func Schema() []byte { return bytes.Clone(schemaJSON) }

// parsedSchema waits for its first use: most commands read no reply.
var parsedSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(schemaJSON) })

// definition is the name of the part of the schema that a reply must fit.
func definition(object map[string]any) string { return strings.ToLower(str(object, keyResult)) }

// checkSchema holds a reply against its part of the schema and translates what does not fit. It is not held against the
// whole, so that an error speaks of the kind that was meant and not of all others as well.
func checkSchema(def string, object map[string]any) ([]*Violation, error) {
	whole, err := parsedSchema()
	if err != nil {
		return nil, err
	}
	t := translator{root: whole.Part("/$defs/" + def)}
	for _, p := range t.root.Check(object) {
		if len(t.found) >= maxFound {
			break
		}
		t.add(p)
	}
	slices.SortStableFunc(t.found, func(a, b *Violation) int { return strings.Compare(a.JSONPath, b.JSONPath) })
	return slices.CompactFunc(t.found, func(a, b *Violation) bool {
		return a.JSONPath == b.JSONPath && a.Code == b.Code
	}), nil
}

// maxFound is where looking for more violations ends.
const maxFound = 1000

// translator turns what does not fit into violations.
type translator struct {
	root  *schema.Schema
	found []*Violation
}

func (t *translator) add(p schema.Problem) {
	at := p.At
	v := &Violation{
		Code: codeBadValue, Schema: strings.TrimPrefix(p.Schema.Location, schemaBase), JSONPath: jsonPath(at),
		Expected: p.Expected(), Actual: p.Found(), ExampleFix: example(at, t.root),
	}
	switch p.Keyword {
	case schema.Required:
		for _, name := range p.Names {
			field := append(slices.Clone(at), name)
			t.found = append(t.found, &Violation{codeMissingField, v.Schema, jsonPath(field), "a value", "nothing",
				example(field, t.root), nil})
		}
		return
	case schema.Additional:
		v.Code, v.Expected = codeUnknownField, "no fields but "+strings.Join(t.root.At(at).Fields(), ", ")
		v.ExampleFix = "leave out " + v.Actual
	case schema.Type:
		v.Code = codeWrongType
	case schema.MaxLength:
		v.Code = codeTooLarge
	case schema.MaxItems:
		v.Code = codeTooLarge
		if *p.Schema.MaxItems == 0 {
			t.foreign(v)
		}
	case schema.Pattern:
		t.foreign(v) // the only pattern is that of a blank
	}
	t.found = append(t.found, v)
}

// foreign says that a field belongs to another kind of reply: whichever was meant, the other would be lost.
func (t *translator) foreign(v *Violation) {
	name := strings.TrimPrefix(v.JSONPath, "$.")
	v.Code, v.Expected, v.Actual = codeContradiction, "no "+name+" in a reply of this result_type", "some"
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

// example shows a field with the schema's own example for it; of a list, with the examples of an item's fields.
func example(location []string, root *schema.Schema) string {
	if len(location) == 0 {
		return ""
	}
	v := exampleValue(root.At(location))
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

func exampleValue(s *schema.Schema) any {
	s = s.Deref()
	switch {
	case s == nil:
		return nil
	case len(s.Examples) > 0:
		return s.Examples[0]
	case s.Items != nil:
		return []any{exampleValue(s.Items)}
	case len(s.Properties) > 0:
		m := map[string]any{}
		for _, name := range s.Required {
			m[name] = exampleValue(s.Properties[name])
		}
		return m
	}
	return nil
}
