package workflow

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/schema"
)

// wild is a sample of which nothing is known: it has every field.
type wild struct{}

// schemaOf is the schema that a task's file keeps, nil if it has none that can be read.
func (w *Workflow) schemaOf(n *node, file string) *schema.Schema {
	named := n.raw.Child("schema")
	if named == nil {
		return nil
	}
	name := named.Text
	if named.Kind == document.Object {
		if named = named.Child(file); named == nil {
			return nil
		}
		name = named.Text
	} else if files := n.makes(); len(files) > 0 && files[0] != file {
		return nil
	}
	return w.parsed(name)
}

func (w *Workflow) parsed(name string) *schema.Schema {
	text, err := json.Marshal(w.schemas[name])
	if err != nil || w.schemas[name] == nil {
		return nil
	}
	s, err := schema.Read(text)
	if err != nil {
		return nil // Lint says so
	}
	return s
}

// makes are the files of a task as written.
func (n *node) makes() []string {
	m := n.raw.Child("make")
	if m != nil && m.Kind == document.String {
		return []string{m.Text}
	}
	return each.Of(m.Items(), func(file document.Node) string { return file.Text })
}

// sourceOf is the node of the task that a loop's of or until.of names, nil if there is none.
func (w *Workflow) sourceOf(of string) (found *node) {
	numbered := braces.Get().ReplaceAllString(of, "1")
	walk(w.nodes, func(n *node) {
		if found == nil && n.id != "" && !n.group() && (n.id == of || canBe(shape(n.id, nil), numbered, false)) {
			found = n
		}
	})
	return found
}

// fileSchema is the schema of the file that a loop reads, or of the items of its list.
func (w *Workflow) loopSchema(n *node) *schema.Schema {
	from, l := n.from(), n.loop
	source := w.sourceOf(from.Child("of").Text)
	if source == nil || from.Child("file") == nil {
		return nil
	}
	s := w.schemaOf(source, from.Child("file").Text)
	if l.repeat || l.branch || s == nil {
		return s
	}
	if at := l.raw.Child("at"); at != nil && at.Text != "" {
		s = s.At(strings.Split(strings.TrimPrefix(at.Text, "/"), "/"))
	}
	if s = s.Deref(); s == nil {
		return nil
	}
	return s.Items.Deref()
}

// samples are items as an approved file could have them.
func (x *expander) samples(n *node, count int) []item {
	s := x.w.loopSchema(n)
	items := make([]item, count)
	for i := range items {
		items[i] = item{example(s, i, 0), i + 1}
	}
	return items
}

// example is the nth value that keeps a schema, as far as that is simple.
func example(s *schema.Schema, nth, depth int) any {
	const deep = 10
	if s = s.Deref(); s == nil || depth > deep {
		return wild{}
	}
	kind := ""
	for _, kind = range s.Type {
		if kind != "null" {
			break
		}
	}
	switch {
	case s.Const != nil:
		return plainNumbers(s.Const)
	case len(s.Enum) > 0:
		return plainNumbers(s.Enum[nth%len(s.Enum)])
	case kind == "object" || s.Properties != nil:
		object := map[string]any{}
		for name, part := range s.Properties {
			object[name] = example(part, nth, depth+1)
		}
		return object
	case kind == "array":
		return []any{example(s.Items, 0, depth+1), example(s.Items, 1, depth+1)}
	case kind == "integer" || kind == "number":
		if s.Minimum != nil {
			return plainNumbers(*s.Minimum)
		}
		return int64(1)
	case kind == "boolean":
		return true
	case kind == "string":
		text := fmt.Sprintf("sample %d", nth+1)
		if s.MinLength != nil && len(text) < min(*s.MinLength, 1000) {
			text += strings.Repeat("x", min(*s.MinLength, 1000)-len(text))
		}
		if s.MaxLength != nil && len(text) > *s.MaxLength {
			text = text[len(text)-max(*s.MaxLength, 1):]
		}
		return text
	}
	return wild{}
}

// plainNumbers gives a value's numbers the types that a node's have, at any depth.
func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return document.Exact(v.String())
	case float64:
		return document.Exact(strconv.FormatFloat(v, 'f', -1, 64))
	case int:
		return int64(v)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plainNumbers(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key := range v {
			object[key] = plainNumbers(v[key])
		}
		return object
	}
	return v
}
