package outline

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// nodeKind is where a goal or a task was found.
type nodeKind int

const (
	fromHeading nodeKind = iota
	fromItem
	fromRow
)

// node is a goal or a task that is being read.
type node struct {
	label      label
	kind       nodeKind
	parent     *node
	kids       []*node
	line       int
	id         plan.TaskID
	statuses   []Status
	badStatus  *line
	byDefault  Status // of the board's column
	text       []string
	acceptance []Criterion
	checks     []State // of the boxes among the criteria
	steps      []Criterion
	stepStates []State
	evidence   []string
	days       float64
	needs      []string
	needsLine  int
	paths      []string // declared deliverables
	files      []string // other files that it names
	covers     []string
	group      string // the milestone that a row of a table names
	deps       []*node
	hasField   bool
	pending    *line // a threshold that waits for its command
	ahead      bool  // thresholds stand before their commands
}

// mode is what a checklist means where it stands.
type mode int

const (
	inDoc mode = iota
	inGoal
	inTask
)

// builder makes the tree of tasks.
type builder struct {
	file     string
	root     *node
	title    string
	titleAt  int
	intro    []string // what stands before the tasks, and is read where no section says what the whole is for
	introAt  []line   // its lines
	rootAt   []line   // fields of the whole, which only a document that is one task keeps
	goalText []string // a section that says what the whole is for
	goalAt   []line
	reqs     []Item
	loose    bool // no heading, item or row of the document says that it is a task
	count    int
	criteria int
	full     bool
	seen     map[int]bool // lines with a status that was taken in
	read     map[int]bool // lines that were read
	exempt   [][2]int     // first and last line of each section that speaks of no task: a legend, a template
	part     string       // the heading in a task that is being read
	fs       plan.Findings
}

func (b *builder) build(front, blocks []*block) {
	b.root = &node{line: 1}
	b.seen, b.read = map[int]bool{}, map[int]bool{}
	doc := sectionsOf(blocks)
	b.loose = !b.anyExplicit(doc)
	for _, bl := range front {
		b.front(bl)
	}
	top := doc.subs
	b.process(doc.blocks, b.root, inDoc)
	if len(top) > 0 && b.isTitle(top[0]) {
		h := top[0]
		if b.title == "" {
			b.title, b.titleAt = b.titleOf(h), h.head.no
		}
		b.root.line = h.head.no
		b.took(h.head.lines...)
		b.process(h.blocks, b.root, inDoc)
		top = append(slices.Clone(h.subs), top[1:]...)
	}
	for _, s := range top {
		b.section(s, b.root, false)
	}
	if b.title == "" && len(doc.subs) > 0 {
		b.title, b.titleAt = doc.subs[0].label.title, doc.subs[0].head.no
	}
	b.notRead(b.rootAt)
	if len(b.root.kids) == 0 {
		b.whole(doc)
		return
	}
	for _, c := range b.root.acceptance {
		b.require(c)
	}
}

func (b *builder) titleOf(s *section) string {
	if s.label.id != "" || s.label.kind != noWord {
		return short(prose(plainText(s.text)), 200)
	}
	return s.label.title
}

// isTitle reports that the first heading names the whole: the only one of its level, or of level 1, and no task.
func (b *builder) isTitle(s *section) bool {
	if s.level > 2 || s.explicit() || s.label.kind != noWord && s.label.id != "" {
		return false
	}
	if s.label.kind == goalWord && strings.ContainsAny(s.text, ":：") {
		return false
	}
	if s.level == 2 && len(s.subs) == 0 {
		return false
	}
	if len(s.subs) == 0 && lookup(s.text) != "" {
		return false
	}
	g := s.signals()
	return len(s.subs) > 0 || !(g.status && g.acceptance) && !(g.checks > 0 && s.label.days > 0)
}

// front reads the fields of the front matter.
func (b *builder) front(list *block) {
	for _, it := range list.items {
		k, value := splitField(it.lines[0].text)
		switch {
		case k == keyTitle:
			b.title, b.titleAt = short(plainText(value), 200), it.no
		case k == keyID:
			b.root.label.id, b.root.label.strong = clean(value), true
		case k.ofTask():
			b.field(b.root, k, []line{{value, it.no}}, ' ')
			b.values(b.root, k, it.kids)
		default:
			continue
		}
		b.took(it.lines...)
	}
}

