package graph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gitwf/internal/each"
)

// Point is a place in a picture, x to the right, y down.
type Point [2]float64

// layering places boxes in layers from left to right, so that every edge goes to a later layer (Sugiyama, Tagawa and
// Toda, 1981). An edge that passes a layer gets a slot there, as narrow as a line.
type layering struct {
	size   []Point // of the boxes, width and height
	rank   []int   // of the boxes: their layers
	edges  [][2]int
	sweeps int // over the layers, for fewer crossings

	slots  []slot // the boxes first, then where edges pass
	layers [][]int
	left   []float64 // of each layer, its left side
	width  []float64
}

// slot is a box, or the place where an edge passes a layer.
type slot struct {
	rank   int
	height float64
	in     []int // the slots that it is joined to in the layer before, and in the next
	out    []int
	order  int     // in its layer
	y      float64 // its middle
	edge   int     // that passes; -1 for a box
}

const (
	layerGap = 44.0 // between two layers
	boxGap   = 14.0 // between two boxes of a layer
	lineGap  = 8.0  // between two lines, or a line and a box
)

// place gives the boxes their layers, their order in them and their places. It fails when ctx ends.
func (l *layering) place(ctx context.Context) error {
	l.makeSlots()
	if err := l.sort(ctx); err != nil {
		return err
	}
	l.placeSlots()
	return nil
}

// makeSlots splits edges where they pass layers, and fills each layer in the order of a depth-first walk.
func (l *layering) makeSlots() {
	for v, s := range l.size {
		l.slots = append(l.slots, slot{rank: l.rank[v], height: s[1], edge: -1})
	}
	join := func(a, b int) {
		l.slots[a].out = append(l.slots[a].out, b)
		l.slots[b].in = append(l.slots[b].in, a)
	}
	for i, e := range l.edges {
		at := e[0]
		for r := l.rank[e[0]] + 1; r < l.rank[e[1]]; r++ {
			l.slots = append(l.slots, slot{rank: r, edge: i})
			join(at, len(l.slots)-1)
			at = len(l.slots) - 1
		}
		join(at, e[1])
	}
	l.layers = make([][]int, slices.Max(l.rank)+1)
	l.left, l.width = make([]float64, len(l.layers)), make([]float64, len(l.layers))
	seen := make([]bool, len(l.slots))
	var visit func(v int)
	visit = func(v int) {
		if seen[v] {
			return
		}
		seen[v] = true
		l.layers[l.slots[v].rank] = append(l.layers[l.slots[v].rank], v)
		for _, w := range l.slots[v].out {
			visit(w)
		}
	}
	first := make([]int, len(l.size))
	for v := range first {
		first[v] = v
	}
	slices.SortStableFunc(first, func(a, b int) int { return l.rank[a] - l.rank[b] })
	for _, v := range first {
		visit(v)
	}
	l.number()
	for v, s := range l.size {
		l.width[l.rank[v]] = max(l.width[l.rank[v]], s[0])
	}
	for r := 1; r < len(l.left); r++ {
		l.left[r] = l.left[r-1] + l.width[r-1] + layerGap
	}
}

// number tells every slot its position in its layer.
func (l *layering) number() {
	for _, layer := range l.layers {
		for i, v := range layer {
			l.slots[v].order = i
		}
	}
}

// sort orders each layer so that few edges cross: each slot moves to the mean position of those that it is joined to in
// the layer before, then in the next layer, repeatedly. The best order found is kept.
func (l *layering) sort(ctx context.Context) error {
	best, fewest := l.copyLayers(), l.crossings()
	for i, idle := 0, 0; i < l.sweeps && idle < 4 && fewest > 0; i, idle = i+1, idle+1 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("lay out a graph: %w", err)
		}
		for r := range l.layers {
			if i%2 == 0 {
				l.sortLayer(l.layers[r], i%4 < 2, func(s slot) []int { return s.in })
			} else {
				l.sortLayer(l.layers[len(l.layers)-1-r], i%4 < 2, func(s slot) []int { return s.out })
			}
		}
		if l.crossings() < fewest {
			best, fewest, idle = l.copyLayers(), l.crossings(), -1
		}
	}
	l.layers = best
	l.number()
	return ctx.Err()
}

func (l *layering) copyLayers() [][]int {
	return each.Of(l.layers, slices.Clone[[]int])
}

