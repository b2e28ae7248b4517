package contract

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of a JSON value: far more than a reply needs, little enough for hostile ones.
const (
	maxDepth  = 64
	maxValues = 500_000
	maxNumber = 64 // bytes
)

// fault says why the text at a place is no JSON value.
type fault struct {
	code     string
	at       int // offset in bytes
	expected string
	actual   string // "" stands for what is found at the place
}

// reader reads one JSON value out of a text, with the liberties that doc.go lists. encoding/json has none of them, lets
// the second of two equal keys win, and replaces half surrogate pairs.
type reader struct {
	src    string // UTF-8
	pos    int
	depth  int
	values int
	begun  bool // a field's name and its colon were read: prose does not look like that
}

// fail takes what ends at the end of the text, or of the fence around it, for cut off and not for wrong.
func (r *reader) fail(code, expected, actual string) *fault {
	const longestFence = 16
	if rest := r.src[r.pos:]; code == CodeSyntax && len(rest) <= longestFence && strings.Trim(rest, "`~ \t\r\n") == "" {
		return r.cutOff()
	}
	return &fault{code, r.pos, expected, actual}
}

func (r *reader) cutOff() *fault {
	return &fault{CodeCutOff, len(r.src), "the object up to its closing brace", "the text ends inside it"}
}

// peek is the next byte that is neither white space nor comment; it fails at the end of the text.
func (r *reader) peek() (byte, *fault) {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		case '/':
			if f := r.comment(); f != nil {
				return 0, f
			}
		default:
			return r.src[r.pos], nil
		}
	}
	return 0, r.cutOff()
}

func (r *reader) comment() *fault {
	end, after := "\n", 2
	switch rest := r.src[r.pos:]; {
	case len(rest) < after:
		return r.cutOff()
	case rest[1] == '*':
		end = "*/"
	case rest[1] != '/':
		return r.fail(CodeSyntax, "JSON", "")
	}
	i := strings.Index(r.src[r.pos+after:], end)
	if i < 0 {
		return r.cutOff()
	}
	r.pos += after + i + len(end)
	return nil
}

// value gives map[string]any, []any, string, float64, bool or nil.
func (r *reader) value() (any, *fault) {
	c, f := r.peek()
	if f != nil {
		return nil, f
	}
	if r.values++; r.values > maxValues {
		return nil, r.fail(CodeTooLarge, fmt.Sprintf("at most %d values", maxValues), "more")
	}
	switch {
	case c == '{':
		return r.nested(r.object)
	case c == '[':
		return r.nested(r.array)
	case c == '"':
		return r.string()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	}
	return r.word()
}

func (r *reader) nested(read func() (any, *fault)) (any, *fault) {
	if r.depth++; r.depth > maxDepth {
		return nil, r.fail(CodeTooDeep, fmt.Sprintf("at most %d levels", maxDepth), "more")
	}
	r.pos++
	v, f := read()
	r.depth--
	return v, f
}

func (r *reader) object() (any, *fault) {
	m := map[string]any{}
	for {
		c, f := r.peek()
		if f != nil {
			return nil, f
		}
		if c == '}' {
			r.pos++
			return m, nil
		}
		if f := r.member(m); f != nil {
			return nil, f
		}
		if done, f := r.separator('}'); done || f != nil {
			return m, f
		}
	}
}

func (r *reader) member(m map[string]any) *fault {
	if r.src[r.pos] != '"' {
		return r.fail(CodeSyntax, `a field's name in straight double quotes (")`, "")
	}
	start := r.pos
	key, f := r.string()
	if f != nil {
		return f
	}
	if _, twice := m[key]; twice {
		r.pos = start
		return r.fail(CodeDuplicateKey, "each field once", "a second "+shown(key))
	}
	c, f := r.peek()
	if f != nil {
		return f
	}
	if c != ':' {
		return r.fail(CodeSyntax, "a colon after "+shown(key), "")
	}
	r.pos++
	r.begun = true
	v, f := r.value()
	m[key] = v
	return f
}

func (r *reader) array() (any, *fault) {
	list := []any{}
	for {
		c, f := r.peek()
		if f != nil {
			return nil, f
		}
		if c == ']' {
			r.pos++
			return list, nil
		}
		v, f := r.value()
		if f != nil {
			return nil, f
		}
		list = append(list, v)
		if done, f := r.separator(']'); done || f != nil {
			return list, f
		}
	}
}

