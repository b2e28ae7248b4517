// Package casefold takes the case from a text, as file systems do that ignore it. It is Unicode's full case folding, in
// 60 lines: golang.org/x/text/cases brings 250 KB of other languages' rules along, and gives Cherokee the wrong case, so
// that its result had to be made lower case once more. Tests hold that this is the same.
package casefold

import (
	"strings"
	"unicode"
)

// Of is a text without its case: two texts that differ in case alone become one. The text is in NFD, in which few
// letters are left that become several. What is not UTF-8 becomes U+FFFD.
func Of(nfd string) string {
	var b strings.Builder
	for _, r := range nfd {
		if more := several(r); more != "" {
			b.WriteString(more)
		} else if r == 'ı' { // Turkish; its capital is that of i
			b.WriteRune(r)
		} else {
			b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
		}
	}
	return b.String()
}

// several folds a letter that becomes more than one; "" for any other.
func several(r rune) string {
	switch r {
	case 'ß', 'ẞ':
		return "ss"
	case 'ŉ':
		return "ʼn"
	case 'ẚ':
		return "aʾ"
	case 'և':
		return "եւ"
	case 'ﬀ':
		return "ff"
	case 'ﬁ':
		return "fi"
	case 'ﬂ':
		return "fl"
	case 'ﬃ':
		return "ffi"
	case 'ﬄ':
		return "ffl"
	case 'ﬅ', 'ﬆ':
		return "st"
	case 'ﬓ':
		return "մն"
	case 'ﬔ':
		return "մե"
	case 'ﬕ':
		return "մի"
	case 'ﬖ':
		return "վն"
	case 'ﬗ':
		return "մխ"
	}
	return ""
}
