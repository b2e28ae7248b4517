package guard

import "strings"

// A command is one simple command of a line, and the files that its output goes to.
type command struct{ words, writes []string }

// A reader reads command lines as a shell does, as far as words, quotes and what parts commands go.
type reader struct {
	text      string
	at        int
	ticks     int      // how many backticks are open
	nested    int      // how many substitutions and subshells are
	documents []string // the ends of the here-documents that begin after this line
	all       []command
}

// mostNested bounds how deep substitutions, and lines that are words of lines, are read.
const mostNested = 8

// commandsOf are the commands of a line, also those in substitutions and subshells.
func commandsOf(line string) []command {
	r := &reader{text: line}
	for ; r.at < len(r.text); r.at++ { // past a bracket that closes nothing
		r.list(0)
	}
	return r.all
}

// list reads commands up to the byte that ends them, or the end of the text.
func (r *reader) list(end byte) {
	var now command
	flush := func() {
		r.all, now = append(r.all, now), command{}
	}
	defer flush()
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\t' || c == '\r':
			r.at++
		case c == '#':
			r.upTo("\n")
		case c == ')' && (end == ')' || end == 0) || c == '`' && r.ticks > 0:
			return
		case strings.IndexByte("\n;&|()", c) >= 0:
			flush()
			r.at++
			switch c {
			case '\n':
				r.skipDocuments()
			case '(':
				r.within(')')
			}
		case c == '<' || c == '>':
			r.redirect(&now)
		default:
			word := r.word()
			if strings.Trim(word, "0123456789") != "" || strings.IndexAny(r.text[r.at:], "<>") != 0 { // 2>file
				now.words = append(now.words, word)
			}
		}
	}
}

// within reads the commands of a bracket that was just opened.
func (r *reader) within(end byte) {
	was := r.ticks
	if end == '`' {
		r.ticks++
	}
	if r.nested++; r.nested <= mostNested {
		r.list(end)
	} else {
		r.upTo(string(end))
	}
	r.nested, r.ticks, r.at = r.nested-1, was, min(r.at+1, len(r.text))
}

// upTo reads up to the next of some bytes.
func (r *reader) upTo(some string) string {
	from := r.at
	if i := strings.IndexAny(r.text[from:], some); i >= 0 {
		r.at += i
	} else {
		r.at = len(r.text)
	}
	return r.text[from:r.at]
}

// redirect reads where output goes to, or the word that ends a here-document.
func (r *reader) redirect(now *command) {
	rest := strings.TrimLeft(r.text[r.at:], "<>&|-")
	op := r.text[r.at : len(r.text)-len(rest)]
	r.at = len(r.text) - len(strings.TrimLeft(rest, " \t"))
	if strings.HasPrefix(rest, "(") { // a command of its own
		r.at++
		r.within(')')
		return
	}
	switch word := r.word(); {
	case op == "<<" || op == "<<-":
		r.documents = append(r.documents, word)
	case strings.Contains(op, ">"):
		now.writes = append(now.writes, word)
	}
}

// skipDocuments passes the here-documents that begin here: they are data.
func (r *reader) skipDocuments() {
	for _, end := range r.documents {
		for line := ""; r.at < len(r.text) && line != end; r.at = min(r.at+1, len(r.text)) {
			line = strings.Trim(r.upTo("\n"), "\t\r")
		}
	}
	r.documents = nil
}

// word reads one word without its quotes. What a substitution prints is not known: a dollar sign stands for it.
func (r *reader) word() string {
	var b strings.Builder
	quoted := false // in double quotes
	for r.at < len(r.text) {
		c := r.text[r.at]
		if !quoted && strings.IndexByte(" \t\r\n;&|()<>", c) >= 0 || c == '`' && r.ticks > 0 {
			break
		}
		next := byte(0)
		if r.at++; r.at < len(r.text) {
			next = r.text[r.at]
		}
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\'' && !quoted:
			b.WriteString(r.upTo("'"))
			r.at = min(r.at+1, len(r.text))
		case c == '\\' && r.at < len(r.text) && (!quoted || strings.IndexByte("$`\"\\\n", next) >= 0):
			if r.at++; next != '\n' {
				b.WriteByte(next)
			}
		case c == '$' && next == '(':
			b.WriteByte(c)
			r.at++
			r.within(')')
		case c == '`':
			b.WriteByte('$')
			r.within('`')
		case c != '$' || quoted || next != '\'' && next != '"':
			b.WriteByte(c)
		}
	}
	return b.String()
}
