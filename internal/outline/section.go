package outline

import (
	"slices"
	"strings"
	"unicode"

	"gitwf/internal/pattern"
)

// section is a heading with what stands below it.
type section struct {
	head   *block // nil for the whole document
	label  label
	text   string // of the heading, plain
	level  int
	blocks []*block
	subs   []*section
	sig    *signals
	memo   *decided
}

// decided is what was found out about a section that stands in no task; headings are looked at from above many times.
type decided struct {
	role                                   role
	key                                    key
	known                                  bool
	below, strict, belowKnown, strictKnown bool
}

// ownLine is the number of the last line that stands in the section and in no section below it.
func (s *section) ownLine() int {
	last := s.head.no
	for _, bl := range s.blocks {
		last = max(last, lastLine(bl))
	}
	return last
}

// lastLine is the number of the last line that is read of the section.
func (s *section) lastLine() int {
	last := s.ownLine()
	for _, sub := range s.subs {
		last = max(last, sub.lastLine())
	}
	return last
}

func lastLine(bl *block) int {
	last := bl.no
	for _, l := range bl.lines {
		last = max(last, l.no)
	}
	for _, row := range bl.rows {
		last = max(last, row[0].no)
	}
	for _, it := range bl.items {
		last = max(last, it.no, it.lines[len(it.lines)-1].no)
		for _, kid := range it.kids {
			last = max(last, lastLine(kid))
		}
	}
	return last
}

const (
	pseudoGoal = 7 // levels of headings that are only bold
	pseudoTask = 8
)

func sectionsOf(blocks []*block) *section {
	root := &section{}
	open := []*section{root}
	enter := func(level int, head *block, text string) {
		for len(open) > 1 && open[len(open)-1].level >= level {
			open = open[:len(open)-1]
		}
		s := &section{head: head, level: level, label: readLabel(text), text: plainText(closingATX.Get().ReplaceAllString(text, ""))}
		above := open[len(open)-1]
		above.subs = append(above.subs, s)
		open = append(open, s)
	}
	plain := !slices.ContainsFunc(blocks, func(b *block) bool { return b.kind == headingBlock && b.level > 1 })
	for i, b := range blocks {
		switch b.kind {
		case headingBlock:
			text, rest := title(b.lines[0])
			enter(b.level, b, text)
			if len(rest) > 0 {
				last := open[len(open)-1]
				last.blocks = append(last.blocks, &block{kind: paraBlock, lines: rest, no: b.no})
			}
			continue
		case paraBlock:
			if level, name, ok := named(b.lines[0].text); ok && plain {
				enter(level, b, name)
				if more := b.lines[1:]; len(more) > 0 {
					last := open[len(open)-1]
					last.blocks = append(last.blocks, &block{kind: paraBlock, lines: more, no: more[0].no})
				}
				continue
			}
			if len(b.lines) == 1 && i+1 < len(blocks) && leadsFields(b.lines[0].text, blocks[i+1]) {
				level := pseudoTask
				if readLabel(b.lines[0].text).kind == goalWord {
					level = pseudoGoal
				}
				enter(level, b, b.lines[0].text)
				continue
			}
			level, ok := pseudo(b.lines[0].text)
			if !ok && len(b.lines) > 1 {
				level, ok = pseudoTask, numberedAbove(b.lines[0].text, b.lines[1].text)
			}
			if ok {
				text, rest := title(b.lines[0])
				enter(level, b, text)
				if more := append(rest, b.lines[1:]...); len(more) > 0 {
					last := open[len(open)-1]
					last.blocks = append(last.blocks, &block{kind: paraBlock, lines: more, no: more[0].no})
				}
				continue
			}
		}
		last := open[len(open)-1]
		last.blocks = append(last.blocks, b)
	}
	return root
}

// named reports "Task: Print" and "Milestone: Core" on a line of their own, in a document without headings.
func named(s string) (level int, name string, ok bool) {
	switch k, value, _ := colonField(s); {
	case value == "":
	case k == keyTitle:
		return pseudoTask, value, taskName.Get().MatchString(plainText(s))
	case k == keyGroup:
		return pseudoGoal, value, true
	}
	return 0, "", false
}

