package plan

import (
	"strconv"
	"strings"
	"unicode"
)

// Printable replaces what a terminal would obey rather than show (escape sequences, control characters, marks that
// turn the direction of writing) by U+FFFD. Newlines and tabs stay. Everything that comes from a plan, an agent or a
// ref passes through here before it is printed.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// OneLine is Printable text on a single line.
func OneLine(s string) string {
	if isPlainLine(s) { // as nearly every text is, of thousands that are listed
		return s
	}
	return strings.Join(strings.Fields(Printable(s)), " ")
}

// isPlainLine reports whether a text is of visible ASCII, with single spaces between words.
func isPlainLine(s string) bool {
	space := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || space && s[i] == ' ' {
			return false
		}
		space = s[i] == ' '
	}
	return !space || s == ""
}

// Count is a number with its noun: 1 task, 2 tasks.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
