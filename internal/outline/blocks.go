package outline

import (
	"bytes"
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
	starts []int       // offset of each line
	nos    []int       // the number of each line in the file; 0 for one that is not in it
	at     map[int]int // the offset of each line of the file, by its number
	depth  int
	open   int // line of a fence that is never closed and takes headings or fields in with the rest; 0 without one
}

func newReader(file []byte) *reader {
	src, nos := tidy(file)
	r := &reader{src: src, starts: []int{0}, nos: nos, at: map[int]int{}}
	for i, c := range src {
		if c == '\n' {
			r.starts = append(r.starts, i+1)
		}
	}
	for i, no := range nos {
		r.at[no] = r.starts[i]
	}
	return r
}

func blockParser() parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(parser.DefaultBlockParsers()...))
}

func (r *reader) read() []*block {
	return r.children(blockParser().Parse(text.NewReader(r.src)), 0)
}

// lineNo is the number in the file of the line that holds the offset.
func (r *reader) lineNo(offset int) int { return r.nos[min(r.index(offset), len(r.nos)-1)] }

// index is the index of the line that holds the offset.
func (r *reader) index(offset int) int {
	low, high := 0, len(r.starts)
	for high-low > 1 {
		if mid := (low + high) / 2; r.starts[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return low
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

func (r *reader) children(parent ast.Node, indent int) []*block {
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
			items := r.list(n)
			if len(items) == 0 {
				continue
			}
			if list != nil {
				list.items = append(list.items, items...)
				continue
			}
			add(&block{kind: listBlock, items: items, no: items[0].no})
		case *ast.FencedCodeBlock:
			b := &block{kind: codeBlock, lang: strings.ToLower(string(n.Language(r.src))), lines: r.lines(n)}
			if len(b.lines) > 0 {
				b.no = b.lines[0].no
				r.checkFence(b)
				add(b)
			}
		case *ast.CodeBlock:
			add(r.indented(n)...)
		case *ast.Blockquote:
			add(r.children(n, indent)...)
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
	rest := r.src[r.at[last]:]
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
	start := r.at[lines[0].no]
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

var tightHeading = pattern.Compile(`^(#{1,6})([^#\s].*)$`)

// paragraph splits a paragraph into what people meant: headings without the space, tables, text.
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
		if m := tightHeading.Get().FindStringSubmatch(strings.TrimSpace(l.text)); m != nil &&
			(len(m[1]) > 1 || headingWords(m[2]) || hasHan(firstRune(m[2]))) {
			flush()
			out = append(out, &block{kind: headingBlock, level: len(m[1]), lines: []line{{m[2], l.no}}, no: l.no})
			continue
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

var listLine = pattern.Compile(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)

// indented reads an indented code block: a list that was indented too far is still a list.
func (r *reader) indented(n *ast.CodeBlock) []*block {
	lines := r.lines(n)
	for _, l := range lines {
		if strings.TrimSpace(l.text) != "" && !listLine.Get().MatchString(l.text) {
			return []*block{{kind: codeBlock, lang: "indented", lines: lines, no: lines[0].no}}
		}
	}
	return r.again(lines)
}

var htmlTag = pattern.Compile(`</?[A-Za-z][^<>]*>`)

// html reads what stands between tags, such as a list within details.
func (r *reader) html(n *ast.HTMLBlock) []*block {
	if n.HTMLBlockType == ast.HTMLBlockType1 || n.HTMLBlockType == ast.HTMLBlockType2 {
		return nil
	}
	lines := r.lines(n)
	words := false
	for i := range lines {
		lines[i].text = withoutTags(lines[i].text)
		words = words || strings.TrimSpace(lines[i].text) != ""
	}
	if !words {
		return nil
	}
	return r.again(lines)
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

// again reads lines of the source as Markdown of their own, with their own numbers. It is not done twice over.
func (r *reader) again(lines []line) []*block {
	if r.depth > 0 {
		return nil
	}
	var src strings.Builder
	for no := 1; no < lines[0].no; no++ {
		src.WriteByte('\n')
	}
	at := lines[0].no
	for _, l := range lines {
		for ; at < l.no; at++ {
			src.WriteByte('\n')
		}
		src.WriteString(l.text)
	}
	inner := newReader([]byte(src.String()))
	inner.depth = r.depth + 1
	return inner.read()
}
