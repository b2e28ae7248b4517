package outline

import (
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

var (
	limitWords = withWords(`(?i)[<>≥≤≧≦]|[=＝]\s*\d|{limit, whole}`)
	arrows     = pattern.Compile(`[-=]+>|<[-=]+`)
	figures    = pattern.Compile(`\d+(?:\.\d+)?`)
	percent    = pattern.Compile(`\d\s*[%％]`)
	leadIn     = pattern.Compile(`^(?i:运行|执行|run|execute)\s*[，,:：]?\s*`)
)

// unmet is what the text around a command measures besides the expectation that is known of it: "and p95 under 200 ms".
// It is "" where nothing more is measured, and where the command or the expectation has the figures already.
func unmet(around, expect, command string) string {
	rest := strings.TrimSpace(strings.Replace(around, expect, " ", 1))
	rest = strings.Trim(arrows.Get().ReplaceAllString(rest, " "), " ,，;；.。:：、()（）|-—–")
	of := figures.Get().FindAllString(rest, -1)
	if len(of) == 0 || !limitWords.Get().MatchString(rest) && !percent.Get().MatchString(rest) {
		return ""
	}
	known := figures.Get().FindAllString(command+" "+expect, -1)
	for _, n := range of {
		if !slices.Contains(known, n) {
			return leadIn.Get().ReplaceAllString(rest, "")
		}
	}
	return ""
}
