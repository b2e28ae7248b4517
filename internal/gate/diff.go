package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Limits on what one tree may hold below the roots. A tree beyond them was made to exhaust its readers.
const (
	deepest   = 1000      // nested directories
	mostFiles = 1_000_000 // files in which two trees differ
)

// node is a tree object below a protected root.
type node struct {
	entries []entry // paths are names
	flaw    *gitstore.TreeFlaw
}

// readNodes reads the trees that are not read yet, in one request.
func (g *Gate) readNodes(ctx context.Context, oids []plan.OID) error {
	var names []string
	asked := map[plan.OID]bool{}
	for _, oid := range oids {
		if g.nodes[oid] == nil && !asked[oid] {
			asked[oid] = true
			names = append(names, string(oid))
		}
	}
	if len(names) == 0 {
		return nil
	}
	return g.store.EachRawTree(ctx, names, func(i int, oid plan.OID, data []byte) error {
		n := &node{}
		flaw := gitstore.ScanTree(data, func(mode, name, id []byte) {
			if !gitstore.LegalMode(mode) && n.flaw == nil {
				n.flaw = &gitstore.TreeFlaw{Name: string(name), Why: "has mode " + string(mode)}
			}
			n.entries = append(n.entries, entry{string(name), string(mode), plan.OID(hex.EncodeToString(id))})
		})
		switch {
		case data == nil:
			n.flaw = &gitstore.TreeFlaw{Why: "is no tree"}
		case flaw != nil:
			n.flaw = flaw
		}
		g.nodes[plan.OID(names[i])] = n
		return nil
	})
}

// differ compares two commits below the protected roots.
type differ struct {
	g       *Gate
	changes []Change
	flaws   []flaw
	skip    func(path string) bool // what does not concern the caller
}

// pair is what two trees have at one path.
type pair struct {
	path     string
	old, new entry
}

// diff lists the files in which the new view differs from the old one. If the new view can't be judged, the flaws say
// why; the old one is taken as it is.
func (g *Gate) diff(ctx context.Context, before, after *view) ([]Change, []flaw, error) {
	d := &differ{g: g, flaws: slices.Clone(after.flaws)}
	err := d.level(ctx, pairs("", before.entries, after.entries))
	sort.Slice(d.changes, func(i, j int) bool { return d.changes[i].Path < d.changes[j].Path })
	return d.changes, d.flaws, err
}

// pairs returns the entries that differ between two directories.
func pairs(dir string, before, after []entry) []pair {
	old := make(map[string]entry, len(before))
	for _, e := range before {
		old[e.path] = e
	}
	var list []pair
	for _, e := range after {
		o := old[e.path]
		delete(old, e.path)
		if o.mode != e.mode || o.oid != e.oid {
			list = append(list, pair{join(dir, e.path), o, e})
		}
	}
	for _, e := range before {
		if o, left := old[e.path]; left {
			delete(old, e.path)
			list = append(list, pair{join(dir, e.path), o, entry{}})
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
			if !p.new.isTree() && p.new.exists() {
				d.changes = append(d.changes, Change{Path: p.path, Mode: p.new.mode, OID: p.new.oid,
					Replaces: p.old.exists() && !p.old.isTree(), was: p.old})
			} else if !p.old.isTree() && p.old.exists() {
				d.changes = append(d.changes, Change{Path: p.path, was: p.old})
			}
			before, after := d.children(p.old), d.children(p.new)
			if after.flaw != nil {
				d.flaws = append(d.flaws, flaw{join(p.path, after.flaw.Name), after.flaw.Why})
			}
			below := pairs(p.path, before.entries, after.entries)
			if d.skip != nil {
				below = slices.DeleteFunc(below, func(p pair) bool { return d.skip(p.path) })
			}
			deeper = append(deeper, below...)
		}
		if depth >= deepest {
			d.flaws = append(d.flaws, flaw{fmt.Sprintf("%.200s", level[0].path),
				fmt.Sprintf("is below more than %d directories", deepest)})
			return nil
		}
		if len(deeper)+len(d.changes) > mostFiles {
			d.flaws = append(d.flaws, flaw{level[0].path, fmt.Sprintf("is one of more than %d files", mostFiles)})
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
		for _, e := range []entry{p.old, p.new} {
			if e.isTree() {
				trees = append(trees, e.oid)
			}
		}
	}
	return trees
}

func (d *differ) children(e entry) *node {
	if !e.isTree() {
		return &node{}
	}
	return d.g.nodes[e.oid]
}

// flawError says that a tree is too malformed to list.
type flawError struct{ flaws []flaw }

func (e *flawError) Error() string { return e.flaws[0].path + ": malformed tree: " + e.flaws[0].why }

// list lists a directory below a root; a missing one is empty. It fails with a *flawError.
func (g *Gate) list(ctx context.Context, v *view, dir string) ([]gitstore.TreeEntry, error) {
	e, err := g.find(ctx, v, dir)
	if err != nil || !e.isTree() {
		return nil, err
	}
	d := &differ{g: g}
	if err := d.level(ctx, []pair{{path: dir, new: e}}); err != nil {
		return nil, err
	}
	if len(d.flaws) > 0 {
		return nil, &flawError{d.flaws}
	}
	entries := make([]gitstore.TreeEntry, len(d.changes))
	for i, c := range d.changes {
		entries[i] = gitstore.TreeEntry{Path: strings.TrimPrefix(c.Path, dir+"/"), Mode: c.Mode, OID: c.OID}
	}
	return entries, nil
}

// find looks up a path below a root.
func (g *Gate) find(ctx context.Context, v *view, name string) (entry, error) {
	root, _ := g.policy.RootOf(name)
	i := slices.IndexFunc(v.entries, func(e entry) bool { return e.path == root.Path })
	if i < 0 {
		return entry{}, nil
	}
	return g.descendTo(ctx, v.entries[i], strings.TrimPrefix(name, root.Path+"/"))
}

// descendTo looks up a path below a tree; what is not there does not exist. It fails with a *flawError.
func (g *Gate) descendTo(ctx context.Context, e entry, path string) (entry, error) {
	at := e.path
	for part := range strings.SplitSeq(path, "/") {
		if !e.isTree() {
			return entry{}, nil
		}
		if err := g.readNodes(ctx, []plan.OID{e.oid}); err != nil {
			return entry{}, err
		}
		n := g.nodes[e.oid]
		if n.flaw != nil {
			return entry{}, &flawError{[]flaw{{join(at, n.flaw.Name), n.flaw.Why}}}
		}
		i := slices.IndexFunc(n.entries, func(e entry) bool { return e.path == part })
		if i < 0 {
			return entry{}, nil
		}
		e, at = n.entries[i], join(at, part)
	}
	return e, nil
}