// anyExplicit reports that the document says somewhere what its tasks are.
func (b *builder) anyExplicit(s *section) bool {
	g := s.signals()
	if s.head != nil && (s.explicit() || s.label.kind == taskWord && s.label.id != "") || g.items || g.table {
		return true
	}
	return slices.ContainsFunc(s.subs, b.anyExplicit)
}

// add makes a goal or a task below parent.
func (b *builder) add(parent *node, kind nodeKind, l label, no int) *node {
	if l.status.State != "" {
		l.status.Line = no
	}
	n := &node{label: l, kind: kind, parent: parent, line: no, days: l.days}
	if b.count++; b.count > maxTasks {
		if !b.full {
			b.full = true
			b.find("too-many-tasks", no, "the outline has too many tasks", fmt.Sprintf("at most %d", maxTasks), "more", "")
		}
		return n
	}
	parent.kids = append(parent.kids, n)
	b.read[no] = true
	return n
}

func (b *builder) find(code string, no int, message, expected, found, example string) {
	b.fs = append(b.fs, plan.Finding{
		Code: code, File: plain.Line(b.file), Line: no, Message: clean(message), Expected: clean(expected),
		Found: clean(short(found, 200)), Example: clean(example),
	})
}

// section reads a heading and what stands below it. in is the goal or task around it.
func (b *builder) section(s *section, in *node, isTask bool) {
	r, k := b.role(s, isTask)
	if r != skipRole && r != proseRole && r != partRole && !(k == keyOther && in == b.root) {
		b.took(s.head.lines...)
	}
	switch r {
	case skipRole:
		b.exempt = append(b.exempt, [2]int{s.head.no, s.last})
	case proseRole:
		if in == b.root && ofWhole.Get().MatchString(s.text) {
			b.exempt = append(b.exempt, [2]int{s.head.no, s.own})
		}
		if in == b.root && isPurpose(s.text) {
			b.goalAt = append(b.goalAt, s.head.lines...)
			b.purpose(s.blocks)
		}
		b.proseCriteria(s.blocks, in)
		b.subs(s, in, isTask)
	case fieldRole:
		b.fieldSection(s, in, k, isTask)
	case containerRole:
		b.process(s.blocks, in, inGoal)
		b.subs(s, in, false)
	case boardRole:
		b.board(s, in)
	case goalRole:
		n := b.add(in, fromHeading, s.label, s.head.no)
		b.process(s.blocks, n, inGoal)
		b.subs(s, n, false)
	case taskRole:
		if s.label.id == "" && (s.signals().fields || b.fieldsBelow(s)) {
			s.label.anyID()
		}
		n := b.add(in, fromHeading, s.label, s.head.no)
		n.takeDepends(s.text)
		b.process(s.blocks, n, inTask)
		b.subs(s, n, true)
	case partRole:
		outer := b.part
		b.part = s.text
		b.process(s.blocks, in, inTask)
		b.subs(s, in, true)
		b.part = outer
	}
}

// ofWhole are headings over what is said of the whole, its status for instance.
var ofWhole = withWords(`(?i)^[\d.、\s]*(?:{whole})$`)

// proseCriteria finds the commands with thresholds in text that is of no task.
func (b *builder) proseCriteria(blocks []*block, in *node) {
	for _, bl := range blocks {
		switch bl.kind {
		case paraBlock:
			for _, l := range bl.lines {
				b.promote(in, []line{l})
			}
		case listBlock:
			for _, it := range bl.items {
				b.promote(in, it.lines)
				b.proseCriteria(it.kids, in)
			}
		case codeBlock:
			b.looseCode(bl, in, inDoc)
		}
	}
}

func (b *builder) subs(s *section, in *node, isTask bool) {
	for _, sub := range s.subs {
		b.section(sub, in, isTask)
	}
}

func isPurpose(s string) bool {
	known := lookup(s) == keyDescription
	s = strings.ToLower(s)
	return known || strings.Contains(s, "top task") || strings.Contains(s, "task goal") || strings.Contains(s, "总目标") ||
		strings.Contains(s, "总体目标") || strings.Contains(s, "顶层任务")
}

// purpose takes paragraphs and items in as what the whole is for.
func (b *builder) purpose(blocks []*block) {
	add := func(lines []line) {
		b.goalAt = append(b.goalAt, lines...)
		b.goalText = append(b.goalText, prose(joinLines(lines)))
	}
	for _, bl := range blocks {
		if bl.kind == paraBlock {
			add(bl.lines)
		}
		for _, it := range bl.items {
			add(it.lines)
			b.purpose(it.kids)
		}
	}
}
