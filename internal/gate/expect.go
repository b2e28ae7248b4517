package gate

import (
	"cmp"
	"context"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// expect starts proofs while git still walks a range from..to: it proves the bundles that differ between the ends,
// since the judge will ask for them and a plan's bundles share what they read. It decides nothing and leaves whatever
// it can't find or prove to the judge.
func (g *Gate) expect(ctx context.Context, revs []string, walked <-chan struct{}) {
	from, to, ok := ends(revs)
	if !ok || g.store.Partial(ctx) {
		return
	}
	for _, root := range g.policy.RootPaths() {
		names, err := g.store.Differing(ctx, from, to, root)
		if err != nil {
			return
		}
		for _, name := range names {
			select {
			case <-walked:
				return
			default:
			}
			if id := plan.ID(name); id.Valid() {
				g.expectBundle(ctx, id, to+":"+export.BundleDir(root, id))
			}
		}
	}
}

func (g *Gate) expectBundle(ctx context.Context, id plan.ID, dir string) {
	oid, err := g.store.Resolve(ctx, dir+"/"+export.ManifestName)
	if err != nil {
		return
	}
	if b, err := g.rebuild(ctx, id, gitstore.TreeEntry{Mode: "100644", OID: oid}); err != nil || b == nil {
		return
	}
	tips, _ := g.tipsOf(ctx, id)
	for _, tip := range tips {
		_, _ = g.contains(ctx, tip, "") // caches the history
	}
}

// ends finds the only range from..to among revisions; an unnamed end is HEAD.
func ends(revs []string) (from, to string, ok bool) {
	for _, rev := range revs {
		if a, b, is := strings.Cut(rev, ".."); is && !strings.HasPrefix(b, ".") {
			from, to, ok = cmp.Or(a, "HEAD"), cmp.Or(b, "HEAD"), true
		}
	}
	return from, to, ok
}
