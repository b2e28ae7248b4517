package plandoc

import (
	"encoding/json"
	"gitwf/internal/plan"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type schemaNode struct {
	Description          string                `json:"description"`
	Type                 string                `json:"type"`
	Ref                  string                `json:"$ref"`
	Properties           map[string]schemaNode `json:"properties"`
	AdditionalProperties any                   `json:"additionalProperties"`
	Items                *schemaNode           `json:"items"`
	Defs                 map[string]schemaNode `json:"$defs"`
}

// The schema and the structs must name the same fields with the same types. What only people write, and what stands
// at the top in place of the root, is listed here.
func TestSchemaAgreesWithStructs(t *testing.T) {
	var schema schemaNode
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	writtenOnly := map[string][]string{
		"":     {"root_acceptance_criteria", "final_deliverable_spec"},
		"task": {"tasks", "review"},
	}
	for def, typ := range map[string]reflect.Type{
		"": reflect.TypeFor[plan.Plan](), "task": reflect.TypeFor[plan.Task](), "config": reflect.TypeFor[plan.Config](),
		"requirement": reflect.TypeFor[plan.Requirement](), "deliverable_spec": reflect.TypeFor[plan.DeliverableSpec](),
		"criterion": reflect.TypeFor[plan.Criterion](), "root_criterion": reflect.TypeFor[plan.RootCriterion](),
		"final_deliverable_spec": reflect.TypeFor[plan.FinalDeliverableSpec](), "graft": reflect.TypeFor[plan.Graft](),
		"workflow": reflect.TypeFor[plan.Workflow](), "role": reflect.TypeFor[plan.Role](), "agree": reflect.TypeFor[plan.Agree](),
		"rubric": reflect.TypeFor[plan.Rubric](), "judges": reflect.TypeFor[plan.Judges](),
		"decides": reflect.TypeFor[plan.Decides](), "fill": reflect.TypeFor[plan.Fill](),
		"consults": reflect.TypeOf(plan.Task{}.Consults).Elem(),
	} {
		node := schema
		if def != "" {
			node = schema.Defs[def]
		}
		fields := map[string]reflect.Type{}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[name] = f.Type
		}
		for name, ft := range fields {
			p, ok := node.Properties[name]
			if !ok {
				t.Errorf("%s has %s, the schema has not", typ, name)
				continue
			}
			if got, want := schemaType(schema, p), jsonType(ft); got != want {
				t.Errorf("%s.%s is %s in the schema, %s in Go", typ, name, got, want)
			}
		}
		for name := range node.Properties {
			if _, ok := fields[name]; !ok && !slices.Contains(writtenOnly[def], name) {
				t.Errorf("the schema has %s in %q, %s has not", name, def, typ)
			}
		}
	}
}

func schemaType(schema, n schemaNode) string {
	for n.Ref != "" {
		n = schema.Defs[strings.TrimPrefix(n.Ref, "#/$defs/")]
	}
	return n.Type
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonType(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Float64:
		return "number"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return "array"
	}
	return "object"
}

// Every property is described, and nothing but the free sections takes unknown fields.
func TestSchemaIsClosedAndDescribed(t *testing.T) {
	var schema schemaNode
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	free := []string{"meta", "context", "flow_control", "schema", "env"}
	var walk func(path, name string, n schemaNode)
	walk = func(path, name string, n schemaNode) {
		if n.Type == "object" && (n.AdditionalProperties == nil || n.AdditionalProperties == true) && !slices.Contains(free, name) {
			t.Errorf("%s takes unknown fields", path)
		}
		if n.Items != nil {
			walk(path+"[]", "", *n.Items)
		}
		for name, p := range n.Properties {
			if p.Description == "" {
				t.Errorf("%s.%s has no description", path, name)
			}
			walk(path+"."+name, name, p)
		}
		for name, d := range n.Defs {
			walk(name, name, d)
		}
	}
	walk("plan", "", schema)
}

// The examples of the schema are shown in errors as what would pass: they must.
func TestSchemaExamplesPass(t *testing.T) {
	whole, err := parsedSchema()
	if err != nil {
		t.Fatal(err)
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		for _, part := range []string{"properties", "$defs"} {
			props, _ := m[part].(map[string]any)
			for name, p := range props {
				walk(path+"/"+part+"/"+name, p)
			}
		}
		examples, _ := m["examples"].([]any)
		if len(examples) == 0 {
			return
		}
		part := whole.Part(path)
		if part == nil {
			t.Fatalf("there is no %s", path)
		}
		for _, e := range examples {
			if problems := part.Check(e); problems != nil {
				t.Errorf("%s: %+v", path, problems)
			}
		}
	}
	var v any
	if err := json.Unmarshal(Schema(), &v); err != nil {
		t.Fatal(err)
	}
	walk("", v)
}
