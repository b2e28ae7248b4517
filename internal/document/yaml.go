package document

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

// ParseYAML reads one YAML document. Its error is a *Fault.
func ParseYAML(data []byte, limits Limits) (*Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Fault{Problem: Empty, Line: 1}
		}
		return nil, yamlSyntax(err)
	}
	if err := dec.Decode(&second); err == nil {
		return nil, &Fault{Problem: SecondDocument, Line: second.Line}
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlSyntax(err)
	}
	c := &yamlConverter{Limits: limits}
	if len(doc.Content) == 0 {
		return nil, &Fault{Problem: Empty, Line: 1}
	}
	n, err := c.convert(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	if n.Kind == Null {
		return nil, &Fault{Problem: Empty, Line: 1}
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
	return &Fault{Problem: NoYAML, Subject: text, Line: line}
}

func fault(p Problem, at *yaml.Node, subject string) *Fault {
	return &Fault{Problem: p, Subject: subject, Line: at.Line}
}

// yamlConverter makes nodes of YAML's own.
type yamlConverter struct {
	Limits
	values int
}

func (c *yamlConverter) convert(y *yaml.Node, depth int) (Node, error) {
	n := Node{Line: int32(y.Line)}
	if c.values++; c.values > c.Values {
		return n, fault(TooManyValues, y, fmt.Sprintf("%d values, aliases counted as often as they are used", c.Values))
	}
	if depth > c.Depth {
		return n, fault(TooDeep, y, fmt.Sprintf("%d levels deep, or an alias that contains itself", c.Depth))
	}
	switch y.Kind {
	case yaml.AliasNode:
		n, err := c.convert(y.Alias, depth+1)
		n.Line = int32(y.Line)
		return n, err
	case yaml.ScalarNode:
		return n, c.scalar(y, &n)
	case yaml.SequenceNode:
		n.Kind = Array
		n.Kids = make([]Node, 0, len(y.Content))
		for _, item := range y.Content {
			kid, err := c.convert(item, depth+1)
			if err != nil {
				return n, err
			}
			n.Kids = append(n.Kids, kid)
		}
		return n, nil
	}
	n.Kind = Object
	return n, c.mapping(y, &n, depth)
}

func (c *yamlConverter) mapping(y *yaml.Node, n *Node, depth int) error {
	if len(y.Content) > 2*c.Fields {
		return fault(TooManyFields, y, fmt.Sprintf("%d fields", c.Fields))
	}
	var merged []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return fault(BadKey, key, "")
		}
		if key.ShortTag() == "!!merge" {
			merged = append(merged, value)
			continue
		}
		if err := checkNUL(key); err != nil {
			return err
		}
		if n.Child(key.Value) != nil {
			return fault(DuplicateKey, key, key.Value)
		}
		kid, err := c.convert(value, depth+1)
		if err != nil {
			return err
		}
		kid.Key, kid.Line = key.Value, int32(key.Line)
		n.Kids = append(n.Kids, kid)
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
func (c *yamlConverter) merge(y *yaml.Node, n *Node, depth int) error {
	source, err := c.convert(y, depth+1)
	if err != nil {
		return err
	}
	sources := []Node{source}
	if source.Kind == Array {
		sources = source.Kids
	}
	for _, s := range sources {
		if s.Kind != Object {
			return fault(BadMerge, y, "")
		}
		for _, kid := range s.Kids {
			if n.Child(kid.Key) == nil {
				n.Kids = append(n.Kids, kid)
			}
		}
	}
	if len(n.Kids) > c.Fields {
		return fault(TooManyFields, y, fmt.Sprintf("%d fields", c.Fields))
	}
	return nil
}

func checkNUL(y *yaml.Node) error {
	if strings.IndexByte(y.Value, 0) >= 0 {
		return fault(NUL, y, "")
	}
	return nil
}

// scalar resolves a plain value as YAML 1.2's core schema does; dates stay text.
func (c *yamlConverter) scalar(y *yaml.Node, n *Node) error {
	if err := checkNUL(y); err != nil {
		return err
	}
	n.Text = y.Value
	switch tag := y.ShortTag(); tag {
	case "!!str", "!!timestamp", "!!merge":
		n.Kind = String
	case "!!null":
		n.Kind, n.Text = Null, ""
	case "!!bool":
		var v bool
		if err := y.Decode(&v); err != nil {
			return fault(BadBool, y, y.Value)
		}
		n.Kind, n.Text = Bool, strconv.FormatBool(v)
	case "!!int", "!!float":
		return c.number(y, n)
	default:
		return fault(BadTag, y, tag)
	}
	return nil
}

func (c *yamlConverter) number(y *yaml.Node, n *Node) error {
	n.Kind = Number
	if isNumber(y.Value) {
		if _, err := ParseNumber(y.Value); err == nil {
			return nil
		}
	}
	bad := fault(BadNumber, y, y.Value)
	var v any
	if err := y.Decode(&v); err != nil {
		return bad
	}
	n.Text = fmt.Sprint(v)
	if f, ok := v.(float64); ok {
		n.Text = strconv.FormatFloat(f, 'g', -1, 64)
	}
	if _, err := ParseNumber(n.Text); err != nil || !isNumber(n.Text) {
		return bad
	}
	return nil
}
