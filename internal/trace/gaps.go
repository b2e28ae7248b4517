package trace

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/plain"
)

// Gap is what is wrong with an item, or with all of them: then it has no id.
type Gap struct {
	Code string `json:"code"` // empty, duplicate, unknown, downward, unlinked, cycle or uncovered
	ID   string `json:"id,omitempty"`
	Place
	Text string `json:"text"`
}

func (g Gap) String() string {
	text := plain.Line(g.Text) + " [" + g.Code + "]"
	if g.ID == "" {
		return text
	}
	return fmt.Sprintf("%v: %s %s", g.Place, g.ID, text)
}

func (it *Item) gap(code, format string, args ...any) Gap {
	return Gap{code, it.ID, it.Place, fmt.Sprintf(format, args...)}
}

// Gaps returns what is missing, in the order of the texts. Each goal is to have a requirement, each requirement and
// decision an epic, by links, over decisions or stories, too, and each epic a story; a kind is missed once it, or one
// that comes later, is there, or if all are demanded.
func (g *Graph) Gaps(all bool) []Gap {
	if len(g.Items) == 0 {
		return []Gap{{Code: "empty", Text: "no heading and no item of a list begins with an id such as REQ-001"}}
	}
	last := goal
	for _, it := range g.Items {
		last = max(last, it.rank)
	}
	reached := func(lacks func(*Item) bool) map[*Item]bool {
		return spread(slices.DeleteFunc(slices.Clone(g.Items), lacks), ComesFrom)
	}
	required := reached(func(it *Item) bool { return it.rank != requirement })
	planned := reached(func(it *Item) bool {
		inEpic := it.rank == story && slices.ContainsFunc(it.Up, func(o *Item) bool { return o.rank == epic })
		return it.rank != epic && !inEpic
	})
	told := reached(func(it *Item) bool { return it.rank != story })
	gaps := slices.Clone(g.twice)
	for _, it := range g.Items {
		for _, id := range it.Traces {
			switch up := g.byID[id]; {
			case up == nil:
				gaps = append(gaps, it.gap("unknown", "traces %s, which nobody has", id))
			case up.rank > it.rank:
				gaps = append(gaps, it.gap("downward", "traces %s, which comes later: there, write Traces: %s", id,
					it.ID))
			}
		}
		if it.rank != goal && len(it.Traces) == 0 {
			gaps = append(gaps, it.gap("unlinked", "comes from nothing: below it, write Traces: and ids"))
		}
		uncovered := func(rank int, by map[*Item]bool, what string) {
			if (last >= rank || all) && !by[it] {
				gaps = append(gaps, it.gap("uncovered", "leads to no %s: there, write Traces: %s", what, it.ID))
			}
		}
		switch it.rank {
		case goal:
			uncovered(requirement, required, "REQ or NFR")
		case requirement, decision:
			uncovered(epic, planned, "EPIC")
		case epic:
			uncovered(story, told, "STORY")
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

// ComesFrom and LeadsTo are the two directions of links.
func ComesFrom(it *Item) []*Item { return it.Up }

// LeadsTo is the opposite of ComesFrom.
func LeadsTo(it *Item) []*Item { return it.Down }

// Around returns what some items come from, these, and what they lead to, in the order of the texts.
func (g *Graph) Around(items []*Item) []*Item {
	up, down := spread(items, ComesFrom), spread(items, LeadsTo)
	return slices.DeleteFunc(slices.Clone(g.Items), func(it *Item) bool { return !up[it] && !down[it] })
}

// cycles are the links in a circle, of those with an item in common the first.
func (g *Graph) cycles() (gaps []Gap) {
	const open, done = 1, 2
	var path []*Item
	state, circle := map[*Item]int{}, map[*Item]bool{}
	var visit func(it *Item)
	visit = func(it *Item) {
		state[it], path = open, append(path, it)
		for _, id := range it.Traces {
			up := g.byID[id]
			switch {
			case up == nil || state[up] == done:
			case state[up] == 0:
				visit(up)
			default:
				at := len(path) - 1
				for path[at] != up && !circle[path[at]] {
					circle[path[at]] = true
					at--
				}
				if path[at] == up && !circle[up] {
					circle[up] = true
					names := plain.Some(path[at:], 10, func(it *Item) string { return it.ID })
					gaps = append(gaps, up.gap("cycle", "comes from itself: %s", strings.Join(names, ", ")))
				}
			}
		}
		state[it], path = done, path[:len(path)-1]
	}
	for _, it := range g.Items {
		if state[it] == 0 {
			visit(it)
		}
	}
	return gaps
}
