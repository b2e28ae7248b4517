package outline

import (
	"cmp"
	"slices"
	"strings"
)

// openField is a field that waits for its value.
type openField struct {
	key     key
	sibling bool // it is an item of a list, and the value may follow as items of the same list
	used    bool
	last    int // the line that the field ends on, if only a list right below it can be part of its value
}

// process reads blocks in the order of the document, for the goal or task n.
func (b *builder) process(blocks []*block, n *node, m mode) {
	var open *openField
	for _, bl := range blocks {
		switch bl.kind {
		case paraBlock:
			open = b.paragraph(bl, n, m, open)
		case listBlock:
			open = b.list(bl, n, m, open)
		case codeBlock:
			switch {
			case open == nil || open.last > 0:
				b.looseCode(bl, n, m)
			case open.key == keyCommand:
				asStep(n, func() { b.values(n, keyCommand, []*block{bl}) })
			default:
				b.values(n, open.key, []*block{bl})
				open.used = true
			}
		case tableBlock:
			if open != nil && open.last == 0 && (open.key == keyAcceptance || open.key == keyVerify) {
				b.values(n, open.key, []*block{bl})
				open = nil
				continue
			}
			b.table(bl, n, m)
		}
	}
}

// looseCode reads code that no field waits for: a command with a threshold is a criterion all the same.
func (b *builder) looseCode(bl *block, n *node, m mode) {
	for _, c := range b.codeCriteria(bl) {
		if c.Expect != "" || m != inDoc {
			b.took(bl.lines...)
		}
		switch {
		case c.Expect == "" && m != inDoc:
			b.describe(n, c.Text, bl.lines...)
		case c.Expect == "":
		case n == b.root:
			b.require(c)
		default:
			b.criterion(n, c, 0)
		}
	}
}

func (b *builder) paragraph(bl *block, n *node, m mode, open *openField) *openField {
	parts := fieldsIn(bl.lines)
	known := slices.ContainsFunc(parts, func(p part) bool { return p.key != "" })
	for _, p := range parts {
		b.took(p.raw...)
		if p.key == "" {
			switch {
			case open != nil && !open.sibling && !open.used:
				b.value(n, open.key, p.lines, 0)
				open.used = open.key != keyAcceptance
			case b.promote(n, p.lines):
			case m == inDoc && known && frontLine.Get().MatchString(p.text()):
			case m == inDoc:
				b.intro, b.introAt = append(b.intro, prose(p.text())), append(b.introAt, p.lines...)
				open = nil
			default:
				b.describe(n, p.text(), p.lines...)
				open = nil
			}
			continue
		}
		if (p.key == keyCommand || p.key == keyExpect) && m == inTask &&
			(open == nil || open.key != keyAcceptance && open.key != keyVerify) {
			asStep(n, func() { b.field(n, p.key, p.lines, 0) })
			open = nil
			if len(p.lines) == 0 && p.key == keyCommand {
				open = &openField{key: keyCommand}
			}
			continue
		}
		open = nil
		b.field(n, p.key, p.value(), 0)
		if len(p.lines) == 0 || endsInColon(p.text()) {
			open = &openField{key: p.key}
		} else if p.key == keyAcceptance && len(commandsIn(spans(p.text()), false)) == 0 {
			open = &openField{key: p.key, used: true, last: p.lines[len(p.lines)-1].no}
		}
	}
	return open
}

func endsInColon(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasSuffix(s, ":") || strings.HasSuffix(s, "：")
}

// closes reports that an item with a field ends the open field rather than being part of its value.
func (o *openField) closes(k key) bool {
	if o.sibling {
		return k != keyTitle && k != keyID && k != keyGroup && k != keyRequire
	}
	switch k {
	case keyStatus, keyEvidence, keyDepends, keyEstimate, keyCovers, keyAcceptance, keyOther:
		return k != o.key
	case keyVerify, keySteps, keyDescription, keyDeliverable:
		return o.key == keyDescription || o.key == keyOther || o.key == keySteps
	}
	return false
}

func (b *builder) list(bl *block, n *node, m mode, open *openField) *openField {
	if open != nil && open.last > 0 && bl.no != open.last+1 {
		open = nil
	}
	if open != nil && !open.sibling && open.used && open.key != keyAcceptance {
		open = nil
	}
	tasks := m != inTask && slices.ContainsFunc(bl.items, explicitItem)
	for _, it := range bl.items {
		parts := fieldsIn(it.lines)
		field := len(parts) > 0 && parts[0].key != ""
		if open != nil && (!field || !open.closes(parts[0].key)) && (it.check == 0 || !open.sibling || m == inTask) &&
			!(m != inTask && explicitItem(it)) {
			b.valueItem(n, open.key, it)
			open.used = true
			continue
		}
		if field && !(m != inTask && parts[0].key == keyTitle && (it.check != 0 || explicitItem(it))) {
			open = b.fieldItem(it, parts, n)
			continue
		}
		open = nil
		if tasks && it.check != 0 {
			b.itemTask(it, n)
			continue
		}
		b.plainItem(it, n, m)
	}
	if open != nil && open.sibling {
		return &openField{key: open.key} // it stood in the list, and ends with it
	}
	return open
}

// fieldItem reads an item that is a field, with its value on the line, below it, or behind it.
func (b *builder) fieldItem(it *item, parts []part, n *node) *openField {
	b.took(it.lines...)
	for _, p := range parts {
		b.field(n, p.key, p.value(), it.check)
	}
	last := parts[len(parts)-1]
	b.values(n, last.key, it.kids)
	if len(it.kids) == 0 && len(last.lines) == 0 {
		return &openField{key: last.key, sibling: true}
	}
	return nil
}

