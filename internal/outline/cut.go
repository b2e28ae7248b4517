package outline

import (
	"strings"

	"gitwf/internal/pattern"
)

// Node is a heading, an item of a list, or, at the top, the whole text.
type Node struct {
	Level int    // of a heading, 1 to 6; 0 for the whole text and for items
	Item  bool   // it is an item
	Boxed bool   // with a box,
	Box   string // which has this mark: "" or a space for an empty one
	Text  string // the heading or the item's first line, without marks of its kind
	Line  int    // from 1; 0 for the whole text

	Lines []Line  // below it that are in none of Kids, in order
	Kids  []*Node // in order

	indent int // of an item's marker, in columns
	Source string
}

// Line is one line of a text as it stands there.
type Line struct {
	No   int
	Text string
	Raw  bool // in code, or in a comment
}

var (
	itemLine = pattern.Compile(`^(\s*)([-*+]|[0-9]{1,9}[.)])(\s+|$)(.*)$`)
	boxMark  = pattern.Compile(`^\[([ \txX~/>!?.*-]?|✓|✔|✅)\](\*?)(?:\s+(.*)|)$`)
	headLine = pattern.Compile(`^ {0,3}(#{1,6})(?:\s+(.*?))?\s*$`)
	fence    = pattern.Compile("^\\s*(?:[-*+]\\s+)?(```+|~~~+)")
	ruleLine = pattern.Compile(`^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$`)
	hashes   = pattern.Compile(`\s+#+$`)
)

// Cut cuts a text. front are the lines between the dashes that it begins with, if there are any.
func Cut(text string) (front []Line, whole *Node) {
	c := &cutter{whole: &Node{}}
	c.heads = []*Node{c.whole}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	from := 0
	if strings.TrimRight(lines[0], " \t") == "---" {
		for i, line := range lines[1:] {
			if trimmed := strings.TrimRight(line, " \t"); trimmed == "---" || trimmed == "..." {
				for j := 1; j <= i; j++ {
					front = append(front, Line{No: j + 1, Text: lines[j]})
				}
				from = i + 2
				break
			}
		}
	}
	for i := from; i < len(lines); i++ {
		c.line(i+1, strings.TrimRight(lines[i], " \t\r"))
	}
	return front, c.whole
}

type cutter struct {
	whole   *Node
	heads   []*Node // from the whole to the innermost heading
	items   []*Node // from the outermost to the innermost item
	closing string  // of the code that is open, "" outside of code
	blank   bool    // the line before was empty
	comment bool
}

func (c *cutter) line(no int, line string) {
	opened := fence.Get().FindStringSubmatch(line)
	switch {
	case c.closing != "":
		if m := fence.Get().FindStringSubmatch(line); m != nil && strings.HasPrefix(m[1], c.closing) &&
			strings.HasSuffix(line, m[1]) { // what names a language begins code
			c.closing = ""
		}
		c.add(Line{no, line, true})
		return
	case c.comment:
		c.comment = !strings.Contains(line, "-->")
		c.add(Line{no, line, true})
		return
	case strings.TrimSpace(line) == "":
		c.blank = true
		c.add(Line{No: no})
		return
	case strings.HasPrefix(strings.TrimSpace(line), "<!--"):
		c.comment = !strings.Contains(line, "-->")
	}
	blank := c.blank
	c.blank = false
	if m := headLine.Get().FindStringSubmatch(line); m != nil && !c.comment {
		c.heading(&Node{Level: len(m[1]), Text: hashes.Get().ReplaceAllString(m[2], ""), Line: no, Source: line})
		return
	}
	m := itemLine.Get().FindStringSubmatch(line)
	if m != nil && !c.comment && !ruleLine.Get().MatchString(line) {
		c.item(&Node{Item: true, Text: strings.TrimSpace(m[4]), Line: no, Source: line, indent: width(m[1])})
		if opened != nil {
			c.closing = opened[1]
		}
		return
	}
	if indent := width(line[:len(line)-len(strings.TrimLeft(line, " \t"))]); len(c.items) > 0 {
		lazy := !blank && indent > 0
		for len(c.items) > 0 && !lazy && indent <= c.items[len(c.items)-1].indent {
			c.items = c.items[:len(c.items)-1]
		}
	}
	if opened != nil {
		c.closing = opened[1]
	}
	c.add(Line{No: no, Text: line})
}

// add gives a line to the innermost item or heading.
func (c *cutter) add(line Line) {
	to := c.heads[len(c.heads)-1]
	if len(c.items) > 0 {
		to = c.items[len(c.items)-1]
	}
	to.Lines = append(to.Lines, line)
}

func (c *cutter) heading(n *Node) {
	for len(c.heads) > 1 && c.heads[len(c.heads)-1].Level >= n.Level {
		c.heads = c.heads[:len(c.heads)-1]
	}
	above := c.heads[len(c.heads)-1]
	above.Kids = append(above.Kids, n)
	c.heads, c.items = append(c.heads, n), nil
}

func (c *cutter) item(n *Node) {
	if m := boxMark.Get().FindStringSubmatch(n.Text); m != nil {
		n.Boxed, n.Box, n.Text = true, m[1], strings.TrimSpace(m[3])
	}
	for len(c.items) > 0 && c.items[len(c.items)-1].indent+1 >= n.indent { // one column more is the same level
		c.items = c.items[:len(c.items)-1]
	}
	above := c.heads[len(c.heads)-1]
	if len(c.items) > 0 {
		above = c.items[len(c.items)-1]
	}
	above.Kids = append(above.Kids, n)
	const deepest = 60
	if len(c.items) < deepest {
		c.items = append(c.items, n)
	}
}

func width(space string) int {
	n := 0
	for _, r := range space {
		if n++; r == '\t' {
			n += 3
		}
	}
	return n
}

// Below returns the lines below a node as they stand, in their order, without the nodes that skip names and what is
// below these. Empty lines at both ends are left out, and the indent that all lines have.
func (n *Node) Below(skip func(*Node) bool) string {
	lines := n.gather(skip, nil)
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	least := -1
	for _, line := range lines {
		if space := len(line) - len(strings.TrimLeft(line, " \t")); line != "" && (least < 0 || space < least) {
			least = space
		}
	}
	out, empty := lines[:0], false
	for _, line := range lines {
		if line == "" && empty {
			continue
		}
		if empty = line == ""; !empty {
			line = line[least:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// gather merges the lines of a node and those of its kids by their numbers.
func (n *Node) gather(skip func(*Node) bool, to []string) []string {
	at := 0
	for _, kid := range n.Kids {
		for ; at < len(n.Lines) && n.Lines[at].No < kid.Line; at++ {
			to = append(to, n.Lines[at].Text)
		}
		if !skip(kid) {
			to = kid.gather(skip, append(to, kid.Source))
		}
	}
	for ; at < len(n.Lines); at++ {
		to = append(to, n.Lines[at].Text)
	}
	return to
}

// Walk visits all below a node, in order; the way down ends where visit returns false. above is the node that one
// stands in.
func (n *Node) Walk(visit func(n, above *Node) bool) {
	for _, kid := range n.Kids {
		if visit(kid, n) {
			kid.Walk(visit)
		}
	}
}

// Heading returns the first heading of the highest level that the text begins with: its title; nil if it has none.
func (n *Node) Heading() *Node {
	for _, kid := range n.Kids {
		if !kid.Item {
			return kid
		}
	}
	return nil
}
