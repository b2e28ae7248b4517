package gate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/threeway"
)

// The policy may protect code: files that only approved changes of the repository alter. A commit is legal if all
// protected paths are what a sequence of approved changes makes of its parent; of a merge, of what merging the parents
// yields. Nothing in a commit proves that. What its message names only says which changes to try first.

// code judges the protected code of commits.
type code struct {
	*Gate
	guard guard
	batch *gitstore.Batch // what merging makes; it is never written
	lib   library
}

// Landed is an approved change that a commit brings, or takes back.
type Landed struct {
	Commit     plan.OID    `json:"commit,omitempty"` // "" for the index
	PlanID     plan.ID     `json:"plan_id"`
	TaskID     plan.TaskID `json:"task_id"`
	Version    string      `json:"artifact_id"`
	Reverted   bool        `json:"reverted,omitempty"`
	Overturned bool        `json:"overturned,omitempty"` // rejected since, and no landing tip has it
	Signatures string      `json:"signatures"`           // signed: by keys of the policy that judges; else unsigned
	SignedBy   []string    `json:"signed_by,omitempty"`

	change *change
}

// ofCode returns the judge of code, nil if the policy protects none.
func (g *Gate) ofCode() *code {
	if g.code == nil && len(g.policy.Changes.Paths) > 0 {
		g.code = &code{Gate: g, guard: newGuard(g.policy.Changes), batch: g.store.NewBatch(), lib: newLibrary()}
	}
	return g.code
}

// coded is a commit, or the index, that differs from a parent at protected paths.
type coded struct {
	tree
	root    plan.OID // its root tree
	parents []plan.OID
	roots   []plan.OID // the parents' root trees; "" if there is no parent
	paths   []string   // that differ from a parent
	message string
	ends    []plan.OID // root trees of the tips of the range; nil for the index
}

// judgeCode judges what commits do to the protected code.
func (g *Gate) judgeCode(ctx context.Context, all []visit, r *Report) error {
	c := g.ofCode()
	if c == nil || len(all) == 0 || g.atWork {
		return nil
	}
	trees, err := c.treesOf(ctx, all)
	if err != nil {
		return err
	}
	var touching []*coded
	for _, v := range all {
		d := &coded{tree: tree{commit: v.commit, landed: !g.arriving}, root: v.tree, parents: v.parents,
			roots: []plan.OID{""}}
		if len(v.parents) > 0 {
			d.roots = nil
			for _, p := range v.parents {
				d.roots = append(d.roots, trees[p])
			}
		}
		if err := c.compareCode(ctx, d, r); err != nil {
			return err
		}
		if len(d.paths) > 0 {
			touching = append(touching, d)
		}
	}
	if touching, err = c.afterProtection(ctx, touching); err != nil || len(touching) == 0 {
		return err
	}
	ends := endsOf(all)
	for _, d := range touching {
		r.Commits++
		d.ends = ends
		if d.message, err = g.store.Message(ctx, d.commit); err != nil {
			return err
		}
		if err := c.judgeOne(ctx, d, r); err != nil {
			return err
		}
	}
	return nil
}

// endsOf returns the root trees of the commits that are no other commit's parent.
func endsOf(all []visit) []plan.OID {
	parents := map[plan.OID]bool{}
	for _, v := range all {
		for _, p := range v.parents {
			parents[p] = true
		}
	}
	ends := []plan.OID{}
	for _, v := range all {
		if !parents[v.commit] {
			ends = append(ends, v.tree)
		}
	}
	return ends
}

// treesOf returns the root trees of the commits and of their parents.
func (c *code) treesOf(ctx context.Context, all []visit) (map[plan.OID]plan.OID, error) {
	trees := make(map[plan.OID]plan.OID, len(all))
	for _, v := range all {
		trees[v.commit] = v.tree
	}
	var outside []plan.OID
	var names []string
	for _, v := range all {
		for _, p := range v.parents {
			if _, known := trees[p]; !known {
				trees[p] = ""
				outside, names = append(outside, p), append(names, string(p)+"^{tree}")
			}
		}
	}
	if len(names) == 0 {
		return trees, nil
	}
	return trees, c.store.EachRawTree(ctx, names, func(i int, oid plan.OID, _ []byte) error {
		trees[outside[i]] = oid
		return nil
	})
}

// compareCode finds the protected paths in which a commit differs from any parent. A malformed tree is a finding.
func (c *code) compareCode(ctx context.Context, d *coded, r *Report) error {
	seen := map[string]bool{}
	for _, parent := range d.roots {
		if parent == d.root {
			continue
		}
		changes, flaws, err := c.diffTrees(ctx, parent, d.root)
		if err != nil {
			return err
		}
		flaws = slices.DeleteFunc(flaws, func(f flaw) bool {
			return slices.ContainsFunc(r.Findings, func(known Finding) bool {
				return known.Code == malformedCode && known.Commit == d.commit && (known.Path == f.path || f.path == "")
			})
		})
		if len(flaws) > 0 {
			c.malformed(d.tree, flaws, r)
			d.paths = nil
			return nil
		}
		for _, ch := range changes {
			if !seen[ch.Path] {
				seen[ch.Path] = true
				d.paths = append(d.paths, ch.Path)
			}
		}
	}
	slices.Sort(d.paths)
	return nil
}

