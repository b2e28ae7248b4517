package gate

import (
	"cmp"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/threeway"
)

// The policy may protect code: files that only approved changes of the repository alter. A commit is legal if whole
// steps (landing an approved version, taking one back that landed, landing an approved undo) turn its parent's
// protected part into exactly its own. docs/gate.md has the rule.

// code judges the protected code of commits.
type code struct {
	*Gate
	guard     guard
	batch     *gitstore.Batch // what merging makes; it is never written
	lib       library
	merged    map[[3]threeway.Entry]mergedEntry
	ledgers   map[plan.OID]*ledger  // of the commits that were judged
	outcomes  map[plan.OID]*outcome // of those of them that touch protected code
	open      map[plan.OID]bool     // commits with something in their history that nothing explains
	visits    map[plan.OID]visit    // commits that must be judged, whatever earlier judgements left
	compared  map[plan.OID]*coded   // with their parents
	plans     map[plan.ID]keptPlan  // what is kept of plans; nil until all are read
	forced    bool                  // what the newest commits bring was asked whether it is in force
	plansRead bool                  // a plan was read that is not kept as it is
}

// Landed is an approved change that a commit brings, or takes back.
type Landed struct {
	Commit     plan.OID    `json:"commit,omitempty"` // "" for the index
	PlanID     plan.ID     `json:"plan_id"`
	TaskID     plan.TaskID `json:"task_id"`
	Version    string      `json:"artifact_id"`
	Reverted   bool        `json:"reverted,omitempty"`
	Overturned bool        `json:"overturned,omitempty"` // rejected or set aside since, and no landing tip has it
	Signatures string      `json:"signatures"`           // signed: by keys of the policy that judges; else unsigned
	SignedBy   []string    `json:"signed_by,omitempty"`

	change *change
}

// codeJudge returns the judge of code, nil if the policy protects none.
func (g *Gate) codeJudge() *code {
	if g.code == nil && len(g.policy.Changes.Paths) > 0 {
		g.code = &code{
			Gate: g, guard: newGuard(g.policy.Changes), batch: g.store.NewBatch(), lib: newLibrary(),
			merged: map[[3]threeway.Entry]mergedEntry{}, ledgers: map[plan.OID]*ledger{},
			outcomes: map[plan.OID]*outcome{}, open: map[plan.OID]bool{}, visits: map[plan.OID]visit{},
			compared: map[plan.OID]*coded{},
		}
		g.code.guard.roots = g.policy.RootPaths()
	}
	return g.code
}

// coded is a commit, or the index, that differs from a parent at protected paths.
type coded struct {
	tree
	guard      *guard
	root       plan.OID // its root tree
	parents    []plan.OID
	roots      []plan.OID          // the parents' root trees; "" if there is no parent
	paths      []string            // that differ from a parent, and need an approval
	flaws      []gitstore.TreeFlaw // why the commit can't be judged
	redirected map[string]bool     // all that differ: whether a link or a submodule comes or goes there
	named      []changeName
	exempt     map[int]bool // the eras whose history has the commit
}

// needs reports whether a path may change only as approved, at this commit.
func (d *coded) needs(path string) bool {
	redirects, differs := d.redirected[path]
	era, protected := d.guard.began(path, redirects || !differs)
	return protected && !d.exempt[era]
}

// outcome is what explains a commit, or why nothing does.
type outcome struct {
	ledger  *ledger
	steps   []*codeStep // behind the first, which is where they begin; nil: nothing explains the commit
	left    []string
	tried   map[*change]string
	dispute *dispute // why its parents have no clean merge
}

// explain fills in what a search finds.
func (o *outcome) explain(ctx context.Context, q *search, s *state, l *ledger) (err error) {
	o.steps, o.left, err = q.run(ctx, s, l)
	o.tried = q.tried
	if o.steps != nil {
		o.ledger = o.steps[len(o.steps)-1].ledger
		return err
	}
	free := *q
	free.unbound = true
	steps, _, freeErr := free.run(ctx, s, l)
	for i, step := range steps {
		switch {
		case i == 0:
		case step.back:
			o.tried[step.change] = whyForbidden
		case step.version <= steps[i-1].ledger.of(step.ofTask()).floor:
			o.tried[step.change] = whyUndone
		}
	}
	return cmp.Or(err, freeErr)
}

