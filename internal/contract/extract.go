package contract

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"gitwf/internal/document"
	"gitwf/internal/plain"
)

// MaxReply is the most that a reply may take, in bytes. Larger deliverables are written to WF_OUT.
const MaxReply = 16 << 20

const (
	keyResult  = "result_type"
	escapedKey = `\"` + keyResult + `\"`
)

// extract finds the one reply in a text. The rule: of all objects, and of all groups in braces that are none, that
// speak of a result_type there is one, or equal ones. So it never has to choose.
func extract(data []byte) (map[string]any, *Violation) {
	if len(data) > MaxReply {
		return nil, &Violation{
			Code: codeTooLarge, Expected: fmt.Sprintf("at most %d bytes", MaxReply),
			Actual:     fmt.Sprintf("%d bytes", len(data)),
			ExampleFix: "write large files to the directory that WF_OUT names, and leave files out",
		}
	}
	text, v := decode(data)
	if v != nil {
		return nil, v
	}
	s := scanner{text: text, budget: 64*len(text) + 1<<20}
	if v := s.skipThinking(); v != nil {
		return nil, v
	}
	for s.findNext() {
		if v := s.readGroup(); v != nil {
			return nil, v
		}
	}
	return s.result()
}

// decode checks that the text is UTF-8. Half a character at its very end is the mark of a text that was cut off.
func decode(data []byte) (string, *Violation) {
	if utf8.Valid(data) {
		return strings.TrimPrefix(string(data), "\ufeff"), nil
	}
	at := plain.InvalidUTF8(data)
	if !utf8.FullRune(data[at:]) {
		return "", CutOff("the text ends inside a character")
	}
	return "", &Violation{Code: codeNotUTF8, Expected: "UTF-8",
		Actual: fmt.Sprintf("the byte 0x%02X at offset %d", data[at], at)}
}

// scanner goes through a text from brace to brace.
type scanner struct {
	text   string
	pos    int
	budget int // bytes that may be looked at in vain, so that open brackets don't cost the square of the text

	reply   map[string]any
	wrapped string // what a reply was found in that should stand alone
}

// skipThinking skips what a model that shows its reasoning puts first: drafts there are no replies.
func (s *scanner) skipThinking() *Violation {
	rest := strings.TrimLeft(s.text, " \t\r\n")
	for _, tag := range []string{"think", "thinking"} {
		inside, ok := strings.CutPrefix(rest, "<"+tag+">")
		if !ok {
			continue
		}
		_, after, ended := strings.Cut(inside, "</"+tag+">")
		if !ended {
			return CutOff("the text ends inside <" + tag + ">")
		}
		s.pos = len(s.text) - len(after)
		return nil
	}
	return nil
}

// findNext goes to the next place where an object, or a list of objects, may begin.
func (s *scanner) findNext() bool {
	for {
		i := strings.IndexAny(s.text[s.pos:], "{[")
		if i < 0 {
			return false
		}
		s.pos += i
		if s.text[s.pos] == '{' {
			return true
		}
		inside := strings.TrimLeft(s.text[s.pos+1:], " \t\r\n")
		if strings.HasPrefix(inside, "{") {
			return true
		}
		s.pos = len(s.text) - len(inside)
	}
}

// readGroup takes what begins at a brace, and goes behind it.
func (s *scanner) readGroup() *Violation {
	value, end, f := replyJSON.Prefix(s.text, s.pos)
	if f == nil {
		return s.takeObject(value.Value(double), end)
	}
	switch {
	case s.cutOff(f):
		return s.violation(f)
	case s.text[s.pos] == '[':
		const price = 32 // a byte that is read costs that many that are looked at
		v := s.spend(price * (f.At - s.pos))
		s.pos++ // a bracket of prose: what is in it stands for itself, and is read again
		return v
	}
	return s.skipBroken(f)
}

// spend pays for text that was looked at in vain.
func (s *scanner) spend(bytes int) *Violation {
	if s.budget -= bytes; s.budget >= 0 {
		return nil
	}
	return &Violation{Code: codeTooLarge, Expected: "one JSON object", Actual: "too many brackets that begin none"}
}

