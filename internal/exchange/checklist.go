package exchange

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/pattern"
)

// The marks of the items of Spec Kit and OpenSpec.
var (
	specKitLine  = pattern.Compile(`(?m)^\s{0,3}[-*+]\s+\[[ xX]\]\s+\**T[0-9]{3,}\b`)
	openSpecLine = pattern.Compile(`(?m)^\s{0,3}[-*+]\s+\[[ xX]\]\s+\**[0-9]+\.[0-9]+(?:\.[0-9]+)*\.?\**\s`)
	groupLine    = pattern.Compile(`(?m)^##\s+[0-9]+\.\s`)
)

func isSpecKit(_, text string) bool { return specKitLine.Get().MatchString(text) }

func isOpenSpec(file, text string) bool {
	return openSpecLine.Get().MatchString(text) && (groupLine.Get().MatchString(text) ||
		strings.Contains(file, "openspec/")) ||
		strings.Contains(file, "openspec/changes/") && boxLine.Get().MatchString(text)
}

// checklist reads the tasks.md of spec-kit or of OpenSpec: items with ids, in phases or groups. Both are worked through
// from top to bottom, so a task waits for the one before it, unless the source says that they go together.
func (r *reader) checklist(f Found, o Options) *Imported {
	text, ok := r.read(f.Path)
	if !ok {
		return nil
	}
	list, _, title, before := boxes(text)
	src := source{format: f.Format, name: f.Name, path: f.Path, top: before}
	if title = listTitle.Get().ReplaceAllString(bare(title), ""); title != "" {
		src.name = title
	}
	c := &checklistReader{reader: r, file: f.Path, src: &src, groups: map[int]*group{}}
	if f.Format == formatOpenSpec {
		r.openSpecBeside(f, &src)
	}
	for _, b := range list {
		c.add(b, f.Format)
	}
	c.order(f.Format)
	return r.assemble(src, o)
}

var listTitle = pattern.Compile(`(?i)^(?:implementation )?tasks?(?: list)?\s*(?:[:：—–-]\s*|$)`)

// group is a phase or a numbered group with its tasks.
type group struct {
	it    *item
	head  head
	tasks []*item
}

type checklistReader struct {
	*reader
	file          string
	src           *source
	groups        map[int]*group // by the line of the heading
	groupsInOrder []*group
	first         []*item // outside of any group
	stack         []*box
	made          map[*box]*item
	alone         map[*item]bool // [P]
}

var (
	taskID   = pattern.Compile(`^\**(T[0-9]{3,}[a-zA-Z]?)\**\s*[:.]?\s*(.*)$`)
	taskTag  = pattern.Compile(`^\s*\[([^\]]{1,40})\]\s*`)
	groupNo  = pattern.Compile(`^([0-9]+(?:\.[0-9]+)*)\.?\s+(.*)$`)
	itemNo   = pattern.Compile(`^\**([0-9]+(?:\.[0-9]+)+)\.?\**\s+(.*)$`)
	phaseNo  = pattern.Compile(`(?i)^phase\s+([0-9]+(?:\.[0-9]+)?)\b`)
	waitsFor = pattern.Compile(`(?i)\b(?:depends on|requires|after|blocked by)\b[:\s]*((?:T[0-9]{3,}(?:\s*(?:,|and|&)\s*)?)+)`)
	taskRef  = pattern.Compile(`T[0-9]{3,}`)
)

// add makes an item of a box. A box without an id below one with an id is a criterion of that.
func (c *checklistReader) add(b *box, format system) {
	if c.made == nil {
		c.made, c.alone = map[*box]*item{}, map[*item]bool{}
	}
	for len(c.stack) > 0 && c.stack[len(c.stack)-1].indent >= b.indent {
		c.stack = c.stack[:len(c.stack)-1]
	}
	var above *item
	if len(c.stack) > 0 {
		above = c.made[c.stack[len(c.stack)-1]]
	}
	it := &item{file: c.file, line: b.line, word: "[" + b.mark + "]", state: boxState(b.mark),
		fields: map[string]any{"text": b.text}}
	if len(b.more) > 0 {
		it.fields["more"] = anyList(b.more)
		it.description = strings.Join(b.more, "\n")
	}
	id, text := "", bare(b.text)
	if format == formatSpecKit {
		if m := taskID.Get().FindStringSubmatch(b.text); m != nil {
			id, text = m[1], bare(m[2])
			it.wish = "T-" + m[1][1:]
			text = c.tags(it, text)
		}
	} else if m := itemNo.Get().FindStringSubmatch(b.text); m != nil {
		id, text = m[1], bare(m[2])
		it.wish = id
	}
	if id == "" && above != nil {
		above.criteria = append(above.criteria, criterion{text: text})
		more, _ := above.fields["boxes"].([]any)
		above.fields["boxes"] = append(more, map[string]any{"text": b.text, "status": it.word, "line": int64(b.line)})
		return
	}
	if id == "" {
		id = fmt.Sprintf("line %d", b.line)
	}
	it.source, it.title = id, text
	for _, m := range waitsFor.Get().FindAllStringSubmatch(b.text, -1) {
		for _, d := range taskRef.Get().FindAllString(m[1], -1) {
			if d != id {
				it.deps = appendNew(it.deps, d)
			}
		}
	}
	it.files = pathsIn(strings.Join(append([]string{b.text}, b.more...), "\n"))
	c.stack = append(c.stack, b)
	c.made[b] = it
	c.place(it, above, b, format)
}

