package agent

import (
	"strings"
	"testing"

	"gitwf/internal/plan"
)

func TestMatch(t *testing.T) {
	tests := []struct {
		dir, glob, file string
		want            bool
	}{
		{"", "a.md", "a.md", true},
		{"", "a.md", "d/a.md", false},
		{"", "*.md", "a.md", true},
		{"", "*.md", "d/a.md", false},
		{"", "*", ".hidden", true},
		{"", "**", "a/b/c", true},
		{"", "**/*.md", "a.md", true},
		{"", "**/*.md", "a/b/c.md", true},
		{"", "**/*.md", "a/b/c.txt", false},
		{"", "a/**/z", "a/z", true},
		{"", "a/**/z", "a/b/c/z", true},
		{"", "a/**/z", "a/b/c", false},
		{"", "a/**/b/**/c", "a/x/b/y/b/c", true},
		{"", "a/**", "a", true}, // as in doublestar
		{"", "a/**", "ab", false},
		{"", "[ab].md", "b.md", true},
		{"", "?", "é", true},
		{"d", "*.md", "d/a.md", true},
		{"d", "*.md", "a.md", false},
		{"d*", "a", "d*/a", true}, // a directory is no pattern
		{"d*", "a", "dx/a", false},
		{"./d/", "a", "d/a", true},
		{"", strings.Repeat("**/", 200) + "x", strings.Repeat("a/", 400) + "y", false}, // must end quickly
	}
	for _, tt := range tests {
		patterns, err := patternsOf(&plan.DeliverableSpec{OutputDir: tt.dir, Filename: tt.glob})
		if err != nil {
			t.Fatal(err)
		}
		if got := patterns[0].match(tt.file); got != tt.want {
			t.Errorf("%s in %q, %s: got %t", tt.glob, tt.dir, tt.file, got)
		}
	}
}
