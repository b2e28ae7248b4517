package plandoc

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

//go:embed schema.json
var schemaJSON []byte

// Schema is the JSON Schema of a plan, of what people write and of what is stored.
func Schema() []byte { return bytes.Clone(schemaJSON) }

// parsedSchema waits for its first use: most commands read no document.
var parsedSchema = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(schemaJSON) })

// checkSchema holds a document against the schema of plans.
func checkSchema(root *document.Node) (plan.Findings, error) {
	whole, err := parsedSchema()
	if err != nil {
		return nil, err
	}
	return Misfits(whole, root), nil
}

// Misfits holds a document against a schema and says what does not fit, by line, for the document's author. The
// findings name no file.
func Misfits(whole *schema.Schema, root *document.Node) plan.Findings {
	var fs plan.Findings
	for _, p := range whole.Check(root.Value(document.Exact)) {
		fs = append(fs, misfits(whole, p)...)
	}
	for i := range fs {
		fs[i].Line = LineOf(root, fs[i].Path)
		fs[i].TaskID = taskAt(root, fs[i].Path)
	}
	sort.SliceStable(fs, func(i, j int) bool { return fs[i].Path < fs[j].Path })
	sortByLine(fs)
	return fs
}

// misfits explains a problem to the document's author.
func misfits(whole *schema.Schema, p schema.Problem) plan.Findings {
	path, name := "", ""
	for _, part := range p.At {
		path = joinPath(path, part)
		if strings.Trim(part, "0123456789") != "" {
			name = part
		}
	}
	at, want := whole.At(p.At), p.Schema
	f := plan.Finding{Code: "bad-value", Path: path, Example: example(name, at)}
	switch p.Keyword {
	case schema.Additional:
		var fs plan.Findings
		fields := at.Fields()
		if len(fields) == 0 {
			fields = want.Fields() // what the object is depends on what else it has
		}
		for _, field := range p.Names {
			fs = append(fs, plan.Finding{
				Code: "unknown-field", Path: joinPath(path, field),
				Message:  unknownField(field, fields),
				Expected: "one of " + strings.Join(fields, ", "),
			})
		}
		return fs
	case schema.Required:
		var fs plan.Findings
		for _, field := range p.Names {
			child := whole.At(append(slices.Clone(p.At), field))
			fs = append(fs, plan.Finding{
				Code: "missing-field", Path: joinPath(path, field), Message: "is missing", Example: example(field, child),
			})
		}
		return fs
	case schema.Type:
		f.Code, f.Message = "wrong-type", "is of the wrong type"
		f.Expected, f.Found = strings.Join(want.Type, " or "), schema.TypeOf(p.Got)
		if p.Got == nil {
			f.Found = "nothing; leave the field out or give it a value"
		}
	case schema.Enum:
		var values []string
		for _, v := range want.Enum {
			values = append(values, fmt.Sprint(v))
		}
		f.Message, f.Found = "has a value that is not allowed", found(p.Got)
		f.Expected = "one of " + strings.Join(values, ", ")
		if guess := Nearest(fmt.Sprint(p.Got), values); guess != "" {
			f.Example = name + ": " + guess
		}
	case schema.Pattern:
		if want.Pattern == `\S` {
			f.Message, f.Expected = "is empty", "a text"
			break
		}
		f.Message, f.Expected, f.Found = "does not have the right form", "text that matches "+want.Pattern, found(p.Got)
	case schema.MinLength:
		f.Message, f.Expected = "is empty", fmt.Sprintf("at least %d characters", *want.MinLength)
	case schema.MaxLength:
		f.Message, f.Expected = "is too long", fmt.Sprintf("at most %d characters", *want.MaxLength)
		f.Found = fmt.Sprint(p.Len)
	case schema.MinItems:
		f.Message, f.Expected, f.Found = "has too few items", fmt.Sprintf("at least %d", *want.MinItems), fmt.Sprint(p.Len)
	case schema.MaxItems:
		f.Message, f.Expected, f.Found = "has too many items", fmt.Sprintf("at most %d", *want.MaxItems), fmt.Sprint(p.Len)
	case schema.Minimum:
		f.Message, f.Expected, f.Found = "is too small", "at least "+rat(*want.Minimum), rat(p.Got)
	case schema.Above:
		f.Message, f.Expected, f.Found = "is too small", "more than "+rat(*want.Above), rat(p.Got)
	case schema.Maximum:
		f.Message, f.Expected, f.Found = "is too large", "at most "+rat(*want.Maximum), rat(p.Got)
	default:
		f.Message, f.Expected = "has a value that is not allowed", found(want.Const)
	}
	return plan.Findings{f}
}

func rat(number any) string {
	return strings.TrimSuffix(strings.TrimRight(schema.Rat(number).FloatString(3), "0"), ".")
}

func found(v any) string {
	if s, ok := v.(string); ok {
		return plain.Quote(s)
	}
	return fmt.Sprint(v)
}

// example shows a field with the schema's own example for it.
func example(name string, s *schema.Schema) string {
	if s == nil || len(s.Examples) == 0 || name == "" {
		return ""
	}
	data, err := json.Marshal(s.Examples[0])
	if err != nil {
		return ""
	}
	return name + ": " + string(data)
}
