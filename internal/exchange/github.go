package exchange

import (
	"fmt"
	"strings"

	"gitwf/internal/pattern"
)

func isIssue(o *object) bool { return o.has("body") || o.has("number") && o.has("title") }

func isListedIssue(o *object) bool { return o.has("number") || o.has("body") }

// The marks of Markdown whose items are checkboxes and nothing else.
var (
	boxLine     = pattern.Compile(`(?m)^\s*(?:[-*+]|[0-9]+[.)])\s+\[[ xX~/>-]\]\s+\S`)
	outlineLine = pattern.Compile(`(?mi)^(?:#{1,6}\s+(?:\S+\s+)?\**(?:milestone|phase|task|stage|sprint|epic|里程碑|任务|阶段)\b|\s*[-*+]?\s*\**(?:status|acceptance|acceptance criteria|状态|验收(?:标准)?)\**\s*[:：])`)
)

func isBoxes(_, text string) bool {
	return boxLine.Get().MatchString(text) && !outlineLine.Get().MatchString(text)
}

var issueRef = pattern.Compile(`(?:^|\s|\()((?:[\w.-]+/[\w.-]+)?#[0-9]+|https://[^\s/]+/[^\s/]+/[^\s/]+/(?:issues|pull)/[0-9]+)\b`)

// github reads the list of tasks in an issue, or in any Markdown whose items are checkboxes: of issues as gh prints
// them in JSON, each is a task of its own, with what its body lists below it.
func (r *reader) github(f Found, o Options) *Imported {
	text, ok := r.read(f.Path)
	if !ok {
		return nil
	}
	src := source{format: formatGitHub, name: f.Name, path: f.Path}
	if head := strings.TrimSpace(text); !strings.HasPrefix(head, "{") && !strings.HasPrefix(head, "[{") &&
		!strings.HasPrefix(head, "[]") {
		_, _, title, before := boxes(text)
		src.top = before
		if title = bare(title); title != "" {
			src.name = title
		}
		r.issueTasks(f.Path, text, 0, nil, &src)
		return r.assemble(src, o)
	}
	v, ok := r.jsonText(f.Path, text, 1)
	if !ok {
		return nil
	}
	switch v := v.(type) {
	case *object:
		src.name, src.top = firstText(v.get("title"), f.Name), v.str("body")
		src.fields = v.plain()
		if !r.issueTasks(f.Path, v.str("body"), v.line, nil, &src) {
			r.issue(f.Path, v, 0, &src)
		}
	case []any:
		for i, v := range v {
			doc, ok := v.(*object)
			if !ok {
				r.find("wrong-type", f.Path, 0, fmt.Sprintf("[%d] is no issue", i), "{...}", kindOf(v))
				continue
			}
			r.issue(f.Path, doc, i, &src)
		}
	}
	return r.assemble(src, o)
}

// issue makes an item of an issue, and items below it of the tasks in its body.
func (r *reader) issue(file string, doc *object, i int, src *source) {
	number := firstText(doc.get("number"), doc.get("id"))
	it := &item{file: file, line: doc.line, title: doc.str("title"), description: doc.str("body"), fields: doc.plain(),
		word: doc.str("state"), loose: true}
	if number == "" {
		number = fmt.Sprint(i + 1)
	}
	it.source, it.wish = "#"+number, "ISSUE-"+number
	it.state = stateOf(it.word)
	if it.state == done && stateOf(doc.str("stateReason")) == cancelled {
		it.state = cancelled
	}
	src.items = append(src.items, it)
	r.issueTasks(file, doc.str("body"), doc.line, it, src)
}

// issueTasks makes items of the checkboxes of a body whose first line is behind the given one. It reports whether there
// were any.
func (r *reader) issueTasks(file, body string, line int, above *item, src *source) bool {
	list, heads, _, _ := boxes(body)
	sections := map[int]*item{}
	made := map[*box]*item{}
	var stack []*box
	at := func(n int) int {
		if line > 0 {
			return line // in JSON, a body is one line
		}
		return n
	}
	prefix := ""
	if above != nil {
		prefix = above.source + " "
	}
	for _, b := range list {
		for len(stack) > 0 && stack[len(stack)-1].indent >= b.indent {
			stack = stack[:len(stack)-1]
		}
		it := &item{
			source: fmt.Sprintf("%sline %d", prefix, b.line), file: file, line: at(b.line), title: bare(b.text), word: "[" +
				b.mark + "]", state: boxState(b.mark),
			fields: map[string]any{"text": b.text}, description: strings.Join(b.more, "\n"), files: pathsIn(b.text), loose: true,
		}
		if len(b.more) > 0 {
			it.fields["more"] = anyList(b.more)
		}
		if refs := issueRef.Get().FindAllStringSubmatch(b.text, -1); refs != nil {
			var list []string
			for _, m := range refs {
				list = append(list, m[1])
			}
			it.fields["issues"] = anyList(list)
		}
		switch {
		case len(stack) > 0:
			it.parent = made[stack[len(stack)-1]].source
		case len(b.heads) > 0 && len(heads) > 1:
			h := b.heads[len(b.heads)-1]
			s := sections[h.line]
			if s == nil {
				s = &item{source: fmt.Sprintf("%ssection %d", prefix, h.line), file: file, line: at(h.line), title: bare(h.text),
					fields: map[string]any{"heading": h.text}}
				if above != nil {
					s.parent = above.source
				}
				sections[h.line] = s
				src.items = append(src.items, s)
			}
			it.parent = s.source
		case above != nil:
			it.parent = above.source
		}
		made[b] = it
		stack = append(stack, b)
		src.items = append(src.items, it)
	}
	return len(list) > 0
}
