package web

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func oid(s string) plan.OID { return plan.OID(s) }

func hex4(i int) string { return fmt.Sprintf("%04x", i) }

func TestSideBySide(t *testing.T) {
	tests := []struct{ name, diff, want string }{
		{"nothing", "", ""},
		{"a changed line", "@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n", " 1 one|1 one\n~2 two|2 2\n 3 three|3 three\n"},
		{"more came than went", "@@ -1 +1,2 @@\n-a b\n+a c\n+d\n", "~1 a b|1 a c\n~0 |2 d\n"},
		{"more went than came", "@@ -1,2 +1 @@\n-a\n-b\n+a\n", "~1 a|1 a\n~2 b|0 \n"},
		{"two places", "@@ -1 +1 @@\n-a\n+b\n@@ -9,2 +9,2 @@\n x\n-y\n+z\n", "~1 a|1 b\n...\n 9 x|9 x\n~10 y|10 z\n"},
		{"only added", "diff --git a b\n--- a\n+++ b\n@@ -0,0 +1,1 @@\n+a\n\\ No newline at end of file\n", "~0 |1 a\n"},
		{"an escape sequence", "@@ -1 +1 @@\n-\x1b[31m\n+x\n", "~1 \ufffd[31m|1 x\n"},
		{"numbers beyond everything", "@@ -99999999999999999999 +x @@\n a\n", "...\n 999999999 a|1 a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got strings.Builder
			for _, r := range sideBySide(tt.diff) {
				if r.Gap {
					got.WriteString("...\n")
				}
				mark := " "
				if r.Changed {
					mark = "~"
				}
				fmt.Fprintf(&got, "%s%d %s|%d %s\n", mark, r.A, r.Left, r.B, r.Right)
			}
			if got.String() != tt.want {
				t.Errorf("got\n%swant\n%s", got.String(), tt.want)
			}
		})
	}
}

// FuzzSideBySide checks that every line of any diff is on its side, in order.
func FuzzSideBySide(f *testing.F) {
	f.Add("@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n")
	f.Add("@@ -1 +1 @@\n-\n+\n@@ -9 +9 @@\n x\n")
	f.Fuzz(func(t *testing.T, diff string) {
		var left, right []string
		_, body, _ := strings.Cut(diff, "@@ ")
		for line := range strings.Lines("@@ " + body) {
			line = strings.TrimSuffix(line, "\n")
			switch {
			case strings.HasPrefix(line, "-"):
				left = append(left, plain.Text(line[1:]))
			case strings.HasPrefix(line, "+"):
				right = append(right, plain.Text(line[1:]))
			case strings.HasPrefix(line, " "):
				left, right = append(left, plain.Text(line[1:])), append(right, plain.Text(line[1:]))
			}
		}
		if !strings.HasPrefix(diff, "@@ ") {
			return
		}
		var gotLeft, gotRight []string
		for _, r := range sideBySide(diff) {
			if r.A > 0 {
				gotLeft = append(gotLeft, r.Left)
			}
			if r.B > 0 {
				gotRight = append(gotRight, r.Right)
			}
		}
		if fmt.Sprintf("%q %q", gotLeft, gotRight) != fmt.Sprintf("%q %q", left, right) {
			t.Errorf("got %q %q\nwant %q %q", gotLeft, gotRight, left, right)
		}
	})
}

func TestCompare(t *testing.T) {
	s := newSite(t, nil)
	s.Git("config", "diff.external", "echo pwned; false") // whatever the user has set
	s.Git("config", "color.diff", "always")
	s.Git("config", "diff.context", "0")
	s.rejectedAndRedone()
	text := s.page(sitePath + "/task/PAGE-1/compare")
	mustHave(t, text, "<del>two</del>", "<ins>2</ins>", "<ins>four</ins>", ">one<", ">three<")
	mustNotHave(t, text, "pwned", "\x1b")
	mustHave(t, s.page(sitePath+"/task/PAGE-1/compare?a=v2&b=v1"), "<ins>two</ins>", "<del>four</del>")
	mustHave(t, s.page(sitePath+"/task/PAGE-1/compare?a=v2&b=v2"), ">same<")
	if code, _ := s.get(sitePath + "/task/POST-1/compare"); code != http.StatusNotFound {
		t.Errorf("a task without versions: status %d", code)
	}
}

func TestCompareAddedRemovedBinary(t *testing.T) {
	s := newSite(t, nil)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x", "gone": "1", "bin": "\x00a", "same": "s"}, nil)
	s.Review("PAGE-1", 1, "ann", plan.Rejected, nil)
	s.Version("PAGE-1", "exec", map[string]string{"index.html": "x", "new.png": "2", "bin": "\x00b", "same": "s"}, nil)
	text := s.page(sitePath + "/task/PAGE-1/compare")
	for _, want := range []string{`gone <span class="tag">removed`, `new.png <span class="tag">added`,
		`bin <span class="tag">changed`} {
		mustHave(t, text, want)
	}
	mustNotHave(t, text, `same <span class="tag">`)
}
