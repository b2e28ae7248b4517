package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// jsonReader reads JSON into nodes. encoding/json would do it without line numbers, would let the second of two equal
// keys win, and would match keys whatever their case: all three matter for a file that other people hand in.
type jsonReader struct {
	src   string // UTF-8
	pos   int
	line  int
	depth int
	nodes int
	stack []node // values of the arrays and objects that are still open
}

func parseJSON(src string) (n *node, err error) {
	r := &jsonReader{src: src, line: 1}
	defer func() {
		// The reader leaves its recursion by panic with this one type, which never crosses the package.
		if e := recover(); e != nil {
			syntax, ok := e.(*syntaxError)
			if !ok {
				panic(e)
			}
			n, err = nil, syntax
		}
	}()
	root := r.value("")
	r.space()
	if r.pos < len(r.src) {
		r.fail("syntax", "text after the end of the document: %s", quote(r.rest()))
	}
	return &root, nil
}

func (r *jsonReader) fail(code, format string, args ...any) {
	panic(&syntaxError{code, r.line, fmt.Sprintf(format, args...)})
}

func (r *jsonReader) rest() string {
	const most = 20
	s := r.src[r.pos:min(r.pos+most, len(r.src))]
	return strings.ToValidUTF8(s, "")
}

func (r *jsonReader) space() {
	for ; r.pos < len(r.src); r.pos++ {
		switch r.src[r.pos] {
		case '\n':
			r.line++
		case ' ', '\t', '\r':
		default:
			return
		}
	}
}

// peek is the next byte that is not white space, 0 at the end.
func (r *jsonReader) peek() byte {
	r.space()
	if r.pos == len(r.src) {
		return 0
	}
	return r.src[r.pos]
}

func (r *jsonReader) value(key string) node {
	if r.nodes++; r.nodes > maxNodes {
		r.fail("too-large", "more than %d values", maxNodes)
	}
	c := r.peek()
	n := node{line: int32(r.line), key: key}
	switch {
	case c == '{':
		n.kind = objectKind
		n.kids = r.group('}', r.member)
	case c == '[':
		n.kind = arrayKind
		n.kids = r.group(']', func(int) node { return r.value("") })
	case c == '"':
		n.kind, n.text = stringKind, r.string()
	case c == '-' || c >= '0' && c <= '9':
		n.kind, n.text = numberKind, r.number()
	default:
		n.kind, n.text = r.word()
	}
	return n
}

// group reads the items of an array or object up to its end.
func (r *jsonReader) group(end byte, item func(base int) node) []node {
	if r.depth++; r.depth > maxDepth {
		r.fail("too-deep", "nested more than %d levels deep", maxDepth)
	}
	r.pos++
	base := len(r.stack)
	if r.peek() == end {
		r.pos++
		r.depth--
		return nil
	}
	for {
		n := item(base)
		r.stack = append(r.stack, n)
		switch r.peek() {
		case ',':
			r.pos++
		case end:
			r.pos++
			r.depth--
			kids := slices.Clone(r.stack[base:])
			r.stack = r.stack[:base]
			return kids
		default:
			r.fail("syntax", "expected , or %c, found %s", end, quote(r.rest()))
		}
	}
}

func (r *jsonReader) member(base int) node {
	if r.peek() != '"' {
		r.fail("syntax", "expected a field's name in double quotes, found %s", quote(r.rest()))
	}
	key := r.string()
	for i := base; i < len(r.stack); i++ {
		if r.stack[i].key == key {
			r.fail("duplicate-key", "the field %s stands twice in one object", quote(key))
		}
	}
	if len(r.stack)-base > maxKeys {
		r.fail("too-large", "more than %d fields in one object", maxKeys)
	}
	if r.peek() != ':' {
		r.fail("syntax", "expected : after %s", quote(key))
	}
	r.pos++
	return r.value(key)
}

// maxKeys bounds an object, and with it the search for duplicate keys.
const maxKeys = 1000

