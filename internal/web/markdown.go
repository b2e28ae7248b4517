package web

import (
	"bytes"
	"html"
	"html/template"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	extension "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
)

// markdown renders Markdown, HTML as its text. It is whole if the rendering has every word of the source: nobody is to
// approve what they were not shown. Otherwise it is the source.
func markdown(data []byte) (page template.HTML, whole bool) {
	source := []byte(shown(data))
	md := goldmark.New(goldmark.WithExtensions(tables{}))
	doc := md.Parser().Parse(text.NewReader(source))
	rest := entire(doc, source)
	var out bytes.Buffer
	err := md.Renderer().Render(&out, source, doc)
	// An empty header cell becomes a plain one: a screen reader would announce it anyway.
	rendered := plain.Text(strings.ReplaceAll(out.String(), "<th></th>", "<td></td>"))
	if err != nil || words(tag.Get().ReplaceAllString(rendered, "")) != words(string(rest)) {
		return template.HTML("<pre>" + html.EscapeString(string(source)) + "</pre>"), false
	}
	return template.HTML(rendered), true
}

var tag = pattern.Compile(`<[^>]*>`)

// words are the letters and digits of a text, and whatever else Markdown has no use for.
func words(text string) string {
	for range 3 { // as often as code that shows an entity needs, and not as often as somebody likes
		text = html.UnescapeString(text)
	}
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII && !unicode.IsSpace(r) || unicode.IsLetter(r) || unicode.IsDigit(r) {
			return r
		}
		return -1
	}, plain.Text(text))
}

// entire has a document show as text what a page would hide or obey: HTML, where a link leads, what a block of code is
// in. It returns the source without the numbers before the items of lists, of which a page draws its own.
func entire(doc ast.Node, source []byte) (rest []byte) {
	var all []ast.Node
	// The function never fails.
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			all = append(all, n)
		}
		return ast.WalkContinue, nil
	})
	rest = bytes.Clone(source)
	for _, n := range all {
		if n.Type() == ast.TypeBlock && n.Kind() != extension.KindTableCell && n.Lines().Len() > 0 {
			for i := n.Lines().At(0).Start - 1; i >= 0 && rest[i] != '\n'; i-- {
				if '0' <= rest[i] && rest[i] <= '9' {
					rest[i] = ' '
				}
			}
		}
		parent := n.Parent()
		switch n := n.(type) {
		case *ast.HTMLBlock:
			code := ast.NewCodeBlock()
			code.SetLines(n.Lines())
			if n.HasClosure() {
				code.Lines().Append(n.ClosureLine)
			}
			parent.ReplaceChild(parent, n, code)
		case *ast.RawHTML:
			parent.ReplaceChild(parent, n, ast.NewString(n.Segments.Value(source)))
		case *ast.FencedCodeBlock:
			if n.Info != nil {
				line := ast.NewParagraph()
				line.AppendChild(line, n.Info)
				parent.InsertBefore(parent, n, line)
			}
		case *ast.Link:
			parent.InsertAfter(parent, n, target(n.Destination, n.Title))
		case *ast.Image:
			for c := n.FirstChild(); c != nil; c = n.FirstChild() {
				parent.InsertBefore(parent, n, c)
			}
			parent.ReplaceChild(parent, n, target(n.Destination, n.Title))
		}
	}
	return rest
}

func target(to, title []byte) ast.Node {
	return ast.NewString([]byte(" (" + strings.TrimSpace(string(to)+" "+string(title)) + ")"))
}

// tables are GitHub's: it turns paragraphs with a line of dashes and bars into tables. The library's own package for
// them compiles its expressions at every program start; tests hold that this one renders the same.
type tables struct{}

// Extend implements goldmark.Extender.
func (tables) Extend(m goldmark.Markdown) {
	m.Parser().AddOptions(parser.WithParagraphTransformers(util.Prioritized(tables{}, 200)))
	m.Renderer().AddOptions(renderer.WithNodeRenderers(util.Prioritized(tables{}, 500)))
}

