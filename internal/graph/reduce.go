package graph

import "slices"

// digraph is a part of a plan as numbers: out[v] lists what comes after v.
type digraph struct {
	n   int
	out [][]int
}

func newDigraph(n int, edges [][2]int) digraph {
	d := digraph{n, make([][]int, n)}
	for _, e := range edges {
		d.out[e[0]] = append(d.out[e[0]], e[1])
	}
	for v := range d.out {
		slices.Sort(d.out[v])
		d.out[v] = slices.Compact(d.out[v])
	}
	return d
}

// components are the parts that no edge connects, in the order of their first node.
func (d digraph) components() [][]int {
	next := make([][]int, d.n)
	for v, out := range d.out {
		next[v] = append(next[v], out...)
		for _, w := range out {
			next[w] = append(next[w], v)
		}
	}
	seen := make([]bool, d.n)
	var all [][]int
	for v := range d.n {
		if seen[v] {
			continue
		}
		seen[v] = true
		part := []int{v}
		for i := 0; i < len(part); i++ {
			for _, w := range next[part[i]] {
				if !seen[w] {
					seen[w] = true
					part = append(part, w)
				}
			}
		}
		slices.Sort(part)
		all = append(all, part)
	}
	return all
}

// acyclic drops the edges that close a cycle, and returns the nodes in an order in which every edge goes forward. Goals
// can depend on each other in a cycle although no task does.
func (d digraph) acyclic() (digraph, []int) {
	const (
		fresh = iota
		open
		closed
	)
	state := make([]int, d.n)
	keep := digraph{d.n, make([][]int, d.n)}
	var order []int
	var visit func(v int)
	visit = func(v int) {
		state[v] = open
		for _, w := range d.out[v] {
			if state[w] == open {
				continue
			}
			keep.out[v] = append(keep.out[v], w)
			if state[w] == fresh {
				visit(w)
			}
		}
		state[v] = closed
		order = append(order, v)
	}
	for v := range d.n {
		if state[v] == fresh {
			visit(v)
		}
	}
	slices.Reverse(order)
	return keep, order
}

// ranks is the length of the longest path to each node.
func (d digraph) ranks(order []int) []int {
	rank := make([]int, d.n)
	for _, v := range order {
		for _, w := range d.out[v] {
			rank[w] = max(rank[w], rank[v]+1)
		}
	}
	return rank
}

// cost counts the boxes, and the passes of edges through layers.
func (d digraph) cost(rank []int) int {
	n := d.n
	for v, out := range d.out {
		for _, w := range out {
			n += rank[w] - rank[v] - 1
		}
	}
	return n
}

func (d digraph) edges() [][2]int {
	all := [][2]int{}
	for v, out := range d.out {
		for _, w := range out {
			all = append(all, [2]int{v, w})
		}
	}
	return all
}
