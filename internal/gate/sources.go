package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

const zeroOID = "0000000000000000000000000000000000000000"

// Index judges what is staged, as the tree that the next commit would have: against HEAD and, before a merge commit,
// against the merged commits, of which the merge may have dropped something.
func (g *Gate) Index(ctx context.Context, merged ...plan.OID) (*Report, error) {
	head, err := g.store.Head(ctx)
	if errors.Is(err, gitstore.ErrUnborn) {
		head, err = gitstore.EmptyTree, nil
	}
	if err != nil {
		return nil, err
	}
	if head != gitstore.EmptyTree {
		g.before = head
	}
	staged, err := g.store.Git(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return nil, err
	}
	parents := each.Of(append([]plan.OID{head}, merged...), func(p plan.OID) string { return string(p) })
	r, err := g.indexBundles(ctx, staged, parents, merged)
	if err != nil {
		return nil, err
	}
	return r, g.indexCode(ctx, plan.OID(staged), parents, r)
}

// indexBundles judges the bundles of the staged tree.
func (g *Gate) indexBundles(ctx context.Context, staged string, parents []string, merged []plan.OID) (*Report, error) {
	tops, err := g.topsOf(ctx, append(slices.Clip(parents), staged)...)
	if err != nil {
		return nil, err
	}
	t, r := tree{top: tops[len(parents)]}, newReport()
	diffs := make([][]Change, len(parents))
	for i := range parents {
		var flaws []gitstore.TreeFlaw
		if diffs[i], flaws, err = g.diffTops(ctx, tops[i], t.top); err != nil {
			return nil, err
		}
		if len(flaws) > 0 {
			g.malformed(t, flaws, r)
			return r, nil
		}
	}
	if err := g.judge(ctx, t, diffs[0], r); err != nil || len(merged) == 0 {
		return r, err
	}
	if r.OK() {
		diffs = diffs[1:]
	} else {
		for _, side := range merged { // remote-tracking branches may have them all
			if ref, err := g.SharedIn(ctx, side); err != nil || ref == "" {
				return r, err
			}
		}
		r.Shared, r.Findings = r.Findings, nil
	}
	changes, err := g.notMerged(ctx, staged, parents, union(diffs))
	if err != nil || len(changes) == 0 {
		return r, err
	}
	dropped := newReport()
	err = g.judge(ctx, t, changes, dropped)
	r.Findings = append(r.Findings, dropped.Findings...)
	return r, err
}

func newReport() *Report {
	return &Report{Findings: []Finding{}, Waived: []Finding{}, Bundles: []Bundle{}}
}

// Commit judges one commit: the paths in which it differs from every parent.
func (g *Gate) Commit(ctx context.Context, commit plan.OID) (*Report, error) {
	all, err := g.visits(ctx, []string{"--no-walk", "--end-of-options", string(commit)})
	if err != nil {
		return nil, err
	}
	return g.judgeAll(ctx, all)
}

// walk judges every selected commit that touches a protected root.
func (g *Gate) walk(ctx context.Context, revs ...string) (*Report, error) {
	exempt, err := g.exempt(ctx)
	if err != nil {
		return nil, err
	}
	revs = append(exempt, revs...) // in front, since a --not would negate these
	all, err := g.visits(ctx, revs)
	if err != nil {
		return nil, err
	}
	r, err := g.judgeAll(ctx, all)
	if err != nil || len(all) > 0 {
		return r, err
	}
	first, err := g.store.Git(ctx, append([]string{"rev-list", "-n", "1"}, revs[len(exempt):]...)...)
	if first == "" {
		r.Empty = true
	} else {
		r.Note = "a baseline of the policy exempts every commit"
	}
	return r, err
}

// Whole fails with a *gitstore.AbsentError if the revisions, which the user calls name, reach the end of a shallow
// clone: some of their commits are not here, and nobody can say that those are clean.
func (g *Gate) Whole(ctx context.Context, name string, revs ...string) error {
	revs, _, _, err := g.based(ctx, revs)
	if err != nil || revs == nil {
		return err
	}
	cut, err := g.store.Cut(ctx, revs...)
	if err != nil || len(cut) == 0 {
		return err
	}
	return &gitstore.AbsentError{
		What: fmt.Sprintf("%s can't be judged: this clone is shallow and does not have what is below %.12s", name,
			cut[0]),
		Hint: gitstore.Unshallow,
	}
}

// exempt excludes the history up to the policy's baselines, as far as it is here.
func (g *Gate) exempt(ctx context.Context) ([]string, error) {
	var revs []string
	for _, b := range g.policy.Baseline {
		if here, err := g.store.CommitOf(ctx, string(b)); err != nil {
			return nil, err
		} else if here != "" {
			revs = append(revs, "^"+string(b))
		}
	}
	return revs, nil
}

// Push judges what is about to be pushed, as git passes it to the pre-push hook on standard input: one line per ref,
// "<local ref> <local oid> <remote ref> <remote oid>".
func (g *Gate) Push(ctx context.Context, stdin io.Reader, remote string) (*Report, error) {
	lines, err := io.ReadAll(stdin)
	if err != nil {
		return nil, err
	}
	g.moving = true
	total := newReport()
	for line := range strings.Lines(string(lines)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("pre-push: can't read %q", line)
		}
		local, theirs := f[1], f[3]
		g.branch = strings.TrimPrefix(f[2], "refs/heads/")
		if _, isArchive := gitstore.IsArchiveRef(f[2]); isArchive || local == zeroOID {
			continue // it brings no code, or nothing
		}
		if isPlanRef(f[2]) {
			if err := g.pushPlan(ctx, f, total); err != nil {
				return nil, err
			}
			continue
		}
		commits, err := g.holdsCommits(ctx, f[2], plan.OID(local), false, total)
		if err != nil {
			return nil, err
		}
		if !commits {
			continue
		}
		revs := []string{local, "--not", "--remotes=" + remote}
		before, err := g.store.CommitOf(ctx, theirs) // none for a new ref, or where it is not here
		if err != nil {
			return nil, err
		}
		if before != "" {
			revs = append(revs, theirs)
		}
		if err := g.Whole(ctx, strings.TrimPrefix(f[0], "refs/heads/"), revs...); err != nil {
			return nil, err
		}
		r, err := g.rangeMoved(ctx, f[2], before, plan.OID(local), revs)
		if err != nil {
			return nil, err
		}
		total.merge(r)
	}
	return total, nil
}

// pushPlan audits what a push adds to a plan's history, or the policy's, on the remote.
func (g *Gate) pushPlan(ctx context.Context, f []string, r *Report) error {
	m := Move{Ref: f[2], Old: orNone(f[3]), New: plan.OID(f[1])}
	var err error // the old value may not be here, and git itself only fast-forwards the ref
	if m.Old, err = g.store.CommitOf(ctx, string(m.Old)); err != nil {
		return err
	}
	return g.planMove(ctx, m, false, r)
}
