package outline

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// all are the goals and tasks in the order of the document, goals first.
func (b *builder) all() []*node {
	var out []*node
	var walk func([]*node)
	walk = func(kids []*node) {
		for _, n := range kids {
			out = append(out, n)
			walk(n.kids)
		}
	}
	if b.root != nil {
		walk(b.root.kids)
	}
	return out
}

func (b *builder) findings() plan.Findings {
	sort.SliceStable(b.fs, func(i, j int) bool { return b.fs[i].Line < b.fs[j].Line })
	const most = 50
	if rest := len(b.fs) - most; rest > 0 {
		b.fs = append(slices.Clip(b.fs[:most]), plan.Finding{Code: plan.CodeMore, File: plain.Line(b.file),
			Message: fmt.Sprintf("and %d more", rest)})
	}
	return b.fs
}

// finish settles what can only be known when everything has been read.
func (b *builder) finish() *Outline {
	b.regroup()
	b.merge()
	nodes := b.all()
	if len(nodes) == 0 {
		b.find("no-tasks", max(b.titleAt, 1), "no task was found in the outline",
			"headings, checklist items or table rows that are tasks", "none",
			"### Task 1: Parse the file")
		return nil
	}
	b.ids(nodes)
	b.dependencies(nodes)
	for _, n := range nodes {
		b.settle(n)
		b.checkStatus(n)
		if len(n.kids) == 0 {
			b.checkLeaf(n)
		}
	}
	b.checkCommands(nodes)
	o := &Outline{File: plain.Line(b.file), Title: b.title, Requirements: b.reqs, TopTask: b.topTask()}
	if o.Title == "" {
		o.Title = short(clean(strings.TrimSuffix(path.Base(b.file), path.Ext(b.file))), 200)
	}
	if o.Title == "" || o.Title == "." {
		o.Title = nodes[0].label.title
	}
	if o.TopTask == "" {
		o.TopTask = o.Title
	}
	if o.Requirements == nil {
		o.Requirements = []Item{}
	}
	for i := range o.Requirements {
		o.Requirements[i].ID = "R" + strconv.Itoa(i+1)
	}
	for _, n := range b.root.kids {
		o.Tasks = append(o.Tasks, n.task())
	}
	return o
}

// topTask is what the whole is for, in the words of the source.
func (b *builder) topTask() string {
	text := b.goalText
	if len(text) == 0 {
		text = append(append(text, b.intro...), b.root.text...)
	} else {
		b.notRead(b.introAt)
		b.took(b.goalAt...)
	}
	var parts []string
	for _, t := range text {
		if t != "" {
			parts = append(parts, t)
		}
	}
	return short(strings.Join(parts, "\n"), 20000)
}

// regroup hangs the rows of a table below the milestones that a column of theirs names.
func (b *builder) regroup() {
	groups := map[string]*node{}
	for _, n := range b.all() {
		if n.group == "" && (n.label.kind == goalWord || len(n.kids) > 0) {
			for _, name := range []string{norm(n.label.id), norm(n.label.title), norm(n.label.id + n.label.title)} {
				if name != "" && groups[name] == nil {
					groups[name] = n
				}
			}
		}
	}
	for _, n := range b.all() {
		if n.group == "" || n.kind != fromRow && n.parent != b.root || isNothing(n.group) {
			continue
		}
		of := readLabel(n.group)
		g := groups[norm(n.group)]
		if g == nil && of.id != "" {
			g = groups[norm(of.id)]
		}
		if g == nil {
			of.kind = goalWord
			g = b.add(n.parent, n.kind, of, n.line)
			groups[norm(n.group)] = g
			if of.id != "" {
				groups[norm(of.id)] = g
			}
		}
		if g == n || g.below(n) || g == n.parent {
			continue
		}
		n.move(g)
	}
}

func norm(s string) string {
	return strings.Map(func(r rune) rune {
		if isWord(r) || r == '.' {
			return r
		}
		return -1
	}, strings.ToUpper(s))
}

func (n *node) below(above *node) bool {
	for p := n.parent; p != nil; p = p.parent {
		if p == above {
			return true
		}
	}
	return false
}

func (n *node) move(to *node) {
	n.drop()
	n.parent = to
	to.kids = append(to.kids, n)
}

func (n *node) drop() {
	n.parent.kids = slices.DeleteFunc(n.parent.kids, func(k *node) bool { return k == n })
}

