package outline

import (
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

var (
	limitWords = pattern.Compile(`(?i)[<>≥≤≧≦]|[=＝]\s*\d|等于|恰好|不(?:少于|低于|高于|大于|小于|超过|超出)|至少|至多|最多|以内|以上|以下|低于|高于|超过|小于|大于|少于|\b(?:exactly|equals?|at (?:least|most)|no (?:more|less|fewer) than|(?:more|less|fewer|faster|slower|better|worse|higher|lower|larger|smaller) than|under|over|below|above|within|between|exceeds?|up to)\b`)
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
