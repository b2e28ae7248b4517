package outline

import (
	"math"
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
	own    int // the last line before the next heading
	last   int // the last line before the next heading of its level
	sig    *signals
	tasks  bool // a heading below it names a task or a goal itself

	// What was found out about a section that stands in no task: headings are looked at from above many times.
	decided *decision
	below   *bool
}

const (
	pseudoGoal = 7 // levels of headings that are only bold
	pseudoTask = 8
)

func sectionsOf(blocks []*block) *section {
	root := &section{}
	open := []*section{root}
	enter := func(level int, head *block, text string) {
		open[len(open)-1].own = head.no - 1
		for len(open) > 1 && open[len(open)-1].level >= level {
			open[len(open)-1].last = head.no - 1
			open = open[:len(open)-1]
		}
		s := &section{head: head, own: math.MaxInt, last: math.MaxInt, level: level, label: readLabel(text),
			text: plainText(closingATX.Get().ReplaceAllString(text, ""))}
		above := open[len(open)-1]
		above.subs = append(above.subs, s)
		for _, o := range open {
			o.tasks = o.tasks || s.explicit()
		}
		open = append(open, s)
	}
	for _, b := range blocks {
		level, text, rest := 0, "", []line(nil)
		switch {
		case b.kind == headingBlock:
			level = b.level
		case b.kind == paraBlock:
			level = pseudo(b.lines[0].text)
		}
		if level > 0 {
			text, rest = title(b.lines[0])
			rest = append(rest, b.lines[1:]...)
			enter(level, b, text)
		}
		last := open[len(open)-1]
		if len(rest) > 0 {
			last.blocks = append(last.blocks, &block{kind: paraBlock, lines: rest, no: rest[0].no})
		} else if level == 0 {
			last.blocks = append(last.blocks, b)
		}
	}
	return root
}

// pseudo is the level of a paragraph that does the work of a heading: "**Task 1.1**: Parse", "Milestone 2: Release"; 0 of
// another one.
func pseudo(s string) int {
	s = strings.TrimSpace(s)
	bare := strings.TrimLeftFunc(s, func(r rune) bool {
		return words().marks[r] != "" || r == '\ufe0f' || unicode.IsSpace(r)
	})
	bold := strings.HasPrefix(bare, "**") || strings.HasPrefix(bare, "__")
	if keyOf(s) != "" {
		return 0
	}
	l := readLabel(s)
	switch {
	case l.id == "" || !l.strong:
		return 0
	case plainID.Get().MatchString(s):
	case l.kind == noWord && (l.title == "" || !bold), !bold && (!strings.ContainsAny(s, ":：") || len(s) >= 120):
		return 0
	case l.kind == goalWord:
		return pseudoGoal
	}
	return pseudoTask
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
		if k := keyOf(rest); k != "" && k != keyTitle {
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

// fieldsOf notes the fields that lines hold.
func (g *signals) fieldsOf(lines []line) {
	for _, p := range fieldsIn(lines) {
		if p.key != "" {
			g.note(p.key)
		}
	}
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
			g.fieldsOf(b.lines)
		case listBlock:
			g.lists = true
			for _, it := range b.items {
				g.item(it)
			}
		case tableBlock:
			c := columnsOf(b.rows)
			g.table = g.table || c.tasks()
			for _, r := range b.rows {
				if k := lookup(r[0].text); len(b.rows[0]) == 2 && !c.tasks() && (k == keyStatus || k == keyAcceptance) {
					g.note(k)
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
	if k, v := splitField(it.lines[0].text); k != "" {
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
	g.fieldsOf(append(rest, it.lines[1:]...))
	for _, b := range it.kids {
		switch b.kind {
		case paraBlock:
			g.fieldsOf(b.lines)
		case listBlock:
			for _, kid := range b.items {
				switch k := keyOf(kid.lines[0].text); k {
				case "", keyOther, keyDescription, keyTitle:
				default:
					if kid.check == 0 {
						g.note(k)
					}
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
	return len(found) > 0 && found[0].command == strings.TrimSpace(prompt.Get().ReplaceAllString(parts[0].text, "")) ||
		len(found) > 0 && strings.HasPrefix(parts[0].text, found[0].command)
}
