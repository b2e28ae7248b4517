package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Kind is the JSON type of a node.
type Kind uint8

// The kinds of node.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// Node is a value of a document. Everything after the syntax is the same for YAML and JSON.
type Node struct {
	Kind Kind
	Line int32  // on which the value begins; in YAML, its key
	Key  string // under which its object holds it
	Text string // of a string, a number (as JSON writes it) or a boolean
	Kids []Node // of an array or object
}

// Limits bound a document. YAML's aliases count as often as they are used.
type Limits struct {
	Depth  int // levels of arrays and objects
	Values int // in the whole document
	Fields int // of one object; they also bound the search for duplicates
}

// Child is the field of an object, nil if there is none.
func (n *Node) Child(key string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i := range n.Kids {
		if n.Kids[i].Key == key {
			return &n.Kids[i]
		}
	}
	return nil
}

// Value is the node as encoding/json would decode it into an any, but for numbers: those are what number makes of their
// text, such as Exact.
func (n *Node) Value(number func(text string) any) any {
	switch n.Kind {
	case Bool:
		return n.Text == "true"
	case Number:
		return number(n.Text)
	case String:
		return n.Text
	case Array:
		list := make([]any, len(n.Kids))
		for i := range n.Kids {
			list[i] = n.Kids[i].Value(number)
		}
		return list
	case Object:
		object := make(map[string]any, len(n.Kids))
		for i := range n.Kids {
			object[n.Kids[i].Key] = n.Kids[i].Value(number)
		}
		return object
	}
	return nil
}

// ParseNumber gives a number the one Go value that survives printing and reading: int64 where it is a whole number in
// that range, however it was spelt, else float64. It fails when the number is too large for either, or so near to zero
// that it would become zero.
func ParseNumber(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) || f == 0 && strings.ContainsAny(mantissa, "123456789") {
		return nil, fmt.Errorf("number %s is out of range", text)
	}
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f), nil
	}
	return f, nil
}

// Exact is ParseNumber for Value.
func Exact(text string) any {
	v, _ := ParseNumber(text) // the readers refuse what it can't read
	return v
}
