package gate

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// logged is a commit and its changes below the protected roots, against each parent or against nothing.
type logged struct {
	visit
	diffs [][]Change
	flaws []gitstore.TreeFlaw // why the commit can't be judged
}

// visit is one commit of a walk.
type visit struct {
	commit  plan.OID
	tree    plan.OID // its root tree
	parents []plan.OID
}

// visits walks the commits that the revisions select.
func (g *Gate) visits(ctx context.Context, revs []string) (all []visit, err error) {
	err = g.store.EachCommit(ctx, revs, func(commit, tree plan.OID, parents []plan.OID) error {
		all = append(all, visit{commit, tree, parents})
		return nil
	})
	return all, err
}

// compare finds the commits that differ from a parent below the protected roots, by ids where it can.
func (g *Gate) compare(ctx context.Context, all []visit) ([]logged, error) {
	roots, err := g.rootsOf(ctx, all)
	if err != nil {
		return nil, err
	}
	if err := g.readTops(ctx, slices.Collect(maps.Values(roots))); err != nil {
		return nil, err
	}
	var touching []logged
	for _, v := range all {
		l := logged{visit: v}
		for i := range max(len(v.parents), 1) {
			before := &node{} // what a first commit is compared with
			if len(v.parents) > 0 {
				before = g.tops[roots[v.parents[i]]]
			}
			changes, flaws, err := g.diffTops(ctx, before, g.tops[v.tree])
			if err != nil {
				return nil, err
			}
			if len(changes) > 0 {
				l.diffs = append(l.diffs, changes)
			}
			if len(l.flaws) == 0 {
				l.flaws = flaws
			}
		}
		if len(l.diffs) > 0 || len(l.flaws) > 0 {
			touching = append(touching, l)
		}
	}
	return touching, nil
}

// rootsOf returns the root trees of the commits and of their parents.
func (g *Gate) rootsOf(ctx context.Context, all []visit) (map[plan.OID]plan.OID, error) {
	roots := make(map[plan.OID]plan.OID, len(all))
	for _, v := range all {
		roots[v.commit] = v.tree
	}
	var outside []plan.OID
	var names []string
	for _, v := range all {
		for _, p := range v.parents {
			if _, known := roots[p]; !known {
				roots[p] = ""
				outside, names = append(outside, p), append(names, string(p)+"^{tree}")
			}
		}
	}
	return roots, g.store.EachRawTree(ctx, names, func(i int, oid plan.OID, data []byte) error {
		roots[outside[i]] = oid
		g.addTop(oid, data)
		return nil
	})
}

// changes returns the paths in which the commit differs from every parent: the others came with one.
func (l logged) changes() []Change {
	if len(l.diffs) < max(len(l.parents), 1) {
		return nil
	}
	changes := l.diffs[0]
	for _, d := range l.diffs[1:] {
		changes = intersect(changes, d)
	}
	return changes
}

// intersect keeps the changes whose paths are in both lists.
func intersect(a, b []Change) []Change {
	in := each.Set(b, func(c Change) string { return c.Path })
	return each.If(a, func(c Change) bool { return in[c.Path] })
}

// judgeAll judges commits by the changes they bring.
func (g *Gate) judgeAll(ctx context.Context, visits []visit) (*Report, error) {
	all, err := g.compare(ctx, visits)
	if err != nil {
		return nil, err
	}
	if err := g.prefetchManifests(ctx, all); err != nil {
		return nil, err
	}
	r := newReport()
	tips := sync.OnceValue(func() []*node {
		return each.Of(endsOf(visits), func(v visit) *node { return g.tops[v.tree] })
	})
	for _, l := range all {
		t := tree{commit: l.commit, landed: !g.arriving, tips: tips, top: g.tops[l.tree]}
		if len(l.flaws) > 0 {
			r.Commits++
			g.malformed(t, l.flaws, r)
			continue
		}
		if len(l.parents) > 1 {
			if err := g.judgeMerge(ctx, t, l, r); err != nil {
				return nil, err
			}
			continue
		}
		changes := l.changes()
		if len(changes) == 0 {
			continue
		}
		r.Commits++
		if err := g.judge(ctx, t, changes, r); err != nil {
			return nil, err
		}
	}
	return r, g.judgeCode(ctx, visits, r)
}

// endsOf returns the commits that are no other commit's parent.
func endsOf(all []visit) []visit {
	parents := make(map[plan.OID]bool, len(all))
	for _, v := range all {
		for _, p := range v.parents {
			parents[p] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(v visit) bool { return parents[v.commit] })
}

// prefetchManifests fetches the manifests of all commits in one request, in a partial clone.
func (g *Gate) prefetchManifests(ctx context.Context, all []logged) error {
	if !g.store.Partial(ctx) {
		return nil
	}
	var oids []plan.OID
	for _, l := range all {
		for _, c := range slices.Concat(l.diffs...) {
			if strings.HasSuffix(c.Path, "/bundle/"+export.ManifestName) && !c.Deleted() {
				oids = append(oids, c.OID)
			}
		}
	}
	return g.store.Prefetch(ctx, oids)
}