// judgeCode judges what commits do to the protected code, and whether what they bring to a branch is in force.
func (g *Gate) judgeCode(ctx context.Context, all []visit, r *Report) error {
	c := g.codeJudge()
	if c == nil || g.atWork {
		return nil
	}
	c.forced = false
	list, err := c.compareAll(ctx, all)
	if err != nil {
		return err
	}
	var touching []*coded
	for i, d := range list {
		d.landed = !g.arriving
		c.malformed(d.tree, d.flaws, r)
		if len(d.paths) > 0 {
			touching = append(touching, d)
		}
		c.visits[d.commit] = all[i]
	}
	if len(touching) == 0 {
		return nil
	}
	for _, d := range touching {
		r.Commits++
		if _, err := c.ledgerOf(ctx, d.commit); err != nil {
			return err
		}
		o := c.outcomes[d.commit]
		if o == nil {
			continue
		}
		if err := c.report(ctx, d, o, r); err != nil {
			return err
		}
	}
	c.forced = true
	before := []plan.OID{c.before}
	if c.before == "" {
		before = nil
		for _, v := range all {
			for _, p := range v.parents {
				if _, judged := c.visits[p]; !judged {
					before = append(before, p)
				}
			}
		}
	}
	tips := each.Of(endsOf(all), func(v visit) plan.OID { return v.commit })
	return c.inForce(ctx, before, tips, r)
}

// moveForce judges what a branch gets by a move to commits that were judged before, on another branch.
func (g *Gate) moveForce(ctx context.Context, before, tip plan.OID, r *Report) error {
	c := g.codeJudge()
	if c == nil || g.atWork || before == "" || before == tip || c.forced {
		return nil
	}
	roots := make([]plan.OID, 2)
	for i, oid := range []plan.OID{before, tip} {
		var err error
		if roots[i], err = c.store.TreeOf(ctx, oid); err != nil {
			return err
		}
	}
	changes, _, err := c.diffTrees(ctx, roots[0], roots[1])
	if err != nil || len(changes) == 0 {
		return err
	}
	return c.inForce(ctx, []plan.OID{before}, []plan.OID{tip}, r)
}

// inForce reports what tips have newly though it is not in force: what was rejected or set aside since it was approved,
// also where a revert uncovers it. What was there before stays as it was judged.
func (c *code) inForce(ctx context.Context, before, tips []plan.OID, r *Report) error {
	var had []*ledger
	for _, oid := range before {
		l, err := c.ledgerOf(ctx, oid)
		if err != nil {
			return err
		}
		had = append(had, l)
		c.keep(oid)
	}
	lapsed := map[changeName]bool{}
	for _, tip := range tips {
		l, err := c.ledgerOf(ctx, tip)
		if err != nil {
			return err
		}
		for _, top := range newlyLapsed(l, had) {
			past, err := c.landedBefore(ctx, top)
			if err != nil {
				return err
			}
			if !past {
				lapsed[top.changeName] = true
				r.Findings = append(r.Findings, c.lapsedFinding(ctx, tip, top))
			}
		}
		c.keep(tip)
	}
	for i, l := range r.Changes {
		if l.change.lapsed != "" && l.change.lapsed != whySetAside && !l.Reverted {
			r.Changes[i].Overturned = true
		}
	}
	r.Changes = slices.DeleteFunc(r.Changes, func(l Landed) bool { return lapsed[l.change.changeName] })
	return nil
}

// landedBefore reports whether the plan recorded a landing before it set the version aside: a history that is only
// looked at stays as it was judged then. The plan takes no such record afterwards.
func (c *code) landedBefore(ctx context.Context, l *landing) (bool, error) {
	if c.moving || l.lapsed != whySetAside {
		return false, nil
	}
	if err := c.prove(ctx, l.change); err != nil {
		return false, err
	}
	all, err := export.DocumentsOf(ctx, c.store, l.snap, l.task).Landings()
	return slices.ContainsFunc(all, func(r plan.Landing) bool {
		return r.Commit == l.at && r.ArtifactID == plan.VersionID(l.version)
	}), err
}

// newlyLapsed lists the versions on top in a ledger that are not in force, and on top in none of those before.
func newlyLapsed(l *ledger, had []*ledger) (list []*landing) {
	var before *ledger
	if len(had) > 0 {
		before = had[0]
	}
	for _, task := range l.differ(before) {
		if top := l.of(task).top(); top != nil && top.lapsed != "" &&
			!slices.ContainsFunc(had, func(h *ledger) bool { return h.of(task).newest() == top.version }) {
			list = append(list, top)
		}
	}
	return list
}

