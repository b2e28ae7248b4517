package document

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

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
