package graph

import (
	"context"
	"math"

	"gitwf/internal/plan"
)

// Box is the place of a task in a picture; X and Y are its upper left corner, Y grows downwards.
type Box struct{ X, Y, Width, Height float64 }

// Layout is where everything of a graph goes. A goal's box holds those of its parts. Bends has the points of edges that
// pass a layer, between its boxes; the other edges go straight from box to box.
type Layout struct {
	Width, Height float64
	Boxes         map[plan.TaskID]Box
	Bends         map[[2]plan.TaskID][]Point // by what is needed and what needs it
}

// The sizes of a picture, in pixels.
const (
	taskWidth   = 212.0
	taskHeight  = 46.0
	checkHeight = 24.0
	checkGap    = 5.0
	headHeight  = 38.0 // of a goal, above its parts
	padding     = 14.0
	gap         = 18.0 // between unrelated parts
)

// The work on one picture, in boxes and in passes of edges through layers: up to thorough with a long search for few
// crossings, up to quick with a short one, beyond that in columns without a search. No time is measured, so the same
// plan always gives the same picture.
const (
	thorough = 6_000
	quick    = 30_000
)

// Place lays a graph out: the parts of each goal that depend on each other in layers from left to right, in a box; then
// that box as one part of the goal around it. It fails when ctx ends.
func Place(ctx context.Context, g Graph) (*Layout, error) {
	p := placer{ctx: ctx, t: newTree(g), needs: map[plan.TaskID][][2]plan.TaskID{}}
	for _, e := range g.Edges {
		if e.Kind == DependsOn {
			p.liftEdge(e.To, e.From)
		}
	}
	whole, err := p.layOutGoal("", p.t.roots)
	if err != nil {
		return nil, err
	}
	l := &Layout{Width: whole.w, Height: whole.h, Boxes: map[plan.TaskID]Box{}, Bends: map[[2]plan.TaskID][]Point{}}
	p.placeAll(l, whole, 0, 0)
	return l, nil
}

type placer struct {
	ctx   context.Context
	spent int // boxes and passes
	t     *tree
	needs map[plan.TaskID][][2]plan.TaskID // of each goal ("" above the roots), which part comes before which
}

// part is something with a size that is placed as one: a task with its CHECKs, a goal with all that is in it, or a
// piece of an edge that passes a layer.
type part struct {
	id    plan.TaskID    // "" for what is around the roots, and for an edge
	line  [2]plan.TaskID // of an edge, what is needed and what needs it
	x, y  float64        // in what holds it
	w, h  float64
	parts []*part
}

// liftEdge turns an edge between two tasks into one between parts of the innermost goal that holds both.
func (p *placer) liftEdge(before, after plan.TaskID) {
	a, b := p.t.path(before), p.t.path(after)
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	if i == len(a) || i == len(b) {
		return // a task and a goal that it is in
	}
	var holder plan.TaskID
	if i > 0 {
		holder = a[i-1]
	}
	p.needs[holder] = append(p.needs[holder], [2]plan.TaskID{a[i], b[i]})
}

