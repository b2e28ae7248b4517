package exchange

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plandoc"
)

const maxLevels = 40 // of tasks below the root

// graph holds the items of a source and mends what is between them: references that lead nowhere, parents that go round
// in a circle, tasks that wait for each other.
type graph struct {
	*reader
	items []*item
	by    map[string]*item
	kids  map[*item][]*item
}

// newGraph tells items with one id apart.
func newGraph(r *reader, items []*item) *graph {
	g := &graph{reader: r, by: make(map[string]*item, len(items)), kids: map[*item][]*item{}}
	folded := make(map[string]*item, len(items))
	for _, it := range items {
		if len(g.items) == maxItems {
			r.find("too-many", it.file, it.line, "has too many tasks; the rest is left out",
				fmt.Sprintf("at most %d", maxItems), fmt.Sprint(len(items)))
			break
		}
		key := strings.ToLower(it.source)
		if folded[key] != nil {
			r.twice(it)
			key = strings.ToLower(it.source)
		}
		folded[key], g.by[it.source] = it, it
		g.items = append(g.items, it)
	}
	// Sources spell one id in several ways: impl-1 and IMPL-1.
	fold := func(ref string) string {
		if g.by[ref] == nil {
			if it := folded[strings.ToLower(ref)]; it != nil {
				return it.source
			}
		}
		return ref
	}
	for _, it := range g.items {
		it.parent = fold(it.parent)
		for i := range it.deps {
			it.deps[i] = fold(it.deps[i])
		}
	}
	return g
}

// twice gives an item an id of its own, because another one has its id. That is a loss only where a reference to the id
// could mean either.
func (r *reader) twice(it *item) {
	if r.doubled == nil {
		r.doubled = map[string]bool{}
	}
	r.doubled[strings.ToLower(it.source)] = true
	r.renamed++
	it.source, it.wish = fmt.Sprintf("%s (again, %d)", it.source, r.renamed), ""
	r.note("duplicate-id", it.file, it.line, "has the id of another task; called "+it.source+" here")
}

// mend makes the references sound.
func (g *graph) mend() {
	g.references()
	g.parents()
	for _, it := range g.items {
		if p := g.by[it.parent]; p != nil {
			g.kids[p] = append(g.kids[p], it)
		}
	}
	g.families()
	g.cycles()
}

func (g *graph) references() {
	report := func(it *item, code, message, ref string) {
		g.note(code, it.file, it.line, it.source+" "+message+": "+ref)
	}
	for _, it := range g.items {
		switch {
		case it.parent == "":
		case it.parent == it.source:
			report(it, "self-parent", "names itself as its parent; taken as a task without one", it.parent)
			it.parent = ""
		case g.by[it.parent] == nil:
			report(it, "unknown-parent", "has a parent that is not there; taken as a task without one", it.parent)
			it.parent = ""
		}
		var deps []string
		for _, d := range it.deps {
			if g.doubled[strings.ToLower(d)] && !slices.Contains(it.soft, d) {
				g.find("duplicate-id", it.file, it.line, it.source+" depends on an id that several tasks have",
					"an id of its own", d)
			}
			switch {
			case slices.Contains(deps, d):
			case d == it.source:
				g.circle("cycle", it, it.source+" depends on itself; taken as if it did not", "another task", d)
			case g.by[d] == nil:
				report(it, "unknown-dependency", "depends on a task that is not there; taken as if it did not", d)
			default:
				deps = append(deps, d)
			}
		}
		it.deps = deps
	}
}

// parents breaks circles of parents, and what is too deep.
func (g *graph) parents() {
	for _, it := range g.items {
		var path []*item
		for at := it; at != nil; at = g.by[at.parent] {
			if slices.Contains(path, at) {
				last := path[len(path)-1]
				g.circle("parent-cycle", last, last.source+" is below itself; taken as a task without a parent",
					"parents without a circle", g.chain(path, at))
				last.parent = ""
				break
			}
			if path = append(path, at); len(path) > maxLevels {
				g.note("too-deep", it.file, it.line, fmt.Sprintf("%s is more than %d levels deep; taken as a task "+
					"without a parent", it.source, maxLevels))
				it.parent = ""
				break
			}
		}
	}
}

