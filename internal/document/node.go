package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gitwf/internal/plain"
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

	From, Begin, End int32 // in the text of JSON: where the key, or a value without one, and the value begins; its end
}

// Limits bound a document. YAML's aliases count as often as they are used.
type Limits struct {
	Depth  int // levels of arrays and objects
	Values int // in the whole document
	Fields int // of one object; they also bound the search for duplicates
}

// Child is the field of an object, nil if there is none.
//
//go:noinline // in all of its calls it weighs 50 KB
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

// Items are those of an array, or the fields of an object; none of no node.
func (n *Node) Items() []Node {
	if n == nil {
		return nil
	}
	return n.Kids
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

// Fault is what is wrong at one place of a document.
type Fault struct {
	Problem Problem
	Subject string // what the problem is about: a key, a number, the text that was found, a limit
	Line    int    // from 1
	At      int    // in JSON, the offset in bytes; zero in YAML
	Begun   bool   // in JSON, a field's name and its colon were read before: prose does not look like that
}

// Problem is a way in which a text is no document: its stable code, and its text with a place for the subject.
type Problem struct{ code, text string }

// The problems.
var (
	Empty            = Problem{"empty", "the file has no content"}
	SecondDocument   = Problem{"several-documents", "a second YAML document begins here; expected one document"}
	TooManyValues    = Problem{"too-large", "more than %s"}
	TooManyFields    = Problem{"too-large", "more than %s in one object"}
	TooDeep          = Problem{"too-deep", "nested more than %s"}
	DuplicateKey     = Problem{"duplicate-key", "the field %q stands twice in one object"}
	NUL              = Problem{"nul", "the character NUL"}
	OutOfRange       = Problem{"bad-number", "%q is out of range"}
	Ends             = Problem{"syntax", "the document ends too early"}
	EndsInString     = Problem{"syntax", "a string without its closing quote"}
	Trailing         = Problem{"syntax", "text after the end of the document: %q"}
	NoValue          = Problem{"syntax", "expected a value, found %q"}
	NoName           = Problem{"syntax", "expected a field's name in double quotes, found %q"}
	NoColon          = Problem{"syntax", "expected : after %q"}
	NoCommaOrBrace   = Problem{"syntax", "expected , or }, found %q"}
	NoCommaOrBracket = Problem{"syntax", "expected , or ], found %q"}
	NoNumber         = Problem{"syntax", "%q is not a number as JSON writes it"}
	Control          = Problem{"syntax", "a control character in a string; write \\n for a line's end"}
	Comment          = Problem{"syntax", "JSON has no comments, and no comma behind the last item"}
	BadEscape        = Problem{"syntax", "an escape that JSON does not know: a backslash and %q"}
	BadHex           = Problem{"syntax", "a \\u escape needs four hexadecimal digits"}
	HalfPair         = Problem{"syntax", "half of a surrogate pair"}
	NoYAML           = Problem{"syntax", "not valid YAML: %s"}
	BadKey           = Problem{"syntax", "a field's name must be a plain word"}
	BadMerge         = Problem{"syntax", "<< can only merge objects"}
	BadBool          = Problem{"syntax", "%q is not true or false"}
	BadNumber        = Problem{"bad-number", "%q is not a number in range"}
	BadTag           = Problem{"bad-tag", "the tag %q has no meaning here"}
)

// Code names the kind of problem for programs. It is stable.
func (f *Fault) Code() string { return f.Problem.code }

// Text says what is wrong, without the line.
func (f *Fault) Text() string {
	text, subject := f.Problem.text, f.Subject
	if !strings.Contains(text, "%") {
		return text
	}
	if strings.Contains(text, "%q") {
		subject = plain.Clip(subject, 80)
	}
	return fmt.Sprintf(text, subject)
}

func (f *Fault) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Text()) }
