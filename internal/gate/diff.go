package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// Limits on what one tree may hold below the roots. A tree beyond them was made to exhaust its readers.
const (
	deepest   = 1000      // nested directories
	mostFiles = 1_000_000 // files in which two trees differ
)

// The gate reads trees itself, entry by entry, because git's own walks overlook malformed trees, names that only some
// file system takes for a root, and merges that equal one of their parents.

func isTree(e threeway.Entry) bool { return e.Mode == threeway.Dir }

// join returns the path of a name exactly as the tree spells it: unlike path.Join it does not clean it.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// node is a tree object, or what of a root tree concerns the protected roots.
type node struct {
	entries []threeway.Entry
	flaw    *gitstore.TreeFlaw
}

// scanTree reads the entries of a tree that concern the caller. data is nil for what is no tree.
func scanTree(data []byte, concerns func(name []byte) bool) *node {
	n := &node{}
	flaw := gitstore.ScanTree(data, func(mode, name, id []byte) {
		if !concerns(name) {
			return
		}
		if !gitstore.LegalMode(mode) && n.flaw == nil {
			n.flaw = &gitstore.TreeFlaw{Name: string(name), Why: "has mode " + string(mode)}
		}
		n.entries = append(n.entries, threeway.Entry{Name: string(name),
			Mode: string(mode), OID: plan.OID(hex.EncodeToString(id))})
	})
	switch {
	case data == nil:
		n.flaw = &gitstore.TreeFlaw{Why: "is no tree"}
	case flaw != nil:
		n.flaw = flaw
	}
	return n
}

// readTops reads root trees, as far as they concern the protected roots.
func (g *Gate) readTops(ctx context.Context, roots []plan.OID) error {
	return g.store.EachRawTree(ctx, unread(g.tops, roots), func(_ int, oid plan.OID, data []byte) error {
		g.addTop(oid, data)
		return nil
	})
}

// unread lists the trees that are not known yet, each once.
func unread(known map[plan.OID]*node, oids []plan.OID) (names []string) {
	asked := map[plan.OID]bool{}
	for _, oid := range oids {
		if known[oid] == nil && !asked[oid] {
			asked[oid] = true
			names = append(names, string(oid))
		}
	}
	return names
}

// addTop adds a root tree. Sound ones with the same entries share a node.
func (g *Gate) addTop(oid plan.OID, data []byte) *node {
	n := scanTree(data, func(name []byte) bool {
		near, known := g.nearRoots[string(name)]
		if !known {
			near = hooks.Alike(g.policy.RootPaths(), string(name))
			g.nearRoots[string(name)] = near
		}
		return near
	})
	if key := fmt.Sprint(n.entries); n.flaw == nil {
		if g.alike[key] == nil {
			g.alike[key] = n
		}
		n = g.alike[key]
	}
	g.tops[oid] = n
	return n
}

// topsOf reads the root trees of commits or trees in one request.
func (g *Gate) topsOf(ctx context.Context, treeishes ...string) ([]*node, error) {
	names, tops := make([]string, len(treeishes)), make([]*node, len(treeishes))
	for i, t := range treeishes {
		names[i] = t + "^{tree}"
	}
	return tops, g.store.EachRawTree(ctx, names, func(i int, oid plan.OID, data []byte) error {
		tops[i] = g.addTop(oid, data)
		return nil
	})
}

// readNodes reads the trees that are not read yet, in one request.
func (g *Gate) readNodes(ctx context.Context, oids []plan.OID) error {
	names := unread(g.nodes, oids)
	return g.store.EachRawTree(ctx, names, func(i int, oid plan.OID, data []byte) error {
		g.nodes[plan.OID(names[i])] = scanTree(data, func([]byte) bool { return true })
		return nil
	})
}

// differ compares two trees.
type differ struct {
	g       *Gate
	changes []Change
	flaws   []gitstore.TreeFlaw    // with the paths of entries
	skip    func(path string) bool // what does not concern the caller
}

// pair is what two trees have at one path.
type pair struct {
	path     string
	old, new threeway.Entry
}

