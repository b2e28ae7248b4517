// Package schema finds its way in a compiled JSON Schema, for messages about what does not fit one. What such a message says
// is the business of whoever owns the schema.
package schema

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Compile makes the part of a schema at a JSON pointer usable, "" for the whole. The id is the schema's own, a URL that nobody fetches.
func Compile(id string, text []byte, pointer string) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", id, err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, doc); err != nil {
		return nil, fmt.Errorf("load %s: %w", id, err)
	}
	if pointer != "" {
		id += "#" + pointer
	}
	return c.Compile(id)
}

// At is the part of a schema that speaks of the value at a place, nil if none does. The location has the names of fields and the
// numbers of items on the way there.
func At(s *jsonschema.Schema, location []string) *jsonschema.Schema {
	for _, part := range location {
		if s = Deref(s); s == nil {
			return nil
		}
		if next := s.Properties[part]; next != nil {
			s = next
			continue
		}
		s = s.Items2020
	}
	return Deref(s)
}

// Deref is what a reference leads to, the schema itself if it is none.
func Deref(s *jsonschema.Schema) *jsonschema.Schema {
	for s != nil && s.Ref != nil {
		s = s.Ref
	}
	return s
}

// Fields are the names of the fields that an object may have, sorted.
func Fields(s *jsonschema.Schema) []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.Properties))
}
