package outline

import (
	"slices"
	"strings"
)

// whole makes the one task of a document that has no other: a file for each task is common.
func (b *builder) whole(doc *section) {
	r := b.root
	if len(r.statuses) == 0 && len(r.acceptance) == 0 && len(b.reqs) == 0 {
		b.bullets(doc)
		return
	}
	if !r.hasField || b.title == "" {
		return
	}
	t := &node{}
	*t = *r
	t.kids, t.label.title = nil, b.title
	t.line = max(b.titleAt, 1)
	for _, q := range b.reqs {
		t.acceptance = append(t.acceptance, q.Criterion)
	}
	b.reqs = nil
	b.took(b.rootAt...)
	t.text = append(t.text, b.intro...)
	b.root = &node{line: r.line, kids: []*node{t}}
	t.parent = b.root
	b.count++
}

// bullets makes tasks of the items of a document that has nothing else: those with items below them that are no fields
// are goals.
func (b *builder) bullets(doc *section) {
	blocks := doc.blocks
	switch {
	case len(doc.subs) == 1 && len(doc.subs[0].subs) == 0:
		blocks = doc.subs[0].blocks
	case len(doc.subs) > 0:
		return
	}
	for _, bl := range blocks {
		if bl.kind != listBlock {
			continue
		}
		b.intro, b.root.text = nil, nil
		b.notRead(b.introAt)
		for _, it := range bl.items {
			b.bullet(it, b.root)
		}
	}
}

func (b *builder) bullet(it *item, in *node) {
	if prose(it.lines[0].text) == "" {
		return
	}
	if in != b.root || !slices.ContainsFunc(it.kids, func(bl *block) bool {
		return bl.kind == listBlock && !ownFields(it).fields
	}) {
		b.itemTask(it, in)
		return
	}
	goal := b.add(in, fromItem, readLabel(it.lines[0].text), it.no)
	for _, bl := range it.kids {
		if bl.kind != listBlock {
			b.process([]*block{bl}, goal, inGoal)
			continue
		}
		for _, kid := range bl.items {
			b.bullet(kid, goal)
		}
	}
}

// fieldSection reads a heading that is a field: its paragraphs and lists are the value.
func (b *builder) fieldSection(s *section, in *node, k key, isTask bool) {
	if in == b.root {
		switch k {
		case keyAcceptance, keyRequire:
			b.rootList(s)
			return
		case keyDescription:
			b.purpose(s.blocks)
		}
	}
	b.values(in, k, s.blocks)
	in.hasField = true
	for _, sub := range s.subs {
		if r, _ := b.role(sub, isTask); r == goalRole || r == taskRole {
			b.section(sub, in, isTask)
			continue
		}
		b.fieldSection(sub, in, k, isTask)
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
					if text := joinLines(it.lines); prose(text) == "" || endsInColon(text) {
						b.took(it.lines...)
						add(it.kids)
						continue
					}
					b.requirement(it.lines)
				}
			case codeBlock:
				for _, c := range b.codeCriteria(bl) {
					b.took(bl.lines...)
					b.require(c)
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
	if text == "" || len(b.reqs) >= maxRequirements {
		return
	}
	b.took(lines...)
	c := Criterion{Text: short(text, 2000), Line: lines[0].no}
	if found := commandsIn(spans(joinLines(lines)), false); len(found) > 0 {
		c.Command, c.Expect = found[0].command, found[0].expect
	}
	b.require(c)
	if m := idLike.Get().FindStringSubmatch(plainText(text)); m != nil {
		b.reqs[len(b.reqs)-1].Ref = m[1]
	}
}

// require adds a criterion of the whole.
func (b *builder) require(c Criterion) {
	if len(b.reqs) < maxRequirements {
		b.reqs = append(b.reqs, Item{Criterion: c})
	}
}

// board reads a column of a board: its heading is the status of its items.
func (b *builder) board(s *section, in *node) {
	state, _ := stateOf(s.text)
	from := len(in.kids)
	for _, bl := range s.blocks {
		if bl.kind != listBlock {
			b.process([]*block{bl}, in, inGoal)
			continue
		}
		for _, it := range bl.items {
			if !placehold.Get().MatchString(strings.TrimSpace(it.lines[0].text)) {
				b.itemTask(it, in)
			}
		}
	}
	b.subs(s, in, false)
	for _, n := range in.kids[from:] {
		n.byDefault = Status{State: state, Word: clean(s.text), Line: s.head.no}
	}
}
