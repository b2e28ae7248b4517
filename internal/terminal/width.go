package terminal

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Cells returns how many columns one line of text takes. Sequences that choose a style ("\x1b[1m") take none.
func Cells(s string) int {
	_, used := measure(s, math.MaxInt)
	return used
}

// Fit cuts a text to this many columns.
func Fit(s string, columns int) string {
	end, _ := measure(s, columns)
	return s[:end]
}

// Clip cuts a text that takes more columns than this, and puts a mark at the cut if there is room for more than that.
func Clip(s string, columns int) string {
	if columns <= 1 || Cells(s) <= columns {
		return Fit(s, columns)
	}
	return Fit(s, columns-1) + "…"
}

// measure returns how much of a text fits into this many columns, in bytes, and how many of the columns it takes.
func measure(s string, columns int) (end, used int) {
	for end < len(s) {
		if n := styleLength(s[end:]); n > 0 {
			end += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[end:])
		if used+cellsOf(r) > columns {
			break
		}
		used, end = used+cellsOf(r), end+n
	}
	return end, used
}

// styleLength is the length of the sequence that chooses a style at the beginning of a text, 0 if there is none.
func styleLength(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	end := strings.IndexFunc(s[2:], func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
	if end < 0 || s[2+end] != 'm' {
		return 0
	}
	return 2 + end + 1
}

func cellsOf(r rune) int {
	switch k := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case k == width.EastAsianWide || k == width.EastAsianFullwidth:
		return 2
	}
	return 1
}
