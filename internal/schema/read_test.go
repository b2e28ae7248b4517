package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"gitwf/internal/schema"
)

// theirs compiles a schema with the complete implementation.
func theirs(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("https://example.com/s", doc); err != nil {
		return nil, err
	}
	return c.Compile("https://example.com/s")
}

// The words that random schemas and values are made from. Few of each, so that they meet.
func words(rng *rand.Rand) string { return []string{"a", "b", "c", "ab", "~/", "é"}[rng.IntN(6)] }

func number(rng *rand.Rand) any {
	return []any{0, 1, 2, 3, -1, 0.5, 1.5, 2.0, 0.1, 0.3, 1e3}[rng.IntN(11)]
}

func anyValue(rng *rand.Rand, depth int) any {
	switch n := rng.IntN(9); {
	case n < 2:
		return words(rng)
	case n < 4:
		return number(rng)
	case n == 4:
		return rng.IntN(2) == 0
	case n == 5:
		return nil
	case n == 6 && depth < 3:
		list := make([]any, rng.IntN(4))
		for i := range list {
			list[i] = anyValue(rng, depth+1)
		}
		return list
	case depth < 3:
		object := map[string]any{}
		for range rng.IntN(4) {
			object[words(rng)] = anyValue(rng, depth+1)
		}
		return object
	}
	return "a"
}

// anySchema makes a schema of every keyword that people may use.
func anySchema(rng *rand.Rand, depth int) any {
	if rng.IntN(12) == 0 || depth > 3 {
		return rng.IntN(4) > 0
	}
	s := map[string]any{}
	sub := func() any { return anySchema(rng, depth+1) }
	subs := func() []any {
		list := make([]any, 1+rng.IntN(3))
		for i := range list {
			list[i] = sub()
		}
		return list
	}
	named := func() map[string]any {
		m := map[string]any{}
		for range 1 + rng.IntN(2) {
			m[words(rng)] = sub()
		}
		return m
	}
	names := func() []string {
		all := []string{words(rng), words(rng)}
		slices.Sort(all)
		return slices.Compact(all)
	}
	for range 1 + rng.IntN(3) {
		switch rng.IntN(30) {
		case 0:
			s["type"] = []any{"null", "boolean", "number", "integer", "string", "array", "object"}[rng.IntN(7)]
		case 1:
			s["type"] = []any{"string", "integer", "object"}
		case 2:
			s["const"] = anyValue(rng, 1)
		case 3:
			s["enum"] = []any{anyValue(rng, 1), "a", []any{1}}
		case 4:
			s["properties"] = named()
		case 5:
			s["required"] = names()
		case 6:
			s["additionalProperties"] = sub()
		case 7:
			s["items"] = sub()
		case 8:
			s["prefixItems"] = subs()
		case 9:
			s["minItems"], s["maxItems"] = rng.IntN(2), 1+rng.IntN(3)
		case 10:
			s["minLength"], s["maxLength"] = rng.IntN(2), 1+rng.IntN(2)
		case 11:
			s["pattern"] = []string{"^a", "b$", "é", "^.{1,2}$"}[rng.IntN(4)]
		case 12:
			s["minimum"], s["maximum"] = number(rng), number(rng)
		case 13:
			s["exclusiveMinimum"], s["exclusiveMaximum"] = number(rng), number(rng)
		case 14:
			s["multipleOf"] = []any{1, 2, 0.1, 0.5, 1.0}[rng.IntN(5)]
		case 15:
			s["allOf"] = subs()
		case 16:
			s["anyOf"] = subs()
		case 17:
			s["oneOf"] = subs()
		case 18:
			s["not"] = sub()
		case 19:
			s["if"] = sub()
		case 20:
			s["then"] = sub()
		case 21:
			s["else"] = sub()
		case 22:
			s["uniqueItems"] = rng.IntN(4) > 0
		case 23:
			s["contains"] = sub()
		case 24:
			s["contains"], s["minContains"], s["maxContains"] = sub(), rng.IntN(2), rng.IntN(3)
		case 25:
			s["minProperties"], s["maxProperties"] = rng.IntN(2), rng.IntN(4)
		case 26:
			s["patternProperties"] = map[string]any{[]string{"^a", "b", "~"}[rng.IntN(3)]: sub()}
		case 27:
			s["propertyNames"] = sub()
		case 28:
			s["dependentRequired"] = map[string]any{words(rng): names()}
		case 29:
			s["$ref"] = []string{"#/$defs/a", "#/$defs/~0~1", "#/$defs/%C3%A9"}[rng.IntN(3)]
		}
	}
	s["title"], s["default"], s["$comment"], s["format"] = "x", 1, "y", "email"
	return s
}