func (r *jsonReader) string() string {
	r.pos++
	start := r.pos
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; {
		case c == '"':
			s := r.src[start:r.pos]
			r.pos++
			return s
		case c == '\\':
			return r.escaped(start)
		case c < ' ':
			r.fail("syntax", "a control character in a string; write \\n for a line's end")
		}
		r.pos++
	}
	r.fail("syntax", "a string without its closing quote")
	return ""
}

const simpleEscapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

func (r *jsonReader) escaped(start int) string {
	var b strings.Builder
	b.WriteString(r.src[start:r.pos])
	for r.pos < len(r.src) {
		c := r.src[r.pos]
		switch {
		case c == '"':
			r.pos++
			return b.String()
		case c < ' ':
			r.fail("syntax", "a control character in a string; write \\n for a line's end")
		case c != '\\':
			b.WriteByte(c)
			r.pos++
		default:
			b.WriteRune(r.escape())
		}
	}
	r.fail("syntax", "a string without its closing quote")
	return ""
}

func (r *jsonReader) escape() rune {
	r.pos++
	if r.pos == len(r.src) {
		r.fail("syntax", "a string without its closing quote")
	}
	c := r.src[r.pos]
	r.pos++
	if c == 'u' {
		return r.unicode()
	}
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == c {
			return rune(simpleEscapes[i+1])
		}
	}
	r.fail("syntax", "an escape that JSON does not know: \\%c", c)
	return 0
}

func (r *jsonReader) unicode() rune {
	first := r.hex()
	if first == 0 {
		r.fail("nul", "the character NUL")
	}
	if !utf16.IsSurrogate(first) {
		return first
	}
	if strings.HasPrefix(r.src[r.pos:], `\u`) {
		r.pos += 2
		if pair := utf16.DecodeRune(first, r.hex()); pair != utf8.RuneError {
			return pair
		}
	}
	r.fail("syntax", "half of a surrogate pair")
	return 0
}

func (r *jsonReader) hex() rune {
	const digits = 4
	if r.pos+digits > len(r.src) {
		r.fail("syntax", "a \\u escape needs four hexadecimal digits")
	}
	v, err := strconv.ParseUint(r.src[r.pos:r.pos+digits], 16, 32)
	if err != nil {
		r.fail("syntax", "a \\u escape needs four hexadecimal digits")
	}
	r.pos += digits
	return rune(v)
}

func (r *jsonReader) number() string {
	start := r.pos
	for r.pos < len(r.src) && strings.IndexByte("+-.0123456789eE", r.src[r.pos]) >= 0 {
		r.pos++
	}
	text := r.src[start:r.pos]
	if !jsonNumber(text) {
		r.fail("syntax", "%s is not a number as JSON writes it", quote(text))
	}
	if _, err := number(text); err != nil {
		r.fail("bad-number", "%s is out of range", quote(text))
	}
	return text
}

// jsonNumber reports whether text has the grammar of RFC 8259: no leading zero or plus, digits around the point.
func jsonNumber(text string) bool {
	s := strings.TrimPrefix(text, "-")
	whole := digits(s)
	if whole == 0 || whole > 1 && s[0] == '0' {
		return false
	}
	s = s[whole:]
	if rest, ok := strings.CutPrefix(s, "."); ok {
		n := digits(rest)
		if n == 0 {
			return false
		}
		s = rest[n:]
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		n := digits(s)
		return n > 0 && n == len(s)
	}
	return s == ""
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func (r *jsonReader) word() (kind, string) {
	for _, w := range []string{"true", "false", "null"} {
		if strings.HasPrefix(r.src[r.pos:], w) {
			r.pos += len(w)
			if w == "null" {
				return nullKind, ""
			}
			return boolKind, w
		}
	}
	if r.pos == len(r.src) {
		r.fail("syntax", "the document ends too early")
	}
	r.fail("syntax", "expected a value, found %s", quote(r.rest()))
	return nullKind, ""
}