// sortLayer sorts the slots that are joined to others, and leaves the rest in place. turn puts the later of equal ones
// first.
func (l *layering) sortLayer(layer []int, turn bool, joined func(slot) []int) {
	mean := map[int]float64{}
	var places, movable []int
	for i, v := range layer {
		others := joined(l.slots[v])
		if len(others) == 0 {
			continue
		}
		sum := 0
		for _, w := range others {
			sum += l.slots[w].order
		}
		mean[v] = float64(sum) / float64(len(others))
		places, movable = append(places, i), append(movable, v)
	}
	if turn {
		slices.Reverse(movable)
	}
	slices.SortStableFunc(movable, func(a, b int) int { return cmp.Compare(mean[a], mean[b]) })
	for i, v := range movable {
		layer[places[i]], l.slots[v].order = v, places[i]
	}
}

// crossings counts how often edges cross between layers: each edge crosses those before it that end below it.
func (l *layering) crossings() int {
	n := 0
	for _, layer := range l.layers {
		var ends []int // of the edges before, sorted
		for _, v := range layer {
			own := each.Of(l.slots[v].out, func(w int) int { return l.slots[w].order })
			slices.Sort(own) // then none of them counts another
			for _, order := range own {
				at, _ := slices.BinarySearch(ends, order+1)
				n += len(ends) - at
				ends = slices.Insert(ends, at, order)
			}
		}
	}
	return n
}

// placeSlots gives every slot its place in its layer: as near to those that it is joined to as the order allows,
// with lines across layers as straight as possible.
func (l *layering) placeSlots() {
	const sweeps = 16
	for _, layer := range l.layers {
		for i, v := range layer {
			if i > 0 {
				l.slots[v].y = l.slots[layer[i-1]].y + l.distance(layer[i-1], v)
			}
		}
	}
	for i := range sweeps {
		for r := range l.layers {
			switch {
			case i >= sweeps-4:
				l.align(l.layers[r], true, true)
			case i%2 == 0:
				l.align(l.layers[r], true, false)
			default:
				l.align(l.layers[len(l.layers)-1-r], false, true)
			}
		}
	}
	top := math.Inf(1)
	for _, s := range l.slots {
		top = min(top, s.y-s.height/2)
	}
	for v := range l.slots {
		l.slots[v].y = math.Round(l.slots[v].y - top)
	}
}

// distance is the least distance between the middles of two neighbours. Whole numbers leave room for rounding.
func (l *layering) distance(a, b int) float64 {
	free := boxGap
	if l.slots[a].edge >= 0 || l.slots[b].edge >= 0 {
		free = lineGap
	}
	return math.Ceil((l.slots[a].height+l.slots[b].height)/2) + free
}

// align moves the slots of a layer to the weighted means of the slots before, behind or both, and keeps their order and
// the room between them: the least squares under these bounds, by pooling neighbours that would come too near.
func (l *layering) align(layer []int, before, behind bool) {
	type pool struct {
		want, weight float64 // the sum of the weighted wishes, and of the weights
		slots        int
	}
	var pools []pool
	offset := make([]float64, len(layer))
	for i, v := range layer {
		if i > 0 {
			offset[i] = offset[i-1] + l.distance(layer[i-1], v)
		}
		want, weight := l.wishedPlace(v, before, behind)
		// The conversions keep the processors of some architectures from rounding once instead of twice.
		p := pool{float64(weight * (want - offset[i])), weight, 1}
		for len(pools) > 0 {
			last := pools[len(pools)-1]
			if last.want/last.weight < p.want/p.weight {
				break
			}
			p = pool{last.want + p.want, last.weight + p.weight, last.slots + p.slots}
			pools = pools[:len(pools)-1]
		}
		pools = append(pools, p)
	}
	i := 0
	for _, p := range pools {
		for range p.slots {
			l.slots[layer[i]].y = p.want/p.weight + offset[i]
			i++
		}
	}
}

// wishedPlace is where a slot would be if it were alone in its layer, and the weight of that.
func (l *layering) wishedPlace(v int, before, behind bool) (want, weight float64) {
	const line, end, box = 8.0, 2.0, 1.0 // what is between two passes, at the end of a line, between two boxes
	s := &l.slots[v]
	add := func(others []int) {
		for _, w := range others {
			pull := box
			switch passes := s.edge >= 0; {
			case passes && l.slots[w].edge >= 0:
				pull = line
			case passes || l.slots[w].edge >= 0:
				pull = end
			}
			want += float64(pull * l.slots[w].y)
			weight += pull
		}
	}
	if before {
		add(s.in)
	}
	if behind {
		add(s.out)
	}
	if weight == 0 {
		return s.y, box / 8
	}
	return want / weight, weight
}

// middle is the middle of a box.
func (l *layering) middle(v int) Point {
	r := l.rank[v]
	return Point{l.left[r] + l.width[r]/2, l.slots[v].y}
}

// extent is the size of the whole.
func (l *layering) extent() (width, height float64) {
	for _, s := range l.slots {
		height = max(height, s.y+s.height/2)
	}
	last := len(l.left) - 1
	return l.left[last] + l.width[last], height
}
