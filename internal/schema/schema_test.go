package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"gitwf/internal/schema"
)

// documents are the program's schemas, each with the parts that are used alone.
var documents = map[string][]string{
	"../plandoc/schema.json":           {""},
	"../workflow/workflow.schema.json": {""},
	"../contract/reply.schema.json": {
		"", "/$defs/artifact", "/$defs/needs_input", "/$defs/noop", "/$defs/error", "/$defs/review", "/$defs/feasibility",
	},
}

// pair is one schema for both implementations.
type pair struct {
	ours   *schema.Schema
	theirs *jsonschema.Schema
}

func pairs(t testing.TB) []pair {
	t.Helper()
	var all []pair
	for file, pointers := range documents {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := schema.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource(whole.ID, doc); err != nil {
			t.Fatal(err)
		}
		for _, pointer := range pointers {
			compiled, err := c.Compile(whole.ID + "#" + pointer)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pair{whole.Part(pointer), compiled})
		}
	}
	return all
}

// agree compares both results for a value: each problem, its place, its requirement, and where the schema states that.
func (p pair) agree(t *testing.T, v any) {
	t.Helper()
	if diff := cmp.Diff(leaves(p.theirs.Validate(v)), problems(p.ours.Check(v))); diff != "" {
		t.Fatalf("%s disagree (- theirs, + ours):\n%s\non %s", p.ours.Location, diff, encode(v))
	}
}

func problems(all []schema.Problem) []string {
	var out []string
	for _, p := range all {
		detail := ""
		switch p.Keyword {
		case schema.Required, schema.Additional:
			detail = fmt.Sprint(p.Names)
		case schema.Type:
			detail = fmt.Sprint(p.Schema.Type, " ", schema.TypeOf(p.Got))
		case schema.MinItems, schema.MaxItems, schema.MinLength, schema.MaxLength:
			detail = fmt.Sprint(p.Len)
		case schema.Minimum, schema.Maximum, schema.Above:
			detail = schema.Rat(p.Got).String()
		case schema.Unique: // theirs has the numbers of the first two that are equal
		default:
			detail = encode(p.Got)
		}
		out = append(out, fmt.Sprint(p.Schema.Location, " ", p.At, " ", p.Keyword, " ", detail))
	}
	slices.Sort(out)
	return out
}

func leaves(err error) []string {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil
	}
	var out []string
	for _, c := range invalid.Causes {
		out = append(out, leaves(c)...)
	}
	if len(invalid.Causes) == 0 {
		detail := ""
		switch k := invalid.ErrorKind.(type) {
		case *kind.Required:
			detail = fmt.Sprint(k.Missing)
		case *kind.AdditionalProperties:
			slices.Sort(k.Properties)
			detail = fmt.Sprint(k.Properties)
		case *kind.Type:
			detail = fmt.Sprint(k.Want, " ", k.Got)
		case *kind.Const:
			detail = encode(k.Got)
		case *kind.Enum:
			detail = encode(k.Got)
		case *kind.Pattern:
			detail = encode(k.Got)
		case *kind.MinItems:
			detail = fmt.Sprint(k.Got)
		case *kind.MaxItems:
			detail = fmt.Sprint(k.Got)
		case *kind.MinLength:
			detail = fmt.Sprint(k.Got)
		case *kind.MaxLength:
			detail = fmt.Sprint(k.Got)
		case *kind.Minimum:
			detail = k.Got.String()
		case *kind.Maximum:
			detail = k.Got.String()
		case *kind.ExclusiveMinimum:
			detail = k.Got.String()
		}
		path := strings.Join(invalid.ErrorKind.KeywordPath(), "/")
		out = append(out, fmt.Sprint(invalid.SchemaURL, " ", invalid.InstanceLocation, " ", path, " ", detail))
	}
	slices.Sort(out)
	return out
}

