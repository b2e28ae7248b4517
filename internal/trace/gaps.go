package trace

import (
	"fmt"
	"slices"

	"gitwf/internal/plain"
)

// Gap is what is wrong with an item.
type Gap struct {
	Code string `json:"code"` // duplicate, unknown, downward, unlinked, cycle or uncovered
	ID   string `json:"id"`
	Place
	Text string `json:"text"`
}

func (g Gap) String() string {
	return fmt.Sprintf("%v: %s %s [%s]", g.Place, g.ID, plain.Line(g.Text), g.Code)
}

func (it *Item) gap(code, format string, args ...any) Gap {
	return Gap{code, it.ID, it.Place, fmt.Sprintf(format, args...)}
}

// demands say what each kind has to lead to.
var demands = map[int]struct {
	rank int
	what string
}{goal: {requirement, "REQ or NFR"}, requirement: {epic, "EPIC"}, decision: {epic, "EPIC"}, epic: {story, "STORY"}}

// Gaps returns what is missing, in the order of the texts. Each goal is to have a requirement, each requirement and
// decision an epic, by links, over decisions or stories, too, and each epic a story; a kind is missed once it, or one
// that comes later, is there, or if all are demanded.
func (g *Graph) Gaps(all bool) []Gap {
	last, from := goal, map[int][]*Item{}
	for _, it := range g.Items {
		last = max(last, it.Rank)
		from[it.Rank] = append(from[it.Rank], it)
		if it.Rank == story && slices.ContainsFunc(it.Up, func(o *Item) bool { return o.Rank == epic }) {
			from[epic] = append(from[epic], it)
		}
	}
	leads := map[int]map[*Item]bool{} // to a kind
	for rank, items := range from {
		leads[rank] = spread(items, func(it *Item) []*Item { return it.Up })
	}
	gaps := slices.Clone(g.twice)
	for _, it := range g.Items {
		for _, id := range it.Traces {
			switch up := g.ByID[id]; {
			case up == nil:
				gaps = append(gaps, it.gap("unknown", "traces %s, which nobody has", id))
			case up.Rank > it.Rank:
				gaps = append(gaps, it.gap("downward", "traces %s, which comes later: there, write Traces: %s", id,
					it.ID))
			}
		}
		if it.Rank != goal && len(it.Traces) == 0 {
			gaps = append(gaps, it.gap("unlinked", "comes from nothing: below it, write Traces: and ids"))
		}
		to, is := demands[it.Rank]
		if is && (last >= to.rank || all) && !leads[to.rank][it] {
			gaps = append(gaps, it.gap("uncovered", "leads to no %s: there, write Traces: %s", to.what, it.ID))
		}
	}
	return append(gaps, g.cycles()...)
}

// spread returns some items and what next leads to from them.
func spread(from []*Item, next func(*Item) []*Item) map[*Item]bool {
	seen, todo := map[*Item]bool{}, slices.Clone(from)
	for len(todo) > 0 {
		it := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[it] {
			seen[it], todo = true, append(todo, next(it)...)
		}
	}
	return seen
}

// Around returns what some items come from, these, and what they lead to, in the order of the texts.
func (g *Graph) Around(items []*Item) []*Item {
	up := spread(items, func(it *Item) []*Item { return it.Up })
	down := spread(items, func(it *Item) []*Item { return it.down })
	return slices.DeleteFunc(slices.Clone(g.Items), func(it *Item) bool { return !up[it] && !down[it] })
}

// cycles are the links that close a circle.
func (g *Graph) cycles() (gaps []Gap) {
	begun, done := map[*Item]bool{}, map[*Item]bool{}
	var visit func(it *Item)
	visit = func(it *Item) {
		begun[it] = true
		for _, up := range it.Up {
			if !begun[up] {
				visit(up)
			} else if !done[up] {
				gaps = append(gaps, it.gap("cycle", "comes from %s, which comes from it", up.ID))
			}
		}
		done[it] = true
	}
	for _, it := range g.Items {
		if !begun[it] {
			visit(it)
		}
	}
	return gaps
}
