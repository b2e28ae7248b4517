package outline

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"gitwf/internal/pattern"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// checkSource refuses what no parser should see, and gives the text with a byte order mark and carriage returns taken
// off. Lines keep their numbers.
func checkSource(name string, data []byte) ([]byte, plan.Findings) {
	f := plan.Finding{File: plain.Line(name)}
	refuse := func(code string, line int, message, expected, found string) ([]byte, plan.Findings) {
		f.Code, f.Line, f.Message, f.Expected, f.Found = code, line, message, expected, found
		return nil, plan.Findings{f}
	}
	if len(data) > MaxBytes {
		return refuse("too-large", 0, "the outline is too large", fmt.Sprintf("at most %d bytes", MaxBytes),
			fmt.Sprintf("%d bytes", len(data)))
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return refuse("empty", 1, "the file has no content", "an outline in Markdown", "nothing")
	}
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return refuse("nul", lineAt(data, i), "the file contains the character NUL", "text in UTF-8", "NUL")
	}
	if i := invalid(data); i >= 0 {
		return refuse("not-utf8", lineAt(data, i), "the file is not UTF-8", "text in UTF-8",
			fmt.Sprintf("the byte 0x%02x", data[i]))
	}
	src := bytes.TrimPrefix(data, []byte("\ufeff"))
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	src = bytes.ReplaceAll(src, []byte("\r"), []byte("\n"))
	if no := tooDeep(src); no > 0 {
		return refuse("too-deep", no, "quotes and lists are nested too deeply", fmt.Sprintf("at most %d levels", maxNesting),
			"more")
	}
	for _, s := range spelled {
		src = s.from.Get().ReplaceAll(src, []byte(s.to))
	}
	return src, nil
}

// spelled writes what people put down as if it were Markdown the way that Markdown has it: other marks and numbers of
// items, a box without a mark, a heading without its space, code in tags, definitions, and a threshold that is no
// quotation.
var spelled = []struct {
	from *pattern.Pattern
	to   string
}{
	{pattern.Compile(`(?m)^([ \t]*)(?:(\d{1,3})[）、]|[（(](\d{1,2})[）)])[ \t]*(\S)`), "$1$2$3. $4"},
	{pattern.Compile(`(?m)^([ \t]*)(?:[①-⑳⑴-⒇•][ \t]*|[a-h][)）.][ \t]+)(\S)`), "$1- $2"},
	{pattern.Compile(`(?m)^([ \t]*)(\[[ xX~/!-]\][ \t]+[^\s(])`), "$1- $2"},
	{pattern.Compile(`(?m)^(#{2,6})([^#\s])`), "$1 $2"},
	{pattern.Compile(`(?m)^[ \t]{0,3}[:：][ \t]+(\S)`), "- $1"},
	{pattern.Compile("(?i)<code>([^<`\n]+)</code>"), "`$1`"},
	{pattern.Compile(`(?m)^([ \t]*)(>[ \t]*=?[ \t]*\d+(?:\.\d+)?[ \t]*%?[ \t]*)$`), "$1→ $2"},
}

func lineAt(data []byte, offset int) int {
	before := data[:offset]
	lone := bytes.Count(before, []byte("\r")) - bytes.Count(before, []byte("\r\n"))
	return bytes.Count(before, []byte("\n")) + max(lone, 0) + 1
}

func invalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// tooDeep is the number of the first line that nests further than a reader could follow; 0 if there is none. The time
// that Markdown takes grows with the square of the depth.
func tooDeep(src []byte) int {
	const perLevel = 16 // columns; a level of a list takes two to five
	no := 0
	for l := range bytes.Lines(src) {
		no++
		marks, width := 0, 0
		for i := 0; i < len(l); i++ {
			c := l[i]
			space := i+1 < len(l) && (l[i+1] == ' ' || l[i+1] == '\t')
			switch {
			case c == ' ':
				width++
			case c == '\t':
				width += 4
			case c == '>':
				marks++
			case (c == '-' || c == '*' || c == '+' || c == '.' || c == ')') && space:
				marks++
			case c >= '0' && c <= '9':
			default:
				i = len(l)
			}
		}
		if marks > maxNesting || width > maxNesting*perLevel && marks > 0 {
			return no
		}
	}
	return 0
}

var frontLine = pattern.Compile(`^([A-Za-z_][\w -]{0,40}|\p{Han}{1,10})\s*[:：]\s*(.*)$`)

var frontTask = pattern.Compile(`(?i)^\s+(?:-\s+)?(?:status|状态)\s*[:：]`)

// tasksInFront is the number of the first line of the front matter that gives a task a status; 0 without one. Tasks
// that stand in YAML are not read.
func tasksInFront(src []byte) int {
	if !bytes.HasPrefix(src, []byte("---\n")) {
		return 0
	}
	no := 0
	for l := range bytes.Lines(src) {
		if no++; no > 1 && bytes.HasPrefix(l, []byte("---")) {
			return 0
		}
		if frontTask.Get().Match(l) {
			return no
		}
	}
	return 0
}

// frontMatter takes the front matter off, leaving its lines empty, and gives its fields as blocks of a list.
func frontMatter(src []byte) ([]*block, []byte) {
	if !bytes.HasPrefix(src, []byte("---\n")) {
		return nil, src
	}
	end := bytes.Index(src[4:], []byte("\n---"))
	if end < 0 || end > 64<<10 {
		return nil, src
	}
	head := src[4 : 4+end]
	rest := src[4+end+4:]
	if nl := bytes.IndexByte(rest, '\n'); nl >= 0 && len(bytes.TrimSpace(rest[:nl])) == 0 {
		rest = rest[nl:]
	} else if len(bytes.TrimSpace(rest)) > 0 {
		return nil, src
	}
	list := &block{kind: listBlock}
	for i, l := range strings.Split(string(head), "\n") {
		no := i + 2
		if m := frontLine.Get().FindStringSubmatch(l); m != nil {
			list.items = append(list.items, &item{lines: []line{{m[1] + ": " + unquote(m[2]), no}}, no: no})
			continue
		}
		value, ok := strings.CutPrefix(strings.TrimSpace(l), "- ")
		if !ok || len(list.items) == 0 {
			continue
		}
		last := list.items[len(list.items)-1]
		kid := &item{lines: []line{{unquote(value), no}}, no: no, indent: 2}
		if len(last.kids) == 0 {
			last.kids = []*block{{kind: listBlock, no: no}}
		}
		last.kids[0].items = append(last.kids[0].items, kid)
	}
	body := append(bytes.Repeat([]byte("\n"), bytes.Count(src[:len(src)-len(rest)], []byte("\n"))), rest...)
	return []*block{list}, body
}

func unquote(s string) string {
	s = strings.TrimSpace(s)
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

var markdownFence = pattern.Compile("(?m)^(`{3,}|~{3,})[ ]*(?:markdown|md)[ ]*$")

// fenced is the content of the first fenced block of Markdown, on its own lines, for files that hold nothing but one.
func fenced(src []byte) []byte {
	at := markdownFence.Get().FindSubmatchIndex(src)
	if at == nil {
		return nil
	}
	fence := src[at[2]:at[3]]
	rest := src[at[1]:]
	end := bytes.LastIndex(rest, append([]byte("\n"), fence...))
	if end < 0 {
		end = len(rest)
	}
	return append(bytes.Repeat([]byte("\n"), bytes.Count(src[:at[1]], []byte("\n"))), rest[:end]...)
}
