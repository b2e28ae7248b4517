package estimate

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
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

// in returns the group's first word that the text contains, "" if none.
func (v Verbs) in(text string) string {
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

// A file in a text is a name with an extension, or a name alone in backticks.
var fileName = pattern.Compile("`[^`\\s]{2,60}`|[A-Za-z0-9_/-][A-Za-z0-9_./-]+\\.[A-Za-z][A-Za-z0-9]{0,4}\\b")

var (
	bullet   = pattern.Compile(`^\s*(?:[-*+•]|[0-9]{1,3}[.)、])\s*\S`)
	sentence = pattern.Compile(`[.!?:]\s|[。！？：\n]`)
	comma    = pattern.Compile(`[,;，；、]`)
)

// An enumeration has at least this many items, each of at most this many words.
const (
	leastItems   = 4
	mostInAnItem = 5
)

// named counts the files and modules that a text names in addition to the declared ones: files by name, modules as
// items of an enumeration or of a bulleted list.
func named(text string, declared map[string]bool) int {
	known := map[string]bool{}
	for name := range declared {
		known[name], known[path.Base(name)] = true, true
	}
	before := len(known)
	for _, name := range fileName.Get().FindAllString(text, -1) {
		name = strings.ToLower(strings.Trim(name, "`"))
		if !known[path.Base(name)] {
			known[name] = true
		}
	}
	files := len(known) - before
	return files + items(fileName.Get().ReplaceAllString(text, ""))
}

// items counts the items that a text lists, apart from file names.
func items(text string) int {
	seen, bullets := map[string]bool{}, 0
	for line := range strings.Lines(text) {
		if bullet.Get().MatchString(line) {
			bullets++
			continue
		}
		for _, part := range sentence.Get().Split(line, -1) {
			for _, item := range enumerated(part) {
				seen[item] = true
			}
		}
	}
	return bullets + len(seen)
}

// enumerated returns the items of a sentence that is an enumeration. The first item may have words before it, the last
// one after it.
func enumerated(part string) []string {
	pieces := comma.Get().Split(part, -1)
	var list []string
	for i, piece := range pieces {
		piece = strings.ToLower(strings.TrimSpace(piece))
		if piece == "" || countWords(piece) > mostInAnItem && i > 0 && i < len(pieces)-1 {
			continue
		}
		list = append(list, piece)
	}
	if len(list) < leastItems {
		return nil
	}
	return list
}