// TestReadAgainstSanthosh compares whether values fit schemas of every keyword.
func TestReadAgainstSanthosh(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	failed := map[schema.Keyword]int{}
	fits, not := 0, 0
	for range 1500 {
		whole, ok := anySchema(rng, 0).(map[string]any)
		if !ok {
			continue
		}
		whole["$defs"] = map[string]any{"a": map[string]any{"minLength": 2}, "~/": anySchema(rng, 3), "é": true}
		text := []byte(encode(whole))
		ours, err := schema.Read(text)
		if err != nil && strings.Contains(err.Error(), "refers to itself") {
			continue
		}
		their, theirErr := theirs(text)
		if err != nil || theirErr != nil {
			t.Fatalf("%s\n%v\n%v", text, err, theirErr)
		}
		for range 10 {
			v := anyValue(rng, 0)
			fits, not = compare(t, text, ours, their, v, fits, not)
			for _, p := range ours.Check(reread(v)) {
				failed[p.Keyword]++
			}
		}
	}
	if fits < 1000 || not < 1000 {
		t.Errorf("%d fit, %d do not: the values are one-sided", fits, not)
	}
	for _, k := range []schema.Keyword{
		schema.Type, schema.Const, schema.Enum, schema.Required, schema.Additional, schema.MinItems, schema.MaxItems,
		schema.MinLength, schema.MaxLength, schema.Pattern, schema.Minimum, schema.Above, schema.Maximum, schema.Below,
		schema.MultipleOf, schema.AnyOf, schema.OneOf, schema.Not, schema.Unique, schema.Contains, schema.MinProperties,
		schema.MaxProperties, schema.Dependent,
	} {
		if failed[k] < 1 {
			t.Errorf("only %d values failed %s", failed[k], k)
		}
	}
}

// reread is a value as it is read from a file.
func reread(v any) any {
	var out any
	d := json.NewDecoder(strings.NewReader(encode(v)))
	d.UseNumber()
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

func compare(t *testing.T, text []byte, ours *schema.Schema, their *jsonschema.Schema, v any, fits, not int) (int, int) {
	t.Helper()
	v = reread(v)
	problems := ours.Check(v)
	err := their.Validate(v)
	if (err == nil) != (len(problems) == 0) {
		t.Fatalf("%s\non %s:\ntheirs: %v\nours: %v", text, encode(v), err, problems)
	}
	within, tooMuch := ours.CheckWithin(v, 1_000_000)
	if tooMuch != nil || len(within) != len(problems) {
		t.Fatalf("%s\non %s: bounded it gives %d problems (%v), not %d", text, encode(v), len(within), tooMuch, len(problems))
	}
	for _, p := range problems {
		if p.Place() == "" || p.Expected() == "" || p.Found() == "" || p.Expected() == string(p.Keyword) {
			t.Fatalf("%s: nothing is said: %q, %q, %q", p.Keyword, p.Place(), p.Expected(), p.Found())
		}
	}
	if err == nil {
		return fits + 1, not
	}
	return fits, not + 1
}

func FuzzRead(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		f.Add(encode(anySchema(rng, 0)), encode(anyValue(rng, 0)))
	}
	f.Add(`{"$ref":"#"}`, `1`)
	f.Add(`{"Type":"string"}`, `1`)
	f.Add(`{"minLength":-1}`, `""`)
	f.Add(`{"const":1e999999999}`, `1`)
	f.Fuzz(func(t *testing.T, text, value string) {
		ours, err := schema.Read([]byte(text))
		var v any
		d := json.NewDecoder(strings.NewReader(value))
		d.UseNumber()
		if err != nil || d.Decode(&v) != nil || strings.ContainsAny(value, "eE") {
			return
		}
		began := time.Now()
		problems, err := ours.CheckWithin(v, 100_000)
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("took %v", took)
		}
		their, theirErr := theirs([]byte(text))
		if err != nil || theirErr != nil {
			return // their expressions are not RE2's, and they take no duplicates
		}
		if (their.Validate(v) == nil) != (len(problems) == 0) {
			t.Fatalf("%s on %s: theirs %v, ours %v", text, value, their.Validate(v), problems)
		}
	})
}

