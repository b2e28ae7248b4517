package plandoc

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// A reference in a command line, [dependency_context], is found by reading the line as a shell would, as far as quotes
// go. Its value never becomes part of the line. A variable of the environment takes its place, quoted as that place
// needs it, and shells don't read the value of a variable as shell text. A reference is refused where a value would be
// read as a program all the same (eval, sh -c, the name of a command), and behind what the reader does not follow.

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

// shellReader finds the references of a line. It follows quotes and commands, and no further: behind a place where a
// line nests another one, no reference may stand.
type shellReader struct {
	line  string
	known func(name string) bool // the bracket is meant as a reference
	refs  []shellRef
	quote byte   // ' or ", 0 outside of quotes
	lost  string // what began something that the reader does not follow, "" if nothing did

	command bool   // the name of the program has been read
	code    string // a word that runs what it is given, "" if none was read
	ended   bool   // -- was read: what follows is no option
	output  bool   // the word that is being read is the target of a redirection that writes
	word    strings.Builder
	began   bool // a word is being read
}

func shellRefs(line string, known func(name string) bool) []shellRef {
	r := &shellReader{line: line, known: known}
	for i := 0; i < len(line); {
		i += r.step(i)
	}
	return r.refs
}

func (r *shellReader) at(i int) byte {
	if i < 0 || i >= len(r.line) {
		return 0
	}
	return r.line[i]
}

// step reads what begins at i and returns its length.
func (r *shellReader) step(i int) int {
	c := r.line[i]
	if c == '[' {
		if n := r.reference(i); n > 0 {
			return n
		}
	}
	switch {
	case r.quote == '\'' && c != '\'':
	case c == '\\':
		r.add(i+1, min(i+2, len(r.line)))
		return 2
	case c == r.quote:
		r.quote = 0
		return 1
	case c == '`':
		r.lost = cmp.Or(r.lost, "`")
	case c == '$' && (r.at(i+1) == '(' || r.at(i+1) == '{'):
		r.lost = cmp.Or(r.lost, r.line[i:i+2])
	case r.quote != 0:
	case c == '\'' || c == '"':
		r.began, r.quote = true, c
		return 1
	default:
		return r.syntax(i)
	}
	r.add(i, i+1)
	return 1
}

// syntax reads what ends words and commands outside of quotes.
func (r *shellReader) syntax(i int) int {
	switch c := r.line[i]; c {
	case ' ', '\t', '\r':
		r.endWord()
		return 1
	case '\n', ';', '&', '|', ')':
		r.endCommand()
		return 1
	case '(':
		r.lost = cmp.Or(r.lost, "(")
		return 1
	case '<', '>':
		r.endWord()
		r.output = c == '>'
		n := 1
		for r.at(i+n) == c || r.at(i+n) == '|' || r.at(i+n) == '&' {
			n++
		}
		if c == '<' && n > 1 {
			r.lost = cmp.Or(r.lost, "<<")
		}
		return n
	case '#':
		if !r.began {
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
	r.began = true
	const enough = 100
	if from < to && r.word.Len() < enough {
		r.word.WriteString(r.line[from:to])
	}
}

func (r *shellReader) endCommand() {
	r.endWord()
	r.command, r.code, r.ended, r.output = false, "", false, false
}

// Words that have no meaning of their own before a command, and programs that run the command which follows them.
var (
	shellPrefixes = strings.Fields("if then elif else do while until ! { time exec command builtin env nohup sudo " +
		"doas timeout nice ionice setsid stdbuf xargs")
	runsCode = strings.Fields("eval source . trap let [[ declare typeset local readonly unset alias sh bash " +
		"dash ash ksh zsh fish busybox su ssh awk gawk mawk nawk sed gsed m4 make watch parallel script expect " +
		"tclsh osascript pwsh powershell cmd psql sqlite3 mysql -exec -execdir -ok -okdir --pre")
	assignment  = pattern.Compile(`^[A-Za-z_][A-Za-z0-9_]*\+?=`)
	interpreter = pattern.Compile(`^(python|perl|ruby|node|deno|bun|php|lua)[0-9.]*(\.exe)?$`)
)

func (r *shellReader) endWord() {
	if !r.began {
		return
	}
	word := r.word.String()
	r.word.Reset()
	r.began = false
	if r.output {
		r.output = false
		return
	}
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(word, `\`, "/")), ".exe")
	switch {
	case slices.Contains(runsCode, name) || interpreter.Get().MatchString(name) || !r.command &&
		strings.ContainsAny(word, "$`"):
		r.code, r.command = name, true
	case word == "--":
		r.ended = true
	case r.command, assignment.Get().MatchString(word), slices.Contains(shellPrefixes, name):
	case strings.HasPrefix(word, "-"), strings.Trim(word, "0123456789.smhd") == "" && word != "":
		// An option, or a number, of a program that runs what follows.
	default:
		r.command = true
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
	ref := shellRef{name: m[1], start: i, end: i + len(m[0]), quote: r.quote, wrong: r.wrongPlace()}
	ref.word = r.quote == 0 && !r.began && (after == 0 || strings.IndexByte(" \t\r\n;|&)", after) >= 0)
	ref.option = r.word.Len() == 0 && !r.ended // nothing but quotes before it
	r.began = true
	r.word.WriteByte('x')
	r.refs = append(r.refs, ref)
	return len(m[0])
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// wrongPlace says why a value must not come where the reader stands.
func (r *shellReader) wrongPlace() string {
	switch {
	case r.lost != "":
		return "stands behind " + r.lost + "; write it before that, or into a step of its own"
	case r.code != "":
		return "is given to " + r.code + ", which would take it for a program"
	case r.output:
		return "names a file that is written"
	case !r.command && !assignment.Get().MatchString(r.word.String()):
		return "stands where the name of a program does"
	}
	return ""
}
