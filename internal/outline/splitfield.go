package outline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

var boldKey = pattern.Compile(`^(\*\*|__|\*|_)([^*_]{1,60}?)\s*([:：]?)\s*(\*\*|__|\*|_)\s*([:：]?)\s*(.*)$`)

// splitField splits "key: value", however the key is dressed: **Key:** value, **Key**: value, `key`: value, 键：值,
// 【键】值, key = value, key | value, and a key alone on its line. The key is "" where
// it is none that is known.
func splitField(s string) (key, string) {
	s = strings.TrimSpace(s)
	s = strings.TrimLeftFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("*_`[(（【「", r)
	})
	if s == "" {
		return "", ""
	}
	if k, value := colonField(s); k != "" {
		return k, value
	}
	return looseField(s)
}

// keyOf is the key of a field, "" of other text.
func keyOf(s string) key {
	k, _ := splitField(s)
	return k
}

// colonField splits at a colon, or behind a key that is bold.
func colonField(s string) (key, string) {
	if m := boldKey.Get().FindStringSubmatch(s); m != nil && m[1] == m[4] {
		if k := lookup(m[2]); k != "" {
			if m[3] != "" || m[5] != "" || m[6] == "" {
				return k, trimEmphasis(m[6], "")
			}
		}
	}
	i := strings.IndexAny(s, ":：")
	if i <= 0 || i > 120 {
		return "", ""
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	word, value := s[:i], s[i+size:]
	if size == 1 && strings.HasPrefix(value, ":") {
		value = value[1:] // "status:: done"
	}
	if strings.Count(word, "`")%2 == 1 {
		return "", ""
	}
	k := lookup(word)
	if k == "" {
		return "", ""
	}
	return k, trimEmphasis(value, word)
}

// trimEmphasis takes off the marks that a key shares with its value: "**Status: DONE**", "_Verify: x_".
func trimEmphasis(value, word string) string {
	value = strings.TrimSpace(value)
	for _, mark := range []string{"**", "__", "*", "_"} {
		if strings.HasPrefix(strings.TrimSpace(word), mark) && strings.Count(word, mark)%2 == 1 {
			value = strings.TrimSpace(strings.TrimPrefix(value, mark))
			value = strings.TrimSpace(strings.TrimSuffix(value, mark))
			break
		}
	}
	return value
}

var (
	codeOnly   = pattern.Compile("^`+([^`]+)`+$")
	wordValue  = pattern.Compile(`^(\S{2,10})\s+(.{1,30})$`)
	bracketKey = pattern.Compile(`^[【\[「]\s*([^】\]」]{1,40}?)\s*[】\]」]\s*[:：]?\s*([^(\s].*)?$`)
	otherMark  = pattern.Compile(`^([^=|｜→—–▸►]{2,40}?)(?:\s*(=|:=|[|｜]|→|——?|–|[▸►])\s*|\s+(->|=>` +
		`|-)\s+)([^=|｜\s].*)$|^([^=|｜→—–]{2,40}?)\s*=\s*$`)
)

// looseField splits what has no colon. Only the words that make a task what it is are taken for keys then.
func looseField(s string) (key, string) {
	if !words().starts[firstTwo(strings.TrimLeft(s, "*_`[【「 "))] {
		return "", ""
	}
	if m := codeOnly.Get().FindStringSubmatch(s); m != nil && keyOf(m[1]) == keyStatus {
		return splitField(m[1])
	}
	if m := bracketKey.Get().FindStringSubmatch(s); m != nil {
		if k := exact(bareWord(m[1])); k.ofTask() {
			return k, strings.TrimSpace(m[2])
		}
	}
	if m := otherMark.Get().FindStringSubmatch(s); m != nil && !strings.Contains(m[1], "`") {
		if k := words().bare[bareWord(m[1]+m[5])]; k != "" {
			return k, m[4]
		}
	}
	if k := words().bare[bareWord(s)]; k != "" && s[0] != '[' {
		return k, ""
	}
	if m := wordValue.Get().FindStringSubmatch(s); m != nil && words().bare[bareWord(m[1])] == keyStatus {
		if _, ok := stateOf(m[2]); ok {
			return keyStatus, m[2]
		}
	}
	return "", ""
}

func bareWord(s string) string {
	return strings.Trim(strings.ToLower(plainText(s)), " *_`.")
}
