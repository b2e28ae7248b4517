package outline

import (
	"strings"
	"testing"
)

// Every line of a text is in exactly one place, whatever stands in it: nothing is dropped.
func FuzzCut(f *testing.F) {
	f.Add("---\na: b\n---\n# T\n\nwords\n- [ ] one\n  more\n  - [x]* two\n```\n# no\n```\n## H ##\n<!-- - [ ] no -->\n")
	f.Add("- a\nb\n\n```\n- [ ] open")
	f.Fuzz(func(t *testing.T, text string) {
		front, whole := Cut(text)
		seen := map[int]int{}
		for _, l := range front {
			seen[l.No]++
		}
		count := func(n *Node) {
			for _, l := range n.Lines {
				seen[l.No]++
			}
		}
		count(whole)
		whole.Walk(func(n, _ *Node) bool {
			seen[n.Line]++
			count(n)
			return true
		})
		from := 1
		if len(front) > 0 || strings.HasPrefix(text, "---") {
			from = len(front) + 3 // the two lines of dashes
		}
		for no := from; no <= strings.Count(strings.TrimSuffix(text, "\n"), "\n")+1; no++ {
			if seen[no] > 1 || seen[no] == 0 && from == 1 {
				t.Errorf("line %d is in %d places", no, seen[no])
			}
		}
	})
}

// Boxes and headings in code and comments are words; what is indented by more than one column belongs to its item; what
// names a language does not end code.
func TestCut(t *testing.T) {
	_, whole := Cut("# T\n\n- [x] one\n  more\n  - [ ]* two\n\n```\n- [ ] no\n```go\n- [ ] no\n```\n<!--\n- [ ] no\n-->\n - [ ] three\n- [ ] four\n")
	var got []string
	whole.Walk(func(n, _ *Node) bool {
		got = append(got, n.Box+"|"+n.Text)
		return true
	})
	if s := strings.Join(got, " "); s != "|T x|one  |two  |three  |four" {
		t.Errorf("%q", s)
	}
	if s := whole.Kids[0].Kids[0].Below(func(n *Node) bool { return n.Item }); s != "more" {
		t.Errorf("%q", s)
	}
}
