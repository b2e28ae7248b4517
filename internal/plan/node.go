package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// kind is the JSON type of a node.
type kind uint8

const (
	nullKind kind = iota
	boolKind
	numberKind
	stringKind
	arrayKind
	objectKind
)

func (k kind) String() string {
	return [...]string{"null", "boolean", "number", "string", "array", "object"}[k]
}

// node is a value of a document with the line it stands on. YAML and JSON both become one, so that everything after
// the syntax is the same for both.
type node struct {
	kind kind
	line int32
	key  string // under which its object holds it
	text string // of a string, a number (as in JSON) or a boolean
	kids []node // of an array or object
}

// MaxFileBytes is the size of the largest plan file that Parse takes.
const MaxFileBytes = 32 << 20

// The bounds of a document. Aliases count as often as they are used.
const (
	maxDepth = 100
	maxNodes = 4_000_000
)

// syntaxError is a place where a document is not what its language allows.
type syntaxError struct {
	code string
	line int
	text string
}

func (e *syntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

func (n *node) child(key string) *node {
	if n == nil || n.kind != objectKind {
		return nil
	}
	for i := range n.kids {
		if n.kids[i].key == key {
			return &n.kids[i]
		}
	}
	return nil
}

func (n *node) str(key string) string {
	if c := n.child(key); c != nil && c.kind == stringKind {
		return c.text
	}
	return ""
}

// value is the node as encoding/json would decode it into an any, numbers as number makes them.
func (n *node) value() any {
	switch n.kind {
	case boolKind:
		return n.text == "true"
	case numberKind:
		v, _ := number(n.text) // the parsers refuse what is out of range
		return v
	case stringKind:
		return n.text
	case arrayKind:
		list := make([]any, len(n.kids))
		for i := range n.kids {
			list[i] = n.kids[i].value()
		}
		return list
	case objectKind:
		object := make(map[string]any, len(n.kids))
		for i := range n.kids {
			object[n.kids[i].key] = n.kids[i].value()
		}
		return object
	}
	return nil
}

// number gives a number the one Go value that survives printing and reading: int64 where it is a whole number in that
// range, however it was spelt, else float64. It fails when the number is too large for either.
func number(text string) (any, error) {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("number %s is out of range", text)
	}
	if f == math.Trunc(f) && f >= math.MinInt64 && f < math.MaxInt64 {
		return int64(f), nil
	}
	return f, nil
}

// segment is one step of a path: a key, or an index when key is "".
type segment struct {
	key   string
	index int
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

// splitPath is the inverse of joinPath.
func splitPath(path string) []segment {
	var parts []segment
	for field := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		if i, err := strconv.Atoi(field); err == nil {
			parts = append(parts, segment{index: i})
		} else {
			parts = append(parts, segment{key: field})
		}
	}
	return parts
}

// lineOf is the line of the value at path, or of the innermost value on the way to it that exists.
func (n *node) lineOf(path string) int {
	at := n
	for _, s := range splitPath(path) {
		next := at.child(s.key)
		if s.key == "" && at.kind == arrayKind && s.index < len(at.kids) {
			next = &at.kids[s.index]
		}
		if next == nil {
			break
		}
		at = next
	}
	return int(at.line)
}