// circle reports a circle that was broken at an item. Nothing is lost by it where that is done: it waits for nobody.
func (g *graph) circle(code string, it *item, message, expected, found string) {
	if it.isDone() {
		g.note(code, it.file, it.line, message+": "+found)
		return
	}
	g.find(code, it.file, it.line, message, expected, found)
}

func (g *graph) chain(path []*item, from *item) string {
	ids := each.Of(path[max(slices.Index(path, from), 0):], func(it *item) string { return it.source })
	return chainOf(append(ids, from.source))
}

// families drops dependencies that the tree implies or forbids: a parent waits for its children anyway, and a child
// can't wait for its parent.
func (g *graph) families() {
	above := func(it *item, id string) bool {
		for range maxLevels {
			if it = g.by[it.parent]; it == nil {
				return false
			}
			if it.source == id {
				return true
			}
		}
		return false
	}
	for _, it := range g.items {
		it.deps = slices.DeleteFunc(it.deps, func(d string) bool {
			switch {
			case above(g.by[d], it.source): // a parent waits for what is below it without saying so
				return true
			case above(it, d):
				g.note("depends-on-parent", it.file, it.line,
					it.source+" depends on "+d+", which it is a part of; taken as if it did not")
				return true
			}
			return false
		})
	}
}

// cycles drops dependencies until no task waits for itself. A parent begins when what it depends on is done, and is
// done with its children; so each item is two points in time: 2i is the end of item i, 2i+1 its begin.
func (g *graph) cycles() {
	const most = 200 // circles that are told one by one
	at := make(map[*item]int, len(g.items))
	for i, it := range g.items {
		at[it] = i
	}
	waitsFor := func(point int) (all []int) {
		it := g.items[point/2]
		if point%2 == 0 {
			for _, kid := range g.kids[it] {
				all = append(all, 2*at[kid])
			}
			return append(all, point+1)
		}
		for _, d := range it.deps {
			all = append(all, 2*at[g.by[d]])
		}
		if above := g.by[it.parent]; above != nil {
			all = append(all, 2*at[above]+1)
		}
		return all
	}
	for n := 0; ; {
		loops := plandoc.Loops(2*len(g.items), waitsFor)
		if len(loops) == 0 {
			return
		}
		if n >= most {
			g.find("cycle", g.items[0].file, 0, "has too many circles of dependencies; taken without dependencies",
				"dependencies without a circle", "")
			for _, it := range g.items {
				it.deps = nil
			}
			return
		}
		for _, loop := range loops {
			it, dep, soft, path := g.weakest(append(loop, loop[0]))
			if !soft {
				n++
				g.circle("cycle", it, it.source+" waits for itself; its dependency on "+dep+
					" is taken as if it were not there", "dependencies without a circle", path)
			}
			it.deps = slices.DeleteFunc(it.deps, func(d string) bool { return d == dep })
		}
	}
}

// weakest is the dependency of a circle of points that is dropped, a soft one if there is any, and the circle for
// people.
func (g *graph) weakest(ring []int) (it *item, dep string, soft bool, path string) {
	ids := []string{g.items[ring[0]/2].source}
	for k, point := range ring[1:] {
		before, now := g.items[ring[k]/2], g.items[point/2]
		if before != now {
			ids = append(ids, now.source)
		}
		if ring[k]%2 == 1 && point%2 == 0 && !soft {
			it, dep, soft = before, now.source, slices.Contains(before.soft, now.source)
		}
	}
	return it, dep, soft, chainOf(ids)
}

// chainOf is a circle for people, without its middle if it is long.
func chainOf(ids []string) string {
	if len(ids) > 12 {
		ids = append(ids[:11], "...")
	}
	return strings.Join(ids, " -> ")
}