// tags takes [P] and [US1] from the beginning of a task's text.
func (c *checklistReader) tags(it *item, text string) string {
	var tags []any
	for {
		m := taskTag.Get().FindStringSubmatch(text)
		if m == nil {
			break
		}
		tags = append(tags, m[1])
		if m[1] == "P" {
			c.alone[it] = true
		}
		text = strings.TrimSpace(text[len(m[0]):])
	}
	if tags != nil {
		it.fields["tags"] = tags
	}
	return text
}

// place puts an item below the one that it stands in, or its group.
func (c *checklistReader) place(it, above *item, b *box, format system) {
	var h *head
	for i := range b.heads {
		if b.heads[i].level <= 2 || i == 0 {
			h = &b.heads[i]
		}
	}
	if len(b.heads) > 0 && h != &b.heads[len(b.heads)-1] {
		it.fields["section"] = b.heads[len(b.heads)-1].text
	}
	switch {
	case above != nil:
		it.parent = above.source
	case h == nil:
		c.first = append(c.first, it)
	default:
		g := c.groups[h.line]
		if g == nil {
			g = c.newGroup(*h, format)
		}
		it.parent = g.it.source
		g.tasks = append(g.tasks, it)
	}
	c.src.items = append(c.src.items, it)
}

func (c *checklistReader) newGroup(h head, format system) *group {
	it := &item{source: fmt.Sprintf("section %d", h.line), title: bare(h.text), file: c.file, line: h.line,
		fields: map[string]any{"heading": h.text}}
	if m := groupNo.Get().FindStringSubmatch(it.title); m != nil && format == formatOpenSpec {
		it.source, it.wish, it.title = m[1], m[1], m[2]
	} else if m := phaseNo.Get().FindStringSubmatch(it.title); m != nil {
		it.wish = "PHASE-" + m[1]
	}
	if it.wish == "" {
		it.wish = fmt.Sprintf("PHASE-%d", len(c.groupsInOrder)+1)
	}
	g := &group{it: it, head: h}
	c.groups[h.line] = g
	c.groupsInOrder = append(c.groupsInOrder, g)
	c.src.items = append(c.src.items, it)
	return g
}

var (
	storyHead  = pattern.Compile(`(?i)user stor|\bUS[0-9]+\b`)
	groundHead = pattern.Compile(`(?i)setup|foundation|prerequisite|blocking|infrastructure`)
	lastHead   = pattern.Compile(`(?i)polish|final|cross-cutting|cleanup|release`)
)

// order makes dependencies of the order in which the source is worked through.
func (c *checklistReader) order(format system) {
	sequence(c.first, c.alone)
	for i, g := range c.groupsInOrder {
		sequence(g.tasks, c.alone)
		for j, before := range c.groupsInOrder[:i] {
			near := j == i-1
			story := format == formatSpecKit && storyHead.Get().MatchString(g.head.text) &&
				!lastHead.Get().MatchString(g.head.text)
			switch {
			case story && storyHead.Get().MatchString(before.head.text): // stories stand by themselves
			case near, groundHead.Get().MatchString(before.head.text), lastHead.Get().MatchString(g.head.text):
				g.it.follow(before.it)
			}
		}
	}
}

// follow makes a dependency that only the order of the source says: where it leads in a circle it goes without a word.
func (it *item) follow(before *item) {
	if slices.Contains(it.deps, before.source) {
		return
	}
	it.deps = append(it.deps, before.source)
	it.soft = append(it.soft, before.source)
}

// sequence lets each task wait for the one before it; those that may go together wait for the last one that may not,
// and what comes behind them for all of them.
func sequence(tasks []*item, together map[*item]bool) {
	var last []*item // what the next task by itself waits for
	var ground *item // what tasks that go together wait for
	for _, it := range tasks {
		if together[it] {
			if ground != nil {
				it.follow(ground)
			}
			if len(last) == 1 && last[0] == ground {
				last = nil
			}
			last = append(last, it)
			continue
		}
		for _, before := range last {
			it.follow(before)
		}
		last, ground = []*item{it}, it
	}
}

var (
	requirement = pattern.Compile(`(?m)^###\s+Requirement:\s*(.+?)\s*$`)
	why         = pattern.Compile(`(?ims)^##\s+(?:why|intent|problem)\b[^\n]*\n(.*?)(?:^##\s|\z)`)
)

// openSpecBeside reads the files next to an OpenSpec change's tasks: the proposal, which says what was asked for, and
// the requirements that the change adds or modifies.
func (r *reader) openSpecBeside(f Found, src *source) {
	dir := path.Dir(f.Path)
	src.files = map[string]any{}
	keep := func(file, name string) string {
		if !r.has(file) {
			return ""
		}
		text, ok := r.read(file)
		if !ok {
			return ""
		}
		const most = 128 << 10
		if len(text) > most {
			r.note("long-document", file, 0, "is too long to be kept in the plan; only its beginning is")
			text = text[:strings.LastIndexByte(text[:most], '\n')+1]
		}
		src.files[name] = text
		return text
	}
	proposal := keep(path.Join(dir, "proposal.md"), "proposal.md")
	keep(path.Join(dir, "design.md"), "design.md")
	if m := why.Get().FindStringSubmatch(proposal); m != nil {
		src.top = strings.TrimSpace(m[1])
	}
	specs := path.Join(dir, "specs")
	if !isDir(r.fsys, specs) {
		return
	}
	for _, name := range r.list(specs) {
		text := keep(path.Join(specs, name, "spec.md"), "specs/"+name+"/spec.md")
		for _, m := range requirement.Get().FindAllStringSubmatch(text, -1) {
			src.asked = append(src.asked, name+": "+m[1])
		}
	}
}