// plainItem reads an item that is no field: a task, a criterion, or text.
func (b *builder) plainItem(it *item, n *node, m mode) {
	switch {
	case m == inTask:
		if explicitItem(it) && childTask(it) {
			b.itemTask(it, n)
			return
		}
		if it.check != 0 {
			asStep(n, func() { b.valueItem(n, keyAcceptance, it) })
			return
		}
		if !b.promote(n, it.lines) {
			b.describe(n, joinLines(it.lines), it.lines...)
		}
		b.process(it.kids, n, inTask)
	case explicitItem(it), m == inGoal && it.check != 0 && !commandFirst(it), m == inDoc && b.loose && it.check != 0 &&
		!commandFirst(it):
		b.itemTask(it, n)
	case it.check != 0 || commandFirst(it) && m == inGoal:
		b.valueItem(n, keyAcceptance, it)
		n.hasField = true
	case tasksIn(it.kids) && !containers.Get().MatchString(readLabel(it.lines[0].text).title):
		goal := b.add(n, fromItem, readLabel(it.lines[0].text), it.no)
		b.process(it.kids, goal, inGoal)
	case m == inDoc:
		if !b.promote(n, it.lines) {
			b.took(it.lines...)
			b.intro, b.introAt = append(b.intro, prose(joinLines(it.lines))), append(b.introAt, it.lines...)
		}
		b.process(it.kids, n, m)
	case b.promote(n, it.lines):
		b.process(it.kids, n, m)
	default:
		b.describe(n, joinLines(it.lines), it.lines...)
		if l := readLabel(it.lines[0].text); m == inGoal && l.strong && l.id != "" && l.kind != noWord {
			b.itemTask(it, n)
			return
		}
		b.process(it.kids, n, m)
	}
}

// tasksIn reports lists with tasks in them.
func tasksIn(blocks []*block) bool {
	for _, bl := range blocks {
		for _, it := range bl.items {
			if explicitItem(it) || tasksIn(it.kids) {
				return true
			}
		}
	}
	return false
}

// asStep has what f reads as criteria go to the steps of n: what is to be ticked off there is a criterion only if the
// task says nothing of acceptance.
func asStep(n *node, f func()) {
	acceptance, checks := n.acceptance, n.checks
	n.acceptance, n.checks = n.steps, n.stepStates
	f()
	n.steps, n.stepStates = n.acceptance, n.checks
	n.acceptance, n.checks = acceptance, checks
}

// childTask reports an item of a task that is a task of its own: it has the fields of one, or calls itself one.
func childTask(it *item) bool {
	own := ownFields(it)
	l := readLabel(it.lines[0].text)
	return own.status || own.acceptance || l.kind == taskWord && l.id != "" && !isStep(it.lines[0].text) ||
		it.check != 0 && (l.strong && !numeric(l.id) || strings.Contains(it.number, "."))
}

func isStep(s string) bool {
	s = strings.ToLower(plainText(s))
	return strings.HasPrefix(s, "step") || strings.HasPrefix(s, "步骤")
}

// itemTask makes a task of an item.
func (b *builder) itemTask(it *item, parent *node) {
	first, rest := title(it.lines[0])
	if k, v := splitField(first); k == keyTitle && v != "" {
		first = v
	}
	l := readLabel(withoutCommand(first))
	l.takeTags()
	said := l.status
	if it.check != 0 {
		l.status = Status{State: words().boxes[it.check], Word: "[" + string(it.check) + "]"}
	}
	if l.id == "" && it.number != "" && (it.check != 0 || strings.Contains(it.number, ".")) {
		l.id, l.strong = it.number, strings.Contains(it.number, ".")
	}
	if own := ownFields(it); l.id == "" && (own.status || own.acceptance) {
		l.anyID()
	}
	n := b.add(parent, fromItem, l, it.no)
	if said.State != "" && it.check != 0 {
		said.Line = it.no
		n.statuses = append(n.statuses, said)
	}
	n.covers = append(n.covers, l.tags...)
	n.takeDepends(first)
	b.titleCriteria(n, it.lines[0], first)
	var own []*block
	if more := append(rest, it.lines[1:]...); len(more) > 0 {
		own = append(own, &block{kind: paraBlock, lines: more, no: more[0].no})
	}
	b.process(append(own, it.kids...), n, inTask)
}

// takeDepends takes dependencies that stand in parentheses in the name of a task: "Print (depends on: T1)".
func (n *node) takeDepends(name string) {
	for _, m := range dependsTag.Get().FindAllStringSubmatch(name, 3) {
		n.needs, n.needsLine = append(n.needs, short(prose(m[1]), 500)), n.line
	}
	n.label.title = cmp.Or(clean(dependsTag.Get().ReplaceAllString(n.label.title, " ")), n.label.title)
}

// withoutCommand is a title without the command that it ends in: that becomes a criterion.
func withoutCommand(s string) string {
	parts := spans(s)
	found := titleCommands(parts)
	if len(found) == 0 || found[0].expect == "" {
		return s
	}
	before := strings.TrimRight(rejoin(parts[:found[0].start]), " :：,，—–-(（")
	if len([]rune(plainText(before))) < 4 {
		return s
	}
	return before
}

// titleCommands are the commands of a title. A script that the title only speaks of is none.
func titleCommands(parts []span) []foundCommand {
	return slices.DeleteFunc(commandsIn(parts, false), func(f foundCommand) bool {
		return !looksCommand(f.command, false)
	})
}

// titleCriteria takes a command with its expectation out of a title: "Parser: `go test ./...` -> exit 0".
func (b *builder) titleCriteria(n *node, l line, first string) {
	for _, f := range titleCommands(spans(first)) {
		b.criterion(n, Criterion{Text: short(prose(first), 2000), Command: f.command, Expect: f.expect, Line: l.no}, 0)
	}
}
