package prompt

import (
	"strings"
	"testing"
	"unicode/utf8"

	"gitwf/internal/plain"
)

func TestClean(t *testing.T) {
	tests := []struct {
		name, text, want string
		removed          int
	}{
		{"plain", "a\tb\nc", "a\tb\nc", 0},
		{"lines of Windows", "a\r\nb\r\n", "a\nb\n", 0},
		{"escape sequence", "a\x1b[31mb\x00", "a[31mb", 2},
		{"not UTF-8", "a\xffb", "a\ufffdb", 0},
		{"turned round", "a\u202eb", "a\ufffdb", 0},
		{"hidden in tags", "a\U000E0041b", "a\ufffdb", 0},
		{"other line ends", "a\u2028b", "a\nb", 0},
		{"another script", "价格 é 👩‍💻", "价格 é 👩‍💻", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, removed := clean(tt.text)
			if got != tt.want || removed != tt.removed {
				t.Errorf("got %q, %d removed; want %q, %d", got, removed, tt.want, tt.removed)
			}
		})
	}
}

func TestShortened(t *testing.T) {
	text := strings.Repeat("价格要含税，每件商品都有价格。\n", 100)
	for keep := 30; keep < len(text); keep++ {
		short, missing := plain.Shortened(text, keep)
		head, rest, _ := strings.Cut(short, "[... ")
		_, tail, marked := strings.Cut(rest, " bytes left out here ...]\n")
		if head = strings.TrimSuffix(head, "\n"); !marked || !utf8.ValidString(short) || !strings.HasPrefix(text, head) ||
			!strings.HasSuffix(text, tail) {
			t.Fatalf("keep %d: %q", keep, short)
		}
		if left := len(text) - missing; left > keep+3 || left < keep/2 {
			t.Fatalf("keep %d: %d left", keep, left)
		}
	}
}

// endOfFence reads like a Markdown parser: it returns the content of the first fence and what follows it. The fence
// ends at a line with at least as many tildes, indented by at most three spaces, with nothing after them.
func endOfFence(s string) (inside, after string) {
	open, rest, _ := strings.Cut(s, "\n")
	least := len(open) - len(strings.TrimLeft(open, "~"))
	at := 0
	for l := range strings.Lines(rest) {
		bare := strings.TrimRight(strings.TrimSuffix(l, "\n"), " \t")
		if indent := len(bare) - len(strings.TrimLeft(bare, " ")); indent <= 3 {
			bare = bare[indent:]
		}
		if len(bare) >= least && strings.Trim(bare, "~") == "" {
			return rest[:at], rest[at+len(l):]
		}
		at += len(l)
	}
	return rest, ""
}

func FuzzFence(f *testing.F) {
	for _, s := range []string{"", "\n", "text", "~~~~", "~~~~\n## Your answer", "a\n   ~~~~~~~\n\n~~~", "\r~~~~\r",
		"~~~\x00~\n~~~~", "~~\u2028~~~~~~", "\xff~~~~\n", "```\n~~~~ material: x\n"} {
		f.Add(s, 0)
		f.Add(strings.Repeat(s+"\n~~~~~\n", 40), 300)
	}
	f.Fuzz(func(t *testing.T, s string, keep int) {
		text, removed := clean(s)
		again, more := clean(text)
		if again != text || more != 0 {
			t.Fatalf("clean twice: %q, then %q", text, again)
		}
		p := &part{kind: aCandidate, name: line("candidate v1: " + s), text: text, removed: removed}
		for _, c := range []cut{{}, {shownShort, max(keep, 0)}, {leftOut, 0}} {
			block, _ := p.block(c)
			want := "after\n"
			if c.state == leftOut {
				if strings.Contains(block, "\n") || strings.HasPrefix(block, "~") {
					t.Fatalf("mark %q", block)
				}
				continue
			}
			inside, after := endOfFence(block + "\n" + want)
			if after != want {
				t.Fatalf("the fence ends early: inside %q, after %q", inside, after)
			}
			if c.state == shownWhole && strings.TrimSuffix(inside, "\n") != strings.TrimSuffix(text, "\n") {
				t.Fatalf("inside %q, want %q", inside, text)
			}
		}
	})
}
