package gate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// A commit with one parent is explained by steps. Each lands a version, takes the newest landed version of a task back,
// or lands an approved undo, and each is whole.

// state is what steps make of a tree.
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

// edit collects what one step does to a state.
type edit struct {
	*code
	ctx    context.Context
	on     *state
	made   map[string]threeway.Entry
	err    error
	failed string // why the step does not apply
}

func (e *edit) at(path string) threeway.Entry {
	if m, ok := e.made[path]; ok {
		return m
	}
	have, err := e.has(e.ctx, e.on, path)
	if err != nil && e.err == nil {
		e.err = err
	}
	return have
}

func (e *edit) put(path string, to threeway.Entry) {
	if to != e.at(path) {
		e.made[path] = to
	}
}

// merge puts at a path what three entries merge to.
func (e *edit) merge(path string, base, ours, theirs threeway.Entry) {
	merged, conflict, err := e.mergeEntry(e.ctx, base, ours, theirs)
	if e.err = cmp.Or(e.err, err); conflict != "" {
		e.failed = whyConflict + " at " + path
		return
	}
	e.put(path, merged)
}

// move does what a rename of the step's own does: from is deleted, and to is added with like content.
func (e *edit) move(from, to string, old, next threeway.Entry) {
	source, target := e.at(from), e.at(to)
	switch {
	case source.OID == "" && target.OID == "":
		e.failed = from + " is not there any more"
	case source.OID == "":
		e.merge(to, old, target, next) // it was moved there already
	case target.OID != "" && target != next:
		e.failed = whyConflict + " at " + to
	default:
		e.merge(to, old, source, next)
		e.put(from, threeway.Entry{})
	}
}

const whyConflict = "conflicts with what is there"

// apply applies turns to a state, path by path: what is there already stays, all else is merged, and what landed
// changes have moved is followed. It returns the new state and what changed, or why the turns do not apply.
func (c *code) apply(ctx context.Context, s *state, turns map[string]turn, own, moved map[string]string,
	needs func(string) bool) (next *state, effect map[string]turn, why string, err error) {
	e := &edit{code: c, ctx: ctx, on: s, made: map[string]threeway.Entry{}}
	target := map[string]bool{}
	for _, to := range own {
		target[to] = true
	}
	for _, path := range slices.Sorted(maps.Keys(turns)) {
		t := turns[path]
		if to, moves := own[path]; moves {
			e.move(path, to, t.Old, turns[to].New)
		} else if !target[path] && (needs == nil || needs(path)) {
			at := path
			for hops := 0; t.Old.OID != "" && moved[at] != "" && e.at(at).OID == "" && hops < len(moved); hops++ {
				at = moved[at]
			}
			switch have := e.at(at); have {
			case t.Old:
				e.put(at, t.New)
			case t.New:
			default:
				e.merge(at, t.Old, have, t.New)
			}
		}
		if e.err != nil || e.failed != "" {
			return nil, nil, e.failed, e.err
		}
	}
	next = &state{s.root, maps.Clone(s.now)}
	if next.now == nil {
		next.now = map[string]threeway.Entry{}
	}
	effect = map[string]turn{}
	for path, made := range e.made {
		was, err := c.has(ctx, s, path)
		if err != nil {
			return nil, nil, "", err
		}
		if next.now[path] = made; made != was {
			effect[path] = turn{was, made}
		}
	}
	return next, effect, "", nil
}

func inverse(turns map[string]turn) map[string]turn {
	back := make(map[string]turn, len(turns))
	for path, t := range turns {
		back[path] = turn{t.New, t.Old}
	}
	return back
}

// mergeEntry merges what three trees have at one path, each case once.
func (c *code) mergeEntry(ctx context.Context, base, ours, theirs threeway.Entry) (threeway.Entry, threeway.Why,
	error) {
	key := [3]threeway.Entry{base, ours, theirs}
	if m, known := c.merged[key]; known {
		return m.entry, m.why, nil
	}
	merged, why, err := c.batch.MergeFile(ctx, base, ours, theirs)
	if err != nil {
		return merged, why, err
	}
	merged.Name = ""
	c.merged[key] = mergedEntry{merged, why}
	return merged, why, nil
}