func encode(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// TestAgainstSanthosh generates documents, most of them nearly valid, and compares both implementations.
func TestAgainstSanthosh(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	refused := map[schema.Keyword]int{}
	for _, p := range pairs(t) {
		for range 500 {
			v := document(rng, p.ours, 0)
			p.agree(t, v)
			for _, problem := range p.ours.Check(v) {
				refused[problem.Keyword]++
			}
		}
	}
	for _, k := range []schema.Keyword{
		schema.Type, schema.Const, schema.Enum, schema.Required, schema.Additional, schema.MinItems, schema.MaxItems,
		schema.MinLength, schema.MaxLength, schema.Pattern, schema.Minimum, schema.Above, schema.Maximum,
	} {
		if refused[k] < 10 {
			t.Errorf("only %d documents were wrong in %s", refused[k], k)
		}
	}
}

func FuzzAgainstSanthosh(f *testing.F) {
	all := pairs(f)
	rng := rand.New(rand.NewPCG(3, 4))
	for _, p := range all {
		f.Add(encode(document(rng, p.ours, 0)))
	}
	f.Add(`{"tasks":[{"task_id":"A-1","tasks":[{}]}],"score":1e3,"schema_version":1.0}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		for _, p := range all {
			p.agree(t, v)
		}
	})
}

// document returns a value that fits a schema except in a few places.
func document(rng *rand.Rand, s *schema.Schema, depth int) any {
	s = s.Deref()
	others := []any{nil, true, "", "x", "A-1", "v1", int64(1), int64(-1), 0.5, 1e6, []any{}, []any{"x"}, map[string]any{},
		map[string]any{"x": nil}}
	other := func() any { return others[rng.IntN(len(others))] }
	if s == nil || rng.IntN(40) == 0 {
		return other()
	}
	if s.Const != nil && rng.IntN(8) > 0 {
		return s.Const
	}
	if len(s.Enum) > 0 && rng.IntN(8) > 0 {
		return s.Enum[rng.IntN(len(s.Enum))]
	}
	if len(s.Examples) > 0 && rng.IntN(3) == 0 {
		return s.Examples[rng.IntN(len(s.Examples))]
	}
	switch {
	case slices.Contains(s.Type, "object") || s.Properties != nil:
		out := map[string]any{}
		for name, part := range s.Properties {
			if depth < 6 && (rng.IntN(2) == 0 || slices.Contains(s.Required, name) && rng.IntN(10) > 0) {
				out[name] = document(rng, part, depth+1)
			}
		}
		if rng.IntN(10) == 0 {
			out["unknown"], out["another"] = other(), other()
		}
		return out
	case slices.Contains(s.Type, "array"):
		n := rng.IntN(4)
		if s.MaxItems != nil && *s.MaxItems <= 100 && rng.IntN(10) == 0 {
			n = *s.MaxItems + 1
		}
		out := make([]any, n)
		for i := range out {
			out[i] = document(rng, s.Items, depth+1)
		}
		return out
	case slices.Contains(s.Type, "string"):
		if s.MaxLength != nil && *s.MaxLength < 1000 && rng.IntN(10) == 0 {
			return strings.Repeat("é", *s.MaxLength+rng.IntN(2))
		}
		return []any{"", " ", "some text", "A-1", "v2", "é\u0301"}[rng.IntN(6)]
	case slices.Contains(s.Type, "integer"), slices.Contains(s.Type, "number"):
		return []any{int64(-1), int64(0), int64(1), int64(50), int64(100), int64(101), 0.5, 2.0, json.Number("1e2"),
			json.Number("1.0"), 1e9}[rng.IntN(11)]
	}
	return other()
}

// Parse must not ignore a keyword that the walker does not know.
func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"unevaluatedItems":true}`:            "unevaluatedItems",
		`{"additionalProperties":{"x":{}}}`:    "x",
		`{"$ref":"#"}`:                         "refers to itself",
		`{"allOf":[{"if":{"$ref":"#"}}]}`:      "refers to itself",
		`{"pattern":"("}`:                      "pattern",
		`{"items":{"$ref":"#/$defs/nowhere"}}`: "not there",
		`{"$ref":"https://example.com/other"}`: "not there",
	} {
		if _, err := schema.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}
