package gate

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

var gitHead = pattern.Compile(`^GITHEAD_([0-9a-f]{40})=`)

// Merging are the commits that are being merged. Before a merge that went well is committed git has not written
// MERGE_HEAD yet, but names each side in the environment.
func (g *Gate) Merging(hook string, environ []string) []plan.OID {
	var heads []plan.OID
	if hook == "pre-merge-commit" {
		for _, kv := range environ {
			if m := gitHead.Get().FindStringSubmatch(kv); m != nil {
				heads = append(heads, plan.OID(m[1]))
			}
		}
		return heads
	}
	data, err := os.ReadFile(filepath.Join(g.store.GitDir(), "MERGE_HEAD"))
	if err != nil {
		return nil
	}
	return gitstore.OIDs(string(data))
}

// Unfinished is the command that gives up what git is in the middle of; "" if that is nothing.
func Unfinished(gitDir string) string {
	for _, state := range [][2]string{
		{"MERGE_HEAD", "git merge --abort"},
		{"rebase-merge", "git rebase --abort"},
		{"rebase-apply/applying", "git am --abort"},
		{"rebase-apply", "git rebase --abort"},
		{"CHERRY_PICK_HEAD", "git cherry-pick --abort"},
		{"REVERT_HEAD", "git revert --abort"},
	} {
		if _, err := os.Stat(filepath.Join(gitDir, state[0])); err == nil {
			return state[1]
		}
	}
	return ""
}

// judgeMerge judges the paths in which a merge differs from a parent. A proven bundle may come from any parent; every
// other path must be what merging the sides yields, or the merge did more, and is judged for that.
func (g *Gate) judgeMerge(ctx context.Context, t tree, l logged, r *Report) error {
	changes := union(l.diffs)
	if len(changes) == 0 {
		return nil
	}
	whole := newReport()
	if err := g.judge(ctx, t, changes, whole); err != nil {
		return err
	}
	own := len(l.changes()) > 0
	if !whole.OK() {
		parents := each.Of(l.parents, func(p plan.OID) string { return string(p) })
		changes, err := g.notMerged(ctx, string(l.commit), parents, changes)
		if err != nil || len(changes) == 0 {
			return err
		}
		whole, own = newReport(), true
		if err := g.judge(ctx, t, changes, whole); err != nil {
			return err
		}
	}
	if own {
		r.Commits++
		r.merge(whole)
	}
	return nil
}

// union lists each changed path once; all lists agree on what the merge has there.
func union(diffs [][]Change) []Change {
	seen := map[string]bool{}
	var all []Change
	for _, c := range slices.Concat(diffs...) {
		if !seen[c.Path] {
			seen[c.Path] = true
			all = append(all, c)
		}
	}
	return all
}

// notMerged keeps the changes that a merge of the parents does not explain.
func (g *Gate) notMerged(ctx context.Context, merged string, parents []string, changes []Change) ([]Change, error) {
	var err error
	differs := make([]map[string]bool, len(parents)) // for each parent, the paths in which the merge differs from it
	for i, p := range parents {
		if differs[i], err = g.differing(ctx, p, merged); err != nil {
			return nil, err
		}
	}
	explained := func(i int, path string) (bool, error) {
		for j, q := range parents {
			if i == j || differs[j][path] {
				continue
			}
			untouched, err := g.untouched(ctx, parents[i], q, path)
			if err != nil || untouched {
				return untouched, err
			}
		}
		return false, nil
	}
	var left []Change
	for _, c := range changes {
		for i := range parents {
			if !differs[i][c.Path] {
				continue
			}
			ok, err := explained(i, c.Path)
			if err != nil {
				return nil, err
			}
			if !ok {
				left = append(left, c)
				break
			}
		}
	}
	return left, nil
}

// untouched reports whether one side left a path unchanged since it diverged from the other.
func (g *Gate) untouched(ctx context.Context, side, other, path string) (bool, error) {
	key := side + other
	changed, ok := g.sides[key]
	if !ok {
		bases, err := g.mergeBases(ctx, []plan.OID{plan.OID(side)}, plan.OID(other))
		if err != nil {
			return false, err
		}
		if len(bases) == 0 {
			bases = []plan.OID{gitstore.EmptyTree}
		}
		for _, b := range bases {
			paths, err := g.differing(ctx, string(b), side)
			if err != nil {
				return false, err
			}
			changed = append(changed, paths)
		}
		g.sides[key] = changed
	}
	return slices.ContainsFunc(changed, func(paths map[string]bool) bool { return !paths[path] }), nil
}

// differing returns the paths below the protected roots in which two commits or trees differ.
func (g *Gate) differing(ctx context.Context, a, b string) (map[string]bool, error) {
	tops, err := g.topsOf(ctx, a, b)
	if err != nil {
		return nil, err
	}
	changes, _, err := g.diffTops(ctx, tops[0], tops[1])
	paths := each.Set(changes, func(c Change) string { return c.Path })
	return paths, err
}
