package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"gitwf/internal/pattern"
)

// maxSettings is the size of the largest table that ReadSettings reads, in bytes.
const maxSettings = 1 << 20

// ReadSettings reads a table of the user's, in YAML or JSON, into a struct with yaml tags. A field that the table lacks
// keeps its value; one that the struct lacks is an error. Errors begin with the file's name and, where one is known,
// the line.
func ReadSettings(file string, data []byte, into any) error {
	if len(data) > maxSettings {
		return fmt.Errorf("%s: %d bytes; a table of settings has at most %d", file, len(data), maxSettings)
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	err := dec.Decode(into)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil && !errors.Is(dec.Decode(new(yaml.Node)), io.EOF):
		return fmt.Errorf("%s: expected one YAML document, found a second one", file)
	case err == nil:
		return nil
	}
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimSpace(strings.TrimPrefix(text, "unmarshal errors:"))
	text = goType.Get().ReplaceAllString(strings.ReplaceAll(text, "\n  ", "; "), "")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		return fmt.Errorf("%s:%s", file, rest)
	}
	return fmt.Errorf("%s: %s", file, text)
}

// goType is a Go type in an error of yaml.v3, which tells a user nothing.
var goType = pattern.Compile(` in type \S+`)
