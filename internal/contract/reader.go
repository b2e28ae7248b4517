package contract

import (
	"fmt"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/plain"
)

// Limits of a JSON value: far more than a reply needs, little enough for hostile ones.
const (
	maxDepth  = 64
	maxValues = 500_000
	maxFields = 1000 // of one object
)

// replyJSON reads one JSON value, with the liberties that doc.go lists.
var replyJSON = document.JSON{
	Limits: document.Limits{Depth: maxDepth, Values: maxValues, Fields: maxFields}, Comments: true, RawText: true,
}

const noValue = "a JSON value (strings in straight double quotes; true, false and null in lower case; no NaN)"

// broken says what a fault means to the agent: a code, and what was expected.
var broken = map[document.Problem]struct{ code, expected string }{
	document.TooManyValues:    {codeTooLarge, fmt.Sprintf("at most %d values", maxValues)},
	document.TooManyFields:    {codeTooLarge, fmt.Sprintf("at most %d fields in one object", maxFields)},
	document.TooDeep:          {codeTooDeep, fmt.Sprintf("at most %d levels", maxDepth)},
	document.DuplicateKey:     {codeDuplicateKey, "each field once"},
	document.OutOfRange:       {codeBadValue, "a number within the range of a double"},
	document.NoValue:          {codeSyntax, noValue},
	document.NoName:           {codeSyntax, `a field's name in straight double quotes (")`},
	document.NoColon:          {codeSyntax, "a colon after %s"},
	document.NoCommaOrBrace:   {codeSyntax, "a comma or }"},
	document.NoCommaOrBracket: {codeSyntax, "a comma or ]"},
	document.NoNumber:         {codeSyntax, "a number as JSON writes it"},
	document.Control:          {codeSyntax, `no control characters in a string (\u00XX)`},
	document.BadEscape:        {codeSyntax, `an escape that JSON knows (a backslash itself is \\)`},
	document.BadHex:           {codeSyntax, `four hexadecimal digits after \u`},
	document.HalfPair:         {codeSyntax, "both halves of a surrogate pair"},
}

// cutOff reports whether the text ends too early. What ends at the end of the text, or of the fence around it, is taken
// for cut off and not for wrong.
func (s *scanner) cutOff(f *document.Fault) bool {
	known, ok := broken[f.Problem]
	rest := s.text[f.At:]
	const longestFence = 16
	return !ok || known.code == codeSyntax && len(rest) <= longestFence && strings.Trim(rest, "`~ \t\r\n") == ""
}

// violation says what is wrong with a text at the place of a fault. Saying it takes the whole text.
func (s *scanner) violation(f *document.Fault) *Violation {
	if s.cutOff(f) {
		return &Violation{
			Code: codeCutOff, Expected: "the object up to its closing brace", ExampleFix: cutOffFix,
			Actual: "the text ends inside it, at " + place(s.text, len(s.text)),
		}
	}
	known, found := broken[f.Problem], snippet(s.text[f.At:])
	v := &Violation{Code: known.code, Expected: known.expected, Actual: found}
	switch f.Problem {
	case document.NoColon:
		v.Expected = fmt.Sprintf(known.expected, plain.Quote(f.Subject))
	case document.TooManyValues, document.TooManyFields, document.TooDeep:
		v.Actual = "more"
	case document.DuplicateKey:
		v.Actual = "a second " + plain.Quote(f.Subject)
	case document.OutOfRange:
		v.Actual = plain.Quote(f.Subject)
	case document.HalfPair:
		v.Actual = "one half"
	}
	v.Actual += ", at " + place(s.text, f.At)
	return v
}

// double reads a number as encoding/json does.
func double(text string) any {
	f, _ := strconv.ParseFloat(text, 64) // the reader refuses what is out of range
	return f
}
