package gate

import (
	"context"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// step is two root trees that a walk met one after the other, with different entries for the roots.
type step struct{ old, new *way }

// expect proves bundles while git still walks: where two root trees differ, those that only the newer one has. The
// judge will most likely ask for them. It decides nothing, and leaves whatever it can't find or prove to the judge. It
// returns when the walk ends.
func (g *Gate) expect(ctx context.Context, steps <-chan step, walked <-chan struct{}) {
	idle := g.store.Partial(ctx) // a partial clone fetches what is needed in one request
	for {
		select {
		case <-walked:
			return
		case s := <-steps:
			for _, p := range pairs("", s.old.entries, s.new.entries) {
				if !idle && p.new.isTree() {
					g.expectBundles(ctx, p)
				}
			}
		}
	}
}

// expectBundles proves the bundles of one root.
func (g *Gate) expectBundles(ctx context.Context, root pair) {
	d := &differ{g: g}
	if g.readNodes(ctx, d.trees([]pair{root})) != nil {
		return
	}
	for _, p := range pairs("", d.children(root.old).entries, d.children(root.new).entries) {
		id := plan.ID(p.path)
		if !p.new.isTree() || !id.Valid() {
			continue
		}
		oid, err := g.store.Resolve(ctx, string(p.new.oid)+":bundle/"+export.ManifestName)
		if err == nil {
			_, _ = g.rebuild(ctx, id, gitstore.TreeEntry{Mode: "100644", OID: oid})
		}
	}
}
