package gate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"gitwf/internal/each"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// Merge is the legal merge of two commits' protected code.
type Merge struct {
	Files map[string]threeway.Entry // what it has wherever the commits differ; "" for an id: nothing
	Unmet []Unmet                   // tasks that stand in the way; then there are no files
}

// Unmet is a task of which the merge would need a newer version, on the branch that is checked out.
type Unmet struct {
	Plan plan.ID
	Task plan.TaskID
	Why  string
	Mend string // the commands that make it and land it
}

// Protects reports whether only approved changes may alter a path.
func (g *Gate) Protects(path string) bool {
	c := g.codeJudge()
	return c != nil && c.guard.protects(path)
}

// Merge finds the merge of two commits that the gate takes: the merge of their protected parts, or, where those are at
// odds, one side's content with the other side's share landed on it. Content that it makes is written.
func (g *Gate) Merge(ctx context.Context, ours, theirs plan.OID) (*Merge, error) {
	c := g.codeJudge()
	if c == nil {
		return &Merge{}, nil
	}
	if err := g.readBranch(ctx); err != nil {
		return nil, err
	}
	d := &coded{guard: &c.guard, parents: []plan.OID{ours, theirs}}
	var sides [2]side
	for i, oid := range d.parents {
		root, err := c.store.TreeOf(ctx, oid)
		if err != nil {
			return nil, err
		}
		l, err := c.ledgerOf(ctx, oid)
		if err != nil {
			return nil, err
		}
		d.roots = append(d.roots, root)
		sides[i] = side{[]plan.OID{oid}, &state{root: root}, l}
	}
	changes, flaws, err := c.diffTrees(ctx, d.roots[0], d.roots[1])
	if len(flaws) > 0 {
		err = &flawError{flaws}
	}
	if err != nil {
		return nil, err
	}
	d.paths = each.Of(changes, func(ch Change) string { return ch.Path })
	m, err := c.newMerge(ctx, d, sides[0], sides[1])
	if err != nil {
		return nil, err
	}
	result, unmet, err := m.resolve(ctx, sides[0], sides[1])
	if err == nil && len(unmet) > 0 {
		var other []Unmet
		if result, other, err = m.resolve(ctx, sides[1], sides[0]); err == nil && len(other) > 0 {
			return &Merge{Unmet: unmet}, nil
		}
	}
	if err != nil {
		return nil, err
	}
	files := map[string]threeway.Entry{}
	for _, path := range append(slices.Collect(maps.Keys(result.now)), d.paths...) {
		if files[path], err = c.has(ctx, result, path); err != nil {
			return nil, err
		}
	}
	return &Merge{Files: files}, c.batch.Flush(ctx)
}

// resolve lands one side's share on the other side, as far as the two are at odds.
func (m *mergeCase) resolve(ctx context.Context, mine, other side) (*state, []Unmet, error) {
	at := &codeStep{state: m.state(), ledger: m.joined}
	tasks := map[changeName]bool{}
	if len(m.conflicts)+len(m.disputed) > 0 {
		var paths map[string]bool
		tasks, paths = m.share()
		var err error
		if at.state, at.ledger, err = m.onto(ctx, mine, other, tasks, paths); err != nil {
			return nil, nil, err
		}
	}
	q := m.search(nil, func(changeName, bool) bool { return true })
	q.tried, q.atStart = map[*change]string{}, true
	todo := slices.SortedStableFunc(maps.Keys(tasks), changeName.compare)
	for again := true; again; {
		again = false
		for _, task := range todo {
			if m.shared(task, at.ledger.of(task), mine, other) {
				continue
			}
			next, err := m.landShare(ctx, q, at, task, other.ledger.of(task))
			if err != nil {
				return nil, nil, err
			}
			if next != nil {
				at, again = next, true
			}
		}
	}
	for task := range at.ledger.undone() {
		next, err := q.takeBack(ctx, at, at.ledger.of(task).top().change)
		if err != nil {
			return nil, nil, err
		}
		if next != nil {
			at = next
		}
	}
	var unmet []Unmet
	undone := at.ledger.undone()
	for task := range undone {
		tasks[task] = true
	}
	for _, task := range slices.SortedStableFunc(maps.Keys(tasks), changeName.compare) {
		if m.shared(task, at.ledger.of(task), mine, other) && !undone[task] {
			continue
		}
		u := Unmet{Plan: task.plan, Task: task.task, Why: "no version of it can land on both sides' content"}
		for _, ch := range q.versionsOf(task) {
			u.Why = cmp.Or(q.tried[ch], u.Why)
			u.Mend = m.landHint(ctx, ch) + " || " + m.remakeHint(ctx, ch)
		}
		unmet = append(unmet, u)
	}
	return at.state, unmet, nil
}

// landShare makes a task as the other side has it: in its versions, or in a newer one.
func (m *mergeCase) landShare(ctx context.Context, q *search, at *codeStep, task changeName,
	theirs standing) (*codeStep, error) {
	if len(theirs.stack) == 0 {
		if top := at.ledger.of(task).top(); top != nil {
			return q.takeBack(ctx, at, top.change)
		}
		return nil, nil
	}
	start := at
	for _, l := range theirs.stack {
		if at.ledger.of(task).has(l.version) {
			continue
		}
		next, err := q.undoOrLand(ctx, at, l.change)
		if err != nil {
			return nil, err
		}
		if next == nil {
			break
		}
		at = next
	}
	if at.ledger.of(task).newest() == theirs.newest() {
		return at, nil
	}
	for _, ch := range slices.Backward(q.versionsOf(task)) {
		if ch.version <= theirs.newest() || ch.lapsed != "" {
			continue
		}
		if next, err := q.undoOrLand(ctx, start, ch); next != nil || err != nil {
			return next, err
		}
	}
	return nil, nil
}

func (q *search) undoOrLand(ctx context.Context, at *codeStep, ch *change) (*codeStep, error) {
	if ch.undoes != nil {
		return q.undo(ctx, at, ch)
	}
	return q.land(ctx, at, ch)
}

// versionsOf lists the versions of a task, the oldest first.
func (c *code) versionsOf(task changeName) []*change {
	list := each.If(c.lib.all, func(ch *change) bool { return ch.ofTask() == task })
	slices.SortFunc(list, func(a, b *change) int { return a.version - b.version })
	return list
}
