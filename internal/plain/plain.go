// Package plain makes text that came from elsewhere fit to be shown: from a plan, an agent, a ref or a server.
package plain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/each"

	"golang.org/x/text/unicode/norm"
)

// Text replaces what a terminal would obey rather than show (escape sequences, control characters, marks that
// turn the direction of writing) by U+FFFD. Newlines and tabs stay. Everything that comes from a plan, an agent or a
// ref passes through here before it is printed.
func Text(s string) string {
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

// Line is Text on a single line.
func Line(s string) string {
	if isPlainLine(s) { // as nearly every text is, of thousands that are listed
		return s
	}
	return strings.Join(strings.Fields(Text(s)), " ")
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

// InvalidUTF8 is the offset of the first byte that is no part of a character of UTF-8; the length if there is none.
func InvalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(data)
}

// Some are the first of a list in words, at most so many, and how many more there are: "a", "b", "3 more".
func Some[T any](list []T, most int, say func(T) string) []string {
	said := each.Of(list[:min(len(list), most)], say)
	if more := len(list) - most; more > 0 {
		said = append(said, strconv.Itoa(more)+" more")
	}
	return said
}

// Count is a number with its noun: 1 task, 2 tasks.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// Bytes is a number of bytes for people.
func Bytes(n int64) string {
	switch {
	case n < 1<<10:
		return Count(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// IsText reports whether data is a text; what is not whole may be cut inside a character.
func IsText(data []byte, whole bool) bool {
	for i := 1; i < utf8.UTFMax && !whole && len(data) > 0 && !utf8.Valid(data); i++ {
		data = data[:len(data)-1]
	}
	return utf8.Valid(data) && !slices.Contains(data, 0)
}

// Quote shows a value in a message: quoted, short, and with nothing that a terminal would obey.
func Quote(s string) string {
	return strconv.Quote(Text(Clip(s, 80)))
}

// Clip is a text of which no more is left than so many characters, and dots for the rest.
func Clip(s string, most int) string {
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "..."
	}
	return s
}

// Hostile reports what changes the display without being seen. The two joiners are part of the spelling of several
// languages and stay.
func Hostile(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar ||
		unicode.Is(unicode.Cf, r) && r != nonJoiner && r != joiner
}

// Slug keeps the letters and digits of any script (NFC) and joins what remains with sep. It keeps the case; callers
// that want lower case pass lower case.
func Slug(s string, sep rune) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFC.String(s) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && b.Len() > 0 && !gap:
			if gap && b.Len() > 0 {
				b.WriteRune(sep)
			}
			gap = false
			b.WriteRune(r)
		default:
			gap = true
		}
	}
	return b.String()
}

// Shortened is the text without its middle, keep bytes of it or a little less, and the number of missing bytes. A mark
// on a line of its own says so. Both ends are whole characters, and whole lines if those are short.
func Shortened(text string, keep int) (short string, missing int) {
	if keep >= len(text) {
		return text, 0
	}
	head, tail := text[:whole(text, keep*2/3)], text[whole(text, len(text)-keep/3):]
	if i := strings.LastIndexByte(head, '\n'); i > len(head)*3/4 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	missing = len(text) - len(head) - len(tail)
	mark := fmt.Sprintf("[... %d bytes left out here ...]\n", missing)
	if !strings.HasSuffix(head, "\n") {
		mark = "\n" + mark
	}
	return head + mark + tail, missing
}

// whole moves an index back to the beginning of a character.
func whole(s string, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

// Ideograph reports whether a rune belongs to a script without spaces between words: Chinese, Japanese or Korean.
func Ideograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// WordAt is the position of a word in a text, -1 if it is not there. A word of ideographs matches anywhere, others at
// the beginning of a word ("review" is in "reviewing").
func WordAt(text, word string) int {
	text, word = strings.ToLower(text), strings.ToLower(strings.TrimSpace(word))
	initial, _ := utf8.DecodeRuneInString(word)
	for from := 0; word != ""; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			break
		}
		before, _ := utf8.DecodeLastRuneInString(text[:from+i])
		if Ideograph(initial) || Ideograph(before) || !unicode.IsLetter(before) && !unicode.IsDigit(before) {
			return from + i
		}
		from += i + len(word)
	}
	return -1
}
