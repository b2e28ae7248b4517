package prompt

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes a text fit to be printed. It removes control characters except newline and tab, and returns how many.
// Invalid UTF-8, and characters that are invisible or change the writing direction, become U+FFFD, so that the reader
// sees that there is something. Lines end in a newline.
func clean(s string) (text string, removed int) {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\r\n", "\n")
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\u2028', r == '\u2029':
			return '\n'
		case unicode.IsControl(r):
			removed++
			return -1
		case hidden(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	return text, removed
}

// hidden reports marks that reorder the shown text, and tag characters, which can hide a text.
func hidden(r rune) bool {
	return unicode.Is(unicode.Bidi_Control, r) || r >= 0xE0000 && r <= 0xE007F || r == '\ufeff'
}

// line is a text on one line.
func line(s string) string {
	s, _ = clean(s)
	return strings.Join(strings.Fields(s), " ")
}

// leastFence is the length of the shortest fence.
const leastFence = 4

// fenced fences a clean text, with a label and a name. The fence is longer than any run of tildes in the text, so no
// line of the text ends it. The result ends without a newline.
func fenced(label, name, text string) string {
	fence := strings.Repeat("~", max(leastFence, longestRun(text, '~')+1))
	return fence + " " + label + ": " + name + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

func longestRun(s string, of byte) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != of {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// shortened is the text without its middle, keep bytes of it or a little less, and the number of missing bytes. A mark
// on a line of its own says so. Both ends are whole characters, and whole lines if those are short.
func shortened(text string, keep int) (short string, missing int) {
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
