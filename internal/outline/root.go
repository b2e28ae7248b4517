package outline

import "strings"

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
	if m := idLike.get().FindStringSubmatch(plainText(text)); m != nil {
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
			if placehold.get().MatchString(strings.TrimSpace(it.lines[0].text)) || prose(it.lines[0].text) == "" {
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
