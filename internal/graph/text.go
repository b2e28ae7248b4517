package graph

import (
	"strings"
	"unicode"

	"gitwf/internal/plain"
	"gitwf/internal/terminal"
)

// clean is a text on one line, without characters that a viewer would obey or that XML can't hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\ufffe', r == '\uffff', unicode.Is(unicode.Cs, r):
			return unicode.ReplacementChar
		case r == '\ufeff', r == '\u200b', r == '\u2060':
			return -1 // invisible
		}
		return r
	}, plain.Line(strings.ToValidUTF8(s, "\ufffd")))
}

// clip cuts a text to a number of columns.
func clip(s string, most int) string { return terminal.Clip(s, most, "…") }

// label is the words of a node: its id and its title.
func label(n Node) (id, title string) {
	title = n.Title
	if n.Waived != "" {
		title += " (" + n.Waived + ")"
	}
	return clean(string(n.ID)), clean(title)
}

// tip is the tooltip of a node.
func tip(n Node) string {
	id, title := label(n)
	text := id + ": " + title + " (" + string(n.Kind) + ", " + string(n.Status) + ")"
	if n.Critical {
		text += ", on the critical path"
	}
	return clean(text)
}