// Read refuses what would be ignored, what refers elsewhere, and what has no end.
func TestReadRefuses(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 100) + `{}` + strings.Repeat(`}`, 100)
	many := `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{},`, 3000), ",") + `]}`
	for text, want := range map[string]string{
		`{"unevaluatedProperties":false}`:                       `"unevaluatedProperties" is not known`,
		`{"Type":"string"}`:                                     `"Type" is not known`,
		`{"properties":{"a":{"dependentSchemas":{}}}}`:          `#/properties/a: the keyword "dependentSchemas"`,
		`{"definitions":{"a":{}}}`:                              "definitions",
		`{"$ref":"https://example.com/other"}`:                  "#/$ref: expected a reference to a part of this schema",
		`{"items":{"$ref":"other.json#/a"}}`:                    "#/items/$ref",
		`{"$ref":"#anchor"}`:                                    "#/$ref",
		`{"$ref":"#/$defs/none"}`:                               "not there",
		`{"$dynamicRef":"#/a"}`:                                 "$dynamicRef",
		`{"$anchor":"a"}`:                                       "$anchor",
		`{"properties":{"a":{"$id":"https://example.com"}}}`:    "#/properties/a/$id",
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`: "#/$schema",
		`{"$ref":"#"}`:                                          "refers to itself",
		`{"anyOf":[{"not":{"$ref":"#"}}]}`:                      "refers to itself",
		`{"$defs":{"a":{"oneOf":[{"$ref":"#/$defs/b"}]},"b":{"else":{"$ref":"#/$defs/a"}}}}`: "refers to itself",
		`{"pattern":"(?=a)"}`:                       "can't be used",
		`{"pattern":"("}`:                           "can't be used",
		`{"pattern":"((a{100}){10}){10}"}`:          "pattern",
		`{"patternProperties":{"(a{1000}){9}":{}}}`: "pattern",
		`{"minimum":1e999999999}`:                   "#/minimum",
		`{"const":1e999999999}`:                     "out of range",
		`{"enum":[{"a":[1e-999999999]}]}`:           "out of range",
		`{"multipleOf":0}`:                          "#/multipleOf",
		`{"minItems":-1}`:                           "#/minItems",
		`{"maxLength":1.5}`:                         "#/maxLength",
		`{"type":"text"}`:                           "#/type",
		`{"enum":[]}`:                               "#/enum",
		`{"required":[1]}`:                          "",
		`{"allOf":[]}`:                              "#/allOf",
		`[]`:                                        "a schema is an object, true or false",
		`{`:                                         "",
		deep:                                        "levels",
		many:                                        "parts",
		`{"description":"` + strings.Repeat("x", 300<<10) + `"}`: "bytes",
	} {
		if _, err := schema.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{`true`, `false`, `{"const":null}`, `{"minItems":1.0}`, `{"$id":"https://example.com"}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `{"properties":{"child":{"$ref":"#"}}}`,
		`{"title":1,"examples":1,"default":{"a":1}}`} {
		if _, err := schema.Read([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	null, _ := schema.Read([]byte(`{"const":null}`))
	if len(null.Check(nil)) != 0 || len(null.Check(false)) == 0 {
		t.Error("const: null is not kept")
	}
}

// What is dear ends, and has not passed.
func TestCheckWithinEnds(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString(`{"$ref":"#/$defs/d0","$defs":{"d40":{}`)
	for i := range 40 {
		fmt.Fprintf(&doubling, `,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%[2]d"}]}`, i, i+1)
	}
	doubling.WriteString("}}")
	long := strings.Repeat("a", 4<<20)
	var items []any
	for i := range 200_000 {
		items = append(items, map[string]any{"n": int64(i)})
	}
	tree := any("x")
	for range 60 {
		tree = []any{tree, tree}[:1+len(items)%2]
	}
	for name, tt := range map[string]struct {
		schema string
		value  any
	}{
		"references that double":   {doubling.String(), int64(1)},
		"a pattern on a long text": {`{"pattern":"(a|b|ab)*c(a?){500}$"}`, long},
		"many patterns":            {`{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"pattern":"^(a+)+$"},`, 500), ",") + `]}`, long},
		"many lengths":             {`{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"minLength":1},`, 1500), ",") + `]}`, long},
		"a long enum":              {`{"items":{"enum":[` + strings.TrimSuffix(strings.Repeat(`{"n":-1},`, 20000), ",") + `]}}`, items},
		"all differ, many times": {`{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"uniqueItems":true},`, 500), ",") + `]}`,
			items},
		"a tree that recurses": {`{"items":{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"not":{"$ref":"#"}}]}, "not":{}}`, tree},
	} {
		s, err := schema.Read([]byte(tt.schema))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		began := time.Now()
		problems, err := s.CheckWithin(tt.value, 300_000)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if !errors.Is(err, schema.ErrTooComplex) && len(problems) == 0 {
			t.Errorf("%s: it passed", name)
		}
		t.Logf("%s: %v, %d problems, %v", name, time.Since(began), len(problems), err)
	}
}
