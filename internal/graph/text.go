package graph

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"gitwf/internal/plan"
)

// clean is a text on one line without anything that a reader would obey rather than show, or that XML can't hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\ufffe', r == '\uffff', unicode.Is(unicode.Cs, r):
			return unicode.ReplacementChar
		case r == '\ufeff', r == '\u200b', r == '\u2060':
			return -1 // nothing to see, and nothing to say
		}
		return r
	}, plan.OneLine(strings.ToValidUTF8(s, "\ufffd")))
}

// cells is the number of columns that a rune takes on a terminal.
func cells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// textWidth is the number of columns that a text takes on a terminal.
func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

// clip cuts a text to a number of columns.
func clip(s string, most int) string { return clipWith(s, most, "…") }

// clipWith cuts a text to a number of columns, the last of which say that it was cut.
func clipWith(s string, most int, cut string) string {
	if textWidth(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n+cells(r) > most-textWidth(cut) {
			return strings.TrimRight(s[:i], " ") + cut
		}
		n += cells(r)
	}
	return s
}

// label is the words of a node: its id and its title.
func label(n Node) (id, title string) {
	title = n.Title
	if n.Waived != "" {
		title += " (" + n.Waived + ")"
	}
	return clean(string(n.ID)), clean(title)
}

// tip is all that a picture says about a node where there is room for it.
func tip(n Node) string {
	id, title := label(n)
	text := id + ": " + title + " (" + string(n.Kind) + ", " + string(n.Status) + ")"
	if n.Critical {
		text += ", on the critical path"
	}
	return clean(text)
}
