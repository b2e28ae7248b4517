package document

import (
	"errors"
	"path"
	"strings"
)

// Load reads what a file holds as a value of encoding/json: of Markdown the head, which is the YAML between two lines
// of ---; of .yaml and .yml YAML; else JSON. Numbers are int64 or float64. The file may be by anybody.
func Load(name string, data []byte) (any, error) {
	limits := Limits{Depth: 100, Values: 500_000, Fields: 10_000}
	var n *Node
	var err error
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown":
		head, ok := head(string(data))
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

// head is what stands between the first line of a text, which is ---, and the next such line.
func head(text string) (string, bool) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t\r") != "---" {
		return "", false
	}
	n := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\r\n") == "---" {
			return rest[:n], true
		}
		n += len(line)
	}
	return "", false
}
