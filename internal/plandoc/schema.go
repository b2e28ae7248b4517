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
	at := whole.At(p.At)
	f := plan.Finding{Code: "bad-value", Path: path, Message: p.Message(), Expected: p.Expected(), Found: p.Found(),
		Example: example(name, at)}
	var fs plan.Findings
	switch p.Keyword {
	case schema.Additional:
		fields := at.Fields()
		if len(fields) == 0 {
			fields = p.Schema.Fields() // what the object is depends on what else it has
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
		for _, field := range p.Names {
			child := whole.At(append(slices.Clone(p.At), field))
			fs = append(fs, plan.Finding{
				Code: "missing-field", Path: joinPath(path, field), Message: p.Message(), Example: example(
					field, child),
			})
		}
		return fs
	case schema.Type:
		f.Code = "wrong-type"
		if p.Got == nil {
			f.Found = "nothing; leave the field out or give it a value"
		}
	case schema.Enum:
		var values []string
		for _, v := range p.Schema.Enum {
			values = append(values, fmt.Sprint(v))
		}
		if guess := Nearest(fmt.Sprint(p.Got), values); guess != "" {
			f.Example = name + ": " + guess
		}
	}
	return plan.Findings{f}
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
