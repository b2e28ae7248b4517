package gate

import (
	"context"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// logged is a commit and its changes below the protected roots: one list for each parent it differs from, or one
// against nothing if it has no parent.
type logged struct {
	commit  plan.OID
	parents []plan.OID
	view    *view
	diffs   [][]Change
	flaws   []flaw // why the commit can't be judged
}

// visit is one commit of a walk.
type visit struct {
	commit  plan.OID
	tree    plan.OID // its root tree
	parents []plan.OID
	top     *way
}

// visits walks the commits that the revisions select. It tells where their root trees differ, as long as somebody
// listens.
func (g *Gate) visits(ctx context.Context, a *atlas, steps chan<- step, revs []string) ([]visit, error) {
	var all []visit
	var newer *way
	err := g.store.WalkTrees(ctx, revs, func(w gitstore.Walked) error {
		top := a.scan("", w.Tree, w.Data)
		all = append(all, visit{w.Commit, w.Tree, w.Parents, top})
		if newer != nil && top != newer {
			select {
			case steps <- step{old: top, new: newer}:
			default:
			}
		}
		newer = top
		return nil
	})
	return all, err
}

var nothing view // what a first commit is compared with

// compare finds the commits that differ from a parent below the protected roots. It compares ids and reads only trees
// that differ.
func (g *Gate) compare(ctx context.Context, all []visit) ([]logged, error) {
	views, err := g.survey(ctx, all)
	if err != nil {
		return nil, err
	}
	var touching []logged
	for _, v := range all {
		l := logged{commit: v.commit, parents: v.parents, view: g.chart().view(v.top)}
		for i := range max(len(v.parents), 1) {
			b := &nothing
			if len(v.parents) > 0 {
				b = views[v.parents[i]]
			}
			if b == l.view {
				continue
			}
			changes, flaws, err := g.diff(ctx, b, l.view)
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

// survey returns the views of the commits and of all their parents.
func (g *Gate) survey(ctx context.Context, all []visit) (map[plan.OID]*view, error) {
	a := g.chart()
	views := make(map[plan.OID]*view, len(all)+1)
	var ways []*way
	for _, v := range all {
		if len(v.top.down) > 0 {
			ways = append(ways, v.top)
		}
	}
	if err := a.descend(ctx, g.store.EachRawTree, slices.Compact(ways)); err != nil {
		return nil, err
	}
	for _, v := range all {
		views[v.commit] = a.view(v.top)
	}
	var outside []string
	for _, v := range all {
		for _, p := range v.parents {
			if _, known := views[p]; !known {
				views[p] = nil
				outside = append(outside, string(p))
			}
		}
	}
	if len(outside) == 0 {
		return views, nil
	}
	more, err := g.viewsOf(ctx, outside)
	for i, v := range more {
		views[plan.OID(outside[i])] = v
	}
	return views, err
}

// changes returns the paths in which the commit differs from every parent. A path that equals one parent came in with
// that parent.
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
	in := map[string]bool{}
	for _, c := range b {
		in[c.Path] = true
	}
	var both []Change
	for _, c := range a {
		if in[c.Path] {
			both = append(both, c)
		}
	}
	return both
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
	tips := sync.OnceValue(func() []*view { return g.tipViews(visits) })
	for _, l := range all {
		t := tree{commit: l.commit, landed: !g.arriving, tips: tips, view: l.view}
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

// tipViews returns the views of the commits that are no other commit's parent.
func (g *Gate) tipViews(all []visit) []*view {
	var tips []*view
	for _, v := range endsOf(all) {
		tips = append(tips, g.chart().view(v.top))
	}
	return tips
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
