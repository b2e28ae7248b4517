package web

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
)

// drawn is the SVG of a graph, and its style apart, because the page allows no inline style.
func drawn(ctx context.Context, g graph.Graph) (svg, style []byte, err error) {
	var out bytes.Buffer
	if err := graph.SVG(ctx, &out, g); err != nil {
		return nil, nil, err
	}
	head, rest, _ := bytes.Cut(out.Bytes(), []byte("<style>"))
	style, rest, _ = bytes.Cut(rest, []byte("</style>"))
	return slices.Concat(head, rest), style, nil
}

// folded is the graph with each of the named goals as one box, without its parts. The box takes over the edges of its
// parts.
func folded(g graph.Graph, goals map[plan.TaskID]bool) graph.Graph {
	parent := map[plan.TaskID]plan.TaskID{}
	for _, n := range g.Nodes {
		parent[n.ID] = n.Parent
	}
	for _, e := range g.Edges {
		if e.Kind == graph.Reviews {
			parent[e.From] = e.To // a CHECK goes where its target does
		}
	}
	stands := map[plan.TaskID]plan.TaskID{}
	for _, n := range g.Nodes {
		stands[n.ID] = n.ID
		for id, steps := n.ID, 0; id != "" && steps < len(g.Nodes); id, steps = parent[id], steps+1 {
			if goals[id] && id != n.ID {
				stands[n.ID] = id // the outermost, which comes last
			}
		}
	}
	out := graph.Graph{PlanID: g.PlanID, Title: g.Title, Nodes: []graph.Node{}, Edges: []graph.Edge{}}
	for _, n := range g.Nodes {
		if stands[n.ID] == n.ID {
			out.Nodes = append(out.Nodes, n)
		}
	}
	seen := map[graph.Edge]bool{}
	for _, e := range g.Edges {
		e.From, e.To, e.Critical = stands[e.From], stands[e.To], false
		if e.From != e.To && !seen[e] {
			seen[e] = true
			out.Edges = append(out.Edges, e)
		}
	}
	return out
}

// picture is the drawing of a plan: ?checks=1 with the CHECKs, ?fold=A,B with goals as single boxes, ?at=COMMIT as it
// was.
func (s *Server) picture(w http.ResponseWriter, r *http.Request) error {
	_, state, _, err := s.askedAt(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	g := graph.FromState(state, graph.Options{Checks: q.Get("checks") == "1"})
	goals := map[plan.TaskID]bool{}
	for name := range strings.SplitSeq(q.Get("fold"), ",") {
		goals[plan.TaskID(name)] = true
	}
	svg, _, err := drawn(r.Context(), folded(g, goals))
	if err != nil {
		return fmt.Errorf("draw %s: %w", state.Plan.PlanID, err)
	}
	w.Header().Set("Content-Type", "image/svg+xml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write(svg)
	return err
}
