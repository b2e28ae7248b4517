package plandoc

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"gitwf/internal/document"
	"gitwf/internal/each"
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
		fields := p.Schema.Fields() // what the object is may depend on what else it has
		for _, field := range p.Names {
			fs = append(fs, plan.Finding{Code: "unknown-field", Path: joinPath(path, field),
				Message: unknownField(field, fields), Expected: "one of " + strings.Join(fields, ", ")})
		}
		return fs
	case schema.Required:
		for _, field := range p.Names {
			child := whole.At(append(slices.Clone(p.At), field))
			fs = append(fs, plan.Finding{Code: "missing-field", Path: joinPath(path, field), Message: p.Message(),
				Example: example(field, child)})
		}
		return fs
	case schema.Type:
		f.Code = "wrong-type"
		if p.Got == nil {
			f.Found = "nothing; leave the field out or give it a value"
		}
	case schema.Enum:
		values := each.Of(p.Schema.Enum, func(v any) string { return fmt.Sprint(v) })
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

// joinPath appends a segment: joinPath("tasks", "3") is tasks[3], joinPath("tasks[3]", "title") is tasks[3].title.
func joinPath(path, part string) string {
	if _, err := strconv.Atoi(part); err == nil && path != "" {
		return path + "[" + part + "]"
	}
	if path == "" {
		return part
	}
	return path + "." + part
}

// nodesTo gives the nodes on the way from the root to the value at path, as far as they exist, the root first.
func nodesTo(root *document.Node, path string) iter.Seq[*document.Node] {
	return func(yield func(*document.Node) bool) {
		at := root
		for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
			if !yield(at) {
				return
			}
			next := at.Child(part)
			if i, err := strconv.Atoi(part); err == nil && at.Kind == document.Array && i < len(at.Kids) {
				next = &at.Kids[i]
			}
			if next == nil {
				return
			}
			at = next
		}
		yield(at)
	}
}

// LineOf is the line of the value at path, or of the innermost value on the way to it that exists.
func LineOf(root *document.Node, path string) int {
	line := 0
	for n := range nodesTo(root, path) {
		line = int(n.Line)
	}
	return line
}

// taskAt is the id of the innermost task that the path leads through.
func taskAt(root *document.Node, path string) plan.TaskID {
	id := plan.TaskID("")
	for n := range nodesTo(root, path) {
		if t := n.Child("task_id"); n != root && t != nil && t.Kind == document.String && plan.TaskID(t.Text).Valid() {
			id = plan.TaskID(t.Text)
		}
	}
	return id
}