// separator takes the comma after an item, or the end of the group.
func (r *reader) separator(end byte) (done bool, f *fault) {
	c, f := r.peek()
	if f != nil {
		return false, f
	}
	switch c {
	case ',', end:
		r.pos++
		return c == end, nil
	}
	return false, r.fail(CodeSyntax, "a comma or "+string(end), "")
}

func (r *reader) string() (string, *fault) {
	r.pos++
	var b strings.Builder
	start := r.pos
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; {
		case c == '"':
			b.WriteString(r.src[start:r.pos])
			r.pos++
			return b.String(), nil
		case c == '\\':
			b.WriteString(r.src[start:r.pos])
			char, f := r.escape()
			if f != nil {
				return "", f
			}
			b.WriteRune(char)
			start = r.pos
		case c < ' ' && c != '\n' && c != '\r' && c != '\t':
			return "", r.fail(CodeSyntax, `no control characters in a string (\u00XX)`, "")
		default:
			r.pos++
		}
	}
	return "", r.cutOff()
}

const simpleEscapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

func (r *reader) escape() (rune, *fault) {
	if r.pos+1 == len(r.src) {
		return 0, r.cutOff()
	}
	c := r.src[r.pos+1]
	if c == 'u' {
		return r.unicode()
	}
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == c {
			r.pos += 2
			return rune(simpleEscapes[i+1]), nil
		}
	}
	return 0, r.fail(CodeSyntax, `an escape that JSON knows (a backslash itself is \\)`, "")
}

func (r *reader) unicode() (rune, *fault) {
	first, f := r.hex()
	if f != nil || !utf16.IsSurrogate(first) {
		return first, f
	}
	at := r.pos
	const pairStart = `\u`
	if rest := r.src[r.pos:]; strings.HasPrefix(pairStart, rest) {
		return 0, r.cutOff()
	} else if strings.HasPrefix(rest, pairStart) {
		second, f := r.hex()
		if f != nil {
			return 0, f
		}
		if char := utf16.DecodeRune(first, second); char != utf8.RuneError {
			return char, nil
		}
	}
	return 0, &fault{CodeSyntax, at, "both halves of a surrogate pair", "one half"}
}

// hex reads \uXXXX.
func (r *reader) hex() (rune, *fault) {
	const length = 6
	digits := r.src[r.pos+2 : min(r.pos+length, len(r.src))]
	for i := range len(digits) {
		if !strings.ContainsRune("0123456789abcdefABCDEF", rune(digits[i])) {
			return 0, r.fail(CodeSyntax, `four hexadecimal digits after \u`, "")
		}
	}
	if r.pos+length > len(r.src) {
		return 0, r.cutOff()
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil {
		return 0, r.fail(CodeSyntax, `four hexadecimal digits after \u`, "")
	}
	r.pos += length
	return rune(v), nil
}

// number reads into a float64 at once: as exact numbers the exponents of hostile ones would take all memory.
func (r *reader) number() (any, *fault) {
	start := r.pos
	for r.pos < len(r.src) && strings.IndexByte("+-.0123456789eE", r.src[r.pos]) >= 0 {
		r.pos++
	}
	if r.pos == len(r.src) {
		return nil, r.cutOff()
	}
	text := r.src[start:r.pos]
	if len(text) > maxNumber || !json.Valid([]byte(text)) {
		r.pos = start
		return nil, r.fail(CodeSyntax, "a number as JSON writes it", "")
	}
	v, err := strconv.ParseFloat(text, 64)
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	if err != nil || v == 0 && strings.ContainsAny(mantissa, "123456789") {
		r.pos = start
		return nil, r.fail(CodeBadValue, "a number within the range of a double", shown(text))
	}
	return v, nil
}

func (r *reader) word() (any, *fault) {
	rest := r.src[r.pos:]
	for word, v := range map[string]any{"true": true, "false": false, "null": nil} {
		if strings.HasPrefix(rest, word) {
			r.pos += len(word)
			return v, nil
		}
		if strings.HasPrefix(word, rest) {
			return nil, r.cutOff()
		}
	}
	return nil, r.fail(CodeSyntax, `a JSON value (strings in straight double quotes; true, false and null in lower case; no NaN)`, "")
}
