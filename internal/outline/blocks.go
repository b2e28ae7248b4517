package outline

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"gitwf/internal/pattern"
)

// line is a line of text of the source, without what marks its block, and its number from 1.
type line struct {
	text string
	no   int
}

type blockKind int

const (
	paraBlock blockKind = iota
	headingBlock
	listBlock
	codeBlock
	tableBlock
)

// block is what the outline needs of a block of Markdown.
type block struct {
	kind  blockKind
	lines []line   // of a paragraph, a heading, or code
	level int      // of a heading
	lang  string   // of code
	items []*item  // of a list
	rows  [][]cell // of a table, the header first
	no    int      // number of its first line
}

type cell = line

// item is an item of a list.
type item struct {
	lines  []line // its first paragraph, checkbox and number taken off
	check  rune   // what stands in its checkbox; 0 without one
	number string // "1.1" of an ordered list, or of "- [ ] 1.1 text"
	indent int    // column of its marker
	kids   []*block
	no     int
}

// reader turns source into blocks. Inline syntax is not parsed: the text of a line is needed as it was written.
type reader struct {
	src    []byte
	starts []int // offset of each line
	open   int   // line of a fence that is never closed and takes headings or fields in with the rest; 0 without one
}

func newReader(src []byte) *reader {
	r := &reader{src: append(src[:len(src):len(src)], '\n'), starts: []int{0}}
	for i, c := range r.src {
		if c == '\n' {
			r.starts = append(r.starts, i+1)
		}
	}
	return r
}

func blockParser() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))
}

func (r *reader) read() []*block {
	return r.children(blockParser().Parse(text.NewReader(r.src)))
}

// lineNo is the number of the line that holds the offset, from 1.
func (r *reader) lineNo(offset int) int {
	at, found := slices.BinarySearch(r.starts, offset)
	if found {
		at++
	}
	return at
}

// column is the width of the white space at the beginning of a line.
func (r *reader) column(no int) int {
	at := r.starts[no-1]
	l, _, _ := strings.Cut(string(r.src[at:min(at+1000, len(r.src))]), "\n")
	return indentOf(l)
}

// indentOf is the width of the white space at the beginning of a line, in columns.
func indentOf(s string) int {
	width := 0
	for _, c := range s {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 4 - width%4
		default:
			return width
		}
	}
	return 0
}

func (r *reader) lines(n ast.Node) []line {
	segments := n.Lines()
	out := make([]line, 0, segments.Len())
	for i := range segments.Len() {
		s := segments.At(i)
		value := bytes.TrimRight(s.Value(r.src), "\r\n")
		out = append(out, line{string(value), r.lineNo(s.Start)})
	}
	return out
}

func (r *reader) children(parent ast.Node) []*block {
	var out []*block
	var list *block // the list that is being gathered: lists that follow each other are one
	add := func(bs ...*block) {
		for _, b := range bs {
			list = nil
			if b.kind == listBlock {
				list = b
			}
			out = append(out, b)
		}
	}
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		switch n := n.(type) {
		case *ast.Heading:
			add(r.heading(n)...)
		case *ast.Paragraph, *ast.TextBlock:
			add(r.paragraph(r.lines(n))...)
		case *ast.List:
			for _, b := range r.list(n) {
				if b.kind == listBlock && list != nil {
					list.items = append(list.items, b.items...)
					continue
				}
				add(b)
			}
		case *ast.FencedCodeBlock:
			b := &block{kind: codeBlock, lang: strings.ToLower(string(n.Language(r.src))), lines: r.lines(n)}
			if len(b.lines) > 0 {
				b.no = b.lines[0].no
				r.checkFence(b)
				add(b)
			}
		case *ast.CodeBlock:
			lines := r.lines(n)
			add(&block{kind: codeBlock, lang: "indented", lines: lines, no: lines[0].no})
		case *ast.Blockquote:
			add(r.children(n)...)
		case *ast.HTMLBlock:
			add(r.html(n)...)
		}
	}
	for _, b := range out {
		if b.kind == listBlock {
			b.items = nest(b.items)
		}
	}
	return out
}

