package terminal

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// Cells returns how many columns one line of text takes.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

// Fit cuts a text to this many columns.
func Fit(s string, columns int) string {
	used := 0
	for i, r := range s {
		if used += cellsOf(r); used > columns {
			return s[:i]
		}
	}
	return s
}

// Clip cuts a text that takes more columns than this, and puts mark at the cut.
func Clip(s string, columns int, mark string) string {
	if Cells(s) <= columns {
		return s
	}
	if columns <= Cells(mark) {
		return Fit(s, columns)
	}
	return Fit(s, columns-Cells(mark)) + mark
}

// Wrap breaks one line of text into rows of at most this many columns, between words where it can.
func Wrap(s string, columns int) []string {
	columns = max(columns, 2) // width of the widest character
	var rows []string
	for Cells(s) > columns {
		row := Fit(s, columns)
		if space := strings.LastIndexByte(row, ' '); space > len(row)/2 {
			row = row[:space+1]
		}
		rows = append(rows, strings.TrimRight(row, " "))
		s = s[len(row):]
	}
	return append(rows, s)
}

// Text returns one line of text as it can be drawn. Tabs become spaces. It drops format characters, which may reorder
// or join their neighbours, and replaces terminal controls with U+FFFD. With ascii, a character outside ASCII becomes
// question marks, one for each column.
func Text(s string, ascii bool) string {
	var b strings.Builder
	column := 0
	for _, r := range s {
		switch {
		case r == '\t':
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		case unicode.Is(unicode.Cf, r):
			continue
		case unicode.IsControl(r), r == '\u2028', r == '\u2029':
			r = unicode.ReplacementChar
		}
		n := cellsOf(r)
		if ascii && r > unicode.MaxASCII {
			b.WriteString(strings.Repeat("?", n))
		} else {
			b.WriteRune(r)
		}
		column += n
	}
	return b.String()
}

const tabStop = 4

func cellsOf(r rune) int {
	switch k := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case k == width.EastAsianWide || k == width.EastAsianFullwidth:
		return 2
	}
	return 1
}
