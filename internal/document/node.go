package document

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
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

// Fault is what is wrong at one place of a document.
type Fault struct {
	Problem Problem
	Subject string // what the problem is about: a key, a number, the text that was found, a limit
	Line    int    // from 1
	At      int    // in JSON, the offset in bytes; zero in YAML
	Begun   bool   // in JSON, a field's name and its colon were read before: prose does not look like that
}

// Problem is a way in which a text is no document.
type Problem uint8

// The problems.
const (
	Empty Problem = iota
	SecondDocument
	TooManyValues
	TooManyFields
	TooDeep
	DuplicateKey
	NUL
	OutOfRange
	Ends         // where the document has to go on
	EndsInString // as above
	Trailing     // text after the document
	NoValue
	NoName
	NoColon
	NoCommaOrBrace
	NoCommaOrBracket
	NoNumber
	Control
	Comment // or a comma behind the last item
	BadEscape
	BadHex
	HalfPair
	NoYAML
	BadKey
	BadMerge
	BadBool
	BadNumber
	BadTag
)

// problems has the stable code of each problem, and its text with a place for the subject.
var problems = [...]struct{ code, text string }{
	Empty:            {"empty", "the file has no content"},
	SecondDocument:   {"several-documents", "a second YAML document begins here; expected one document"},
	TooManyValues:    {"too-large", "more than %s"},
	TooManyFields:    {"too-large", "more than %s in one object"},
	TooDeep:          {"too-deep", "nested more than %s"},
	DuplicateKey:     {"duplicate-key", "the field %q stands twice in one object"},
	NUL:              {"nul", "the character NUL"},
	OutOfRange:       {"bad-number", "%q is out of range"},
	Ends:             {"syntax", "the document ends too early"},
	EndsInString:     {"syntax", "a string without its closing quote"},
	Trailing:         {"syntax", "text after the end of the document: %q"},
	NoValue:          {"syntax", "expected a value, found %q"},
	NoName:           {"syntax", "expected a field's name in double quotes, found %q"},
	NoColon:          {"syntax", "expected : after %q"},
	NoCommaOrBrace:   {"syntax", "expected , or }, found %q"},
	NoCommaOrBracket: {"syntax", "expected , or ], found %q"},
	NoNumber:         {"syntax", "%q is not a number as JSON writes it"},
	Control:          {"syntax", "a control character in a string; write \\n for a line's end"},
	Comment:          {"syntax", "JSON has no comments, and no comma behind the last item"},
	BadEscape:        {"syntax", "an escape that JSON does not know: a backslash and %q"},
	BadHex:           {"syntax", "a \\u escape needs four hexadecimal digits"},
	HalfPair:         {"syntax", "half of a surrogate pair"},
	NoYAML:           {"syntax", "not valid YAML: %s"},
	BadKey:           {"syntax", "a field's name must be a plain word"},
	BadMerge:         {"syntax", "<< can only merge objects"},
	BadBool:          {"syntax", "%q is not true or false"},
	BadNumber:        {"bad-number", "%q is not a number in range"},
	BadTag:           {"bad-tag", "the tag %q has no meaning here"},
}

// Code names the kind of problem for programs. It is stable.
func (f *Fault) Code() string { return problems[f.Problem].code }

// Text says what is wrong, without the line.
func (f *Fault) Text() string {
	text, subject := problems[f.Problem].text, f.Subject
	if !strings.Contains(text, "%") {
		return text
	}
	const most = 80
	if strings.Contains(text, "%q") && utf8.RuneCountInString(subject) > most {
		subject = string([]rune(subject)[:most]) + "..."
	}
	return fmt.Sprintf(text, subject)
}

func (f *Fault) Error() string { return fmt.Sprintf("line %d: %s", f.Line, f.Text()) }
