package process

import (
	"strings"
	"unicode"

	"gitwf/internal/pattern"
)

// MaxTail is the length of a Result's Tail, in bytes.
const MaxTail = 4 << 10

// rawTail is how much output becomes a Tail: escape sequences take room and are not shown.
const rawTail = 2 * MaxTail

// escapeSequence matches what a terminal obeys: control sequences (colours, cursor), strings such as window titles with
// their terminator, and short escapes.
var escapeSequence = pattern.Compile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)` +
	`|[ -/]*[0-OQ-WYZ\\` + "`" + `-~])`)

// Printable returns output as text that can be shown and stored: valid UTF-8, with carriage returns as newlines, and
// without anything that a terminal obeys (escape sequences, control characters, bidirectional marks). A run of bytes
// that are not UTF-8 becomes one U+FFFD.
func Printable(output []byte) string {
	s := strings.ToValidUTF8(string(output), "\uFFFD")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = escapeSequence.Get().ReplaceAllString(s, "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, s)
}
