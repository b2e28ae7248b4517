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

	"gitwf/internal/pattern"
)

// Check returns an error that says what is wrong with a pattern, or nil.
func Check(pattern string) error {
	if !doublestar.ValidatePattern(literalBraces(pattern)) {
		return fmt.Errorf("syntax error in pattern: a bracket or a backslash without its end")
	}
	return nil
}

// Match reports whether a pattern, which Check lets pass, matches a path without a slash at the end.
func Match(pattern, path string) bool {
	return doublestar.MatchUnvalidated(literalBraces(pattern), path)
}

// braces are those of a pattern, and whatever a backslash makes literal.
var braces = pattern.Compile(`\\(?s:.)|[{}]`)

// literalBraces escapes each brace that is not escaped yet.
func literalBraces(p string) string {
	if !strings.ContainsAny(p, "{}") {
		return p
	}
	return braces.Get().ReplaceAllStringFunc(p, func(part string) string {
		if part[0] == '\\' {
			return part
		}
		return `\` + part
	})
}

// Overlap reports whether there may be a path that two patterns cover, each with all that is below what it matches. In
// doubt there may: brackets and escapes are not looked into, and a file system may ignore case.
func Overlap(a, b string) bool {
	p, q := strings.Split(strings.ToLower(a), "/"), strings.Split(strings.ToLower(b), "/")
	return meet(append(p, "**"), append(q, "**"))
}

// meet reports whether two lists of components may match one path. "**" alone is any number of components.
func meet(a, b []string) bool {
	// reach[j] says that what stands before a[i] and what stands before b[j] may match the same components.
	reach, next := make([]bool, len(b)+1), make([]bool, len(b)+1)
	reach[0] = true
	for i := range len(a) + 1 {
		clear(next)
		for j := range len(b) + 1 {
			if !reach[j] {
				continue
			}
			if j < len(b) && b[j] == "**" {
				reach[j+1] = true // it matches nothing more
				if i < len(a) {
					next[j] = true // it takes this component
				}
			}
			if i < len(a) && a[i] == "**" {
				next[j] = true
				if j < len(b) {
					reach[j+1] = true
				}
			}
			if i < len(a) && j < len(b) && sameName(a[i], b[j]) {
				next[j+1] = true
			}
		}
		if i < len(a) {
			reach, next = next, reach
		}
	}
	return reach[len(b)]
}

// sameName reports whether two components may match one name.
func sameName(a, b string) bool {
	const wild = "*?"
	switch {
	case strings.ContainsAny(a, `[\`) || strings.ContainsAny(b, `[\`):
		return true
	case !strings.ContainsAny(a, wild) && !strings.ContainsAny(b, wild):
		return a == b
	}
	// Every name that both match begins with both literal beginnings and ends with both literal ends.
	first, last := strings.IndexAny, strings.LastIndexAny
	headA, headB := head(a, first(a, wild)), head(b, first(b, wild))
	tailA, tailB := a[last(a, wild)+1:], b[last(b, wild)+1:]
	if !strings.HasPrefix(headA, headB) && !strings.HasPrefix(headB, headA) ||
		!strings.HasSuffix(tailA, tailB) && !strings.HasSuffix(tailB, tailA) {
		return false
	}
	if !strings.ContainsAny(a, wild) {
		return Match(b, a)
	}
	return strings.ContainsAny(b, wild) || Match(a, b)
}

// head is what stands before a wildcard at i, the whole where there is none.
func head(s string, i int) string {
	if i < 0 {
		return s
	}
	return s[:i]
}
