package web

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// FuzzMarkdown checks that this package renders what the library's own extensions render.
func FuzzMarkdown(f *testing.F) {
	for _, s := range []string{
		"| a | b |\n| - | :-: |\n| 1 | 2 |\n| 3 |\n| 4 | 5 | 6 |", "a | b\n:-- | --:\n`x\\|y` | \\|z\n",
		"before\n| a |\n|---|\n| b |\nafter\n\nend",
		"|a|\n|-|", "| a |\n| - | - |\n| b |", "|\n|-|\n", "| `a | b` | c |\n|---|---|\n| `\\|\\|` | **x** |", "a\n---\n|",
		"||\n|-|-|", "> | q |\n> |---|\n> | r |",
		"- [ ] open\n- [x] done\n- [X] **too**\n- [y] no\n- a [x]\n\n1. [ ] one\n\n   [x] two",
		"~~gone~~ ~one~ ~~~three~~~ a~~b~~c ~~ x ~~", "~~**a~~**",
		"- | a |\n  |---|\n  | ~~b~~ |", "    | a |\n    |---|", "| a |\n     |---|\n", "\\| a | b |\n|---|---|\n", "| a \\",
		"| a |\r\n|---|\r\n| b |\r\n", "a|b\n-|-\n\n|c|",
		"| a | b |\n|---|---|\n| `x\\\\|y` | [l](u \"|\") |", "t | u\n- | -\n``a\\|`b`` | `c\\|d\\|e`",
	} {
		f.Add(s)
	}
	library := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))
	f.Fuzz(func(t *testing.T, s string) {
		var want bytes.Buffer
		if err := library.Convert([]byte(shown([]byte(s))), &want); err != nil {
			t.Skip(err)
		}
		if diff := cmp.Diff(strings.ReplaceAll(want.String(), "<th></th>", "<td></td>"),
			string(markdown([]byte(s)))); diff != "" {
			t.Errorf("%q:\n%s", s, diff)
		}
	})
}