// compareAll compares commits with their parents, each once. It leaves out what is older than the protection.
func (c *code) compareAll(ctx context.Context, all []visit) ([]*coded, error) {
	roots, err := c.rootsOf(ctx, all)
	if err != nil {
		return nil, err
	}
	list := make([]*coded, len(all))
	var touching []*coded
	for i, v := range all {
		if list[i] = c.compared[v.commit]; list[i] != nil {
			continue
		}
		d := &coded{tree: tree{commit: v.commit}, guard: &c.guard, root: v.tree, parents: v.parents,
			roots: each.Of(v.parents, func(p plan.OID) plan.OID { return roots[p] })}
		if err := c.compareCode(ctx, d); err != nil {
			return nil, err
		}
		if len(d.paths) > 0 {
			touching = append(touching, d)
		}
		list[i], c.compared[v.commit] = d, d
	}
	return list, c.exemptOlder(ctx, touching)
}

// studyAll judges commits, parents first.
func (c *code) studyAll(ctx context.Context, all []visit) error {
	list, err := c.compareAll(ctx, all)
	if err != nil {
		return err
	}
	for i, v := range all {
		for _, p := range v.parents {
			c.open[v.commit] = c.open[v.commit] || c.open[p]
		}
		d := list[i]
		if len(d.paths) == 0 && len(v.parents) < 2 {
			c.ledgers[v.commit] = nil
			if len(v.parents) == 1 {
				c.ledgers[v.commit] = c.ledgers[v.parents[0]]
			}
			continue
		}
		if len(d.paths) > 0 {
			message, err := c.store.Message(ctx, d.commit)
			if err != nil {
				return err
			}
			if d.named, err = c.named(ctx, message); err != nil {
				return err
			}
		}
		o, err := c.judgeOne(ctx, d)
		if err != nil {
			return err
		}
		c.ledgers[v.commit] = o.ledger
		c.open[v.commit] = c.open[v.commit] || o.steps == nil && len(o.left) > 0
		if _, judged := c.visits[v.commit]; judged && len(d.paths) > 0 {
			c.outcomes[v.commit] = o
		}
	}
	return nil
}

// compareCode finds the protected paths in which a commit differs from any parent. A malformed tree has none.
func (c *code) compareCode(ctx context.Context, d *coded) error {
	if len(d.roots) == 0 {
		d.roots = []plan.OID{""}
	}
	d.redirected = map[string]bool{}
	for _, parent := range d.roots {
		changes, flaws, err := c.diffTrees(ctx, parent, d.root)
		if err != nil || len(flaws) > 0 {
			d.flaws = flaws
			return err
		}
		for _, ch := range changes {
			d.redirected[ch.Path] = d.redirected[ch.Path] || ch.redirects()
		}
	}
	d.paths = slices.Sorted(maps.Keys(d.redirected))
	return nil
}

// diffTrees lists the protected paths in which two root trees differ; "" is no tree.
func (c *code) diffTrees(ctx context.Context, before, after plan.OID) ([]Change, []gitstore.TreeFlaw, error) {
	top := func(oid plan.OID) threeway.Entry {
		if oid == "" {
			return threeway.Entry{}
		}
		return threeway.Entry{Mode: threeway.Dir, OID: oid}
	}
	if before == after {
		return nil, nil, nil
	}
	d := &differ{g: c.Gate, skip: c.guard.skips}
	err := d.level(ctx, []pair{{old: top(before), new: top(after)}})
	d.changes = slices.DeleteFunc(d.changes, func(ch Change) bool { return !c.guard.covers(ch.Path, ch.redirects()) })
	return d.changes, d.flaws, err
}

// WorkBranches is the prefix of the branches that git wf start makes. Work on a change is committed there before
// anybody has approved it; no other branch, no push and no server takes it so.
const WorkBranches = policy.WorkBranches

func isWorkRef(ref string) bool { return strings.HasPrefix(ref, "refs/heads/"+WorkBranches) }

// onWorkBranch reports whether what is staged goes to such a branch.
func (g *Gate) onWorkBranch(ctx context.Context) bool {
	ref, err := g.store.Git(ctx, "symbolic-ref", "--quiet", "HEAD")
	if err != nil { // a rebase has the branch's name
		name, err := os.ReadFile(filepath.Join(g.store.GitDir(), "rebase-merge", "head-name"))
		return err == nil && isWorkRef(string(name))
	}
	return isWorkRef(ref)
}

// readBranch reads which branch is judged, for hints: the one that is checked out, or none.
func (g *Gate) readBranch(ctx context.Context) (err error) {
	if g.branch, err = g.store.Git(ctx, "symbolic-ref", "--quiet", "--short", "HEAD"); ctx.Err() != nil {
		return err
	}
	return nil // HEAD is detached
}

