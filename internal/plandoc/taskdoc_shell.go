package plandoc

import (
	"path"
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// A reference in a command line, [dependency_context], is found by reading the line as a shell would, as far as quotes
// go. Its value never becomes part of the line: in its place comes a variable of the environment, quoted as that place
// needs it, and shells don't read the value of a variable as shell text. Where a value would be read as a program all
// the same (eval, sh -c, arithmetic, the name of a command) a reference is refused.

// refName is the form of a reference's name.
var refName = pattern.Compile(`^\[([A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*(?:\.[A-Za-z0-9_][A-Za-z0-9_-]*)*)\]`)

// shellRef is a reference in a command line.
type shellRef struct {
	name       string
	start, end int    // in the line, brackets included
	quote      byte   // what it stands in: ' or ", 0 for none
	word       bool   // it is a whole word of its own
	option     bool   // a value that begins with a hyphen would be taken for an option
	wrong      string // why it can't stand there, "" if it can
}

// The frames of a line: what a closing character ends.
const (
	inLine   = 'n' // commands: the line itself, $(...), (...)
	inSingle = '\''
	inDouble = '"'
	inTicks  = '`'
	inBraces = '{' // ${...}
	inMath   = '+' // $((...))
)

// shellFrame is one level of quoting, and for commands what is known of the one that is being read.
type shellFrame struct {
	kind    byte
	command bool   // the name of the program has been read
	code    string // a word that runs what it is given, "" if none was read
	ended   bool   // -- was read: what follows is no option
	output  bool   // the word that is being read is the target of a redirection that writes
	word    strings.Builder
	began   bool // a word is being read
}

// shellReader finds the references of a line.
type shellReader struct {
	line   string
	known  func(name string) bool // the bracket is meant as a reference
	stack  []*shellFrame
	refs   []shellRef
	here   bool // a here-document was begun
	inHere bool // and its text has begun
}

func shellRefs(line string, known func(name string) bool) []shellRef {
	r := &shellReader{line: line, known: known, stack: []*shellFrame{{kind: inLine}}}
	for i := 0; i < len(line); {
		i += r.step(i)
	}
	return r.refs
}

func (r *shellReader) top() *shellFrame { return r.stack[len(r.stack)-1] }

func (r *shellReader) push(kind byte) { r.stack = append(r.stack, &shellFrame{kind: kind}) }

func (r *shellReader) pop() {
	if len(r.stack) > 1 {
		r.stack = r.stack[:len(r.stack)-1]
	}
}

// commands is the innermost frame of commands.
func (r *shellReader) commands() *shellFrame {
	for _, f := range slices.Backward(r.stack) {
		if f.kind == inLine || f.kind == inTicks {
			return f
		}
	}
	return r.stack[0]
}

func (r *shellReader) at(i int) byte {
	if i < 0 || i >= len(r.line) {
		return 0
	}
	return r.line[i]
}

// step reads what begins at i and returns its length.
func (r *shellReader) step(i int) int {
	f, c := r.top(), r.line[i]
	if c == '[' {
		if n := r.reference(i); n > 0 {
			return n
		}
	}
	switch {
	case f.kind == inSingle:
		if c == '\'' {
			r.pop()
			return 1
		}
	case c == '\\':
		r.add(i+1, min(i+2, len(r.line)))
		return 2
	case f.kind == inDouble && c == '"', f.kind == inBraces && c == '}', f.kind == inTicks && c == '`':
		r.pop()
		return 1
	case f.kind == inMath:
		if c == ')' && r.at(i+1) == ')' {
			r.pop()
			return 2
		}
	case c == '$':
		if n := r.dollar(i); n > 0 {
			return n
		}
	case c == '`':
		r.commands().began = true
		r.push(inTicks)
		return 1
	case c == '"':
		r.commands().began = true
		r.push(inDouble)
		return 1
	case c == '\'' && f.kind != inDouble:
		r.commands().began = true
		r.push(inSingle)
		return 1
	case f.kind == inLine || f.kind == inTicks:
		return r.syntax(i)
	}
	r.add(i, i+1)
	return 1
}

// dollar reads the beginning of an expansion.
func (r *shellReader) dollar(i int) int {
	r.commands().began = true
	switch {
	case r.at(i+1) == '(' && r.at(i+2) == '(':
		r.push(inMath)
		return 3
	case r.at(i+1) == '(':
		r.push(inLine)
		return 2
	case r.at(i+1) == '{':
		r.push(inBraces)
		return 2
	}
	return 0
}

// syntax reads what ends words and commands outside of quotes.
func (r *shellReader) syntax(i int) int {
	f, c := r.top(), r.line[i]
	switch c {
	case ' ', '\t', '\r':
		f.endWord()
		return 1
	case '\n', ';', '&', '|':
		f.endCommand()
		if c == '\n' && r.here {
			r.inHere = true
		}
		return 1
	case '(':
		f.endCommand()
		r.push(inLine)
		return 1
	case ')':
		f.endCommand()
		r.pop()
		return 1
	case '<', '>':
		f.endWord()
		f.output = c == '>'
		n := 1
		for r.at(i+n) == c || r.at(i+n) == '|' || r.at(i+n) == '&' {
			n++
		}
		r.here = r.here || c == '<' && n == 2
		return n
	case '#':
		if !f.began {
			for n := 1; ; n++ {
				if i+n >= len(r.line) || r.line[i+n] == '\n' {
					return n
				}
			}
		}
	}
	r.add(i, i+1)
	return 1
}

// add takes a part of the line into the word that is being read.
func (r *shellReader) add(from, to int) {
	f := r.commands()
	f.began = true
	const enough = 100
	if from < to && f.word.Len() < enough {
		f.word.WriteString(r.line[from:to])
	}
}

func (f *shellFrame) endCommand() {
	f.endWord()
	f.command, f.code, f.ended, f.output = false, "", false, false
}

// Words that have no meaning of their own before a command, and programs that run the command which follows them.
var (
	shellPrefixes = strings.Fields("if then elif else do while until ! { time exec command builtin env nohup sudo doas timeout nice ionice setsid stdbuf xargs")
	runsCode      = strings.Fields("eval source . trap let [[ declare typeset local readonly unset alias sh bash dash ash ksh zsh fish busybox su ssh awk gawk mawk nawk sed gsed m4 make watch parallel script expect tclsh osascript pwsh powershell cmd psql sqlite3 mysql -exec -execdir -ok -okdir --pre")
	assignment    = pattern.Compile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
	interpreter   = pattern.Compile(`^(python|perl|ruby|node|deno|bun|php|lua)[0-9.]*(\.exe)?$`)
)

func (f *shellFrame) endWord() {
	if !f.began {
		return
	}
	word := f.word.String()
	f.word.Reset()
	f.began = false
	if f.output {
		f.output = false
		return
	}
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
	switch {
	case slices.Contains(runsCode, name) || interpreter.Get().MatchString(name) || !f.command &&
		strings.ContainsAny(word, "$`"):
		f.code, f.command = name, true
	case word == "--":
		f.ended = true
	case f.command, assignment.Get().MatchString(word), slices.Contains(shellPrefixes, name):
	case strings.HasPrefix(word, "-"), strings.Trim(word, "0123456789.smhd") == "" && word != "":
		// An option, or a number, of a program that runs what follows.
	default:
		f.command = true
	}
}

// reference reads a reference, and returns 0 where the bracket is something else: a test, a pattern, an index.
func (r *shellReader) reference(i int) int {
	m := refName.Get().FindStringSubmatch(r.line[i:])
	if m == nil {
		return 0
	}
	before, after := r.at(i-1), r.at(i+len(m[0]))
	if isWordByte(before) || strings.IndexByte(`\[$`, before) >= 0 && before != 0 ||
		strings.IndexByte("]*+?{", after) >= 0 && after != 0 || !r.known(m[1]) {
		return 0
	}
	f, cmd := r.top(), r.commands()
	ref := shellRef{name: m[1], start: i, end: i + len(m[0])}
	if f.kind == inSingle || f.kind == inDouble {
		ref.quote = f.kind
	}
	first := cmd.word.Len() == 0 // nothing but quotes before it
	ref.word = ref.quote == 0 && !cmd.began && (after == 0 || strings.IndexByte(" \t\r\n;|&)", after) >= 0)
	ref.option = first && !cmd.ended
	ref.wrong = r.wrongPlace(f, cmd, first)
	cmd.began = true
	cmd.word.WriteByte('x')
	r.refs = append(r.refs, ref)
	return len(m[0])
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// wrongPlace says why a value must not come where the reader stands.
func (r *shellReader) wrongPlace(f, cmd *shellFrame, first bool) string {
	for _, outer := range r.stack {
		switch {
		case outer.kind == inTicks:
			return "stands between backquotes; write $(...)"
		case outer.kind == inMath:
			return "stands in arithmetic, which would run what it holds"
		case outer.kind == inBraces:
			return "stands inside ${...}"
		case outer.code != "":
			return "is given to " + outer.code + ", which would take it for a program"
		}
	}
	switch {
	case r.inHere:
		return "stands in a here-document; write printf '%s\\n' \"[name]\" before a pipe"
	case cmd.output:
		return "names a file that is written"
	case !cmd.command && !assignment.Get().MatchString(cmd.word.String()):
		return "stands where the name of a program does"
	}
	return ""
}
