package gate

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// state is what a sequence of changes makes of a tree.
type state struct {
	root plan.OID                  // "" for no tree
	now  map[string]threeway.Entry // where it differs from the tree, or may
}

func (c *code) has(ctx context.Context, s *state, path string) (threeway.Entry, error) {
	if e, ok := s.now[path]; ok {
		return e, nil
	}
	return c.entryAt(ctx, s.root, path)
}

// why a change does not apply.
const (
	whyConflict = "conflicts with what is there"
	whyGone     = "is not there any more, or not whole"
)

// apply applies a change to a state, or takes it back. A path that has its old entry gets the new one; one that has the
// new one keeps it; everything else is merged. A change that is taken back must really go back at every path. It
// returns why it does not apply, and no state if nothing changes.
func (c *code) apply(ctx context.Context, s *state, ch *change, back bool) (next *state, why string, err error) {
	made := map[string]threeway.Entry{}
	for _, path := range ch.paths {
		t := ch.turns[path]
		if back {
			t.old, t.new = t.new, t.old
		}
		have, err := c.has(ctx, s, path)
		if err != nil {
			return nil, "", err
		}
		merged := t.new
		switch {
		case have == t.old:
		case have == t.new && back:
			return nil, whyGone, nil
		case have == t.new:
			continue
		default:
			var conflict threeway.Why
			if merged, conflict, err = c.batch.MergeFile(ctx, t.old, have, t.new); err != nil {
				return nil, "", err
			}
			if conflict != "" {
				return nil, whyConflict + " at " + path, nil
			}
			if merged.Name = ""; merged == have {
				if back {
					return nil, whyGone, nil
				}
				continue
			}
		}
		made[path] = merged
	}
	if len(made) == 0 {
		return nil, "", nil
	}
	next = &state{s.root, maps.Clone(s.now)}
	if next.now == nil {
		next.now = map[string]threeway.Entry{}
	}
	maps.Copy(next.now, made)
	return next, "", nil
}

// forward applies a change that counts, and only one version of a task at a time: not where another one can still be
// taken back, unless this one was made on top of it.
func (c *code) forward(ctx context.Context, s *state, ch *change) (next *state, why string, err error) {
	if ok, err := c.counts(ctx, ch); err != nil || !ok {
		return nil, ch.why, err
	}
	next, why, err = c.apply(ctx, s, ch, false)
	if next == nil || err != nil {
		return nil, why, err
	}
	n := ch.changeName
	n.version = 0
	for _, other := range c.lib.byTask[n] {
		if other.tree == ch.tree || !other.everCounted() {
			continue
		}
		there, _, err := c.apply(ctx, s, other, true)
		if err != nil || there == nil {
			if err != nil {
				return nil, "", err
			}
			continue
		}
		on, err := c.madeOn(ctx, ch, other)
		if err != nil {
			return nil, "", err
		}
		if !on {
			return nil, "does not apply where " + plan.VersionID(other.version) + " is", nil
		}
	}
	return next, "", nil
}

// everCounted reports whether a version may have landed.
func (ch *change) everCounted() bool { return ch.why == "" || ch.weighed }

// madeOn reports whether a version was made on a tree that has another version of its task. Where that tree is not here
// the version itself says what it had at the paths that it changes.
func (c *code) madeOn(ctx context.Context, ch, other *change) (bool, error) {
	s := &state{now: map[string]threeway.Entry{}}
	if ch.base != "" {
		root, err := c.store.TreeOf(ctx, ch.base)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err == nil {
			s.root = root
		}
	}
	shared := s.root != ""
	for _, path := range other.paths {
		t, both := ch.turns[path]
		switch {
		case both:
			s.now[path], shared = t.old, true
		case s.root == "":
			s.now[path] = other.turns[path].new
		}
	}
	if !shared {
		return false, nil
	}
	there, _, err := c.apply(ctx, s, other, true)
	return there != nil, err
}

// outcome is how far approved changes explain a commit.
type outcome struct {
	used []*change
	back bool // they are taken back
	// forbidden: that is what they are, and the policy forbids it
	forbidden bool
	left      []string
	tried     map[*change]string // named changes that do not apply, and why
}

// search looks for a sequence of changes that yields what a commit has.
type search struct {
	*code
	d      *coded
	start  *state
	back   bool
	budget int // of changes that are tried
}

// explain looks for the changes that make a commit of a state: those that its message names, then exact chains from
// what is there to what is wanted. It reads the plans that the message names first, and all others only if those don't
// suffice.
func (c *code) explain(ctx context.Context, d *coded, start *state) (*outcome, error) {
	var first *outcome
	for _, all := range []bool{false, true} {
		if all {
			if err := c.loadAll(ctx); err != nil {
				return nil, err
			}
		}
		named, err := c.named(ctx, d.message)
		if err != nil {
			return nil, err
		}
		for _, back := range []bool{false, true} {
			if back && len(d.parents) > 1 {
				continue
			}
			for _, list := range c.choices(d, named, all) {
				q := &search{code: c, d: d, start: start, back: back, budget: mostTries}
				o, err := q.run(ctx, list)
				if err != nil {
					return nil, err
				}
				if len(o.left) == 0 {
					if back && c.policy.Changes.NoRevert {
						o.forbidden, o.left = true, d.paths
					}
					return o, nil
				}
				if first == nil || all && !back && len(o.left) < len(first.left) {
					first = o
				}
			}
		}
	}
	return first, nil
}