// merge joins what the source says twice of one task: in a table or a list that sums up, and below a heading of its
// own. Two headings, or two items of one list, with one id are a mistake.
func (b *builder) merge() {
	byID := map[string][]*node{}
	var order []string
	for _, n := range b.all() {
		id := norm(n.label.id)
		if id == "" || !n.label.strong || n.kind != fromHeading && numeric(n.label.id) && !strings.Contains(n.label.id, ".") {
			continue
		}
		if n.label.kind == goalWord {
			id = "goal " + id
		}
		if byID[id] == nil {
			order = append(order, id)
		}
		byID[id] = append(byID[id], n)
	}
	for _, id := range order {
		same := byID[id]
		if len(same) < 2 {
			continue
		}
		main := same[0]
		for _, n := range same {
			if n.kind < main.kind || n.kind == main.kind && len(n.kids) > 0 && len(main.kids) == 0 {
				main = n
			}
		}
		for _, n := range same {
			if n != main && !n.below(main) && !main.below(n) {
				b.compare(main, n)
			}
			switch {
			case n == main || n.below(main) || main.below(n):
			case n.kind != main.kind, n.kind == fromItem && n.parent != main.parent && len(n.statuses) == 0 &&
				len(n.acceptance) == 0 && len(n.kids) == 0: // it is only spoken of
				main.take(n)
			case n.parent == main.parent:
				b.find("duplicate-id", n.line, "two tasks have the same id", "an id of its own",
					fmt.Sprintf("%s, also on line %d (%s)", n.label.id, main.line, main.label.title), "")
			}
		}
	}
}

// take moves what a lesser mention of the task knows into n, where n does not know it itself.
func (n *node) take(other *node) {
	if len(n.statuses) == 0 && n.label.status.State == "" {
		n.statuses, n.badStatus = other.statuses, cmp.Or(n.badStatus, other.badStatus)
		n.label.status = other.label.status
	}
	if len(n.acceptance) == 0 {
		n.checks = other.checks
	}
	n.acceptance = append(n.acceptance, other.acceptance...)
	n.evidence = append(n.evidence, other.evidence...)
	if n.days == 0 {
		n.days = other.days
	}
	if len(n.needs) == 0 {
		n.needs, n.needsLine = other.needs, other.needsLine
	}
	n.paths = append(n.paths, other.paths...)
	n.files = append(n.files, other.files...)
	n.covers = append(n.covers, other.covers...)
	n.text = append(n.text, other.text...)
	for _, kid := range slices.Clone(other.kids) {
		kid.move(n)
	}
	other.drop()
}

// checkLeaf settles the criteria of a task where it has only steps.
func (b *builder) checkLeaf(n *node) {
	switch {
	case len(n.steps) == 0:
	case len(n.acceptance) == 0:
		// A step that has to fail, such as a test before the work, is no condition of the end.
		n.acceptance = slices.DeleteFunc(n.steps, func(c Criterion) bool {
			return c.Command != "" && nonZero.Get().MatchString(strings.ToLower(c.Expect))
		})
		n.checks = n.stepStates
	default:
		for _, s := range n.steps {
			b.describe(n, "- "+s.Text)
		}
	}
}

// checkCommands refuses commands with characters that hide what they do.
func (b *builder) checkCommands(nodes []*node) {
	bad := func(c string) bool {
		return strings.ContainsFunc(c, func(r rune) bool { return r != '\n' && r != '\t' && hostile(r) })
	}
	check := func(command string, no int) {
		if bad(command) {
			b.find("hidden-character", no, "the command contains a control character or an invisible one",
				"characters that can be seen", strconv.Quote(plain.Line(command)), "")
		}
	}
	for _, n := range nodes {
		for _, c := range n.acceptance {
			check(c.Before+c.Command, c.Line)
		}
	}
	for _, q := range b.reqs {
		check(q.Before+q.Command, q.Line)
	}
}

func (n *node) task() *Task {
	t := &Task{
		ID: n.id, SourceID: short(clean(n.label.id), 100), Goal: len(n.kids) > 0, Title: n.label.title, Status: n.status(),
		Acceptance: n.acceptance,
		Evidence:   n.evidence, EstimateDays: n.days, Needs: short(strings.Join(n.needs, "; "), 1000), Deliverables: n.paths,
		Covers: n.covers, Line: n.line,
		Description: short(strings.Join(n.text, "\n"), 15000),
	}
	if t.Title == "" {
		t.Title = string(n.id)
	}
	if t.Acceptance == nil {
		t.Acceptance = []Criterion{}
	}
	for i := range t.Acceptance {
		t.Acceptance[i].Optional = t.Acceptance[i].Optional || n.label.optional
	}
	if len(t.Deliverables) == 0 && len(n.files) > 0 {
		t.Deliverables = n.files
	}
	t.Deliverables = slices.Compact(t.Deliverables)
	for _, d := range n.deps {
		if !slices.Contains(t.DependsOn, d.id) {
			t.DependsOn = append(t.DependsOn, d.id)
		}
	}
	for _, k := range n.kids {
		t.Tasks = append(t.Tasks, k.task())
	}
	return t
}