var taskName = pattern.Compile(`^(?i:task|任务)`)

// leadsFields reports a line with the name of a task that a list of its fields follows.
func leadsFields(s string, next *block) bool {
	l := readLabel(s)
	if next.kind != listBlock || l.kind == noWord || l.id == "" || beginsField(s) || len(s) > 120 {
		return false
	}
	k, _, ok := splitField(next.items[0].lines[0].text)
	return ok && (k == keyStatus || k == keyAcceptance)
}

// numberedAbove reports a number with a name, above a field that only a task has: "1.1 Print", "status: done".
func numberedAbove(s, next string) bool {
	if _, _, ok := splitField(s); ok {
		return false
	}
	l := readLabel(s)
	return l.kind == noWord && l.title != "" && dottedNumber.Get().MatchString(l.id) && isTaskField(next)
}

// pseudo reports that a paragraph does the work of a heading: "**Task 1.1**: Parse", "Milestone 2: Release".
func pseudo(s string) (int, bool) {
	s = strings.TrimSpace(s)
	bare := strings.TrimLeftFunc(s, func(r rune) bool { return words().marks[r] != "" || r == '\ufe0f' || unicode.IsSpace(r) })
	bold := strings.HasPrefix(bare, "**") || strings.HasPrefix(bare, "__")
	if _, _, ok := splitField(s); ok {
		return 0, false
	}
	l := readLabel(s)
	if plainID.Get().MatchString(s) && l.id != "" {
		if l.kind == goalWord {
			return pseudoGoal, true
		}
		return pseudoTask, true
	}
	switch {
	case l.id == "" || !l.strong:
		return 0, false
	case l.kind == goalWord && (bold || strings.ContainsAny(s, ":：") && len(s) < 120):
		return pseudoGoal, true
	case l.kind == noWord && l.title != "" && dottedNumber.Get().MatchString(l.id) && hasLetter(l.status.Word): // "1.1 Print — done"
		return pseudoTask, true
	case l.kind == taskWord && (bold || strings.ContainsAny(s, ":：") && len(s) < 120), l.kind == noWord && bold && l.title != "":
		return pseudoTask, true
	}
	return 0, false
}

// plainID is an id that a colon follows, at the beginning of a line: "M4-T1:", "T2: Print".
var plainID = pattern.Compile(`^(?:[A-Z]{1,4}\d*-)?(?:T|TASK|M|MS)-?\d+(?:\.\d+)*\s*[:：](?:\s|$|\p{Han})`)

// title cuts the title off a line: fields may follow it behind a dash, a bar or a full stop.
func title(l line) (string, []line) {
	if len(l.text) > maxLine {
		return l.text, nil
	}
	at := inlineKey.Get().FindAllStringIndex(l.text, -1)
	for _, m := range at {
		if strings.Count(l.text[:m[0]], "`")%2 == 1 || strings.TrimSpace(plainText(l.text[:m[0]])) == "" {
			continue
		}
		rest := strings.TrimLeft(l.text[m[0]:], " .。；;，,|·—–-")
		if strings.ContainsAny(l.text[m[0]:m[1]], "(（") && !strings.ContainsAny(l.text[m[1]:], "(（") {
			rest = strings.TrimRight(rest, ")） ")
		}
		if k, _, ok := splitField(rest); ok && k != keyTitle {
			return strings.TrimRight(l.text[:m[0]], " |·"), []line{{rest, l.no}}
		}
	}
	return l.text, nil
}

var inlineKey = withWords(`(?i)(?:[。；;|·]|\.\s|\s[—–-]+|\s[（(]|，)\s*\**(?:{behind a title})(?:\*\*)?\s*[:：]|` +
	`\s\*\*[^*]{2,40}?(?:[:：]\*\*|\*\*\s*[:：])|\s(?:{behind a space})\s*[:：]`)