type mergedEntry struct {
	entry threeway.Entry
	why   threeway.Why
}

// codeStep is one that applies, and what it leads to.
type codeStep struct {
	*change
	back   bool
	state  *state
	ledger *ledger
	open   []string // the paths that are not yet as wanted
}

// search looks for the steps that make a commit's tree of a state.
type search struct {
	*code
	d       *coded
	paths   []string                              // that must be as wanted
	named   []changeName                          // by the commit's message: they are tried first
	allow   func(task changeName, back bool) bool // which steps may be used; nil: all
	goal    func(l *ledger) bool                  // what must hold at the end; nil: nothing
	unbound bool                                  // undone versions land, all may be taken back: is just that wrong?
	tries   int                                   // steps left to try
	cut     bool                                  // there may be more steps below
	visited map[string]bool
	atStart bool
	tried   map[*change]string // versions that do not apply at the start, and why
}

const (
	mostTries = 1000 // steps that are tried for one commit
	mostSteps = 50   // steps of one explanation
	fewSteps  = 4    // beyond them the message's own order is tried first
)

// run looks for the fewest steps, an undo before a landing, or says at which paths nothing explains.
func (q *search) run(ctx context.Context, s *state, l *ledger) (steps []*codeStep, left []string, err error) {
	open, err := q.stillOpen(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	q.tries, q.cut, q.tried = mostTries, true, map[*change]string{}
	start := &codeStep{state: s, ledger: l, open: open}
	for depth := 0; depth <= mostSteps && q.cut && q.tries > 0; depth++ {
		if depth == fewSteps {
			if steps, err = q.inOrder(ctx, start); steps != nil || err != nil {
				return steps, nil, err
			}
		}
		q.cut, q.visited = false, map[string]bool{}
		if steps, err = q.deepen(ctx, []*codeStep{start}, depth); steps != nil || err != nil {
			return steps, nil, err
		}
	}
	if len(open) == 0 {
		open = q.paths
	}
	return nil, open, nil
}

// deepen looks for at most depth more steps behind the path, whose first element is where it starts. Each version is
// used once: taken back and landed again, in another order, it could double what it added.
func (q *search) deepen(ctx context.Context, path []*codeStep, depth int) ([]*codeStep, error) {
	at := path[len(path)-1]
	if len(at.open) == 0 && (q.goal == nil || q.goal(at.ledger)) {
		return path, nil
	}
	near := q.near(at)
	if len(near) == 0 {
		return nil, nil
	}
	if depth == 0 || !q.mayClose(at, near, depth) {
		q.cut = true
		return nil, nil
	}
	key := fmt.Sprint(depth, usedBy(path))
	if q.visited[key] {
		return nil, nil
	}
	q.visited[key] = true
	for _, try := range []tryStep{q.undo, q.land, q.takeBack} {
		var next []*codeStep
		for _, ch := range near {
			q.atStart = len(path) == 1
			if q.tries--; q.tries < 0 {
				return nil, ctx.Err()
			}
			s, err := q.follow(ctx, path, ch, try)
			if err != nil {
				return nil, err
			}
			if s == nil {
				continue
			}
			if next = append(next, s); depth == 1 && len(s.open) == 0 {
				break
			}
		}
		slices.SortStableFunc(next, func(a, b *codeStep) int { return len(a.open) - len(b.open) })
		for _, s := range next {
			if all, err := q.deepen(ctx, append(slices.Clip(path), s), depth-1); all != nil || err != nil {
				return all, err
			}
		}
	}
	return nil, nil
}

// inOrder takes the steps that the message names, as far as they apply, and few more.
func (q *search) inOrder(ctx context.Context, start *codeStep) ([]*codeStep, error) {
	path := []*codeStep{start}
	var list []*change
	for _, n := range q.named {
		list = append(list, q.lib.byName[n]...)
	}
	if q.d.commit == "" { // nobody knows its message yet
		list = append(list, q.near(start)...)
	}
	add := func(ch *change, tries ...tryStep) error {
		for _, try := range tries {
			s, err := q.follow(ctx, path, ch, try)
			if err != nil {
				return err
			}
			if s != nil {
				path = append(path, s)
				return nil
			}
		}
		return nil
	}
	for _, ch := range list {
		if err := add(ch, q.undo, q.land); err != nil {
			return nil, err
		}
	}
	for _, ch := range slices.Backward(list) {
		if err := add(ch, q.takeBack); err != nil {
			return nil, err
		}
	}
	q.visited = map[string]bool{}
	return q.deepen(ctx, path, 1)
}

// tryStep tries to use a version in one way; nil: it does not apply.
type tryStep func(ctx context.Context, at *codeStep, ch *change) (*codeStep, error)

// follow tries a step behind a path that has not used the version.
func (q *search) follow(ctx context.Context, path []*codeStep, ch *change, try tryStep) (*codeStep, error) {
	s, err := try(ctx, path[len(path)-1], ch)
	if s == nil || slices.ContainsFunc(path, func(p *codeStep) bool { return p.change == ch }) {
		return nil, err
	}
	s.open, err = q.stillOpen(ctx, s.state)
	return s, err
}

func usedBy(path []*codeStep) []string {
	used := each.Of(path[1:], func(s *codeStep) string { return fmt.Sprint(s.place, s.back) })
	slices.Sort(used)
	return used
}

// stillOpen lists the paths at which a state is not what is wanted, nor what a waiver lets pass.
func (q *search) stillOpen(ctx context.Context, s *state) ([]string, error) {
	paths := append(slices.Collect(maps.Keys(s.now)), q.paths...)
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
		if have != want && q.d.needs(path) && !q.waived(path, want) {
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

// near lists the versions that touch an open path, where it is or was; those that the message names first.
func (q *search) near(at *codeStep) []*change {
	moved := q.moved(at.ledger)
	var list []*change
	have := map[*change]bool{}
	for _, path := range at.open {
		for at, hops := []string{path}, 0; len(at) > 0 && hops <= len(moved); hops++ {
			var before []string
			for _, p := range at {
				for _, ch := range q.lib.byPath[p] {
					if !have[ch] && (q.allow == nil || q.allow(ch.ofTask(), false) || q.allow(ch.ofTask(), true)) {
						have[ch], list = true, append(list, ch)
					}
				}
				for from, to := range moved {
					if to == p {
						before = append(before, from)
					}
				}
			}
			at = before
		}
	}
	rank := func(ch *change) int {
		if slices.Contains(q.named, ch.changeName) {
			return 0
		}
		return 1
	}
	slices.SortFunc(list, func(a, b *change) int { return cmp.Or(rank(a)-rank(b), a.place-b.place) })
	return list
}

// mayClose reports whether so many steps could make all open paths as wanted: each at most those of its task.
func (q *search) mayClose(at *codeStep, near []*change, depth int) bool {
	if depth >= len(at.open) {
		return true
	}
	open := map[string]bool{}
	for _, p := range at.open {
		open[p] = true
	}
	closes := map[changeName]map[string]bool{}
	for _, ch := range near {
		task := ch.ofTask()
		if closes[task] == nil {
			closes[task] = map[string]bool{}
			for _, l := range at.ledger.of(task).stack {
				for p := range l.effect {
					closes[task][p] = true
				}
			}
		}
		for _, p := range ch.paths {
			closes[task][p] = true
		}
	}
	var most []int
	for _, ch := range near {
		n := len(q.moved(at.ledger))
		for p := range closes[ch.ofTask()] {
			if open[p] {
				n++
			}
		}
		most = append(most, n)
	}
	slices.Sort(most)
	sum := 0
	for _, n := range most[max(0, len(most)-depth):] {
		sum += n
	}
	return sum >= len(at.open)
}

// moved is where landed changes have moved files.
func (c *code) moved(l *ledger) map[string]string {
	var moved map[string]string
	for _, ch := range c.lib.movers {
		for _, landed := range l.of(ch.ofTask()).stack {
			if landed.version == ch.version && len(landed.moves) > 0 {
				if moved == nil {
					moved = map[string]string{}
				}
				maps.Copy(moved, landed.moves)
			}
		}
	}
	return moved
}

// noteWhy notes why a version does not explain the commit.
func (q *search) noteWhy(ch *change, why string) (*codeStep, error) {
	if q.atStart && q.tried[ch] == "" {
		q.tried[ch] = why
	}
	return nil, nil
}

const (
	whyThere     = "has landed here already"
	whyUndone    = "was undone here for good: only a newer version can land"
	whyPart      = "is not here whole, so it can't be taken back"
	whyForbidden = "is taken back, which the policy forbids"
)

// lands reports whether a version may land where its task stands so, by what does not depend on content.
func (q *search) lands(ctx context.Context, ch *change, s standing) (bool, error) {
	if q.allow != nil && !q.allow(ch.ofTask(), false) {
		return false, nil
	}
	ok, err := q.counts(ctx, ch)
	switch {
	case err != nil || !ok:
		_, _ = q.noteWhy(ch, ch.never)
		return false, err
	case s.has(ch.version):
		_, err = q.noteWhy(ch, whyThere)
	default:
		return ch.version > s.floor || q.unbound, nil
	}
	return false, err
}

// undo lands an approved undo: the version that it names must be on top. Its task starts over, above the floor.
func (q *search) undo(ctx context.Context, at *codeStep, ch *change) (*codeStep, error) {
	if ch.undoes == nil {
		return nil, nil
	}
	s := at.ledger.of(ch.ofTask())
	if ok, err := q.lands(ctx, ch, s); err != nil || !ok {
		return nil, err
	}
	task := changeName{plan: ch.undoes.PlanID, task: ch.undoes.TaskID}
	of := at.ledger.of(task)
	if len(s.stack) > 0 || of.newest() != plan.VersionNumber(ch.undoes.ArtifactID) {
		return q.noteWhy(ch, fmt.Sprintf("undoes %s %s, which is not what is here", task.task, ch.undoes.ArtifactID))
	}
	of = standing{floor: max(of.floor, ch.undoes.Floor)}
	return q.put(ctx, at, ch, at.state, at.ledger.with(task, of), s)
}

// land lands a version on top of those that it was made on. Others of its task are taken back before.
func (q *search) land(ctx context.Context, at *codeStep, ch *change) (*codeStep, error) {
	if ch.undoes != nil {
		return nil, nil
	}
	s := at.ledger.of(ch.ofTask())
	if ok, err := q.lands(ctx, ch, s); err != nil || !ok {
		return nil, err
	}
	keep, err := q.madeOn(ctx, ch, s)
	if err != nil {
		return nil, err
	}
	from := at.state
	if keep < len(s.stack) && ch.version < s.newest() {
		return q.noteWhy(ch, "is older than "+plan.VersionID(s.newest())+", which is here")
	}
	for _, old := range slices.Backward(s.stack[keep:]) {
		next, _, why, err := q.apply(ctx, from, inverse(old.effect), swap(old.moves), q.moved(at.ledger), q.d.needs)
		if err != nil {
			return nil, err
		}
		if next == nil {
			return q.noteWhy(ch, fmt.Sprintf("does not apply where %s is: %s", plan.VersionID(old.version), why))
		}
		from = next
	}
	on := s.pop(len(s.stack) - keep)
	if missing, err := q.missing(ctx, ch, on, from); err != nil || missing != "" {
		_, _ = q.noteWhy(ch, missing)
		return nil, err
	}
	return q.put(ctx, at, ch, from, at.ledger, on)
}

// missing says which other version of its task a version was made on that is not here. One from before the protection
// is on no stack, but its content is here.
func (q *search) missing(ctx context.Context, ch *change, on standing, here *state) (string, error) {
	for _, other := range q.versionsOf(ch.ofTask()) {
		if other == ch || other.unproven || on.has(other.version) {
			continue
		}
		built, err := q.builtOn(ctx, ch, other)
		if err == nil && built {
			built, err = q.hasWhole(ctx, here, other)
			if err == nil && !built {
				return "was made on " + plan.VersionID(other.version) + ", which is not here", nil
			}
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// put applies a version and puts it on its task's stack.
func (q *search) put(ctx context.Context, at *codeStep, ch *change, from *state, l *ledger,
	on standing) (*codeStep, error) {
	next, effect, why, err := q.apply(ctx, from, ch.turns, ch.moves, q.moved(l), q.d.needs)
	if err != nil {
		return nil, err
	}
	if next == nil {
		return q.noteWhy(ch, why)
	}
	if len(effect) == 0 && (from == at.state || ch.undoes != nil) {
		return nil, nil
	}
	if later, err := q.madeAfter(ctx, ch); err != nil || later {
		_, _ = q.noteWhy(ch, "was made on a commit that has this one")
		return nil, err
	}
	moves, err := q.renames(ctx, effect)
	if err != nil {
		return nil, err
	}
	landed := landing{change: ch, at: q.d.commit, effect: effect, moves: moves}
	on.stack = append(slices.Clip(on.stack), landed)
	return &codeStep{change: ch, state: next, ledger: l.with(ch.ofTask(), on)}, nil
}

// takeBack takes the version on top of its task's stack back: its effect, at every path.
func (q *search) takeBack(ctx context.Context, at *codeStep, ch *change) (*codeStep, error) {
	s := at.ledger.of(ch.ofTask())
	top := s.top()
	switch {
	case top == nil || top.version != ch.version || q.allow != nil && !q.allow(ch.ofTask(), true):
		return nil, nil
	case ch.undoes != nil:
		return q.noteWhy(ch, "is an undo, which is not taken back: a newer version can land")
	case q.policy.Changes.NoRevert && q.allow == nil && !q.unbound:
		return nil, nil
	}
	next, effect, why, err := q.apply(ctx, at.state, inverse(top.effect), swap(top.moves), q.moved(at.ledger),
		q.d.needs)
	if err != nil {
		return nil, err
	}
	if next == nil || len(effect) < len(top.effect) {
		return q.noteWhy(ch, cmp.Or(why, whyPart))
	}
	return &codeStep{change: ch, back: true, state: next, ledger: at.ledger.with(ch.ofTask(), s.pop(1))}, nil
}

func swap(moves map[string]string) map[string]string {
	back := make(map[string]string, len(moves))
	for from, to := range moves {
		back[to] = from
	}
	return back
}

// madeOn returns how many versions of a stack one was made on: those up to the newest that is in its base.
func (c *code) madeOn(ctx context.Context, ch *change, s standing) (int, error) {
	for n := len(s.stack); n > 0; n-- {
		on, err := c.inBase(ctx, ch, s.stack[n-1].at)
		if err == nil && !on {
			on, err = c.builtOn(ctx, ch, s.stack[n-1].change)
		}
		if err != nil || on {
			return n, err
		}
	}
	return 0, nil
}

// madeAfter reports whether the commit is in what a version was made on: then it has nothing of the version. An undo
// was made after all that the policy's branches had then.
func (q *search) madeAfter(ctx context.Context, ch *change) (bool, error) {
	if after, err := q.inBase(ctx, ch, q.d.commit); err != nil || after || ch.undoes == nil {
		return after, err
	}
	for _, tip := range ch.undoes.Tips {
		if after, err := q.containsHere(ctx, tip, q.d.commit); err != nil || after {
			return after, err
		}
	}
	return false, nil
}

// inBase reports whether the base of a version has a commit.
func (c *code) inBase(ctx context.Context, ch *change, commit plan.OID) (bool, error) {
	return c.containsHere(ctx, ch.base.Commit, commit)
}

// containsHere is contains, and false where a commit is not here.
func (c *code) containsHere(ctx context.Context, tip, commit plan.OID) (bool, error) {
	if commit == "" || tip == "" {
		return false, nil
	}
	if tip, err := c.store.CommitOf(ctx, string(tip)); err != nil || tip == "" {
		return false, err
	}
	return c.contains(ctx, tip, commit)
}

// builtOn reports whether a version was made on a tree that has another version of its task, by content. Where that
// tree is not here the version itself says what it had at the paths that it changes.
func (c *code) builtOn(ctx context.Context, ch, other *change) (bool, error) {
	s := &state{now: map[string]threeway.Entry{}}
	if ch.base.Tree != "" {
		root, err := c.store.TreeOf(ctx, ch.base.Tree)
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
			s.now[path], shared = t.Old, true
		case s.root == "":
			s.now[path] = other.turns[path].New
		}
	}
	if !shared {
		return false, nil
	}
	return c.hasWhole(ctx, s, other)
}

// hasWhole reports whether a state has all that a version changes, by content: it could be taken back.
func (c *code) hasWhole(ctx context.Context, s *state, ch *change) (bool, error) {
	_, effect, _, err := c.apply(ctx, s, inverse(ch.turns), swap(ch.moves), nil, nil)
	return len(effect) > 0 && len(effect) == len(ch.turns), err
}

// renames pairs files that turns delete with files that they add, where half of the lines or more are the same. Git is
// not asked: its answer depends on its version and settings.
func (c *code) renames(ctx context.Context, turns map[string]turn) (map[string]string, error) {
	type pair struct {
		from, to string
		alike    float64
	}
	var gone, added []string
	for _, path := range slices.Sorted(maps.Keys(turns)) {
		switch t := turns[path]; {
		case t.New.OID == "" && isRegular(t.Old):
			gone = append(gone, path)
		case t.Old.OID == "" && isRegular(t.New):
			added = append(added, path)
		}
	}
	const mostPairs = 10_000
	if len(gone) == 0 || len(added) == 0 || len(gone)*len(added) > mostPairs {
		return nil, nil
	}
	var pairs []pair
	for _, from := range gone {
		for _, to := range added {
			alike, err := c.alike(ctx, turns[from].Old.OID, turns[to].New.OID)
			if err != nil {
				return nil, err
			}
			if alike >= 0.5 {
				pairs = append(pairs, pair{from, to, alike})
			}
		}
	}
	each.Sort(pairs, func(a, b pair) int { return cmp.Compare(b.alike, a.alike) })
	moves, taken := map[string]string{}, map[string]bool{}
	for _, p := range pairs {
		if moves[p.from] == "" && !taken[p.to] {
			moves[p.from], taken[p.to] = p.to, true
		}
	}
	return moves, nil
}

func isRegular(e threeway.Entry) bool {
	return e.Mode == threeway.File || e.Mode == threeway.Executable
}

// alike is the share of lines that two files have in common.
func (c *code) alike(ctx context.Context, a, b plan.OID) (float64, error) {
	if a == b {
		return 1, nil
	}
	count := map[string]int{}
	var sizes [2]int
	common := 0
	for i, oid := range []plan.OID{a, b} {
		data, err := c.batch.Blob(ctx, oid)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(data)) {
			sizes[i]++
			if i == 0 {
				count[line]++
			} else if count[line] > 0 {
				count[line]--
				common++
			}
		}
	}
	if most := max(sizes[0], sizes[1]); most > 0 {
		return float64(common) / float64(most), nil
	}
	return 0, nil
}
