// Package glob matches paths against the patterns that plans declare.
//
// It hides one decision: what a pattern means. "*", "?" and "[a-z]" match characters of one name, "**" matches any
// number of directories, including none, and "\" escapes the next character. Braces are literal: others write the
// plans, and each pair of alternatives would double the work of a match.
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

// Match reports whether a pattern matches a path, both with slashes and without a slash at the end. A pattern that
// Check refuses may match nothing.
func Match(pattern, path string) bool {
	return doublestar.MatchUnvalidated(literalBraces(pattern), path)
}

// literalBraces escapes each brace that is not escaped yet.
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
