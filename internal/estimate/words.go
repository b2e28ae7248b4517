package estimate

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// ideograph reports whether a rune belongs to a script without spaces between words.
func ideograph(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// countWords counts words; a character of a script without spaces is half a word.
func countWords(text string) float64 {
	n, inside := 0.0, false
	for _, r := range text {
		switch {
		case ideograph(r):
			n, inside = n+0.5, false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if !inside {
				n++
			}
			inside = true
		default:
			inside = false
		}
	}
	return n
}

// firstWordIn returns the group's first word that the text contains, "" if none.
func (v Verbs) firstWordIn(text string) string {
	text = strings.ToLower(text)
	for _, word := range v.Words {
		first, _ := utf8.DecodeRuneInString(word)
		for rest, from := text, 0; word != ""; {
			i := strings.Index(rest, word)
			if i < 0 {
				break
			}
			before, _ := utf8.DecodeLastRuneInString(text[:from+i])
			if ideograph(first) || ideograph(before) || !unicode.IsLetter(before) {
				return word
			}
			from += i + len(word)
			rest = text[from:]
		}
	}
	return ""
}
