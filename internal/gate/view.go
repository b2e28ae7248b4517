package gate

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Few trees decide what a commit has below the protected roots: its root tree and the parents of each root. The gate
// reads them itself, entry by entry, because git's own walks overlook malformed trees, names that only some file system
// takes for a root, and merges that equal one of their parents. The result is a view; commits with equal views have the
// same files below all roots.

// entry is one entry of a tree, by its path from the top.
type entry struct {
	path string
	mode string
	oid  plan.OID
}

func (e entry) isTree() bool { return e.mode == treeMode }

func (e entry) exists() bool { return e.oid != "" }

const treeMode = "40000"

// join returns the path of a name exactly as the tree spells it: unlike path.Join it does not clean it.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// flaw is why a tree can't be judged.
type flaw struct {
	path string
	why  string
}

// view is the part of a root tree that concerns the protected roots: each root, every entry that some file system takes
// for one, and a file, link or submodule in place of a root's parent. Within one gate, equal views are the same
// pointer.
type view struct {
	entries []entry
	flaws   []flaw
}

// way is what one tree contributes to a view, and its subtrees that are parents of a root.
type way struct {
	view
	down  []entry
	whole *view // of a root tree, with what its subtrees contribute; nil until it is asked for
}

// role is how a name in a directory relates to the roots.
type role int

const (
	roleNone    role = iota
	roleRoot         // a root
	roleParent       // a directory that contains a root
	roleVariant      // a name that some file system takes for one of these
)

// atlas makes views. It is for one goroutine.
type atlas struct {
	roots []string
	roles map[string]map[string]role // of names, by directory
	ways  map[string]*way            // by content
	trees map[entry]*way             // trees below the root tree, by path and id
	same  map[string]*view           // by content
	key   []byte
}

func newAtlas(roots []string) *atlas {
	return &atlas{
		roots: roots, roles: map[string]map[string]role{}, ways: map[string]*way{}, trees: map[entry]*way{},
		same: map[string]*view{},
	}
}

// scan reads a tree as the directory dir; "" is the top. Trees with the same entries for the roots share one way.
func (a *atlas) scan(dir string, oid plan.OID, data []byte) *way {
	roles := a.roles[dir]
	if roles == nil {
		roles = map[string]role{}
		a.roles[dir] = roles
	}
	key := append(append(a.key[:0], dir...), 0)
	var found []byte // relevant entries, as the tree has them
	bad := gitstore.ScanTree(data, func(mode, name, id []byte) {
		r, known := roles[string(name)]
		if !known {
			r = a.roleOf(dir, string(name))
			roles[string(name)] = r
		}
		if r != roleNone {
			found = append(append(append(append(append(found, mode...), ' '), name...), 0), id...)
		}
	})
	if data == nil {
		bad = &gitstore.TreeFlaw{Why: "is no tree"}
	}
	key = append(key, found...)
	if bad != nil {
		key = append(key, oid...) // its meaning is uncertain, so it equals no other tree
	}
	a.key = key
	if w := a.ways[string(key)]; w != nil {
		return w
	}
	w := a.makeWay(dir, found)
	if bad != nil {
		w.flaws = append(w.flaws, flaw{join(dir, bad.Name), bad.Why})
	}
	a.ways[string(key)] = w
	return w
}

func (a *atlas) makeWay(dir string, found []byte) *way {
	w := &way{}
	gitstore.ScanTree(found, func(mode, name, id []byte) {
		e := entry{join(dir, string(name)), string(mode), plan.OID(hex.EncodeToString(id))}
		if !gitstore.LegalMode(mode) {
			w.flaws = append(w.flaws, flaw{e.path, "has mode " + e.mode})
		}
		if a.roles[dir][string(name)] == roleParent && e.isTree() {
			w.down = append(w.down, e)
		} else {
			w.entries = append(w.entries, e)
		}
	})
	return w
}

func (a *atlas) roleOf(dir, name string) role {
	children := children(a.roots, dir)
	switch {
	case slices.Contains(children, name) && slices.Contains(a.roots, join(dir, name)):
		return roleRoot
	case slices.Contains(children, name):
		return roleParent
	case slices.ContainsFunc(children, func(c string) bool { return hooks.AlikeName(c, name) }):
		return roleVariant
	}
	return roleNone
}

// children returns the names in a directory that are roots or contain one.
func children(roots []string, dir string) []string {
	var names []string
	for _, root := range roots {
		rest, in := root, true
		if dir != "" {
			rest, in = strings.CutPrefix(root, dir+"/")
		}
		if name, _, _ := strings.Cut(rest, "/"); in && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// treeReader passes trees to fn, for names that git resolves.
type treeReader func(ctx context.Context, names []string, fn func(i int, oid plan.OID, data []byte) error) error

// descend reads the trees below the given ones that lead to a root, one level at a time.
func (a *atlas) descend(ctx context.Context, read treeReader, ways []*way) error {
	for len(ways) > 0 {
		var level []entry
		var names []string
		for _, w := range ways {
			for _, d := range w.down {
				if _, known := a.trees[d]; !known {
					a.trees[d] = nil
					level, names = append(level, d), append(names, string(d.oid))
				}
			}
		}
		ways = nil
		if len(level) == 0 {
			return nil
		}
		err := read(ctx, names, func(i int, oid plan.OID, data []byte) error {
			w := a.scan(level[i].path, oid, data)
			a.trees[level[i]] = w
			ways = append(ways, w)
			return nil
		})
		if err != nil {
			for _, d := range level {
				if a.trees[d] == nil {
					delete(a.trees, d)
				}
			}
			return err
		}
	}
	return nil
}

// view assembles the roots' entries of a root tree; descend must have read the trees that lead to them.
func (a *atlas) view(top *way) *view {
	if top.whole != nil {
		return top.whole
	}
	v := &view{}
	var gather func(w *way)
	gather = func(w *way) {
		v.entries = append(v.entries, w.entries...)
		v.flaws = append(v.flaws, w.flaws...)
		for _, d := range w.down {
			gather(a.trees[d])
		}
	}
	gather(top)
	key := fmt.Sprintf("%q %q", v.entries, v.flaws)
	if len(v.flaws) > 0 {
		key += fmt.Sprintf(" %p", top)
	}
	if known := a.same[key]; known != nil {
		v = known
	}
	a.same[key], top.whole = v, v
	return v
}

// chart returns the gate's atlas.
func (g *Gate) chart() *atlas {
	if g.views == nil {
		g.views = newAtlas(g.policy.RootPaths())
	}
	return g.views
}

// viewsOf returns the views of commits or trees, in one request.
func (g *Gate) viewsOf(ctx context.Context, treeishes []string) ([]*view, error) {
	a := g.chart()
	names := make([]string, len(treeishes))
	for i, t := range treeishes {
		names[i] = t + "^{tree}"
	}
	tops := make([]*way, len(names))
	err := g.store.EachRawTree(ctx, names, func(i int, oid plan.OID, data []byte) error {
		tops[i] = a.scan("", oid, data)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := a.descend(ctx, g.store.EachRawTree, tops); err != nil {
		return nil, err
	}
	views := make([]*view, len(tops))
	for i, top := range tops {
		views[i] = a.view(top)
	}
	return views, nil
}
