package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"gopkg.in/yaml.v3"

	"gitwf/internal/pattern"
)

// Load reads what a file holds as a value of encoding/json: of Markdown the head, which is the YAML between two lines
// of ---; of .yaml and .yml YAML; else JSON. Numbers are int64 or float64. The file may be by anybody.
func Load(name string, data []byte) (any, error) {
	limits := Limits{Depth: 100, Values: 500_000, Fields: 10_000}
	var n *Node
	var err error
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		head, _, ok := Head(string(data))
		if !ok {
			return nil, errors.New("it does not begin with a head: YAML between two lines of ---")
		}
		n, err = ParseYAML([]byte(head), limits)
	case ".yaml", ".yml":
		n, err = ParseYAML(data, limits)
	default:
		n, err = JSON{Limits: limits}.Parse(string(data))
	}
	if err != nil {
		return nil, err
	}
	return n.Value(Exact), nil
}

// Head parts a text into what stands between its first line, which is ---, and the next such line, and what follows.
func Head(text string) (head, body string, ok bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", "", false
	}
	n := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			return rest[:n], rest[n+len(line):], true
		}
		n += len(line)
	}
	return "", "", false
}

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
