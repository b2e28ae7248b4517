package outline

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
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
	depth  int
}

func newReader(src []byte) *reader {
	r := &reader{src: src, starts: []int{0}}
	for i, c := range src {
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
	return r.children(blockParser().Parse(text.NewReader(r.src)), 0)
}

// lineNo is the number of the line that holds the offset.
func (r *reader) lineNo(offset int) int {
	low, high := 0, len(r.starts)
	for high-low > 1 {
		if mid := (low + high) / 2; r.starts[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return low + 1
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
			if list != nil {
				list.items = append(list.items, items...)
				continue
			}
			add(&block{kind: listBlock, items: items, no: firstNo(items)})
		case *ast.FencedCodeBlock:
			b := &block{kind: codeBlock, lang: strings.ToLower(string(n.Language(r.src))), lines: r.lines(n)}
			if len(b.lines) > 0 {
				b.no = b.lines[0].no
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

func firstNo(items []*item) int {
	if len(items) == 0 {
		return 0
	}
	return items[0].no
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
			if key, _, ok := splitField(l.text); ok && key != "" {
				return r.paragraph(lines)
			}
		}
		joined := lines[0]
		for _, l := range lines[1:] {
			joined.text += " " + l.text
		}
		lines = []line{joined}
	}
	return []*block{{kind: headingBlock, level: n.Level, lines: lines[:1], no: lines[0].no}}
}

var tightHeading = regexp.MustCompile(`^(#{1,6})([^#\s].*)$`)

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
		if m := tightHeading.FindStringSubmatch(strings.TrimSpace(l.text)); m != nil && (len(m[1]) > 1 || headingWords(m[2]) || hasHan(firstRune(m[2]))) {
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

func isDelimiter(s string) bool {
	s = strings.TrimSpace(s)
	return strings.Contains(s, "|") && strings.Contains(s, "-") && strings.Trim(s, "|:- \t") == ""
}

func table(header line, body []line) *block {
	b := &block{kind: tableBlock, no: header.no}
	head := splitRow(header, 0)
	b.rows = append(b.rows, head)
	for _, l := range body {
		b.rows = append(b.rows, splitRow(l, len(head)))
	}
	return b
}

// splitRow cuts a row into cells. With more cells than the header has, a bar inside of backticks is taken for part of
// the code, as its writer meant it.
func splitRow(l line, want int) []cell {
	cells := cut(l, false)
	if want > 0 && len(cells) > want {
		if again := cut(l, true); len(again) < len(cells) {
			cells = again
		}
	}
	return cells
}

func cut(l line, keepCode bool) []cell {
	s := strings.TrimSpace(l.text)
	s = strings.TrimPrefix(s, "|")
	if strings.HasSuffix(s, "|") && !strings.HasSuffix(s, `\|`) {
		s = s[:len(s)-1]
	}
	var cells []cell
	start, inCode := 0, false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '`':
			inCode = !inCode
		case s[i] == '\\':
			i++
		case s[i] == '|' && (!inCode || !keepCode):
			cells = append(cells, cell{s[start:i], l.no})
			start = i + 1
		}
	}
	cells = append(cells, cell{s[start:], l.no})
	for i := range cells {
		cells[i].text = strings.TrimSpace(strings.ReplaceAll(cells[i].text, `\|`, "|"))
	}
	return cells
}

var listLine = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)

// indented reads an indented code block: a list that was indented too far is still a list.
func (r *reader) indented(n *ast.CodeBlock) []*block {
	lines := r.lines(n)
	for _, l := range lines {
		if strings.TrimSpace(l.text) != "" && !listLine.MatchString(l.text) {
			return []*block{{kind: codeBlock, lang: "indented", lines: lines, no: lines[0].no}}
		}
	}
	if len(lines) == 0 {
		return nil
	}
	return r.again(lines)
}

var htmlTag = regexp.MustCompile(`</?[A-Za-z][^<>]*>`)

// html reads what stands between tags, such as a list within details.
func (r *reader) html(n *ast.HTMLBlock) []*block {
	if n.HTMLBlockType == ast.HTMLBlockType1 || n.HTMLBlockType == ast.HTMLBlockType2 {
		return nil
	}
	lines := r.lines(n)
	words := false
	for i := range lines {
		lines[i].text = htmlTag.ReplaceAllString(lines[i].text, "")
		words = words || strings.TrimSpace(lines[i].text) != ""
	}
	if !words {
		return nil
	}
	return r.again(lines)
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

func (r *reader) list(n *ast.List) []*item {
	var out []*item
	number := n.Start
	for li := n.FirstChild(); li != nil; li = li.NextSibling() {
		it := &item{}
		it.kids = r.children(li, 0)
		if len(it.kids) > 0 && it.kids[0].kind == paraBlock {
			it.lines, it.no = it.kids[0].lines, it.kids[0].no
			it.kids = it.kids[1:]
		} else if len(it.kids) > 0 && it.kids[0].kind == headingBlock {
			it.lines, it.no = it.kids[0].lines, it.kids[0].no
			it.kids = it.kids[1:]
		} else if len(it.kids) > 0 {
			it.no = it.kids[0].no
			it.lines = []line{{"", it.no}}
		} else {
			continue
		}
		it.indent = r.column(it.no)
		if n.IsOrdered() {
			it.number = itoa(number)
			number++
		}
		it.takeCheck()
		out = append(out, it)
	}
	return out
}

// column is the width of the white space at the beginning of a line.
func (r *reader) column(no int) int {
	width := 0
	for _, c := range r.src[r.starts[no-1]:] {
		switch c {
		case ' ':
			width++
		case '\t':
			width += 4 - width%4
		default:
			return width
		}
	}
	return width
}

var checkBox = regexp.MustCompile(`^\\?\[(.?)\\?\](\*?)(?:\s+|$)`)
var itemNumber = regexp.MustCompile(`^(\d{1,4}(?:\.\d{1,4})*)[.)、]?\s+`)

func (it *item) takeCheck() {
	s := it.lines[0].text
	m := checkBox.FindStringSubmatch(s)
	if m == nil || !strings.Contains(" xX~-/>.!?*✓✔✅❌✗vVoO√", m[1]) {
		return
	}
	it.check = ' '
	for _, c := range m[1] {
		it.check = c
	}
	s = s[len(m[0]):]
	if m[2] != "" {
		s += " (optional)"
	}
	if n := itemNumber.FindStringSubmatch(s); n != nil && !unitFollows(s[len(n[0]):]) {
		it.number = n[1]
		s = s[len(n[0]):]
	}
	it.lines[0].text = s
}

// nest puts an item that is indented by two columns or more than the one before it below that one. Markdown itself
// would want as many columns as the marker is wide, which people who nest below "1." do not count.
func nest(items []*item) []*item {
	var out []*item
	var open []*item
	for _, it := range items {
		for len(open) > 0 && it.indent < open[len(open)-1].indent+2 {
			open = open[:len(open)-1]
		}
		if len(open) == 0 {
			out = append(out, it)
		} else {
			above := open[len(open)-1]
			if k := len(above.kids); k > 0 && above.kids[k-1].kind == listBlock {
				above.kids[k-1].items = append(above.kids[k-1].items, it)
			} else {
				above.kids = append(above.kids, &block{kind: listBlock, items: []*item{it}, no: it.no})
			}
		}
		open = append(open, it)
	}
	return out
}
