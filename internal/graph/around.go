package graph

import (
	"sort"

	"gitwf/internal/plan"
)

// An edge between goals goes straight from box to box, and may run behind an unrelated task, as if it began there. Such
// an edge is led below those tasks, where the picture is empty.

const (
	aside     = 9.0       // between a box and an edge that passes it; less than padding and gap
	ahead     = 14.0      // how far before a box the edge turns aside
	mostTries = 2_000_000 // edges times boxes; with more, a picture is too crowded for this to help
)

// obstacle is a task that an edge must not run behind, with what hangs below it.
type obstacle struct {
	id  plan.TaskID
	box Box
}

func (p *svgPrinter) obstacles() []obstacle {
	if len(p.g.Edges)*len(p.g.Nodes) > mostTries {
		return nil
	}
	var all []obstacle
	for _, n := range p.g.Nodes {
		b, placed := p.l.Boxes[n.ID]
		if !placed || len(p.t.children[n.ID]) > 0 {
			continue
		}
		for _, c := range p.t.checks[n.ID] {
			if below := p.l.Boxes[c]; below.Y+below.Height > b.Y+b.Height {
				b.Height = below.Y + below.Height - b.Y
			}
		}
		all = append(all, obstacle{n.ID, b})
	}
	return all
}

// around are the points between the ends of an edge that lead it past what it would run behind; none if it is free.
func around(from, to Point, e Edge, all []obstacle) []Point {
	var hit []Box
	for _, o := range all {
		if o.id != e.From && o.id != e.To && runsBehind(from, to, o.box) {
			hit = append(hit, o.box)
		}
	}
	if len(hit) == 0 {
		return nil
	}
	sort.Slice(hit, func(i, j int) bool { return hit[i].X < hit[j].X })
	first, last, low := hit[0], hit[len(hit)-1], 0.0
	for _, b := range hit {
		low = max(low, b.Y+b.Height)
	}
	return []Point{{max(first.X-ahead, from[0]), low + aside}, {min(last.X+last.Width+ahead, to[0]), low + aside}}
}

// runsBehind reports whether the curve from one point to another further right is behind a box somewhere.
func runsBehind(from, to Point, b Box) bool {
	if to[0] <= from[0] || b.X+b.Width <= from[0] || b.X >= to[0] {
		return false
	}
	const steps = 24
	bend := (to[0] - from[0]) / 2
	for i := 1; i < steps; i++ {
		t := float64(i) / steps
		u := 1 - t
		x := u*u*u*from[0] + 3*u*u*t*(from[0]+bend) + 3*u*t*t*(to[0]-bend) + t*t*t*to[0]
		y := (u*u*u+3*u*u*t)*from[1] + (3*u*t*t+t*t*t)*to[1]
		if x > b.X && x < b.X+b.Width && y > b.Y && y < b.Y+b.Height {
			return true
		}
	}
	return false
}
