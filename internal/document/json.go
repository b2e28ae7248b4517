package document

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON reads JSON, which is UTF-8, within limits.
type JSON struct {
	Limits
	FirstLine int // the number of the first line; zero counts as 1

	Comments bool // takes // and /* */ comments, and a comma behind the last item
	RawText  bool // takes line ends and tabs in strings, and the character NUL

	// Mend makes the reader go on where it can, and is told of each place. Of duplicate fields the first counts; fields
	// over the limit are left out; what is nested too deep becomes null; a number out of range becomes a string; NUL
	// and half a surrogate pair become U+FFFD. It is told of comments, too. Without Mend each of these is a fault, and
	// comments pass in silence.
	Mend func(*Fault)
}

// Parse reads a text that is one document. Its error is a *Fault.
func (o JSON) Parse(src string) (*Node, error) {
	s := o.scanner(src, 0)
	var n Node
	f := s.run(func() {
		n = s.value("")
		if s.space(); s.pos < len(src) {
			s.fail(Trailing, s.pos, s.rest())
		}
	})
	if f != nil {
		return nil, f
	}
	return &n, nil
}

// Prefix reads the value that begins at an offset of a text, and says where it ends. Lines are counted from there.
func (o JSON) Prefix(src string, at int) (n *Node, end int, f *Fault) {
	s := o.scanner(src, at)
	n = &Node{}
	if f = s.run(func() { *n = s.value("") }); f != nil {
		return nil, 0, f
	}
	return n, s.pos, nil
}

func (o JSON) scanner(src string, at int) *scanner {
	return &scanner{JSON: o, src: src, pos: at, line: max(1, o.FirstLine)}
}

// scanner is at one place of a text.
type scanner struct {
	JSON
	src    string
	pos    int
	line   int
	depth  int
	values int
	begun  bool   // a field's name and its colon were read
	stack  []Node // values of the arrays and objects that are still open
}

// run leaves the recursion by a panic with a fault, which never crosses the package.
func (s *scanner) run(read func()) (f *Fault) {
	defer func() {
		if e := recover(); e != nil {
			fault, ok := e.(*Fault)
			if !ok {
				panic(e)
			}
			f = fault
		}
	}()
	read()
	return nil
}

func (s *scanner) fail(p Problem, at int, subject string) {
	panic(&Fault{p, subject, s.line, at, s.begun})
}

// mend tells of a fault that the reader can go on after, where that is wanted.
func (s *scanner) mend(p Problem, at int, subject string) {
	if s.Mend == nil {
		s.fail(p, at, subject)
	}
	s.Mend(&Fault{p, subject, s.line, at, s.begun})
}

func (s *scanner) rest() string {
	const most = 20
	return strings.ToValidUTF8(s.src[s.pos:min(s.pos+most, len(s.src))], "")
}

// space skips white space and comments.
func (s *scanner) space() {
	for ; s.pos < len(s.src); s.pos++ {
		switch s.src[s.pos] {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		case '/':
			if !s.Comments || !s.comment() {
				return
			}
		default:
			return
		}
	}
}

// comment skips a comment but for its last byte.
func (s *scanner) comment() bool {
	rest := s.src[s.pos:]
	end := 0
	switch {
	case rest == "/":
		s.fail(Ends, len(s.src), "")
	case rest[1] == '/':
		if end = strings.IndexByte(rest, '\n') - 1; end < 0 {
			end = len(rest) - 1
		}
	case rest[1] == '*':
		at := strings.Index(rest[2:], "*/")
		if at < 0 {
			s.fail(Ends, len(s.src), "")
		}
		end = 2 + at + 1
	default:
		return false
	}
	if s.Mend != nil {
		s.mend(Comment, s.pos, "")
	}
	s.line += strings.Count(rest[:end], "\n")
	s.pos += end
	return true
}

// peek is the next byte that is neither white space nor comment. There has to be one.
func (s *scanner) peek() byte {
	s.space()
	if s.pos == len(s.src) {
		s.fail(Ends, s.pos, "")
	}
	return s.src[s.pos]
}

func (s *scanner) value(key string) Node {
	c := s.peek()
	if s.values++; s.values > s.Values {
		s.fail(TooManyValues, s.pos, strconv.Itoa(s.Values)+" values")
	}
	n := Node{Line: int32(s.line), Key: key, From: int32(s.pos), Begin: int32(s.pos)}
	switch {
	case c == '{':
		s.group(&n, Object, '}')
	case c == '[':
		s.group(&n, Array, ']')
	case c == '"':
		n.Kind, n.Text = String, s.text()
	case c == '-' || c >= '0' && c <= '9':
		s.number(&n)
	default:
		s.word(&n)
	}
	n.End = int32(s.pos)
	return n
}

// maxNested bounds the recursion where depth is mended.
const maxNested = 1000

// group reads the items of an array or object up to its end.
func (s *scanner) group(n *Node, kind Kind, end byte) {
	if s.depth++; s.depth == s.Depth+1 {
		s.mend(TooDeep, s.pos, strconv.Itoa(s.Depth)+" levels deep")
	} else if s.depth > maxNested {
		s.fail(TooDeep, s.pos, strconv.Itoa(maxNested)+" levels deep")
	}
	separator := NoCommaOrBrace
	if kind == Array {
		separator = NoCommaOrBracket
	}
	s.pos++
	base := len(s.stack)
	for c := s.peek(); c != end; {
		if kind == Object {
			s.member(base)
		} else {
			s.stack = append(s.stack, s.value(""))
		}
		if c = s.peek(); c == ',' {
			c = s.comma(end)
		} else if c != end {
			s.fail(separator, s.pos, s.rest())
		}
	}
	s.pos++
	s.depth--
	if s.depth < s.Depth {
		n.Kind, n.Kids = kind, slices.Clone(s.stack[base:])
	}
	s.stack = s.stack[:base]
}

