package exchange

import (
	"fmt"
	"slices"
	"strings"
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
	sound := map[*item]int{} // level, once it is known
	for _, it := range g.items {
		var path []*item
		on := map[*item]bool{}
		at := it
		for at != nil && sound[at] == 0 && !on[at] {
			on[at] = true
			path = append(path, at)
			at = g.by[at.parent]
		}
		if at != nil && sound[at] == 0 { // on the path: a circle
			last := path[len(path)-1]
			g.circle("parent-cycle", last, last.source+" is below itself; taken as a task without a parent",
				"parents without a circle", g.chain(path, at))
			last.parent = ""
		}
		for i := len(path) - 1; i >= 0; i-- {
			p := path[i]
			level := 1
			if above := g.by[p.parent]; above != nil {
				level = sound[above] + 1
			}
			if level > maxLevels {
				g.note("too-deep", p.file, p.line, fmt.Sprintf("%s is more than %d levels deep; taken as a task "+
					"without a parent", p.source, maxLevels))
				p.parent, level = "", 1
			}
			sound[p] = level
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
	var ids []string
	for _, it := range path[max(slices.Index(path, from), 0):] {
		ids = append(ids, it.source)
	}
	ids = append(ids, from.source)
	if len(ids) > 12 {
		ids = append(ids[:11], "...")
	}
	return strings.Join(ids, " -> ")
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
// done with its children; so each item is two points in time, its begin and its end.
func (g *graph) cycles() {
	const most = 200 // circles that are looked for one by one
	for n := 0; ; n++ {
		s := &search{graph: g, colour: make(map[point]int8, 2*len(g.items))}
		if !s.run() {
			return
		}
		it, dep := s.item, s.dep
		if soft := slices.Contains(it.soft, dep); soft || n < most {
			if soft {
				n--
			} else {
				g.circle("cycle", it,
					it.source+" waits for itself; its dependency on "+dep+" is taken as if it were not there",
					"dependencies without a circle", s.path)
			}
			it.deps = slices.DeleteFunc(it.deps, func(d string) bool { return d == dep })
			continue
		}
		g.find("cycle", it.file, 0, "has too many circles of dependencies; taken without dependencies",
			"dependencies without a circle", "")
		for _, it := range g.items {
			it.deps = nil
		}
		return
	}
}

// point is the begin of an item or its end.
type point struct {
	it  *item
	end bool
}

// step is a way that is being followed.
type step struct {
	at   point
	next int
	dep  string // the dependency that led here, "" if the tree did
}

// search finds one circle, depth first, without recursion: the files come from anywhere.
type search struct {
	*graph
	colour map[point]int8 // 1 on the way, 2 done
	stack  []step

	item *item // found: who has the dependency that closes the circle
	dep  string
	path string
}

func (s *search) run() bool {
	for _, it := range s.items {
		if s.colour[point{it, true}] == 0 && s.from(point{it, true}) {
			return true
		}
	}
	return false
}

func (s *search) from(p point) bool {
	s.stack = append(s.stack[:0], step{at: p})
	s.colour[p] = 1
	for len(s.stack) > 0 {
		top := &s.stack[len(s.stack)-1]
		next, dep, ok := s.after(top.at, top.next)
		if !ok {
			s.colour[top.at] = 2
			s.stack = s.stack[:len(s.stack)-1]
			continue
		}
		top.next++
		switch s.colour[next] {
		case 0:
			s.colour[next] = 1
			s.stack = append(s.stack, step{at: next, dep: dep})
		case 1:
			s.closed(next, dep)
			return true
		}
	}
	return false
}

// after is the i-th point that p has to wait for.
func (s *search) after(p point, i int) (next point, dep string, ok bool) {
	if p.end {
		kids := s.kids[p.it]
		switch {
		case i < len(kids):
			return point{kids[i], true}, "", true
		case i == len(kids):
			return point{p.it, false}, "", true
		}
		return point{}, "", false
	}
	if i < len(p.it.deps) {
		d := p.it.deps[i]
		return point{s.by[d], true}, d, true
	}
	if i == len(p.it.deps) {
		if above := s.by[p.it.parent]; above != nil {
			return point{above, false}, "", true
		}
	}
	return point{}, "", false
}

// closed notes the circle that a step to p closes, and its last dependency.
func (s *search) closed(p point, dep string) {
	from := slices.IndexFunc(s.stack, func(st step) bool { return st.at == p })
	ring := append(slices.Clone(s.stack[from:]), step{at: p, dep: dep})
	var ids []string
	for i, st := range ring {
		if i > 0 && st.dep != "" && (s.item == nil || !slices.Contains(s.item.soft, s.dep)) {
			s.item, s.dep = ring[i-1].at.it, st.dep
		}
		if len(ids) == 0 || ids[len(ids)-1] != st.at.it.source {
			ids = append(ids, st.at.it.source)
		}
	}
	if len(ids) > 12 {
		ids = append(ids[:11], "...")
	}
	s.path = strings.Join(ids, " -> ")
}
