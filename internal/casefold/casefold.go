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
		if more, ok := several[r]; ok {
			b.WriteString(more)
		} else if r == 'ı' { /// Turkish; its capital is that of i
			b.WriteRune(r)
		} else {
			b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
		}
	}
	return b.String()
}

// several are the letters that become more than one.
var several = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'ŉ': "ʼn", 'ẚ': "aʾ", 'և': "եւ",
	'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
	'ﬓ': "մն", 'ﬔ': "մե", 'ﬕ': "մի", 'ﬖ': "վն", 'ﬗ': "մխ",
}
