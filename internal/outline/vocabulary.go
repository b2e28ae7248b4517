package outline

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"gitwf/internal/pattern"
)

var parenthesis = pattern.Compile(`\s*[（(\[【][^（()）\[\]【】]*[）)\]】]\s*`)

// lookup finds the field that a word stands for: "" if it is none. Case, emphasis, symbols around it, a remark in
// parentheses, a number before it and a plural do not matter.
func lookup(word string) key {
	w := strings.ToLower(plainText(word))
	if utf8.RuneCountInString(w) > 60 {
		return ""
	}
	w = strings.TrimFunc(w, func(r rune) bool {
		return r != '#' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != ')' && r != '）'
	})
	if k := exact(w); k != "" {
		return k
	}
	if bare := strings.TrimSpace(parenthesis.Get().ReplaceAllString(w, " ")); bare != w && bare != "" {
		if k := exact(bare); k != "" {
			return k
		}
	}
	if at := strings.IndexFunc(w, func(r rune) bool { return unicode.Is(unicode.Han, r) }); at > 0 && w[at-1] == ' ' {
		if ka, kb := exact(w[:at]), exact(w[at:]); ka != "" && kb != "" {
			return ka
		}
	}
	// Two names for one thing: "acceptance / verification", "验收标准 Acceptance".
	for _, sep := range []string{"/", "／", " & ", " and ", "与", "和", "及"} {
		if a, b, ok := strings.Cut(w, sep); ok {
			ka, kb := exact(strings.TrimSpace(a)), exact(strings.TrimSpace(b))
			if ka != "" && kb != "" {
				return ka
			}
		}
	}
	return ""
}

func exact(w string) key {
	w = strings.TrimSuffix(strings.TrimSpace(w), ".")
	w = strings.ReplaceAll(w, "_", " ")
	for _, try := range []string{w, strings.TrimSuffix(w, "s"), strings.TrimSuffix(w, "es"),
		strings.ReplaceAll(w, "-", " "), strings.ReplaceAll(w, " ", "")} {
		if k, ok := words().fields[try]; ok && try != "" {
			return k
		}
	}
	return ""
}
