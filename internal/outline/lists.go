package outline

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"gitwf/internal/pattern"
)

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

// list reads a list. A field that stands right behind an item, and not below its text, is none of the item: it ends the
// list, which goes on behind it.
func (r *reader) list(n *ast.List) []*block {
	var out []*block
	number := n.Start
	for li := n.FirstChild(); li != nil; li = li.NextSibling() {
		it := &item{kids: r.children(li)}
		if len(it.kids) == 0 {
			continue
		}
		first := it.kids[0]
		it.no, it.lines = first.no, []line{{"", first.no}}
		if first.kind == paraBlock || first.kind == headingBlock {
			it.lines, it.kids = first.lines, it.kids[1:]
		}
		it.indent = r.column(it.no)
		if n.IsOrdered() {
			it.number = strconv.Itoa(number)
			number++
		}
		it.takeCheck()
		if k := len(out); k > 0 && out[k-1].kind == listBlock {
			out[k-1].items = append(out[k-1].items, it)
		} else {
			out = append(out, &block{kind: listBlock, items: []*item{it}, no: it.no})
		}
		if behind := r.behind(it); len(behind) > 0 {
			out = append(out, &block{kind: paraBlock, lines: behind, no: behind[0].no})
		}
	}
	return out
}

// behind takes the lines off an item, from the first field or name of a task that stands no further to the right than
// its marker.
func (r *reader) behind(it *item) []line {
	last := &it.lines
	if k := len(it.kids); k > 0 {
		if it.kids[k-1].kind != paraBlock {
			return nil
		}
		last = &it.kids[k-1].lines
	}
	for i, l := range *last {
		if l.no == it.no || r.column(l.no) > it.indent || keyOf(l.text) == "" && !namesOnly(l.text) {
			continue
		}
		rest := (*last)[i:]
		if *last = (*last)[:i]; i == 0 {
			it.kids = it.kids[:len(it.kids)-1]
		}
		return rest
	}
	return nil
}

var checkBox = pattern.Compile(`^\\?\[(.?)\\?\](\*?)(?:\s+|$)`)
var itemNumber = pattern.Compile(`^(\d{1,4}(?:\.\d{1,4})*)[.)、]?\s+`)

func (it *item) takeCheck() {
	s := it.lines[0].text
	m := checkBox.Get().FindStringSubmatch(s)
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
	if n := itemNumber.Get().FindStringSubmatch(s); n != nil && !unitFollows(s[len(n[0]):]) {
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