var (
	fenceEnd  = pattern.Compile("^[\\s>]*(?:`{3,}|~{3,})\\s*$")
	swallowed = pattern.Compile(`(?i)^\s*(?:#{2,6}\s+\S|[-*+]\s+\**(?:status|acceptance|状态|验收))`)
)

// checkFence notes a fence that is open to the end of the file: what looks like tasks in it was not meant as code.
func (r *reader) checkFence(b *block) {
	last := b.lines[len(b.lines)-1].no
	rest := r.src[r.starts[last-1]:]
	if _, after, ok := bytes.Cut(rest, []byte("\n")); ok && len(bytes.TrimSpace(after)) > 0 ||
		fenceEnd.Get().Match(bytes.TrimSpace(after)) {
		return
	}
	for _, l := range b.lines {
		if swallowed.Get().MatchString(l.text) && r.open == 0 {
			r.open = b.no - 1
		}
	}
}

// heading reads a heading. One that is only underlined because a rule stands right below a field is a paragraph.
func (r *reader) heading(n *ast.Heading) []*block {
	lines := r.lines(n)
	if len(lines) == 0 {
		return nil
	}
	start := r.starts[lines[0].no-1]
	setext := !bytes.HasPrefix(bytes.TrimLeft(r.src[start:], " \t>-*+0123456789."), []byte("#"))
	if setext {
		for _, l := range lines {
			if keyOf(l.text) != "" {
				return r.paragraph(lines)
			}
		}
		joined := lines[0]
		for _, l := range lines[1:] {
			joined.text += " " + l.text
		}
		lines = []line{joined}
	}
	if k, value := colonField(lines[0].text); k.ofTask() && value != "" {
		return r.paragraph(lines[:1])
	}
	return []*block{{kind: headingBlock, level: n.Level, lines: lines[:1], no: lines[0].no}}
}

// headLine begins a line that may name a task or a goal, even right below other text.
var headLine = pattern.Compile(`^(?i:\**(?:milestone|phase|sprint|task|里程碑|阶段|任务)\s*[A-Z]{0,2}-?[0-9一二三四五六七八九十])`)

func namesOnly(s string) bool {
	return headLine.Get().MatchString(strings.TrimSpace(s)) && pseudo(s) > 0
}

// paragraph splits a paragraph into what people meant: names of tasks, tables, text.
func (r *reader) paragraph(lines []line) []*block {
	var out []*block
	var run []line
	flush := func() {
		if len(run) > 0 {
			out = append(out, &block{kind: paraBlock, lines: run, no: run[0].no})
			run = nil
		}
	}
	for i := 0; i < len(lines); i++ {
		l := lines[i]
		if namesOnly(l.text) {
			flush()
		}
		if i+1 < len(lines) && strings.Contains(l.text, "|") && isDelimiter(lines[i+1].text) {
			flush()
			end := i + 2
			for end < len(lines) && strings.Contains(lines[end].text, "|") {
				end++
			}
			out = append(out, table(lines[i], lines[i+2:end]))
			i = end - 1
			continue
		}
		run = append(run, l)
	}
	flush()
	return out
}

var (
	htmlTag  = pattern.Compile(`</?[A-Za-z][^<>]*>`)
	tableTag = pattern.Compile(`(?i)^\s*<(?:table|dl)\b`)
)

// html reads the text that stands between tags. A table or a list of terms in tags is not read.
func (r *reader) html(n *ast.HTMLBlock) []*block {
	var lines []line
	for _, l := range r.lines(n) {
		if tableTag.Get().MatchString(l.text) || n.HTMLBlockType <= ast.HTMLBlockType2 {
			return nil
		}
		if l.text = withoutTags(l.text); strings.TrimSpace(l.text) != "" {
			lines = append(lines, l)
		}
	}
	return r.paragraph(lines)
}

// withoutTags takes tags off a line, but not out of code.
func withoutTags(s string) string {
	parts := spans(s)
	for i, p := range parts {
		if !p.code {
			parts[i].text = htmlTag.Get().ReplaceAllString(p.text, "")
		}
	}
	return rejoin(parts)
}
