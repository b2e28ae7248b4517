package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitwf/internal/pattern"
)

// parseYAML reads one YAML document into nodes.
func parseYAML(data []byte) (*node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &syntaxError{"empty", 1, "the file has no content"}
		}
		return nil, yamlSyntax(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, &syntaxError{"several-documents", second.Line, "a second YAML document begins here; a plan is one document"}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlSyntax(err)
	}
	c := &yamlConverter{}
	if len(doc.Content) == 0 {
		return nil, &syntaxError{"empty", 1, "the file has no content"}
	}
	n, err := c.convert(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	if n.kind == nullKind {
		return nil, &syntaxError{"empty", 1, "the file has no content"}
	}
	return &n, nil
}

var yamlLine = pattern.Compile(`^yaml: (?:line ([0-9]+): )?`)

func yamlSyntax(err error) error {
	text := err.Error()
	line := 1
	if m := yamlLine.Get().FindStringSubmatch(text); m != nil {
		text = text[len(m[0]):]
		if n, numErr := strconv.Atoi(m[1]); numErr == nil {
			line = n
		}
	}
	return &syntaxError{"syntax", line, "not valid YAML: " + text}
}

type yamlConverter struct{ nodes int }

func (c *yamlConverter) convert(y *yaml.Node, depth int) (node, error) {
	n := node{line: int32(y.Line)}
	if c.nodes++; c.nodes > maxNodes {
		return n, &syntaxError{"too-large", y.Line, fmt.Sprintf("more than %d values, aliases counted as often as they are used", maxNodes)}
	}
	if depth > maxDepth {
		return n, &syntaxError{"too-deep", y.Line, fmt.Sprintf("nested more than %d levels deep, or an alias that contains itself", maxDepth)}
	}
	switch y.Kind {
	case yaml.AliasNode:
		n, err := c.convert(y.Alias, depth+1)
		n.line = int32(y.Line)
		return n, err
	case yaml.ScalarNode:
		return n, c.scalar(y, &n)
	case yaml.SequenceNode:
		n.kind = arrayKind
		n.kids = make([]node, 0, len(y.Content))
		for _, item := range y.Content {
			kid, err := c.convert(item, depth+1)
			if err != nil {
				return n, err
			}
			n.kids = append(n.kids, kid)
		}
		return n, nil
	}
	n.kind = objectKind
	return n, c.mapping(y, &n, depth)
}

func (c *yamlConverter) mapping(y *yaml.Node, n *node, depth int) error {
	if len(y.Content) > 2*maxKeys {
		return &syntaxError{"too-large", y.Line, fmt.Sprintf("more than %d fields in one object", maxKeys)}
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return &syntaxError{"syntax", key.Line, "a field's name must be a plain word"}
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if err := checkNUL(key); err != nil {
			return err
		}
		if n.child(key.Value) != nil {
			return &syntaxError{"duplicate-key", key.Line, fmt.Sprintf("the field %s stands twice in one object", quote(key.Value))}
		}
		kid, err := c.convert(value, depth+1)
		if err != nil {
			return err
		}
		kid.key, kid.line = key.Value, int32(key.Line)
		n.kids = append(n.kids, kid)
	}
	for _, m := range merged {
		if err := c.merge(m, n, depth); err != nil {
			return err
		}
	}
	return nil
}

// merge adds what "<<" brings in: an object, or a list of objects of which the first wins. The object's own fields win
// over both.
func (c *yamlConverter) merge(y *yaml.Node, n *node, depth int) error {
	source, err := c.convert(y, depth+1)
	if err != nil {
		return err
	}
	sources := []node{source}
	if source.kind == arrayKind {
		sources = source.kids
	}
	for _, s := range sources {
		if s.kind != objectKind {
			return &syntaxError{"syntax", y.Line, "<< can only merge objects"}
		}
		for _, kid := range s.kids {
			if n.child(kid.key) == nil {
				n.kids = append(n.kids, kid)
			}
		}
	}
	if len(n.kids) > maxKeys {
		return &syntaxError{"too-large", y.Line, fmt.Sprintf("more than %d fields in one object", maxKeys)}
	}
	return nil
}

func checkNUL(y *yaml.Node) error {
	if strings.IndexByte(y.Value, 0) >= 0 {
		return &syntaxError{"nul", y.Line, "the character NUL"}
	}
	return nil
}

// scalar resolves a plain value as YAML 1.2's core schema does; dates stay text.
func (c *yamlConverter) scalar(y *yaml.Node, n *node) error {
	if err := checkNUL(y); err != nil {
		return err
	}
	n.text = y.Value
	switch tag := y.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		n.kind = stringKind
	case "!!null":
		n.kind, n.text = nullKind, ""
	case "!!bool":
		var v bool
		if err := y.Decode(&v); err != nil {
			return &syntaxError{"syntax", y.Line, fmt.Sprintf("%s is not true or false", quote(y.Value))}
		}
		n.kind, n.text = boolKind, strconv.FormatBool(v)
	case "!!int", "!!float":
		return c.number(y, n)
	default:
		return &syntaxError{"bad-tag", y.Line, fmt.Sprintf("the tag %s has no meaning in a plan", quote(tag))}
	}
	return nil
}

func (c *yamlConverter) number(y *yaml.Node, n *node) error {
	n.kind = numberKind
	if jsonNumber(y.Value) {
		if _, err := number(y.Value); err == nil {
			return nil
		}
	}
	bad := &syntaxError{"bad-number", y.Line, fmt.Sprintf("%s is not a number in range", quote(y.Value))}
	var v any
	if err := y.Decode(&v); err != nil {
		return bad
	}
	n.text = fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		n.text = strconv.FormatFloat(f, 'g', -1, 64)
	}
	if _, err := number(n.text); err != nil || !jsonNumber(n.text) {
		return bad
	}
	return nil
}