// indexCode judges the code of the tree that is staged. Nobody knows its message yet, nor whether the commit will
// replace the one before: what may be legal passes here, and the commit itself is judged when a branch takes it.
func (g *Gate) indexCode(ctx context.Context, staged plan.OID, parents []string, r *Report) error {
	c := g.codeJudge()
	if c == nil {
		return nil
	}
	d, err := c.stagedOn(ctx, staged, parents, r)
	if err != nil || len(d.paths) == 0 || g.onWorkBranch(ctx) {
		return err
	}
	if err := g.readBranch(ctx); err != nil {
		return err
	}
	message := ""
	for _, name := range []string{"MERGE_MSG", "SQUASH_MSG"} {
		data, err := os.ReadFile(filepath.Join(g.store.GitDir(), name))
		if err == nil {
			message += string(data) + "\n"
		}
	}
	first, err := c.judgeStaged(ctx, d, message)
	if err != nil {
		return err
	}
	if !first.OK() && len(parents) == 1 {
		amended, err := c.amended(ctx, staged, plan.OID(parents[0]))
		if err != nil {
			return err
		}
		if amended != nil && amended.OK() {
			first = amended
		}
	}
	r.merge(first)
	return nil
}

// stagedOn is the staged tree as a commit with these parents.
func (c *code) stagedOn(ctx context.Context, staged plan.OID, parents []string, r *Report) (*coded, error) {
	d := &coded{guard: &c.guard, root: staged}
	for _, p := range parents {
		root, err := c.store.Resolve(ctx, p+"^{tree}")
		if err != nil {
			return nil, err
		}
		d.parents, d.roots = append(d.parents, plan.OID(p)), append(d.roots, root)
	}
	err := c.compareCode(ctx, d)
	c.malformed(d.tree, d.flaws, r)
	return d, err
}

// judgeStaged judges a commit that is not made yet.
func (c *code) judgeStaged(ctx context.Context, d *coded, message string) (*Report, error) {
	r := newReport()
	if d.parents[0] == gitstore.EmptyTree {
		d.parents = nil
	}
	var err error
	if d.named, err = c.named(ctx, message); err != nil {
		return nil, err
	}
	if err := c.loadAll(ctx); err != nil {
		return nil, err
	}
	o, err := c.judgeOne(ctx, d)
	if err != nil {
		return nil, err
	}
	if err := c.report(ctx, d, o, r); err != nil {
		return nil, err
	}
	var had []*ledger
	if len(d.parents) > 0 {
		l, err := c.ledgerOf(ctx, d.parents[0])
		if err != nil {
			return nil, err
		}
		had = append(had, l)
	}
	for _, top := range newlyLapsed(o.ledger, had) {
		r.Findings = append(r.Findings, c.lapsedFinding(ctx, d.commit, top))
	}
	return r, nil
}

// amended judges the staged tree as one that replaces HEAD; nil if that has no parent.
func (c *code) amended(ctx context.Context, staged, head plan.OID) (*Report, error) {
	out, err := c.store.Git(ctx, "rev-list", "--parents", "-n", "1", "--end-of-options", string(head))
	fields := strings.Fields(out)
	if err != nil || len(fields) < 2 {
		return nil, ctx.Err()
	}
	message, err := c.store.Message(ctx, head)
	if err != nil {
		return nil, err
	}
	again, err := c.stagedOn(ctx, staged, fields[1:], newReport())
	if err != nil {
		return nil, err
	}
	return c.judgeStaged(ctx, again, message)
}

// judgeOne explains one commit, or the index. What nothing explains has its parents' ledger.
func (c *code) judgeOne(ctx context.Context, d *coded) (*outcome, error) {
	if len(d.parents) > 1 {
		return c.mergeSides(ctx, d)
	}
	var l *ledger
	if len(d.parents) == 1 {
		var err error
		if l, err = c.ledgerOf(ctx, d.parents[0]); err != nil {
			return nil, err
		}
	}
	o := &outcome{ledger: l}
	if len(d.paths) == 0 {
		return o, nil
	}
	return o, o.explain(ctx, &search{code: c, d: d, paths: d.paths, named: d.named}, &state{root: d.roots[0]}, l)
}

// entryAt returns what a tree has at a path; nothing if that is a directory.
func (c *code) entryAt(ctx context.Context, root plan.OID, path string) (threeway.Entry, error) {
	if root == "" {
		return threeway.Entry{}, nil
	}
	e, err := c.descendTo(ctx, threeway.Entry{Mode: threeway.Dir, OID: root}, path)
	return fileOf(e), err
}

// fileOf is an entry by its content alone; a directory is nothing.
func fileOf(e threeway.Entry) threeway.Entry {
	if isTree(e) {
		return threeway.Entry{}
	}
	return threeway.Entry{Mode: e.Mode, OID: e.OID}
}
