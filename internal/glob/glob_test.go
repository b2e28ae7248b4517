package glob

import (
	"strings"
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"report.md", "report.md", true},
		{"*.md", "report.md", true},
		{"*.md", "docs/report.md", false},
		{"**", "a/b/c", true},
		{"**/*.go", "main.go", true},
		{"**/*.go", "a/b/main.go", true},
		{"src/**", "src/a/b", true},
		{"src/**/test", "src/test", true},
		{"src/**", "srcs/a", false},
		{"a?[0-9].txt", "ab7.txt", true},
		{"a?[0-9].txt", "a/7.txt", false},
		{`\*.md`, "*.md", true},
		{`\*.md`, "a.md", false},
		{"{a,b}.md", "a.md", false},
		{"{a,b}.md", "{a,b}.md", true},
		{`\{a}.md`, "{a}.md", true},
		{"[{]a", "{a", true},
	} {
		if got := Match(c.pattern, c.path); got != c.want {
			t.Errorf("Match(%q, %q) = %v, want %v", c.pattern, c.path, got, c.want)
		}
		if err := Check(c.pattern); err != nil {
			t.Errorf("Check(%q): %v", c.pattern, err)
		}
	}
}

func TestCheck(t *testing.T) {
	for _, pattern := range []string{"[", "a/[b", `a\`, "[]", "**/[a-"} {
		if Check(pattern) == nil {
			t.Errorf("Check(%q) has no objection", pattern)
		}
	}
}

// Others write the plans, and no pattern of theirs may keep a run busy.
func TestHostile(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("**/a/", 200) + "b",
		strings.Repeat("*a", 200) + "b",
		strings.Repeat("{a,b}", 200),
	} {
		done := make(chan bool, 1)
		go func() { done <- Match(pattern, strings.Repeat("a/", 500)+strings.Repeat("a", 500)) }()
		select {
		case matched := <-done:
			if matched {
				t.Errorf("%.20q matches", pattern)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%.20q takes more than 20 s", pattern)
		}
	}
}
