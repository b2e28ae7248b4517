// Package casefold folds the case of a text as case-insensitive file systems do. It is Unicode's full case folding in
// 60 lines: golang.org/x/text/cases adds 250 KB of rules for other languages, and folds Cherokee to the wrong case, so
// its result needed another pass to lower case. Tests hold that both give the same result.
package casefold

import (
	"strings"
	"unicode"
)

// Of folds the case of a text: two texts that differ only in case get the same result. The text is in NFD, in which few
// letters fold to several. Bytes that are not UTF-8 become U+FFFD.
func Of(nfd string) string {
	var b strings.Builder
	for _, r := range nfd {
		if more := several(r); more != "" {
			b.WriteString(more)
		} else if r == 'ı' { /// Turkish; its capital is that of i
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