// mostTries bounds the changes that are tried for one commit. Who needs more names them in the message.
const mostTries = 1000

// choices lists the changes to begin with: those that the message names, else none. What is staged has no message yet:
// there they may be all those that only touch what differs.
func (c *code) choices(d *coded, named []*change, all bool) [][]*change {
	lists := [][]*change{named}
	if len(named) > 0 {
		lists = append(lists, nil)
	}
	if d.commit == "" && all {
		differs := map[string]bool{}
		for _, p := range d.paths {
			differs[p] = true
		}
		var touching []*change
		for _, ch := range c.lib.all {
			if slices.ContainsFunc(ch.paths, func(p string) bool { return differs[p] }) {
				touching = append(touching, ch)
			}
		}
		lists = append(lists, touching)
	}
	return lists
}

// step applies a change in the direction of the search.
func (q *search) step(ctx context.Context, s *state, ch *change) (*state, string, error) {
	q.budget--
	if !q.back {
		return q.forward(ctx, s, ch)
	}
	if ok, err := q.counts(ctx, ch); err != nil || !ok {
		return nil, ch.why, err
	}
	return q.apply(ctx, s, ch, true)
}

func (q *search) run(ctx context.Context, named []*change) (*outcome, error) {
	o := &outcome{back: q.back, tried: map[*change]string{}}
	if named = slices.Clone(named); q.back {
		slices.Reverse(named)
	}
	s := q.start
	for _, ch := range named {
		next, why, err := q.step(ctx, s, ch)
		switch {
		case err != nil:
			return nil, err
		case next != nil:
			s, o.used = next, append(o.used, ch)
		case why != "":
			o.tried[ch] = why
		}
	}
	left, err := q.open(ctx, s)
	if err != nil || len(left) == 0 {
		return o, err
	}
	o.left = left
	more, found, err := q.chain(ctx, s, left, o.used)
	if found {
		o.used, o.left = more, nil
	}
	return o, err
}

// open lists the paths at which a state is not what is wanted, nor what a waiver lets pass.
func (q *search) open(ctx context.Context, s *state) ([]string, error) {
	paths := slices.Collect(maps.Keys(s.now))
	paths = append(paths, q.d.paths...)
	slices.Sort(paths)
	var left []string
	for _, path := range slices.Compact(paths) {
		have, err := q.has(ctx, s, path)
		if err != nil {
			return nil, err
		}
		want, err := q.entryAt(ctx, q.d.root, path)
		if err != nil {
			return nil, err
		}
		if have != want && !q.waived(path, want) {
			left = append(left, path)
		}
	}
	return left, nil
}

func (g *Gate) waived(path string, e threeway.Entry) bool {
	r := newReport()
	g.add(r, Finding{}, Change{Path: path, Mode: e.Mode, OID: e.OID})
	return r.OK()
}

// chain looks for changes that lead from what the state has at the open paths to what is wanted there. Those that end
// there at all their paths come first.
func (q *search) chain(ctx context.Context, s *state, left []string, used []*change) ([]*change, bool, error) {
	if len(left) == 0 {
		return used, true, nil
	}
	type candidate struct {
		*change
		misses int
	}
	var list []candidate
	for _, path := range left {
		have, err := q.has(ctx, s, path)
		if err != nil {
			return nil, false, err
		}
		for _, ch := range q.lib.from(path, have, q.back) {
			if slices.Contains(used, ch) || slices.ContainsFunc(list, func(c candidate) bool { return c.change == ch }) {
				continue
			}
			misses := 0
			for _, p := range ch.paths {
				end := ch.turns[p].new
				if q.back {
					end = ch.turns[p].old
				}
				want, err := q.entryAt(ctx, q.d.root, p)
				if err != nil {
					return nil, false, err
				}
				if end != want {
					misses++
				}
			}
			list = append(list, candidate{ch, misses})
		}
	}
	slices.SortStableFunc(list, func(a, b candidate) int {
		switch { // what was rejected since explains only what nothing else does
		case a.overturned != b.overturned && b.overturned:
			return -1
		case a.overturned != b.overturned:
			return 1
		}
		return cmp.Or(a.misses-b.misses, a.place-b.place)
	})
	for _, ch := range list {
		if q.budget <= 0 {
			return nil, false, nil
		}
		next, _, err := q.step(ctx, s, ch.change)
		if err != nil {
			return nil, false, err
		}
		if next == nil {
			continue
		}
		open, err := q.open(ctx, next)
		if err != nil {
			return nil, false, err
		}
		more, found, err := q.chain(ctx, next, open, append(slices.Clip(used), ch.change))
		if err != nil || found {
			return more, found, err
		}
	}
	return nil, false, nil
}
