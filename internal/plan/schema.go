package plan

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

	"gitwf/internal/schema"
)

//go:embed schema.json
var schemaJSON []byte

const schemaID = "https://git-wf.invalid/plan.schema.json"

// Schema is the JSON Schema of a plan, of what people write and of what is stored.
func Schema() []byte { return bytes.Clone(schemaJSON) }

// compiled waits for its first use: compiling costs more than most commands do.
var compiled = sync.OnceValues(func() (*jsonschema.Schema, error) { return compileSchema("") })

// compileSchema compiles the part of the schema at a JSON pointer, "" for the whole.
func compileSchema(pointer string) (*jsonschema.Schema, error) {
	return schema.Compile(schemaID, schemaJSON, pointer)
}

// checkSchema holds a document against the schema and translates what does not fit.
func checkSchema(root *node) (Findings, error) {
	schema, err := compiled()
	if err != nil {
		return nil, err
	}
	err = schema.Validate(root.value())
	if err == nil {
		return nil, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, fmt.Errorf("check the plan's schema: %w", err)
	}
	var fs Findings
	t := schemaErrors{schema, root, &fs}
	t.collect(invalid)
	for i := range fs {
		fs[i].Line = root.lineOf(fs[i].Path)
		fs[i].TaskID = taskAt(root, fs[i].Path)
	}
	slices.SortStableFunc(fs, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })
	fs.sortByLine()
	return fs, nil
}

type schemaErrors struct {
	schema *jsonschema.Schema
	root   *node
	fs     *Findings
}

func (t schemaErrors) collect(e *jsonschema.ValidationError) {
	if len(e.Causes) > 0 {
		for _, c := range e.Causes {
			t.collect(c)
		}
		return
	}
	path := ""
	for _, part := range e.InstanceLocation {
		path = joinPath(path, part)
	}
	at := schema.At(t.schema, e.InstanceLocation)
	name := ""
	for _, part := range e.InstanceLocation {
		if strings.Trim(part, "0123456789") != "" {
			name = part
		}
	}
	f := Finding{Path: path, Example: example(name, at)}
	switch k := e.ErrorKind.(type) {
	case *schemakind.AdditionalProperties:
		for _, p := range k.Properties {
			*t.fs = append(*t.fs, Finding{
				Code: "unknown-field", Path: joinPath(path, p),
				Message:  unknownField(p, schema.Fields(at)),
				Expected: "one of " + strings.Join(schema.Fields(at), ", "),
			})
		}
		return
	case *schemakind.Required:
		for _, p := range k.Missing {
			child := schema.At(t.schema, append(slices.Clone(e.InstanceLocation), p))
			*t.fs = append(*t.fs, Finding{Code: "missing-field", Path: joinPath(path, p), Message: "is missing", Example: example(p, child)})
		}
		return
	case *schemakind.Type:
		f.Code, f.Message = "wrong-type", "is of the wrong type"
		f.Expected, f.Found = strings.Join(k.Want, " or "), k.Got
		if k.Got == "null" {
			f.Found = "nothing; leave the field out or give it a value"
		}
	case *schemakind.Enum:
		f.Code, f.Message, f.Found = "bad-value", "has a value that is not allowed", found(k.Got)
		var want []string
		for _, w := range k.Want {
			want = append(want, fmt.Sprint(w))
		}
		f.Expected = "one of " + strings.Join(want, ", ")
	case *schemakind.Pattern:
		f.Code, f.Message, f.Found = "bad-value", "does not have the right form", quote(k.Got)
		f.Expected = "text that matches " + k.Want
	case *schemakind.MinLength:
		f.Code, f.Message = "bad-value", "is empty"
		f.Expected = fmt.Sprintf("at least %d characters", k.Want)
	case *schemakind.MaxLength:
		f.Code, f.Message = "bad-value", "is too long"
		f.Expected, f.Found = fmt.Sprintf("at most %d characters", k.Want), fmt.Sprint(k.Got)
	case *schemakind.MinItems:
		f.Code, f.Message = "bad-value", "has too few items"
		f.Expected, f.Found = fmt.Sprintf("at least %d", k.Want), fmt.Sprint(k.Got)
	case *schemakind.Minimum:
		f.Code, f.Message, f.Expected, f.Found = "bad-value", "is too small", "at least "+rat(k.Want), rat(k.Got)
	case *schemakind.ExclusiveMinimum:
		f.Code, f.Message, f.Expected, f.Found = "bad-value", "is too small", "more than "+rat(k.Want), rat(k.Got)
	case *schemakind.Maximum:
		f.Code, f.Message, f.Expected, f.Found = "bad-value", "is too large", "at most "+rat(k.Want), rat(k.Got)
	default:
		f.Code, f.Message = "bad-value", e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	}
	*t.fs = append(*t.fs, f)
}

func rat(r *big.Rat) string { return strings.TrimSuffix(strings.TrimRight(r.FloatString(3), "0"), ".") }

func found(v any) string {
	if s, ok := v.(string); ok {
		return quote(s)
	}
	return fmt.Sprint(v)
}

// example shows a field with the schema's own example for it.
func example(name string, s *jsonschema.Schema) string {
	if s == nil || len(s.Examples) == 0 || name == "" {
		return ""
	}
	data, err := json.Marshal(s.Examples[0])
	if err != nil {
		return ""
	}
	return name + ": " + string(data)
}