// Transform implements parser.ParagraphTransformer.
func (tables) Transform(p *ast.Paragraph, r text.Reader, _ parser.Context) {
	lines := p.Lines()
	for i := 1; i < lines.Len(); i++ {
		at := lines.At(i)
		columns := countColumns(at.Value(r.Source()))
		if columns == 0 {
			continue
		}
		header := tableRow(lines.At(i-1), columns, true, r.Source())
		if header.ChildCount() != columns {
			return
		}
		table := extension.NewTable()
		table.AppendChild(table, extension.NewTableHeader(header))
		for j := i + 1; j < lines.Len(); j++ {
			table.AppendChild(table, tableRow(lines.At(j), columns, false, r.Source()))
		}
		parent := p.Parent()
		parent.InsertAfter(parent, p, table)
		if lines.SetSliced(0, i-1); lines.Len() == 0 {
			parent.RemoveChild(parent, p)
			return
		}
		last := lines.At(i - 2)
		last.Stop-- // the line's end
		lines.Set(i-2, last)
	}
}

var dashes = pattern.Compile(`^\s*:?-+:?\s*$`)

// countColumns reads the line below a header; 0 if it is none. How columns are aligned would take an inline
// style, which the page does not allow.
func countColumns(line []byte) int {
	if width, _ := util.IndentWidth(line, 0); width > 3 || len(bytes.Trim(line, "-")) == 0 {
		return 0
	}
	columns := bytes.Split(line, []byte("|"))
	if util.IsBlank(columns[0]) {
		columns = columns[1:]
	}
	if n := len(columns); n > 0 && util.IsBlank(columns[n-1]) {
		columns = columns[:n-1]
	}
	if slices.ContainsFunc(columns, func(c []byte) bool { return !dashes.Get().Match(c) }) {
		return 0
	}
	return len(columns)
}

// tableRow reads a row. A header keeps surplus cells, so that they can be counted.
func tableRow(at text.Segment, columns int, header bool, source []byte) *extension.TableRow {
	out := extension.NewTableRow(nil)
	at = at.TrimLeftSpace(source)
	at = at.TrimRightSpace(source)
	line := at.Value(source)
	begin, end := 0, len(line)
	if bytes.HasPrefix(line, []byte("|")) {
		begin++
	}
	if bytes.HasSuffix(line, []byte("|")) {
		end--
	}
	for begin < end && (header || out.ChildCount() < columns) {
		stop := begin
		for stop < end && (line[stop] != '|' || stop > 0 && line[stop-1] == '\\') {
			stop++
		}
		cell := extension.NewTableCell()
		inside := text.NewSegment(at.Start+begin, at.Start+stop)
		inside = inside.TrimLeftSpace(source)
		cell.Lines().Append(inside.TrimRightSpace(source))
		out.AppendChild(out, cell)
		begin = stop + 1
	}
	for out.ChildCount() < columns {
		out.AppendChild(out, extension.NewTableCell())
	}
	return out
}

// RegisterFuncs implements renderer.NodeRenderer.
func (tables) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	element := func(kind ast.NodeKind, begin, end func(ast.Node) string) {
		r.Register(kind, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
			tag := end
			if entering {
				tag = begin
			}
			_, err := w.WriteString(tag(n))
			return ast.WalkContinue, err
		})
	}
	always := func(s string) func(ast.Node) string { return func(ast.Node) string { return s } }
	element(extension.KindTable, always("<table>\n"), always("</table>\n"))
	element(extension.KindTableHeader, always("<thead>\n<tr>\n"), func(n ast.Node) string {
		if n.NextSibling() == nil {
			return "</tr>\n</thead>\n"
		}
		return "</tr>\n</thead>\n<tbody>\n"
	})
	element(extension.KindTableRow, always("<tr>\n"), func(n ast.Node) string {
		if n.NextSibling() == nil {
			return "</tr>\n</tbody>\n"
		}
		return "</tr>\n"
	})
	element(extension.KindTableCell, func(n ast.Node) string { return "<" + cellTag(n) + ">" },
		func(n ast.Node) string { return "</" + cellTag(n) + ">\n" })
}

func cellTag(n ast.Node) string {
	if n.Parent().Kind() == extension.KindTableHeader {
		return "th"
	}
	return "td"
}
