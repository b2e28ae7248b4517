package exchange

import (
	"strings"

	"gitwf/internal/pattern"
)

// box is one item of a list of tasks in Markdown, with the headings that it stands below.
type box struct {
	line   int
	indent int
	mark   string // between the brackets
	text   string
	more   []string // lines that belong to it
	heads  []head   // from the outermost
}

type head struct {
	level int
	text  string
	line  int
}

var (
	boxItem  = pattern.Compile(`^(\s*)(?:[-*+]|[0-9]+[.)])\s+\[([ xX~/>-])\]\s+(.*)$`)
	headLine = pattern.Compile(`^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$`)
	fence    = pattern.Compile("^\\s*(```+|~~~+)")
	comment  = pattern.Compile(`(?s)<!--.*?-->`)
)

// boxes are the items of a document, outside of code and comments; title is its first heading, and before the text that
// stands between that and the first item or further heading.
func boxes(text string) (items []*box, heads []head, title, before string) {
	text = comment.Get().ReplaceAllStringFunc(text, func(s string) string {
		return strings.Repeat("\n", strings.Count(s, "\n"))
	})
	var path []head
	var last *box
	var intro []string
	closing := ""
	no := 0
	for line := range strings.Lines(text) {
		no++
		line = strings.TrimRight(line, " \t\n")
		if m := fence.Get().FindStringSubmatch(line); m != nil {
			switch {
			case closing == "":
				closing = m[1]
			case strings.HasPrefix(m[1], closing):
				closing = ""
			}
		}
		indent := indentOf(line)
		switch m := headLine.Get().FindStringSubmatch(line); {
		case closing != "" || fence.Get().MatchString(line):
			if last != nil && indent > last.indent {
				last.more = append(last.more, line)
			}
		case m != nil:
			h := head{len(m[1]), m[2], no}
			for len(path) > 0 && path[len(path)-1].level >= h.level {
				path = path[:len(path)-1]
			}
			if title == "" && len(items) == 0 && h.level == 1 {
				title = h.text
				last = nil
				continue // the document's own, which nothing is grouped by
			}
			path = append(path[:len(path):len(path)], h)
			heads = append(heads, h)
			last = nil
		default:
			if m := boxItem.Get().FindStringSubmatch(line); m != nil {
				last = &box{line: no, indent: indent, mark: m[2], text: strings.TrimSpace(m[3]), heads: path}
				items = append(items, last)
				continue
			}
			switch {
			case strings.TrimSpace(line) == "":
			case last != nil && indent > last.indent:
				last.more = append(last.more, strings.TrimSpace(line))
			case len(items) == 0 && len(heads) == 0:
				intro = append(intro, line)
				last = nil
			default:
				last = nil
			}
		}
	}
	return items, heads, title, strings.TrimSpace(strings.Join(intro, "\n"))
}

func indentOf(line string) int {
	n := 0
	for _, r := range line {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// boxState is what a mark between brackets says.
func boxState(mark string) state {
	switch mark {
	case "x", "X":
		return done
	case "~", "/", ">":
		return doing
	case "-":
		return cancelled
	}
	return todo
}

// bare is text without the marks of Markdown around it.
func bare(s string) string {
	s = strings.TrimSpace(s)
	for _, mark := range []string{"**", "__", "~~"} {
		s = strings.ReplaceAll(s, mark, "")
	}
	return strings.TrimSpace(s)
}
