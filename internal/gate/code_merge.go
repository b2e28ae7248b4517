package gate

import (
	"context"
	"errors"
	"maps"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// A merge merges the protected parts of its parents, and their ledgers; git's own renames reach outside of those.
// Where the sides are at odds one side's content stands, and the other side's share lands on it again.

// side is a parent of a merge: a commit, or the commits of which earlier folds of an octopus are made.
type side struct {
	commits []plan.OID
	state   *state
	ledger  *ledger
}

// mergeCase is one merge of two sides.
type mergeCase struct {
	*code
	d            *coded
	paths        []string // at which the sides or the result differ, and where renames have them
	ours, theirs side
	base         map[string]threeway.Entry
	unclear      map[string]bool // paths at which several bases conflict
	was          *ledger         // of the base

	merged    map[string]threeway.Entry
	conflicts map[string]bool
	joined    *ledger
	disputed  map[changeName]bool
	undone    map[changeName]bool // tasks that would have a version that was undone for good
	moves     [2]map[string]string
}

// dispute says why parents have no clean merge.
type dispute struct {
	paths   []string
	tasks   []changeName
	octopus bool
}

// mergeSides judges a merge commit; what explains it, or why nothing does.
func (c *code) mergeSides(ctx context.Context, d *coded) (*outcome, error) {
	ledgers := make([]*ledger, len(d.parents))
	for i, p := range d.parents {
		var err error
		if ledgers[i], err = c.ledgerOf(ctx, p); err != nil {
			return nil, err
		}
	}
	if len(d.paths) == 0 && len(slices.Compact(slices.Clone(ledgers))) == 1 {
		return &outcome{ledger: ledgers[0]}, nil
	}
	var ours side
	for i, p := range d.parents {
		next := side{[]plan.OID{p}, &state{root: d.roots[i]}, ledgers[i]}
		if i == 0 {
			ours = next
			continue
		}
		m, err := c.newMerge(ctx, d, ours, next)
		if err != nil {
			return nil, err
		}
		if i == len(d.parents)-1 {
			return m.judge(ctx)
		}
		if len(m.conflicts)+len(m.disputed)+len(m.undone) > 0 {
			return &outcome{ledger: ours.ledger, left: d.paths, dispute: m.dispute(true)}, nil
		}
		ours = side{append(slices.Clone(ours.commits), p), m.state(), m.joined}
	}
	return nil, nil
}

// newMerge merges two sides at the paths that matter.
func (c *code) newMerge(ctx context.Context, d *coded, ours, theirs side) (*mergeCase, error) {
	m := &mergeCase{code: c, d: d, ours: ours, theirs: theirs, merged: map[string]threeway.Entry{},
		conflicts: map[string]bool{}}
	bases, err := c.mergeBases(ctx, ours.commits, theirs.commits[0])
	if err != nil {
		return nil, err
	}
	if m.was, err = c.baseLedger(ctx, bases); err != nil {
		return nil, err
	}
	m.moves[0], m.moves[1] = c.movedSince(m.was, ours.ledger), c.movedSince(m.was, theirs.ledger)
	m.paths = d.paths
	for _, moves := range m.moves {
		for from, to := range moves {
			m.paths = append(slices.Clip(m.paths), from, to)
		}
	}
	slices.Sort(m.paths)
	m.paths = slices.Compact(m.paths)
	if m.base, m.unclear, err = c.virtualBase(ctx, bases, m.paths); err != nil {
		return nil, err
	}
	m.joined, m.disputed = joinLedgers(m.was, ours.ledger, theirs.ledger)
	for task, s := range m.joined.all() { // landed on both sides
		w, o, t := m.was.of(task), ours.ledger.of(task), theirs.ledger.of(task)
		if len(s.stack) > 0 && len(o.stack) > 0 && len(t.stack) > 0 && !o.same(w) && !t.same(w) {
			m.disputed[task] = true
		}
	}
	m.undone = m.joined.undone()
	return m, m.mergePaths(ctx)
}

// movedSince is where landed changes have moved files, and, for those taken back since the base, where they were.
func (c *code) movedSince(base, now *ledger) map[string]string {
	moved := map[string]string{}
	maps.Copy(moved, c.moved(now))
	for _, ch := range c.lib.movers {
		for _, l := range base.of(ch.ofTask()).stack {
			if l.version == ch.version && !now.of(ch.ofTask()).has(ch.version) {
				for from, to := range l.moves {
					if _, other := moved[to]; !other {
						moved[to] = from
					}
				}
			}
		}
	}
	return moved
}

// mergePaths merges three trees path by path. A file that one side has moved is merged where it is now.
func (m *mergeCase) mergePaths(ctx context.Context) error {
	sides := [3]map[string]threeway.Entry{maps.Clone(m.base), {}, {}}
	for i, s := range []*state{m.ours.state, m.theirs.state} {
		for _, path := range m.paths {
			e, err := m.has(ctx, s, path)
			if err != nil {
				return err
			}
			if e.OID != "" {
				sides[i+1][path] = e
			}
		}
	}
	if err := m.follow(sides); err != nil {
		return err
	}
	for _, path := range m.paths {
		base, ours, theirs := sides[0][path], sides[1][path], sides[2][path]
		if m.unclear[path] && ours != theirs {
			m.conflicts[path] = true
			continue
		}
		merged, why, err := m.mergeEntry(ctx, base, ours, theirs)
		if err != nil {
			return err
		}
		if why != "" {
			m.conflicts[path] = true
		}
		m.merged[path] = merged
	}
	for path := range m.conflicts {
		m.merged[path] = threeway.Entry{}
	}
	return nil
}

// follow rewrites base and sides as if a file that one of them has moved had always been where it is now.
func (m *mergeCase) follow(sides [3]map[string]threeway.Entry) error {
	target := func(i int, from string) string {
		to := from
		for hops := 0; hops < len(m.moves[i]) && sides[i+1][to].OID == "" && m.moves[i][to] != ""; hops++ {
			to = m.moves[i][to]
		}
		if to == from || sides[i+1][to].OID == "" || m.base[to].OID != "" {
			return ""
		}
		return to
	}
	for _, from := range slices.Sorted(maps.Keys(m.base)) {
		if m.base[from].OID == "" {
			continue
		}
		to := [2]string{target(0, from), target(1, from)}
		switch {
		case to[0] == "" && to[1] == "":
			continue
		case to[0] != "" && to[1] != "" && to[0] != to[1]:
			m.conflicts[from], m.conflicts[to[0]], m.conflicts[to[1]] = true, true, true
			continue
		}
		at := to[0]
		if at == "" {
			at = to[1]
		}
		for i := range to {
			if to[i] != "" {
				continue
			}
			side := sides[i+1]
			if side[at].OID != "" {
				m.conflicts[from], m.conflicts[at] = true, true
				continue
			}
			side[at] = side[from]
			delete(side, from)
		}
		sides[0][at] = sides[0][from]
		delete(sides[0], from)
	}
	return nil
}

func (m *mergeCase) state() *state {
	now := maps.Clone(m.ours.state.now)
	if now == nil {
		now = map[string]threeway.Entry{}
	}
	maps.Copy(now, m.merged)
	return &state{m.ours.state.root, now}
}

func (m *mergeCase) dispute(octopus bool) *dispute {
	tasks := maps.Clone(m.disputed)
	maps.Copy(tasks, m.undone)
	return &dispute{
		paths:   slices.Sorted(maps.Keys(m.conflicts)),
		tasks:   slices.SortedStableFunc(maps.Keys(tasks), changeName.compare),
		octopus: octopus,
	}
}

// judge explains the commit by merging its parents, or by one side's content and the other's share.
func (m *mergeCase) judge(ctx context.Context) (*outcome, error) {
	o := &outcome{ledger: m.joined}
	sound := func(l *ledger) bool { return len(l.undone()) == 0 }
	if len(m.conflicts)+len(m.disputed) == 0 {
		q := m.search(sound, func(task changeName, back bool) bool { return !back || m.undone[task] })
		err := o.explain(ctx, q, m.state(), m.joined)
		if err == nil && o.steps == nil {
			o.dispute = m.dispute(len(m.d.parents) > 2)
		}
		return o, err
	}
	o.left, o.dispute = m.d.paths, m.dispute(len(m.d.parents) > 2)
	if len(m.d.parents) > 2 {
		return o, nil
	}
	for _, s := range [][2]side{{m.ours, m.theirs}, {m.theirs, m.ours}} {
		again := &outcome{}
		if err := m.replay(ctx, again, s[0], s[1]); err != nil {
			return nil, err
		}
		if again.steps != nil {
			return again, nil
		}
		if o.tried == nil {
			o.tried = again.tried
		}
	}
	return o, nil
}

func (m *mergeCase) search(goal func(*ledger) bool, allow func(changeName, bool) bool) *search {
	return &search{code: m.code, d: m.d, paths: m.paths, named: m.d.named, allow: allow, goal: goal}
}

// share is what conflicts concern: the tasks, and all of their paths.
func (m *mergeCase) share() (tasks map[changeName]bool, paths map[string]bool) {
	tasks, paths = maps.Clone(m.disputed), maps.Clone(m.conflicts)
	for _, moves := range m.moves {
		for from, to := range moves {
			if paths[from] || paths[to] {
				paths[from], paths[to] = true, true
			}
		}
	}
	all := m.joined.all()
	touched := map[changeName][]string{}
	for task := range all {
		three := []standing{m.was.of(task), m.ours.ledger.of(task), m.theirs.ledger.of(task)}
		if three[0].same(three[1]) && three[0].same(three[2]) && !tasks[task] {
			continue
		}
		list := []string{}
		for _, s := range three {
			for _, l := range s.stack {
				list = append(append(list, l.paths...), slices.Collect(maps.Keys(l.effect))...)
			}
		}
		touched[task] = list
	}
	for more := true; more; {
		more = false
		for task, list := range touched {
			if !tasks[task] && !slices.ContainsFunc(list, func(p string) bool { return paths[p] }) {
				continue
			}
			if !tasks[task] {
				tasks[task], more = true, true
			}
			for _, p := range list {
				if !paths[p] {
					paths[p], more = true, true
				}
			}
		}
	}
	return tasks, paths
}

// onto is the merge with one side's content and ledger wherever the sides are at odds.
func (m *mergeCase) onto(ctx context.Context, mine, other side, tasks map[changeName]bool,
	paths map[string]bool) (*state, *ledger, error) {
	s, l := m.state(), m.joined
	for path := range paths {
		e, err := m.has(ctx, mine.state, path)
		if err != nil {
			return nil, nil, err
		}
		s.now[path] = e
	}
	for task := range tasks {
		l = l.with(task, standing{mine.ledger.of(task).stack, m.joined.of(task).floor})
	}
	for task := range tasks { // what the other side undid, and is not here, is undone
		theirs := other.ledger.of(task)
		if top := theirs.top(); top != nil && top.undoes != nil && len(l.of(task).stack) == 0 {
			undone := changeName{plan: top.undoes.PlanID, task: top.undoes.TaskID}
			if len(l.of(undone).stack) == 0 {
				l = l.with(task, standing{[]landing{{change: top.change, at: top.at}}, theirs.floor})
			}
		}
	}
	return s, l, nil
}

// replay explains the commit by one side's content and the other's share, in its versions or newer ones.
func (m *mergeCase) replay(ctx context.Context, o *outcome, mine, other side) error {
	tasks, paths := m.share()
	s, l, err := m.onto(ctx, mine, other, tasks, paths)
	if err != nil {
		return err
	}
	goal := func(l *ledger) bool {
		if len(l.undone()) > 0 {
			return false
		}
		for task := range tasks {
			if !m.shared(task, l.of(task), mine, other) {
				return false
			}
		}
		return true
	}
	q := m.search(goal, func(task changeName, back bool) bool {
		return !back || m.undone[task] ||
			tasks[task] && len(other.ledger.of(task).stack) == 0 && len(m.was.of(task).stack) > 0
	})
	for path := range paths {
		q.paths = append(slices.Clip(q.paths), path)
	}
	return o.explain(ctx, q, s, l)
}

// shared reports whether a task stands as both sides want it: what only one side changed as there, else at the newest
// version of either or a newer one.
func (m *mergeCase) shared(task changeName, now standing, mine, other side) bool {
	was, o, k := m.was.of(task), other.ledger.of(task), mine.ledger.of(task)
	switch {
	case m.undone[task], m.joined.of(task).floor > 0 && len(now.stack) == 0,
		o.same(was) && now.same(k), k.same(was) && now.same(o):
		return true
	case len(now.stack) > 0:
		return now.newest() >= max(o.newest(), k.newest())
	}
	return len(o.stack)+len(k.stack) == 0
}

// mergeBases returns git's merge bases of some commits together and another one; none where git finds none.
func (g *Gate) mergeBases(ctx context.Context, ours []plan.OID, theirs plan.OID) ([]plan.OID, error) {
	args := []string{"merge-base", "--all", "--end-of-options", string(theirs)}
	for _, p := range ours {
		args = append(args, string(p))
	}
	out, err := g.store.Git(ctx, args...)
	if err != nil {
		return nil, ctx.Err()
	}
	bases := gitstore.OIDs(out)
	slices.Sort(bases)
	return bases, nil
}

// baseLedger joins the ledgers of several merge bases.
func (c *code) baseLedger(ctx context.Context, bases []plan.OID) (*ledger, error) {
	var joined *ledger
	for i, oid := range bases {
		next, err := c.ledgerOf(ctx, oid)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			joined = next
			continue
		}
		older, err := c.mergeBases(ctx, bases[i-1:i], oid)
		if err != nil {
			return nil, err
		}
		was, err := c.baseLedger(ctx, older)
		if err != nil {
			return nil, err
		}
		joined, _ = joinLedgers(was, joined, next)
	}
	return joined, nil
}

// virtualBase merges several merge bases, as git does. Where they conflict nothing is clear.
func (c *code) virtualBase(ctx context.Context, bases []plan.OID, paths []string) (map[string]threeway.Entry,
	map[string]bool, error) {
	made, unclear := map[string]threeway.Entry{}, map[string]bool{}
	for i, oid := range bases {
		root, err := c.store.TreeOf(ctx, oid)
		if err != nil {
			return nil, nil, err
		}
		var was map[string]threeway.Entry
		if i > 0 {
			older, err := c.mergeBases(ctx, bases[i-1:i], oid)
			if err != nil {
				return nil, nil, err
			}
			if was, _, err = c.virtualBase(ctx, older, paths); err != nil {
				return nil, nil, err
			}
		}
		for _, path := range paths {
			e, err := c.entryAt(ctx, root, path)
			if err != nil && !errors.As(err, new(*flawError)) {
				return nil, nil, err
			}
			if i > 0 {
				merged, why, err := c.mergeEntry(ctx, was[path], made[path], e)
				if err != nil {
					return nil, nil, err
				}
				e = merged
				unclear[path] = unclear[path] || why != ""
			}
			made[path] = e
		}
	}
	return made, unclear, nil
}