// comma reads one, and gives what comes next.
func (s *scanner) comma(end byte) byte {
	at := s.pos
	s.pos++
	c := s.peek()
	if c == end && s.Comments {
		if s.Mend != nil {
			s.mend(Comment, at, "")
		}
	} else if c == '}' && c == end {
		s.fail(NoName, s.pos, s.rest())
	} else if c == end {
		s.fail(NoValue, s.pos, s.rest())
	}
	return c
}

// member reads a field of the object whose fields begin at base of the stack.
func (s *scanner) member(base int) {
	if s.peek() != '"' {
		s.fail(NoName, s.pos, s.rest())
	}
	at := s.pos
	key := s.text()
	full, twice := len(s.stack)-base >= s.Fields, false
	if full {
		s.mend(TooManyFields, at, strconv.Itoa(s.Fields)+" fields")
	}
	for i := base; i < len(s.stack) && !full && !twice; i++ {
		if twice = s.stack[i].Key == key; twice {
			s.mend(DuplicateKey, at, key)
		}
	}
	if s.peek() != ':' {
		s.fail(NoColon, s.pos, key)
	}
	s.pos++
	s.begun = true
	n := s.value(key)
	if n.From = int32(at); !full && !twice {
		s.stack = append(s.stack, n)
	}
}

// text reads a string.
func (s *scanner) text() string {
	s.pos++
	start := s.pos
	var b strings.Builder
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == '"':
			part := s.src[start:s.pos]
			s.pos++
			if b.Len() == 0 {
				return part
			}
			b.WriteString(part)
			return b.String()
		case c == '\\':
			b.WriteString(s.src[start:s.pos])
			b.WriteRune(s.escape())
			start = s.pos
			continue
		case c == '\n' || c == '\r' || c == '\t':
			if !s.RawText {
				s.fail(Control, s.pos, "")
			}
			if c == '\n' {
				s.line++
			}
		case c < ' ':
			s.fail(Control, s.pos, "")
		}
		s.pos++
	}
	s.fail(EndsInString, s.pos, "")
	return ""
}

const simpleEscapes = "\"\"\\\\//b\bf\fn\nr\rt\t"

func (s *scanner) escape() rune {
	if s.pos+1 == len(s.src) {
		s.fail(EndsInString, len(s.src), "")
	}
	c := s.src[s.pos+1]
	if c == 'u' {
		return s.unicode()
	}
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == c {
			s.pos += 2
			return rune(simpleEscapes[i+1])
		}
	}
	_, size := utf8.DecodeRuneInString(s.src[s.pos+1:])
	s.fail(BadEscape, s.pos, s.src[s.pos+1:s.pos+1+size])
	return 0
}

func (s *scanner) unicode() rune {
	at := s.pos
	first := s.hex()
	if first == 0 && !s.RawText {
		s.mend(NUL, at, "")
		return utf8.RuneError
	}
	if !utf16.IsSurrogate(first) {
		return first
	}
	at = s.pos
	if rest := s.src[at:]; strings.HasPrefix(`\u`, rest) {
		s.fail(EndsInString, len(s.src), "")
	} else if strings.HasPrefix(rest, `\u`) {
		if pair := utf16.DecodeRune(first, s.hex()); pair != utf8.RuneError {
			return pair
		}
		s.pos = at
	}
	s.mend(HalfPair, at, "")
	return utf8.RuneError
}

// hex reads \uXXXX.
func (s *scanner) hex() rune {
	const length = 6
	digits := s.src[s.pos+2 : min(s.pos+length, len(s.src))]
	v, err := strconv.ParseUint("0"+digits, 16, 32)
	if err != nil {
		s.fail(BadHex, s.pos, "")
	}
	if s.pos+length > len(s.src) {
		s.fail(EndsInString, len(s.src), "")
	}
	s.pos += length
	return rune(v)
}

func (s *scanner) number(n *Node) {
	start := s.pos
	for s.pos < len(s.src) && strings.IndexByte("+-.0123456789eE", s.src[s.pos]) >= 0 {
		s.pos++
	}
	n.Kind, n.Text = Number, s.src[start:s.pos]
	if !isNumber(n.Text) {
		if s.pos == len(s.src) {
			s.fail(Ends, s.pos, "")
		}
		s.fail(NoNumber, start, n.Text)
	}
	if _, err := ParseNumber(n.Text); err != nil {
		s.mend(OutOfRange, start, n.Text)
		n.Kind = String
	}
}

// isNumber reports whether text has the grammar of RFC 8259: no leading zero or plus, digits around the point.
func isNumber(text string) bool {
	return strings.Trim(text, "+-.0123456789eE") == "" && json.Valid([]byte(text))
}

func (s *scanner) word(n *Node) {
	rest := s.src[s.pos:]
	for _, w := range []string{"true", "false", "null"} {
		if strings.HasPrefix(rest, w) {
			if n.Kind = Bool; w == "null" {
				n.Kind = Null
			} else {
				n.Text = w
			}
			s.pos += len(w)
			return
		}
		if strings.HasPrefix(w, rest) {
			s.fail(Ends, len(s.src), "")
		}
	}
	s.fail(NoValue, s.pos, s.rest())
}
