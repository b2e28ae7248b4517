// Package glob matches paths against the patterns that plans declare.
//
// It hides one decision: what a pattern means. "*", "?" and "[a-z]" stand for characters of one name, "**" for any number
// of directories, none included, and "\" takes the next character as it is. Braces stand for themselves: a plan is
// written by others, and each pair of alternatives would double the work of a match.
package glob

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Check returns an error that says what is wrong with a pattern, or nil.
func Check(pattern string) error {
	if !doublestar.ValidatePattern(literalBraces(pattern)) {
		return fmt.Errorf("syntax error in pattern: a bracket or a backslash without its end")
	}
	return nil
}

// Match reports whether a pattern stands for a path, both with slashes and without a slash at the end. A pattern that
// Check refuses may stand for nothing.
func Match(pattern, path string) bool {
	return doublestar.MatchUnvalidated(literalBraces(pattern), path)
}

// literalBraces puts a backslash before each brace that has none.
func literalBraces(pattern string) string {
	if !strings.ContainsAny(pattern, "{}") {
		return pattern
	}
	var b strings.Builder
	escaped := false
	for i := range len(pattern) {
		if c := pattern[i]; !escaped && (c == '{' || c == '}') {
			b.WriteByte('\\')
		}
		escaped = !escaped && pattern[i] == '\\'
		b.WriteByte(pattern[i])
	}
	return b.String()
}