// layOutGoal lays out the parts of a goal with all that is in them, and the goal around them.
func (p *placer) layOutGoal(id plan.TaskID, ids []plan.TaskID) (*part, error) {
	g := &part{id: id}
	var parts []*part
	number := map[plan.TaskID]int{}
	for i, c := range ids {
		inner := &part{id: c, w: taskWidth, h: taskHeight + p.checks(c)}
		if below := p.t.children[c]; len(below) > 0 {
			var err error
			if inner, err = p.layOutGoal(c, below); err != nil {
				return nil, err
			}
		}
		parts = append(parts, inner)
		number[c] = i
	}
	var edges [][2]int
	for _, e := range p.needs[id] {
		edges = append(edges, [2]int{number[e[0]], number[e[1]]})
	}
	d := newDigraph(len(ids), edges)
	var blocks []*part
	for _, members := range d.components() {
		b, err := p.component(parts, d, members)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	left, top := padding, headHeight
	if id == "" {
		left, top = 0, 0
	}
	w, h := shelve(blocks)
	for _, b := range blocks {
		for _, inner := range b.parts {
			inner.x, inner.y = inner.x+b.x+left, inner.y+b.y+top
		}
		g.parts = append(g.parts, b.parts...)
	}
	g.w, g.h = w+2*left, h+top+left
	if id != "" {
		g.w = max(g.w, taskWidth+2*padding)
		g.h += p.checks(id)
	}
	return g, nil
}

// checks is the room that a task's CHECKs take below it.
func (p *placer) checks(id plan.TaskID) float64 {
	return float64(len(p.t.checks[id])) * (checkGap + checkHeight)
}

// component lays out parts that depend on each other, in a block of their own.
func (p *placer) component(parts []*part, d digraph, members []int) (*part, error) {
	b := &part{}
	number := map[int]int{}
	for i, v := range members {
		b.parts = append(b.parts, parts[v])
		number[v] = i
	}
	if len(members) == 1 {
		b.w, b.h = b.parts[0].w, b.parts[0].h
		return b, nil
	}
	var edges [][2]int
	for _, v := range members {
		for _, w := range d.out[v] {
			edges = append(edges, [2]int{number[v], number[w]})
		}
	}
	own, order := newDigraph(len(members), edges).acyclic()
	rank := own.ranks(order)
	cost := own.cost(rank)
	if p.spent+cost > quick {
		columns(b, rank)
		return b, nil
	}
	p.spent += cost
	l := layering{edges: own.edges(), rank: rank, sweeps: 4}
	if p.spent <= thorough {
		l.sweeps = 24
	}
	for _, inner := range b.parts {
		l.size = append(l.size, Point{inner.w, inner.h})
	}
	if err := l.place(p.ctx); err != nil {
		return nil, err
	}
	b.w, b.h = l.extent()
	for i, inner := range b.parts {
		at := l.middle(i)
		inner.x, inner.y = at[0]-inner.w/2, at[1]-inner.h/2
	}
	for _, s := range l.slots[len(members):] { // of each edge in its direction
		e := l.edges[s.edge]
		b.parts = append(b.parts, &part{line: [2]plan.TaskID{b.parts[e[0]].id, b.parts[e[1]].id},
			x: l.left[s.rank], y: s.y, w: l.width[s.rank]})
	}
	return b, nil
}

// columns places parts in columns by their rank, in plan order, and splits a long column.
func columns(b *part, rank []int) {
	const most = 40
	x := 0.0
	for r := 0; ; r++ {
		n, y, widest := 0, 0.0, 0.0
		for i, inner := range b.parts {
			if rank[i] != r {
				continue
			}
			if n > 0 && n%most == 0 {
				x, y, widest = x+widest+gap, 0, 0
			}
			inner.x, inner.y = x, y
			y, widest, n = y+inner.h+gap, max(widest, inner.w), n+1
			b.w, b.h = max(b.w, x+inner.w), max(b.h, y-gap)
		}
		if n == 0 {
			return // ranks have no holes
		}
		x += widest + 3*gap
	}
}

// shelve places blocks in rows, in their order, so that the whole has about the shape of a screen.
func shelve(blocks []*part) (width, height float64) {
	area, widest := 0.0, 0.0
	for _, b := range blocks {
		area += (b.w + gap) * (b.h + gap)
		widest = max(widest, b.w)
	}
	limit := max(widest, math.Sqrt(area*1.7))
	x, y, row := 0.0, 0.0, 0.0
	for _, b := range blocks {
		if x > 0 && x+b.w > limit {
			x, y, row = 0, y+row+gap, 0
		}
		b.x, b.y = x, y
		x, row = x+b.w+gap, max(row, b.h)
		width, height = max(width, b.x+b.w), max(height, b.y+b.h)
	}
	return width, height
}

// placeAll turns positions relative to the holder of a part into positions in the picture.
func (p *placer) placeAll(l *Layout, at *part, x, y float64) {
	x, y = x+at.x, y+at.y
	if at.id != "" {
		height := at.h - p.checks(at.id)
		l.Boxes[at.id] = Box{x, y, at.w, height}
		below := y + height
		for _, c := range p.t.checks[at.id] {
			l.Boxes[c] = Box{x + padding, below + checkGap, min(at.w, taskWidth) - padding, checkHeight}
			below += checkGap + checkHeight
		}
	}
	// between tasks, not goals
	if at.line[0] != "" && len(p.t.children[at.line[0]])+len(p.t.children[at.line[1]]) == 0 {
		l.Bends[at.line] = append(l.Bends[at.line], Point{x, y}, Point{x + at.w, y})
	}
	for _, inner := range at.parts {
		p.placeAll(l, inner, x, y)
	}
}
