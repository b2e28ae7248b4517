package outline

import (
	"fmt"
	"slices"
	"strings"

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
	optional   bool
	hasField   bool
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
	intro    []string
	goalText []string // a section that says what the whole is for
	reqs     []Item
	loose    bool // no heading, item or row of the document says that it is a task
	count    int
	criteria int
	full     bool
	fs       plan.Findings
}

func (b *builder) build(front, blocks []*block) {
	b.root = &node{label: label{}, line: 1}
	doc := sectionsOf(blocks)
	b.loose = !b.anyExplicit(doc)
	for _, bl := range front {
		b.front(bl)
	}
	top := doc.subs
	b.process(doc.blocks, b.root, inDoc, nil)
	if len(top) > 0 && b.isTitle(top[0]) {
		h := top[0]
		if b.title == "" {
			b.title, b.titleAt = b.titleOf(h), h.head.no
		}
		b.root.line = h.head.no
		b.process(h.blocks, b.root, inDoc, nil)
		top = append(slices.Clone(h.subs), top[1:]...)
	}
	for _, s := range top {
		b.section(s, b.root, false)
	}
	if b.title == "" && len(doc.subs) > 0 {
		b.title, b.titleAt = doc.subs[0].label.title, doc.subs[0].head.no
	}
	if len(b.root.kids) == 0 {
		b.whole()
		return
	}
	for _, c := range b.root.acceptance {
		if len(b.reqs) < 500 {
			b.reqs = append(b.reqs, Item{Text: c.Text, Command: c.Command, Expect: c.Expect, Line: c.Line})
		}
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
	if s.level == 2 && len(s.subs) == 0 {
		return false
	}
	if k := lookup(s.text); k != "" && len(s.subs) == 0 {
		return false
	}
	g := s.signals()
	return len(s.subs) > 0 || !(g.status && g.acceptance) && !(g.checks > 0 && s.label.days > 0)
}

// front reads the fields of the front matter.
func (b *builder) front(list *block) {
	for _, it := range list.items {
		k, value, ok := splitField(it.lines[0].text)
		switch {
		case !ok:
		case k == keyTitle:
			b.title, b.titleAt = short(plainText(value), 200), it.no
		case k == keyID:
			b.root.label.id, b.root.label.strong = clean(value), true
		case k == keyStatus || k == keyAcceptance || k == keyEvidence || k == keyDepends || k == keyEstimate:
			b.field(b.root, k, []line{{value, it.no}}, it.no, ' ')
			b.values(b.root, k, it.kids)
		}
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

// whole makes the one task of a document that has no other: a file for each task is common.
func (b *builder) whole() {
	r := b.root
	if !r.hasField || len(r.acceptance) == 0 && len(r.statuses) == 0 && len(b.reqs) == 0 {
		return
	}
	t := &node{}
	*t = *r
	t.parent, t.kids = r, nil
	t.label.title = b.title
	if t.label.title == "" {
		return
	}
	if l := readLabel(b.title); t.label.id == "" && l.id != "" {
		t.label = l
	}
	t.line = max(b.titleAt, 1)
	for _, q := range b.reqs {
		t.acceptance = append(t.acceptance, Criterion{Text: q.Text, Command: q.Command, Expect: q.Expect, Line: q.Line})
	}
	b.reqs = nil
	t.text = append(t.text, b.intro...)
	b.root = &node{line: r.line, kids: []*node{t}}
	t.parent = b.root
	b.count++
}

// add makes a goal or a task below parent.
func (b *builder) add(parent *node, kind nodeKind, l label, no int) *node {
	n := &node{label: l, kind: kind, parent: parent, line: no, days: l.days, optional: l.optional}
	if b.count++; b.count > maxTasks {
		if !b.full {
			b.full = true
			b.find("too-many-tasks", no, "the outline has too many tasks", fmt.Sprintf("at most %d", maxTasks), "more", "")
		}
		return n
	}
	parent.kids = append(parent.kids, n)
	return n
}

func (b *builder) find(code string, no int, message, expected, found, example string) {
	b.fs = append(b.fs, plan.Finding{
		Code: code, File: plan.OneLine(b.file), Line: no, Message: clean(message), Expected: clean(expected), Found: clean(short(found, 200)), Example: clean(example),
	})
}

// section reads a heading and what stands below it. in is the goal or task around it.
func (b *builder) section(s *section, in *node, isTask bool) {
	r, k := b.role(s, isTask)
	switch r {
	case skipRole:
	case proseRole:
		if in == b.root && isPurpose(s.text) {
			b.goalText = append(b.goalText, texts(s.blocks)...)
		}
		b.subs(s, in, isTask)
	case fieldRole:
		b.fieldSection(s, in, k, isTask)
	case containerRole:
		b.process(s.blocks, in, inGoal, nil)
		b.subs(s, in, false)
	case boardRole:
		b.board(s, in)
	case goalRole:
		n := b.add(in, fromHeading, s.label, s.head.no)
		b.process(s.blocks, n, inGoal, nil)
		b.subs(s, n, false)
	case taskRole:
		if s.label.id == "" && s.signals().fields {
			s.label.anyID()
		}
		n := b.add(in, fromHeading, s.label, s.head.no)
		for _, m := range dependsTag.FindAllStringSubmatch(s.text, 3) {
			n.needs, n.needsLine = append(n.needs, short(prose(m[1]), 500)), s.head.no
		}
		b.process(s.blocks, n, inTask, nil)
		b.subs(s, n, true)
	case partRole:
		b.process(s.blocks, in, inTask, nil)
		b.subs(s, in, true)
	}
}

func (b *builder) subs(s *section, in *node, isTask bool) {
	for _, sub := range s.subs {
		b.section(sub, in, isTask)
	}
}

func isPurpose(s string) bool {
	switch lookup(s) {
	case keyDescription:
		return true
	}
	s = strings.ToLower(s)
	return strings.Contains(s, "top task") || strings.Contains(s, "task goal") || strings.Contains(s, "总目标") || strings.Contains(s, "总体目标") || strings.Contains(s, "顶层任务")
}

// texts are the paragraphs and items of blocks, one line each.
func texts(blocks []*block) []string {
	var out []string
	for _, bl := range blocks {
		switch bl.kind {
		case paraBlock:
			if t := prose(joinLines(bl.lines)); t != "" {
				out = append(out, t)
			}
		case listBlock:
			for _, it := range bl.items {
				if t := prose(joinLines(it.lines)); t != "" {
					out = append(out, t)
				}
				out = append(out, texts(it.kids)...)
			}
		}
	}
	return out
}

// fieldSection reads a heading that is a field: its paragraphs and lists are the value.
func (b *builder) fieldSection(s *section, in *node, k key, isTask bool) {
	if in == b.root {
		switch k {
		case keyAcceptance, keyRequire:
			b.rootList(s)
			return
		case keyDescription:
			b.goalText = append(b.goalText, texts(s.blocks)...)
		}
	}
	if k == keyRequire {
		k = keyDescription
		if isTask && s.signals().checks > 0 {
			k = keyAcceptance
		}
	}
	if k == keyStatus && in != b.root {
		b.statusSection(s, in)
	} else {
		b.values(in, k, s.blocks)
	}
	in.hasField = true
	for _, sub := range s.subs {
		if r, _ := b.role(sub, isTask); r == goalRole || r == taskRole {
			b.section(sub, in, isTask)
			continue
		}
		b.fieldSection(sub, in, k, isTask)
	}
}

// statusSection reads "### Status" with the word in a paragraph or an item below it.
func (b *builder) statusSection(s *section, in *node) {
	for _, bl := range s.blocks {
		switch {
		case bl.kind == paraBlock:
			b.field(in, keyStatus, bl.lines[:1], bl.no, 0)
			return
		case bl.kind == listBlock && len(bl.items) > 0:
			b.field(in, keyStatus, bl.items[0].lines[:1], bl.items[0].no, bl.items[0].check)
			return
		}
	}
}

// rootList reads the checklist of the whole.
func (b *builder) rootList(s *section) {
	b.root.hasField = true
	var add func(blocks []*block)
	add = func(blocks []*block) {
		for _, bl := range blocks {
			switch bl.kind {
			case listBlock:
				for _, it := range bl.items {
					before := len(b.reqs)
					b.requirement(it.lines)
					if len(b.reqs) == before || strings.HasSuffix(b.reqs[len(b.reqs)-1].Text, ":") || strings.HasSuffix(b.reqs[len(b.reqs)-1].Text, "：") {
						b.reqs = b.reqs[:before]
						add(it.kids)
					}
				}
			case codeBlock:
				for _, c := range b.codeCriteria(bl) {
					b.reqs = append(b.reqs, Item{Text: c.Text, Command: c.Command, Expect: c.Expect, Line: c.Line})
				}
			}
		}
	}
	add(s.blocks)
	if len(b.reqs) == 0 {
		for _, bl := range s.blocks {
			if bl.kind == paraBlock {
				b.requirement(bl.lines)
			}
		}
	}
	for _, sub := range s.subs {
		if r, _ := b.role(sub, false); r == goalRole || r == taskRole {
			b.section(sub, b.root, false)
			continue
		}
		b.rootList(sub)
	}
}

func (b *builder) requirement(lines []line) {
	text := prose(joinLines(lines))
	if text == "" || len(b.reqs) >= 500 {
		return
	}
	q := Item{Text: short(text, 2000), Line: lines[0].no}
	if m := idLike.FindStringSubmatch(plainText(text)); m != nil {
		q.Ref = m[1]
	}
	if found := commandsIn(spans(joinLines(lines)), false); len(found) > 0 {
		q.Command, q.Expect = found[0].command, found[0].expect
	}
	b.reqs = append(b.reqs, q)
}

// board reads a column of a board: its heading is the status of its items.
func (b *builder) board(s *section, in *node) {
	state, _ := stateOf(s.text)
	from := len(in.kids)
	for _, bl := range s.blocks {
		if bl.kind != listBlock {
			b.process([]*block{bl}, in, inGoal, nil)
			continue
		}
		for _, it := range bl.items {
			if placehold.MatchString(strings.TrimSpace(it.lines[0].text)) || prose(it.lines[0].text) == "" {
				continue
			}
			b.itemTask(it, in)
		}
	}
	b.subs(s, in, false)
	var mark func(n *node)
	mark = func(n *node) {
		n.byDefault = Status{State: state, Word: clean(s.text), Line: s.head.no}
		for _, kid := range n.kids {
			mark(kid)
		}
	}
	for _, n := range in.kids[from:] {
		mark(n)
	}
}