// diffTrees lists the protected paths in which two root trees differ; "" is no tree.
func (c *code) diffTrees(ctx context.Context, before, after plan.OID) ([]Change, []flaw, error) {
	top := func(oid plan.OID) entry {
		if oid == "" {
			return entry{}
		}
		return entry{mode: treeMode, oid: oid}
	}
	d := &differ{g: c.Gate, skip: c.guard.skips}
	err := d.level(ctx, []pair{{old: top(before), new: top(after)}})
	d.changes = slices.DeleteFunc(d.changes, func(ch Change) bool { return !c.guard.protects(ch.Path) })
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

// indexCode judges the code of the tree that is staged. Nobody knows its message yet, nor whether the commit will
// replace the one before: what may be legal passes here, and the commit itself is judged when a branch takes it.
func (g *Gate) indexCode(ctx context.Context, staged plan.OID, parents []string, r *Report) error {
	c := g.ofCode()
	if c == nil {
		return nil
	}
	d := &coded{root: staged}
	for _, p := range parents {
		root, err := g.store.Resolve(ctx, p+"^{tree}")
		if err != nil {
			return err
		}
		d.parents, d.roots = append(d.parents, plan.OID(p)), append(d.roots, root)
	}
	if err := c.compareCode(ctx, d, r); err != nil || len(d.paths) == 0 || g.onWorkBranch(ctx) {
		return err
	}
	for _, name := range []string{"MERGE_MSG", "SQUASH_MSG"} {
		data, err := os.ReadFile(filepath.Join(g.store.GitDir(), name))
		if err == nil {
			d.message += string(data) + "\n"
		}
	}
	first := newReport()
	if err := c.judgeOne(ctx, d, first); err != nil {
		return err
	}
	if !first.OK() && len(parents) == 1 {
		amended, err := c.amended(ctx, d)
		if err != nil {
			return err
		}
		if amended != nil {
			first = amended
		}
	}
	r.merge(first)
	return nil
}

// amended judges the staged tree as one that replaces HEAD; nil if that is not legal either.
func (c *code) amended(ctx context.Context, d *coded) (*Report, error) {
	head := string(d.parents[0])
	out, err := c.store.Git(ctx, "rev-list", "--parents", "-n", "1", "--end-of-options", head)
	fields := strings.Fields(out)
	if err != nil || len(fields) < 2 {
		return nil, ctx.Err()
	}
	again := *d
	if again.message, err = c.store.Message(ctx, d.parents[0]); err != nil {
		return nil, err
	}
	again.parents, again.roots, again.paths = nil, nil, nil
	for _, p := range fields[1:] {
		root, err := c.store.Resolve(ctx, p+"^{tree}")
		if err != nil {
			return nil, err
		}
		again.parents, again.roots = append(again.parents, plan.OID(p)), append(again.roots, root)
	}
	r := newReport()
	if err := c.compareCode(ctx, &again, r); err != nil {
		return nil, err
	}
	if err := c.judgeOne(ctx, &again, r); err != nil || !r.OK() {
		return nil, err
	}
	return r, nil
}

// judgeOne judges one commit or index that differs from a parent.
func (c *code) judgeOne(ctx context.Context, d *coded, r *Report) error {
	if len(d.paths) == 0 {
		return nil
	}
	starts, err := c.starts(ctx, d)
	if err != nil {
		return err
	}
	var best *outcome
	for _, start := range starts {
		s, err := start(ctx)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		o, err := c.explain(ctx, d, s)
		if err != nil {
			return err
		}
		if best == nil || len(o.left) == 0 {
			best = o
		}
		if len(o.left) == 0 {
			break
		}
	}
	return c.report(ctx, d, best, r)
}

// entryAt returns what a tree has at a path; nothing if that is a directory.
func (c *code) entryAt(ctx context.Context, root plan.OID, path string) (threeway.Entry, error) {
	e := entry{mode: treeMode, oid: root}
	if root == "" {
		return threeway.Entry{}, nil
	}
	at := ""
	for part := range strings.SplitSeq(path, "/") {
		if !e.isTree() {
			return threeway.Entry{}, nil
		}
		if err := c.readNodes(ctx, []plan.OID{e.oid}); err != nil {
			return threeway.Entry{}, err
		}
		n := c.nodes[e.oid]
		if n.flaw != nil {
			return threeway.Entry{}, &flawError{[]flaw{{join(at, n.flaw.Name), n.flaw.Why}}}
		}
		i := slices.IndexFunc(n.entries, func(e entry) bool { return e.path == part })
		if i < 0 {
			return threeway.Entry{}, nil
		}
		e, at = n.entries[i], join(at, part)
	}
	return fileOf(e), nil
}

// fileOf is an entry as package threeway has it; a directory is nothing.
func fileOf(e entry) threeway.Entry {
	if e.isTree() || !e.exists() {
		return threeway.Entry{}
	}
	return threeway.Entry{Mode: e.mode, OID: e.oid}
}

// asFlaw reports whether an error says that a tree is malformed.
func asFlaw(err error) bool {
	var f *flawError
	return errors.As(err, &f)
}