// signals are what a section's own blocks hold.
type signals struct {
	status, acceptance, fields bool
	items                      bool // items that are tasks whatever stands around them
	table                      bool // a table of tasks
	checks                     int  // items with a checkbox that are no fields and no commands
	lists                      bool
}

func (s *section) signals() *signals {
	if s.sig == nil {
		s.sig = &signals{}
		s.sig.scan(s.blocks)
	}
	return s.sig
}

func (g *signals) note(k key) {
	g.fields = true
	g.status = g.status || k == keyStatus
	g.acceptance = g.acceptance || k == keyAcceptance
}

func (g *signals) scan(blocks []*block) {
	for _, b := range blocks {
		switch b.kind {
		case paraBlock:
			for _, p := range fieldsIn(b.lines) {
				if p.key != "" {
					g.note(p.key)
				}
			}
		case listBlock:
			g.lists = true
			for _, it := range b.items {
				g.item(it)
			}
		case tableBlock:
			c := columnsOf(b.rows)
			g.table = g.table || c.tasks()
			if len(b.rows[0]) == 2 && !c.tasks() {
				for _, r := range b.rows {
					if k := lookup(r[0].text); k == keyStatus || k == keyAcceptance {
						g.note(k)
					}
				}
			}
		}
	}
}

func (g *signals) item(it *item) {
	if explicitItem(it) {
		g.items = true
		return
	}
	for _, p := range fieldsIn(it.lines) {
		if p.key != "" && it.check == 0 {
			g.note(p.key)
			return
		}
	}
	if it.check != 0 && !commandFirst(it) {
		g.checks++
	}
}

// explicitItem reports an item that is a task by itself: it has an id of its own and a box, or fields of a task.
func explicitItem(it *item) bool {
	own := ownFields(it)
	if k, v, ok := splitField(it.lines[0].text); ok && k != "" {
		return k == keyTitle && v != "" && (own.status || own.acceptance)
	}
	l := readLabel(it.lines[0].text)
	named := l.strong && (l.kind != noWord || l.id != "")
	switch {
	case own.status && (own.acceptance || it.check != 0 || named || boldStart(it)):
		return true
	case own.acceptance && (it.check != 0 || named || boldStart(it)):
		return true
	case it.check != 0 && (named || it.number != "" && strings.Contains(it.number, ".")):
		return true
	case it.check != 0 && (own.fields || l.days > 0), named && it.check == 0 && l.status.State != "":
		return true
	}
	return named && l.kind == taskWord && boldStart(it) || named && boldStart(it) && own.fields
}

func boldStart(it *item) bool {
	s := strings.TrimSpace(it.lines[0].text)
	return strings.HasPrefix(s, "**") || strings.HasPrefix(s, "__")
}

// ownFields are the fields that stand directly in an item: on its lines, or in the list below it.
func ownFields(it *item) *signals {
	g := &signals{}
	_, rest := title(it.lines[0])
	for _, p := range fieldsIn(append(rest, it.lines[1:]...)) {
		if p.key != "" {
			g.note(p.key)
		}
	}
	for _, b := range it.kids {
		switch b.kind {
		case paraBlock:
			for _, p := range fieldsIn(b.lines) {
				if p.key != "" {
					g.note(p.key)
				}
			}
		case listBlock:
			for _, kid := range b.items {
				if k, _, ok := splitField(kid.lines[0].text); ok && kid.check == 0 && k != keyOther && k != keyDescription && k != keyTitle {
					g.note(k)
				}
			}
		}
	}
	return g
}

// commandFirst reports an item that begins with a command: a criterion, wherever it stands.
func commandFirst(it *item) bool {
	parts := spans(strings.TrimSpace(it.lines[0].text))
	if len(parts) == 0 || !parts[0].code {
		return false
	}
	found := commandsIn(parts[:min(len(parts), 3)], false)
	return len(found) > 0 && found[0].command == strings.TrimSpace(prompt.Get().ReplaceAllString(parts[0].text, "")) || len(found) > 0 && strings.HasPrefix(parts[0].text, found[0].command)
}
