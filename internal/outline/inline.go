package outline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

// span is a piece of a line: code in backticks, or what stands between.
type span struct {
	text string
	code bool
}

// spans cuts text at its code spans. A run of backticks that is never closed is text.
func spans(s string) []span {
	var out []span
	plain := 0
	for i := 0; i < len(s); {
		if s[i] == '\\' && i+1 < len(s) && s[i+1] == '`' {
			i += 2
			continue
		}
		if s[i] != '`' {
			i++
			continue
		}
		width := ticks(s[i:])
		end := closing(s, i+width, width)
		if end < 0 {
			i += width
			continue
		}
		if plain < i {
			out = append(out, span{s[plain:i], false})
		}
		out = append(out, span{strings.TrimSpace(s[i+width : end]), true})
		i = end + width
		plain = i
	}
	if plain < len(s) {
		out = append(out, span{s[plain:], false})
	}
	return out
}

func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

func closing(s string, from, width int) int {
	for i := from; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		n := ticks(s[i:])
		if n == width {
			return i
		}
		i += n
	}
	return -1
}

var (
	comment    = pattern.Compile(`<!--.*?(-->|$)`)
	linkText   = pattern.Compile(`!?\[([^\]\[]*)\]\([^()\s]*(?:\s+"[^"]*")?\)`)
	wikiLink   = pattern.Compile(`\[\[([^\]|]*)(?:\|([^\]]*))?\]\]`)
	breakTag   = pattern.Compile(`(?i)<br\s*/?>`)
	closingATX = pattern.Compile(`\s+#+\s*$`)
)

// plain is text without the marks of Markdown, for titles and keys: emphasis, links, comments and backticks go.
func plainText(s string) string {
	if !strings.ContainsAny(s, "*_`[<~") {
		return clean(s)
	}
	s = comment.Get().ReplaceAllString(s, " ")
	var b strings.Builder
	for _, p := range spans(s) {
		if p.code {
			b.WriteString(p.text)
			continue
		}
		t := linkText.Get().ReplaceAllString(p.text, "$1")
		t = wikiLink.Get().ReplaceAllString(t, "$1")
		t = strings.NewReplacer("**", "", "__", "", "~~", "").Replace(t)
		b.WriteString(loneMarks(t))
	}
	return clean(b.String())
}

// loneMarks drops single * and _ around words; inside of a word they belong to it.
func loneMarks(s string) string {
	rs := []rune(s)
	var b strings.Builder
	for i, r := range rs {
		if r == '*' || r == '_' {
			before := i > 0 && isWord(rs[i-1])
			after := i+1 < len(rs) && isWord(rs[i+1])
			if before != after || r == '*' && !(before && after) && i+1 < len(rs) && i > 0 && rs[i+1] != ' ' {
				continue
			}
		}
		b.WriteRune(r)
	}
	return b.String()
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// clean makes one line of text that a terminal shows as it stands: what controls the display goes, and so does the
// replacement character, which stands for something that was lost.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == '\u2028' || r == '\u2029' || r == '\u00a0' || r == '\u3000':
			return ' '
		case hostile(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// hostile is what internal/plan refuses in a title: what changes the display without being seen.
func hostile(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.IsControl(r) || r == utf8.RuneError || unicode.Is(unicode.Cf, r) && r != nonJoiner && r != joiner
}

// prose is text as it was written, on one line, comments apart.
func prose(s string) string {
	return clean(breakTag.Get().ReplaceAllString(comment.Get().ReplaceAllString(s, " "), " "))
}

// short cuts text to a number of characters.
func short(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	rs := []rune(s)
	return strings.TrimSpace(string(rs[:most-3])) + "..."
}

// join puts the lines of a paragraph on one line. Between two characters of a script without spaces there is none.
func joinLines(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		t := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(l.text), `\`))
		if b.Len() > 0 && t != "" {
			b.WriteByte(' ')
		}
		b.WriteString(t)
	}
	return b.String()
}
