package graph

import (
	"slices"
	"strings"
	"unicode"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// tree is the graph by its goals: what is drawn inside or below what. Every node is in it once, even if its parent is
// missing or the parents form a cycle.
type tree struct {
	nodes    map[plan.TaskID]Node
	roots    []plan.TaskID
	children map[plan.TaskID][]plan.TaskID // CHECKs apart
	checks   map[plan.TaskID][]plan.TaskID // by their target
	parent   map[plan.TaskID]plan.TaskID
}

func newTree(g Graph) *tree {
	t := &tree{
		nodes: map[plan.TaskID]Node{}, children: map[plan.TaskID][]plan.TaskID{},
		checks: map[plan.TaskID][]plan.TaskID{}, parent: map[plan.TaskID]plan.TaskID{},
	}
	for _, n := range g.Nodes {
		t.nodes[n.ID] = n
	}
	target := map[plan.TaskID]plan.TaskID{}
	for _, e := range g.Edges {
		if e.Kind == Reviews && t.nodes[e.To].Kind != plan.Check {
			target[e.From] = e.To
		}
	}
	for _, n := range g.Nodes {
		to, hangs := target[n.ID]
		_, inside := t.nodes[n.Parent]
		switch {
		case hangs:
			t.checks[to] = append(t.checks[to], n.ID)
		case inside && !t.below(n.Parent, n.ID):
			t.parent[n.ID] = n.Parent
			t.children[n.Parent] = append(t.children[n.Parent], n.ID)
		default:
			t.roots = append(t.roots, n.ID)
		}
	}
	return t
}

// below reports whether id is at or below the node above, in the tree so far.
func (t *tree) below(id, above plan.TaskID) bool {
	for ok := true; ok; id, ok = t.parent[id] {
		if id == above {
			return true
		}
	}
	return false
}

// path is the way from a root to the node, both included.
func (t *tree) path(id plan.TaskID) []plan.TaskID {
	var up []plan.TaskID
	for ok := true; ok; id, ok = t.parent[id] {
		up = append(up, id)
	}
	slices.Reverse(up)
	return up
}

// clean is a text on one line, without characters that a viewer would obey or that XML can't hold.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\ufffe', r == '\uffff', unicode.Is(unicode.Cs, r):
			return unicode.ReplacementChar
		case r == '\ufeff', r == '\u200b', r == '\u2060':
			return -1 // invisible
		}
		return r
	}, plain.Line(strings.ToValidUTF8(s, "\ufffd")))
}

// label is the words of a node: its id and its title.
func label(n Node) (id, title string) {
	title = n.Title
	if n.Waived != "" {
		title += " (" + n.Waived + ")"
	}
	return clean(string(n.ID)), clean(title)
}

// tooltip is the tooltip of a node.
func tooltip(n Node) string {
	id, title := label(n)
	text := id + ": " + title + " (" + string(n.Kind) + ", " + n.Status.String() + ")"
	if n.Critical {
		text += ", on the critical path"
	}
	return clean(text)
}
