package check

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// FuzzInert reads a review as a Markdown reader does that makes tables and links of bare addresses: whatever a command
// printed or a person wrote, there is no HTML, link, image or emphasis in it but the marks of the form itself, and the
// block that holds it shows it as it is.
func FuzzInert(f *testing.F) {
	for _, s := range []string{
		"", "fine", "<script>alert(1)</script>", "<!-- -->", "<!--\nnever ended", "[x](javascript:alert(1))",
		"![x](http://e.example/x.png)",
		"[x]: http://e.example\n\n[x]", "<http://e.example>", "<a@e.example>", "see http://e.example/x", "www.e.example",
		"WwW.e.example",
		"HTTPS://e.example", "ftp://e.example", "a@e.example", "~~gone~~", "```\n<b>\n```", "~~~\n<b>", "````", "\\",
		"a\\|b", "| a | b |\n| - | - |",
		"# Title", "a\n===", "> q", "- [ ] x", "&lt;b&gt;", "&#60;b&#62;", "*a* _b_ **c**", "\t<b>", "    <b>", "a\r\n<b>",
		"a\u2028<b>", "`<b>`", "mailto:a@e.example",
		"\\<b>", "\\\\<b>", "\\[x](y)", "<?php ?>", "<![CDATA[x]]>", "</td></tr></table><b>", "\x00<b>", "$x$",
		"[^1]\n\n[^1]: note",
	} {
		f.Add(s)
	}
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList))
	f.Fuzz(func(t *testing.T, said string) {
		r := plan.Review{
			ReviewID: "r1", TaskID: "IMPL-1", CheckTaskID: "CHECK-IMPL-1", ReviewedArtifactID: "v1", Tree: "0123",
			Verdict:  plan.Rejected,
			Reviewer: said, Reason: said, CreatedAt: time.Unix(0, 0).UTC(),
			Criteria: []plan.CriterionResult{
				{ID: said, Statement: said, Severity: plan.Must, Result: plan.ResultPass, Evidence: said},
				{ID: "A2", Statement: "more", Severity: plan.Must, Result: plan.ResultPass, Evidence: "begin\n" + said + "\nend"},
			},
			Suggestions: []plan.Suggestion{{Priority: "HIGH", Text: said}},
		}
		file := File(r)
		var blocks []string
		err := ast.Walk(markdown.Parser().Parse(text.NewReader(file)),
			func(n ast.Node, entering bool) (ast.WalkStatus, error) {
				if !entering {
					return ast.WalkContinue, nil
				}
				switch n := n.(type) {
				case *ast.Emphasis: // the verdict's and the suggestion's priority
					if n.Level != 2 {
						t.Errorf("emphasis in\n%s", file)
					}
				case *ast.CodeSpan: // the tree's
					if inside, ok := n.FirstChild().(*ast.Text); !ok || string(inside.Segment.Value(file)) != "0123" {
						t.Errorf("code span in\n%s", file)
					}
				case *ast.FencedCodeBlock:
					blocks = append(blocks, strings.TrimSuffix(string(n.Lines().Value(file)), "\n"))
				case *ast.Document, *ast.Heading, *ast.Paragraph, *ast.TextBlock, *ast.List, *ast.ListItem, *ast.Text, *ast.String:
				default:
					if !strings.HasPrefix(n.Kind().String(), "Table") {
						t.Errorf("%s in\n%s", n.Kind(), file)
					}
				}
				return ast.WalkContinue, nil
			})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{r.Reason, r.Criteria[1].Evidence} {
			want = plain.Text(strings.TrimSpace(want))
			if r.Reason != "" && !slices.Contains(blocks, want) {
				t.Errorf("no block shows %q: %q in\n%s", want, blocks, file)
			}
		}
		var html bytes.Buffer
		if err := markdown.Convert(file, &html); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"<a ", "<img", "<script", "<!--", "raw HTML omitted", "<del", "<input", "<b>"} {
			if bytes.Contains(html.Bytes(), []byte(bad)) {
				t.Errorf("%s in the page:\n%s\nof\n%s", bad, html.Bytes(), file)
			}
		}
	})
}
