package outline

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A line of text that is put anywhere into an outline is kept in what was read, or its number is named.
func TestEveryLineIsReadOrNamed(t *testing.T) {
	files, err := filepath.Glob("testdata/*.md")
	if err != nil {
		t.Fatal(err)
	}
	const marker = "Zebras graze here"
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
		for at := len(lines) % 3; at < len(lines); at += 3 {
			for _, form := range []string{"\n" + marker + "\n", "\n- " + marker, "\n### " + marker + "\n", "\n```\n" + marker +
				"\n```\n"} {
				src := strings.Join(append(append(append([]string{}, lines[:at]...), form), lines[at:]...), "\n")
				no := at + 1 + strings.Count(form[:strings.Index(form, marker)], "\n")
				o, _ := Parse("x.md", []byte(src))
				if o == nil || strings.Contains(string(encode(t, o, nil)), marker) || isUnread(o, no) {
					continue
				}
				above := strings.Join(lines[:at], "\n")
				if strings.Count(above, "<!--") > strings.Count(above, "-->") {
					continue // a comment is no text
				}
				if fenced := strings.Count(strings.Join(lines[:at], "\n"), "```")%2 == 1; !fenced {
					t.Errorf("%s:%d: %q is neither read nor named", name, no, form)
				}
			}
		}
	}
}

// isUnread reports that a finding names the line.
func isUnread(o *Outline, no int) bool {
	for _, f := range o.Unread {
		last := f.Line
		fmt.Sscanf(f.Message, "is not read, nor is what follows to line %d", &last)
		if f.Line <= no && no <= last {
			return true
		}
	}
	return false
}
