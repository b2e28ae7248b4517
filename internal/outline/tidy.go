package outline

import (
	"bytes"
	"html"
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// tidy lays a source out so that Markdown reads it as its writer saw it. Three things that Markdown does to plain text
// are undone: a field right behind a list goes on with the last item, text that is indented by four columns is code,
// and headings without a mark melt into the paragraph around them. It gives the numbers that the lines had in the
// source.
func tidy(src []byte) ([]byte, []int) {
	var in []line
	for l := range bytes.Lines(src) {
		in = append(in, line{strings.TrimRight(string(l), "\n"), len(in) + 1})
	}
	lines := tidied(in, nil)
	var out bytes.Buffer
	nos := make([]int, len(lines))
	for i, l := range lines {
		out.WriteString(l.text)
		out.WriteByte('\n')
		nos[i] = l.no
	}
	return out.Bytes(), nos
}

// tidied is the layout of lines that are a text of their own, within items or without.
func tidied(in []line, items []openItem) []line {
	t := &tidier{in: in, items: items}
	for t.at < len(t.in) {
		t.next()
	}
	return t.out
}

type tidier struct {
	in      []line
	at      int
	out     []line
	items   []openItem // the list items that a line could belong to, the innermost last
	noTable int        // the index of the first line behind what is known to be no table in tags
	code    int        // the index of the first line behind what is known to be indented code
}

// openItem is a list item on the way: the columns of its marker and of its text.
type openItem struct {
	marker, content int
	task            bool // it names a task, so that fields behind it are its own
	field           bool // it is a field itself, which has no fields of a task
}

var (
	fenceLine  = pattern.Compile("^(?:[ >\t]|[-*+] |\\d{1,9}[.)] )*(`{3,}|~{3,})([^`]*)$")
	markerLine = pattern.Compile(`^(?:[-*+•]|\d{1,9}[.)])(?:[ \t]+|$)`)
	oddMarker  = pattern.Compile(`^(?:[①-⑳⑴-⒇]\s*|[a-h][)）.]\s+)(\S)`)
	wideMarker = pattern.Compile(`^(?:(\d{1,3})[）、]|[（(](\d{1,2})[）)])\s*(\S)`)
	bareBox    = pattern.Compile(`^\[[ xX~/!-]\]\s+[^\s(]`) // a box without the mark of an item
	definition = pattern.Compile(`^[ \t]{0,3}[:：][ \t]+(\S.*)$`)
	headLine   = pattern.Compile(`^(?i:\**(?:milestone|phase|sprint|task|里程碑|阶段|任务)\s*[A-Z]{0,2}-?[0-9一二三四五六七八九十])`)
)

// next takes one line over, or a few that belong together.
func (t *tidier) next() {
	l := t.in[t.at]
	l.text = withoutHTML(l.text)
	indent := indentOf(l.text)
	body := strings.TrimSpace(l.text)
	if bareBox.Get().MatchString(body) {
		body = "- " + body
		l.text = strings.Repeat(" ", indent) + body
	}
	if fields := spread(body); fields != body && !fenceLine.Get().MatchString(l.text) {
		body = fields
		l.text = strings.Repeat(" ", indent) + body
	}
	if m := wideMarker.Get().FindStringSubmatch(body); m != nil {
		body = m[1] + m[2] + ". " + body[len(m[0])-len(m[3]):]
		l.text = strings.Repeat(" ", indent) + body
	} else if m := oddMarker.Get().FindStringSubmatch(body); m != nil {
		body = "- " + body[len(m[0])-len(m[1]):]
		l.text = strings.Repeat(" ", indent) + body
	}
	if tableTag.Get().MatchString(body) && t.htmlTable() {
		return
	}
	if m := literal.Get().FindStringSubmatch(body); m != nil && isCommands(m[2]) {
		body = m[1] + m[2]
		l.text = strings.Repeat(" ", indent) + body
		t.itemize(indent + len(m[1]))
	}
	switch {
	case fenceLine.Get().MatchString(l.text):
		t.fence()
		return
	case strings.HasPrefix(body, "<!--"):
		t.comment()
		return
	case markerLine.Get().MatchString(body):
		t.item(l, indent, body)
	case quotedLimit.Get().MatchString(body):
		t.put(line{strings.Repeat(" ", indent) + "→ " + body, l.no})
	case strings.HasPrefix(body, ">") && indent < 4:
		t.quote(indent)
		return
	case strings.HasPrefix(body, "#") || strings.HasPrefix(body, ">") || strings.HasPrefix(body, "|"):
		t.leave(indent)
		t.put(l)
	case len(t.items) == 0 && indent >= 4 && t.at >= t.code && t.indented():
		return
	case t.define(l):
	default:
		t.text(l, indent, body)
	}
	t.at++
}

// literal is a field whose value is the lines below it, each by itself, as YAML has it.
var literal = pattern.Compile(`^((?:[-*+]\s+)?)(\S.*[:：])\s*\|[-+]?$`)

// isCommands reports a field that may hold a command on each line.
func isCommands(s string) bool {
	k := keyOf(s)
	return k == keyAcceptance || k == keyVerify || k == keyCommand
}

// itemize makes items of the lines that come and stand further to the right than the column, up to an empty one.
func (t *tidier) itemize(column int) {
	for i := t.at + 1; i < len(t.in); i++ {
		body := strings.TrimSpace(t.in[i].text)
		if body == "" || indentOf(t.in[i].text) <= column || fenceLine.Get().MatchString(t.in[i].text) {
			return
		}
		switch goesOn := i > t.at+1 && strings.HasSuffix(t.in[i-1].text, `\`); {
		case goesOn:
			t.in[i].text = strings.Repeat(" ", column+4) + body
		case !markerLine.Get().MatchString(body):
			t.in[i].text = strings.Repeat(" ", column+2) + "- " + body
		}
	}
}

var (
	codeTag = pattern.Compile("(?i)<code>([^<`]+)</code>")
	termTag = pattern.Compile(`(?i)<dt>(.*?)</dt>\s*<dd>(.*?)</dd>`)
)

// withoutHTML writes code and definitions that stand in tags as Markdown has them.
func withoutHTML(s string) string {
	if !strings.Contains(s, "</") {
		return s
	}
	s = codeTag.Get().ReplaceAllStringFunc(s, func(m string) string {
		return "`" + html.UnescapeString(m[len("<code>"):len(m)-len("</code>")]) + "`"
	})
	if termTag.Get().MatchString(s) {
		s = html.UnescapeString(termTag.Get().ReplaceAllString(s, "- $1: $2"))
	}
	return s
}

func (t *tidier) put(l line) { t.out = append(t.out, l) }

// gap puts an empty line between what stands there and what comes.
func (t *tidier) gap() {
	if n := len(t.out); n > 0 && strings.TrimSpace(t.out[n-1].text) != "" {
		t.put(line{})
	}
}

// leave forgets the items that a line at this column can't belong to.
func (t *tidier) leave(indent int) {
	for n := len(t.items); n > 0 && t.items[n-1].marker >= indent; n = len(t.items) {
		t.items = t.items[:n-1]
	}
}

func (t *tidier) item(l line, indent int, body string) {
	t.leave(indent)
	mark := markerLine.Get().FindString(body)
	text := body[len(mark):]
	t.items = append(t.items, openItem{indent, indent + indentOf(strings.Repeat(" ", len([]rune(mark)))+"x"),
		namesTask(text), keyOf(text).ofTask()})
	if strings.HasPrefix(body, "•") {
		l.text = strings.Replace(l.text, "•", "-", 1)
	}
	t.put(l)
}

// namesTask reports text that is the name of a goal or a task.
func namesTask(text string) bool {
	l := readLabel(text)
	return keyOf(text) == "" && l.strong && l.id != "" && (l.kind != noWord || !numeric(l.id))
}

// text takes a line of text over. Where it is a field or a heading, it ends the items that it is not indented below.
func (t *tidier) text(l line, indent int, body string) {
	head := (headLine.Get().MatchString(body) || plainID.Get().MatchString(body)) && pseudoLine(body)
	if head && len(t.items) == 0 {
		t.gap()
	}
	if len(t.items) == 0 || !head && keyOf(body) == "" {
		t.put(l)
		return
	}
	owner := -1
	for i, it := range t.items {
		if it.marker < indent && !(it.field && keyOf(body).ofTask()) || it.task && !head {
			owner = i
		}
	}
	if owner == len(t.items)-1 {
		t.put(l)
		return
	}
	t.items = t.items[:owner+1]
	t.gap()
	column := 0
	if owner >= 0 {
		column = t.items[owner].content
	}
	t.put(line{strings.Repeat(" ", column) + body, l.no})
}

// quotedLimit is a threshold at the beginning of a line, which is no quotation: ">= 3".
var quotedLimit = pattern.Compile(`^>\s*=?\s*\d+(?:\.\d+)?\s*%?$`)

// quote tidies what stands in a quotation, as a text of its own.
func (t *tidier) quote(indent int) {
	t.leave(indent)
	var in []line
	for ; t.at < len(t.in); t.at++ {
		body := strings.TrimLeft(t.in[t.at].text, " \t")
		if !strings.HasPrefix(body, ">") || quotedLimit.Get().MatchString(strings.TrimSpace(body)) {
			break
		}
		in = append(in, line{strings.TrimPrefix(body[1:], " "), t.in[t.at].no})
	}
	for _, l := range tidied(in, nil) {
		t.put(line{strings.Repeat(" ", indent) + strings.TrimRight("> "+l.text, " "), l.no})
	}
}

// fence takes a block of code over as it stands. One of YAML that has a status in it is no code but fields.
func (t *tidier) fence() {
	l := t.in[t.at]
	m := fenceLine.Get().FindStringSubmatch(l.text)
	end := t.at + 1
	for end < len(t.in) && !closesFence(t.in[end].text, m[1]) {
		end++
	}
	body := t.in[t.at+1 : end]
	if lang := strings.ToLower(strings.TrimSpace(m[2])); (lang == "yaml" || lang == "yml") && end < len(t.in) &&
		hasStatus(body) {
		t.gap()
		t.out = append(t.out, tidied(body, t.items)...)
		t.put(line{"", t.in[end].no})
		t.at = end + 1
		return
	}
	if indent := indentOf(l.text); len(t.items) > 0 && t.items[len(t.items)-1].marker >= indent {
		t.leave(indent)
	}
	t.out = append(t.out, t.in[t.at:min(end+1, len(t.in))]...)
	t.at = end + 1
}

var statusLine = pattern.Compile(`(?i)^\s*(?:-\s+)?(?:status|state|状态)\s*[:：]\s*\S`)

func hasStatus(lines []line) bool {
	return slices.ContainsFunc(lines, func(l line) bool { return statusLine.Get().MatchString(l.text) })
}

func closesFence(s, fence string) bool {
	s = strings.TrimLeft(s, " \t>")
	return strings.HasPrefix(s, fence) && strings.Trim(s, fence[:1]+" \t") == ""
}

func (t *tidier) comment() {
	for t.at < len(t.in) {
		l := t.in[t.at]
		t.put(l)
		t.at++
		if strings.Contains(l.text, "-->") {
			return
		}
	}
}

// define reads a definition: a term on its own line, and what it means behind a colon on the next.
func (t *tidier) define(l line) bool {
	m := definition.Get().FindStringSubmatch(l.text)
	if m == nil || len(t.out) == 0 {
		return false
	}
	above := &t.out[len(t.out)-1]
	switch term := strings.TrimSpace(above.text); {
	case len(t.items) > 0 && strings.HasPrefix(term, "- "):
	case lookup(term) != "":
		above.text += ":"
	default:
		return false
	}
	t.item(line{"- " + m[1], l.no}, 0, "- "+m[1])
	return true
}

// indented reads lines that are indented as far as code is, where fields or names of tasks among them show that they
// are an outline: each of them is an item then; or a line of its own, where names and fields stand in one column.
func (t *tidier) indented() bool {
	end := t.at
	outline, flat := false, false
	for ; end < len(t.in); end++ {
		body := strings.TrimSpace(t.in[end].text)
		if body == "" {
			continue
		}
		if indentOf(t.in[end].text) < 4 || fenceLine.Get().MatchString(t.in[end].text) {
			break
		}
		field := keyOf(body) != ""
		outline = outline || field || pseudoLine(body)
		if end > t.at {
			above := t.in[end-1].text
			flat = flat || field && pseudoLine(strings.TrimSpace(above)) && indentOf(above) == indentOf(t.in[end].text)
		}
		flat = flat || markerLine.Get().MatchString(body)
	}
	if !outline {
		t.code = end
		return false
	}
	least := 1 << 20
	for _, l := range t.in[t.at:end] {
		if strings.TrimSpace(l.text) != "" {
			least = min(least, indentOf(l.text))
		}
	}
	t.gap()
	var in []line
	for _, l := range t.in[t.at:end] {
		body := strings.TrimSpace(l.text)
		switch {
		case body == "":
		case flat:
			body = strings.Repeat(" ", indentOf(l.text)-least) + body
		default:
			body = strings.Repeat(" ", indentOf(l.text)-least) + "- " + body
		}
		in = append(in, line{body, l.no})
	}
	t.out = append(t.out, tidied(in, nil)...)
	t.gap()
	t.at = end
	return true
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