// diffTops lists the files below the protected roots in which a root tree differs from one before. If the new one can't
// be judged, the flaws say why; the old one is taken as it is.
func (g *Gate) diffTops(ctx context.Context, before, after *node) ([]Change, []gitstore.TreeFlaw, error) {
	if before == after {
		return nil, nil, nil
	}
	d := &differ{g: g, skip: func(path string) bool { return !hooks.Alike(g.policy.RootPaths(), path) }}
	if after.flaw != nil {
		d.flaws = []gitstore.TreeFlaw{*after.flaw}
	}
	err := d.level(ctx, pairs("", before.entries, after.entries))
	each.Sort(d.changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return d.changes, d.flaws, err
}

// pairs returns the entries that differ between two directories.
func pairs(dir string, before, after []threeway.Entry) []pair {
	old := each.By(before, func(e threeway.Entry) string { return e.Name })
	var list []pair
	for _, e := range after {
		o := old[e.Name]
		delete(old, e.Name)
		if o.Mode != e.Mode || o.OID != e.OID {
			list = append(list, pair{join(dir, e.Name), o, e})
		}
	}
	for _, e := range before {
		if o, left := old[e.Name]; left {
			delete(old, e.Name)
			list = append(list, pair{join(dir, e.Name), o, threeway.Entry{}})
		}
	}
	return list
}

// level compares the directories at one depth, then those below them.
func (d *differ) level(ctx context.Context, level []pair) error {
	for depth := 0; len(level) > 0; depth++ {
		if err := d.g.readNodes(ctx, d.trees(level)); err != nil {
			return err
		}
		var deeper []pair
		for _, p := range level {
			if !isTree(p.new) && p.new.OID != "" {
				d.changes = append(d.changes, Change{Path: p.path, Mode: p.new.Mode, OID: p.new.OID,
					Replaces: p.old.OID != "" && !isTree(p.old), was: p.old})
			} else if !isTree(p.old) && p.old.OID != "" {
				d.changes = append(d.changes, Change{Path: p.path, was: p.old})
			}
			before, after := d.children(p.old), d.children(p.new)
			if after.flaw != nil {
				d.flaws = append(d.flaws, gitstore.TreeFlaw{Name: join(p.path, after.flaw.Name), Why: after.flaw.Why})
			}
			below := pairs(p.path, before.entries, after.entries)
			if d.skip != nil {
				below = slices.DeleteFunc(below, func(p pair) bool { return d.skip(p.path) })
			}
			deeper = append(deeper, below...)
		}
		if depth >= deepest {
			d.flaws = append(d.flaws, gitstore.TreeFlaw{Name: fmt.Sprintf("%.200s", level[0].path),
				Why: fmt.Sprintf("is below more than %d directories", deepest)})
			return nil
		}
		if len(deeper)+len(d.changes) > mostFiles {
			d.flaws = append(d.flaws, gitstore.TreeFlaw{Name: level[0].path,
				Why: fmt.Sprintf("is one of more than %d files", mostFiles)})
			return nil
		}
		level = deeper
	}
	return nil
}

// trees returns the trees on both sides of the pairs.
func (d *differ) trees(level []pair) []plan.OID {
	var trees []plan.OID
	for _, p := range level {
		for _, e := range []threeway.Entry{p.old, p.new} {
			if isTree(e) {
				trees = append(trees, e.OID)
			}
		}
	}
	return trees
}

func (d *differ) children(e threeway.Entry) *node {
	if !isTree(e) {
		return &node{}
	}
	return d.g.nodes[e.OID]
}

// flawError says that a tree is too malformed to list.
type flawError struct{ flaws []gitstore.TreeFlaw }

func (e *flawError) Error() string { return e.flaws[0].Name + ": malformed tree: " + e.flaws[0].Why }

// list lists a directory below a root; a missing one is empty. It fails with a *flawError.
func (g *Gate) list(ctx context.Context, top *node, dir string) ([]gitstore.TreeEntry, error) {
	e, err := g.find(ctx, top, dir)
	if err != nil || !isTree(e) {
		return nil, err
	}
	d := &differ{g: g}
	if err := d.level(ctx, []pair{{path: dir, new: e}}); err != nil {
		return nil, err
	}
	if len(d.flaws) > 0 {
		return nil, &flawError{d.flaws}
	}
	entries := each.Of(d.changes, func(c Change) gitstore.TreeEntry {
		return gitstore.TreeEntry{Path: strings.TrimPrefix(c.Path, dir+"/"), Mode: c.Mode, OID: c.OID}
	})
	return entries, nil
}

// find looks up a path below a root.
func (g *Gate) find(ctx context.Context, top *node, path string) (threeway.Entry, error) {
	first, rest, _ := strings.Cut(path, "/")
	i := slices.IndexFunc(top.entries, func(e threeway.Entry) bool { return e.Name == first })
	if i < 0 {
		return threeway.Entry{}, nil
	}
	return g.descendTo(ctx, top.entries[i], rest)
}

// descendTo looks up a path below a tree; what is not there does not exist. It fails with a *flawError.
func (g *Gate) descendTo(ctx context.Context, e threeway.Entry, path string) (threeway.Entry, error) {
	at := e.Name
	for part := range strings.SplitSeq(path, "/") {
		if !isTree(e) {
			return threeway.Entry{}, nil
		}
		if err := g.readNodes(ctx, []plan.OID{e.OID}); err != nil {
			return threeway.Entry{}, err
		}
		n := g.nodes[e.OID]
		if n.flaw != nil {
			return threeway.Entry{}, &flawError{[]gitstore.TreeFlaw{{Name: join(at, n.flaw.Name), Why: n.flaw.Why}}}
		}
		i := slices.IndexFunc(n.entries, func(e threeway.Entry) bool { return e.Name == part })
		if i < 0 {
			return threeway.Entry{}, nil
		}
		e, at = n.entries[i], join(at, part)
	}
	return e, nil
}
