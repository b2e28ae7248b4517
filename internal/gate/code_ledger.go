package gate

import (
	"context"
	"errors"
	"maps"
	"slices"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// A ledger says which versions of which tasks a commit has. It follows from the commits alone: each is explained by
// steps on top of its parents' ledgers. What a commit's message says decides nothing.

// landing is a version that landed, and what that did.
type landing struct {
	*change
	at     plan.OID        // the commit that landed it; "" for the index
	effect map[string]turn // what it changed there, by path
	moves  map[string]string
}

// standing is what a branch has of one task.
type standing struct {
	stack []landing // the newest version last, each made on those before it
	floor int       // an approved undo took back all versions up to this one, for good
}

func (s standing) top() *landing {
	if len(s.stack) == 0 {
		return nil
	}
	return &s.stack[len(s.stack)-1]
}

// newest is the number of the version on top, 0 if there is none.
func (s standing) newest() int {
	if t := s.top(); t != nil {
		return t.version
	}
	return 0
}

func (s standing) has(version int) bool {
	return slices.ContainsFunc(s.stack, func(l landing) bool { return l.version == version })
}

func (s standing) same(other standing) bool {
	return slices.EqualFunc(s.stack, other.stack, func(a, b landing) bool { return a.version == b.version })
}

// continues reports whether a stack has another one at its bottom.
func (s standing) continues(other standing) bool {
	return len(s.stack) >= len(other.stack) && s.pop(len(s.stack)-len(other.stack)).same(other)
}

func (s standing) pop(n int) standing {
	return standing{s.stack[: len(s.stack)-n : len(s.stack)-n], s.floor}
}

// undone reports whether the version on top was undone for good. An undo itself is above all floors.
func (s standing) undone() bool {
	t := s.top()
	return t != nil && t.version <= s.floor && t.undoes == nil
}

// ledger is immutable. It says what differs from the ledger before it; nil is the empty one.
type ledger struct {
	before *ledger
	own    map[changeName]standing // by task
	deep   int
}

func (l *ledger) of(task changeName) standing {
	for ; l != nil; l = l.before {
		if s, ok := l.own[task]; ok {
			return s
		}
	}
	return standing{}
}

func (l *ledger) with(task changeName, s standing) *ledger {
	const mostLookups = 32
	if l != nil && l.deep == mostLookups {
		all := l.all()
		all[task] = s
		return &ledger{own: all}
	}
	next := &ledger{before: l, own: map[changeName]standing{task: s}}
	if l != nil {
		next.deep = l.deep + 1
	}
	return next
}

// all returns the standing of every task.
func (l *ledger) all() map[changeName]standing {
	all := map[changeName]standing{}
	for ; l != nil; l = l.before {
		for task, s := range l.own {
			if _, newer := all[task]; !newer {
				all[task] = s
			}
		}
	}
	return all
}

// differ lists the tasks whose stacks differ between two ledgers, in order.
func (l *ledger) differ(other *ledger) []changeName {
	if l == other {
		return nil
	}
	mine, theirs := l.all(), other.all()
	var tasks []changeName
	for task, s := range mine {
		if !s.same(theirs[task]) {
			tasks = append(tasks, task)
		}
	}
	for task, s := range theirs {
		if _, both := mine[task]; !both && len(s.stack) > 0 {
			tasks = append(tasks, task)
		}
	}
	each.Sort(tasks, changeName.compare)
	return tasks
}

// undone lists the tasks that have a version which was undone for good.
func (l *ledger) undone() map[changeName]bool {
	found := map[changeName]bool{}
	for task, s := range l.all() {
		if s.undone() {
			found[task] = true
		}
	}
	return found
}

// joinLedgers merges two ledgers, task by task, as three trees are merged. A stack that continues the other one wins.
// Disputed are the tasks whose stacks disagree.
func joinLedgers(base, ours, theirs *ledger) (joined *ledger, disputed map[changeName]bool) {
	disputed = map[changeName]bool{}
	if ours == theirs || base == theirs {
		return ours, disputed
	}
	was, a, b := base.all(), ours.all(), theirs.all()
	made := map[changeName]standing{}
	both := maps.Clone(a)
	maps.Copy(both, b)
	for task := range both {
		o, w, t := a[task], was[task], b[task]
		pick := o
		switch {
		case o.same(t) || t.same(w):
		case o.same(w):
			pick = t
		default:
			if t.newest() > o.newest() {
				pick = t
			}
			switch {
			case len(w.stack) > 0 || !t.continues(o) && !o.continues(t):
				disputed[task] = true
			case t.continues(o):
				pick = t
			default:
				pick = o
			}
		}
		pick.floor = max(o.floor, t.floor)
		made[task] = pick
	}
	return &ledger{own: made}, disputed
}

// ledgerOf returns the ledger of a commit. It judges as much of the history as no earlier judgement has left a ledger
// for; the history from before the protection has none.
func (c *code) ledgerOf(ctx context.Context, commit plan.OID) (*ledger, error) {
	if commit == "" {
		return nil, nil
	}
	if known, ok := c.ledgers[commit]; ok {
		return known, nil
	}
	if err := c.study(ctx, commit); err != nil {
		return nil, err
	}
	return c.ledgers[commit], nil
}

var errEnough = errors.New("all that is needed was read")

// study judges the commits that the ledger of a commit needs.
func (c *code) study(ctx context.Context, commit plan.OID) error {
	if err := c.loadAll(ctx); err != nil {
		return err
	}
	seen, taken, open := maps.Clone(c.visits), map[plan.OID]bool{}, map[plan.OID]bool{}
	need := func(list ...plan.OID) error {
		for ; len(list) > 0; list = list[1:] {
			oid := list[0]
			delete(open, oid)
			if _, known := c.ledgers[oid]; known || taken[oid] {
				continue
			}
			if found, err := c.recall(ctx, oid); err != nil {
				return err
			} else if found {
				continue
			}
			v, read := seen[oid]
			if !read {
				open[oid] = true
				continue
			}
			taken[oid] = true
			list = append(list, v.parents...)
		}
		return nil
	}
	if err := need(commit); err != nil {
		return err
	}
	if len(open) == 0 {
		return c.studyAll(ctx, parentsFirst(seen, commit, taken))
	}
	exempt, err := c.exemptCommits(ctx)
	if err != nil {
		return err
	}
	revs := append(exempt, string(commit))
	err = c.store.EachCommit(ctx, revs, func(commit, tree plan.OID, parents []plan.OID) error {
		seen[commit] = visit{commit: commit, tree: tree, parents: parents}
		if !open[commit] {
			return nil
		}
		if err := need(commit); err != nil || len(open) > 0 {
			return err
		}
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	for oid := range open { // from before the protection
		c.ledgers[oid] = nil
	}
	return c.studyAll(ctx, parentsFirst(seen, commit, taken))
}

// parentsFirst orders the commits that a commit is made of, as far as they are wanted.
func parentsFirst(visits map[plan.OID]visit, commit plan.OID, wanted map[plan.OID]bool) []visit {
	var order []visit
	done := map[plan.OID]bool{}
	for stack := []plan.OID{commit}; len(stack) > 0; {
		oid := stack[len(stack)-1]
		if done[oid] || !wanted[oid] {
			stack = stack[:len(stack)-1]
			continue
		}
		waits := false
		for _, p := range visits[oid].parents {
			if wanted[p] && !done[p] {
				waits, stack = true, append(stack, p)
			}
		}
		if !waits {
			done[oid], order, stack = true, append(order, visits[oid]), stack[:len(stack)-1]
		}
	}
	return order
}

// exemptCommits excludes the history that nobody judges: up to the policy's baselines, and what each era exempts.
func (c *code) exemptCommits(ctx context.Context) ([]string, error) {
	exempt, err := c.exempt(ctx)
	if err != nil {
		return nil, err
	}
	for _, era := range c.guard.eras {
		for _, oid := range era.Commits {
			everywhere := true
			for _, other := range c.guard.eras {
				in := slices.Contains(other.Commits, oid)
				for _, tip := range other.Commits {
					if in || !everywhere {
						break
					}
					if in, err = c.containsHere(ctx, tip, oid); err != nil {
						return nil, err
					}
				}
				everywhere = everywhere && in
			}
			if here, err := c.store.CommitOf(ctx, string(oid)); err != nil {
				return nil, err
			} else if everywhere && here != "" {
				exempt = append(exempt, "^"+string(oid))
			}
		}
	}
	return exempt, nil
}
