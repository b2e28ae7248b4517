package contract

import (
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

// cutOff reports whether the text ends too early. What ends at the end of the text, or of the fence around it, is taken
// for cut off and not for wrong.
func (s *scanner) cutOff(f *document.Fault) bool {
	const longestFence = 16
	rest := s.text[f.At:]
	return f.Problem == document.Ends || f.Problem == document.EndsInString ||
		f.Code() == codeSyntax && len(rest) <= longestFence && strings.Trim(rest, "`~ \t\r\n") == ""
}

// violation says what is wrong with a text at the place of a fault. Saying it takes the whole text.
func (s *scanner) violation(f *document.Fault) *Violation {
	if s.cutOff(f) {
		return &Violation{
			Code: codeCutOff, Expected: "the object up to its closing brace", ExampleFix: cutOffFix,
			Actual: "the text ends inside it, at " + place(s.text, len(s.text)),
		}
	}
	v := &Violation{Code: f.Code(), Expected: "JSON in which each field stands once, within the limits", Actual: f.Text()}
	if expected, ok := strings.CutPrefix(f.Text(), "expected "); ok {
		v.Expected, _, _ = strings.Cut(expected, ", found ")
		v.Actual = snippet(s.text[f.At:])
	}
	switch f.Problem {
	case document.NoValue:
		v.Expected += " (strings in straight double quotes; true, false and null in lower case; no NaN)"
	case document.OutOfRange:
		v.Code = codeBadValue
	}
	v.Actual = plain.Line(v.Actual) + ", at " + place(s.text, f.At)
	return v
}

// double reads a number as encoding/json does.
func double(text string) any {
	f, _ := strconv.ParseFloat(text, 64) // the reader refuses what is out of range
	return f
}
