package glob

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestOverlap(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"src", "src", true},
		{"src", "src/calc.go", true},
		{"src/**", "src/a/b.go", true},
		{"src/*.go", "src/*.js", false},
		{"src/*.go", "src/calc*", true},
		{"src/*_test.go", "src/calc.go", false},
		{"**/*_test.go", "src/**", true},
		{"**/*_test.go", "src/calc.go", true}, // calc.go may be a directory
		{"docs/*.md", "src/*.md", false},
		{"src", "srcs", false},
		{"SRC/a", "src/A", true},
		{"a?c", "abc", true},
		{"a?c", "abbc", false},
		{"[ab].txt", "c.txt", true}, // in doubt
		{"*", "docs", true},
		{"a/*/c", "a/b/d", false},
		{"a/**/c", "a/b/d/c/e", true},
	} {
		if got := Overlap(c.a, c.b); got != c.want {
			t.Errorf("Overlap(%q, %q) = %v", c.a, c.b, got)
		}
		if got := Overlap(c.b, c.a); got != c.want {
			t.Errorf("Overlap(%q, %q) = %v", c.b, c.a, got)
		}
	}
}

// TestOverlapByEnumeration tries random pairs of patterns on all short paths: where a path is covered by both, the two
// overlap.
func TestOverlapByEnumeration(t *testing.T) {
	names := []string{"a", "b", "ab", "ba", "aab"}
	var paths []string
	for _, x := range names {
		paths = append(paths, x)
		for _, y := range names {
			paths = append(paths, x+"/"+y)
			for _, z := range names {
				paths = append(paths, x+"/"+y+"/"+z)
			}
		}
	}
	parts := []string{"a", "b", "ab", "*", "a*", "*b", "?", "a?", "*a*", "**", "[ab]", `\a`}
	random := rand.New(rand.NewPCG(1, 2))
	pattern := func() string {
		var p []string
		for range 1 + random.IntN(3) {
			p = append(p, parts[random.IntN(len(parts))])
		}
		return strings.Join(p, "/")
	}
	covers := func(pattern, path string) bool {
		for p := path; p != ""; {
			if Match(pattern, p) {
				return true
			}
			i := strings.LastIndexByte(p, '/')
			if i < 0 {
				return false
			}
			p = p[:i]
		}
		return false
	}
	overlapping, apart := 0, 0
	for range 3000 {
		a, b := pattern(), pattern()
		if a == b {
			continue
		}
		both := false
		for _, p := range paths {
			both = both || covers(a, p) && covers(b, p)
		}
		got := Overlap(a, b)
		if both && !got {
			t.Fatalf("%q and %q cover a common path, and Overlap says they don't", a, b)
		}
		if got {
			overlapping++
		} else {
			apart++
		}
	}
	if overlapping == 0 || apart == 0 {
		t.Errorf("%d overlapping, %d apart: the patterns test nothing", overlapping, apart)
	}
}