func (s *scanner) takeObject(v any, end int) *Violation {
	raw := s.text[s.pos:end]
	start := s.pos
	s.pos = end
	object, isObject := v.(map[string]any)
	if _, ok := object[keyResult]; !ok {
		if strings.Contains(raw, `"`+keyResult+`"`) {
			s.wrapped = "inside a list"
			if isObject {
				s.wrapped = "inside another object"
			}
		}
		return nil
	}
	if s.reply != nil && !reflect.DeepEqual(s.reply, object) {
		return &Violation{
			Code: codeTwoReplies, Expected: "one object with a result_type, and no drafts or examples beside it",
			Actual: fmt.Sprintf("another one at %s that differs from the first", place(s.text, start)),
		}
	}
	s.reply = object
	return s.checkLeftover()
}

// checkLeftover refuses text that goes on as if the object had been closed too early: fields after it would be lost. A
// closing brace or a comma too many at the end is harmless.
func (s *scanner) checkLeftover() *Violation {
	const space = " \t\r\n"
	after := strings.TrimLeft(s.text[s.pos:], space+"}]")
	rest, ok := strings.CutPrefix(after, ",")
	rest = strings.TrimLeft(rest, space+"}]")
	if !ok || rest == "" || rest[0] == '`' || rest[0] == '~' {
		return nil
	}
	at := len(s.text) - len(after)
	return &Violation{
		Code: codeLeftover, Expected: "the end of the reply after the object's closing brace",
		Actual: fmt.Sprintf("%s at %s", snippet(after), place(s.text, at)),
	}
}

// skipBroken decides about a group in braces that is no JSON: prose or code if it says nothing of a result_type.
func (s *scanner) skipBroken(f *document.Fault) *Violation {
	end, closed := s.closing()
	if v := s.spend(end - s.pos); v != nil {
		return v
	}
	group := s.text[s.pos:end]
	if !closed && !f.Begun {
		// The brace may be a lone one of prose. Only what stands before the next brace surely belongs to it.
		if i := strings.IndexByte(group[1:], '{'); i >= 0 {
			group = group[:i+1]
		}
	}
	switch {
	case !f.Begun && s.text[f.At] == '\\' && strings.Contains(group, escapedKey):
		return &Violation{
			Code: codeDoubleEncoded, Expected: "the object itself",
			ExampleFix: `{"schema_version": 1, "result_type": "NOOP"}`,
			Actual:     "an object with its quotes escaped, at " + place(s.text, s.pos),
		}
	case strings.Contains(group, keyResult):
		return s.violation(f)
	}
	s.pos += len(group)
	return nil
}

// closing finds where the braces that open at pos are closed; what stands in double quotes does not count.
func (s *scanner) closing() (end int, closed bool) {
	depth, quoted := 0, false
	for i := s.pos; i < len(s.text); i++ {
		switch c := s.text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
		}
	}
	return len(s.text), false
}

func (s *scanner) result() (map[string]any, *Violation) {
	whole := Violation{Expected: "one JSON object with schema_version and " + keyResult,
		ExampleFix: `{"schema_version":1,"result_type":"NOOP","summary":"..."}`}
	switch {
	case s.wrapped != "":
		whole.Code, whole.Actual = codeWrapped, "a "+keyResult+" "+s.wrapped
		whole.Expected = "the object with the " + keyResult + " alone, at the top"
	case s.reply != nil:
		return s.reply, nil
	case strings.TrimSpace(s.text) == "":
		whole.Code, whole.Actual = codeEmpty, "nothing"
	case strings.Contains(s.text, escapedKey):
		whole.Code, whole.Actual = codeDoubleEncoded, "an object inside a string, with its quotes escaped"
	default:
		whole.Code, whole.Actual = codeNoReply, "text without such an object: "+snippet(strings.TrimSpace(s.text))
	}
	return nil, &whole
}

// place says line and column, both from 1, of an offset.
func place(text string, at int) string {
	before := text[:at]
	line := strings.Count(before, "\n") + 1
	column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
	return fmt.Sprintf("line %d, column %d", line, column)
}

// snippet is the beginning of a text, for a message.
func snippet(s string) string {
	const most = 24
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return plain.Quote(s)
}

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
	v := &Violation{Code: f.Code(), Expected: "JSON in which each field stands once, within the limits",
		Actual: f.Text()}
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
