package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
)

// pictures caches drawings: the plan alone determines where the boxes are, so an event needs no new drawing. The page's
// script gives each box its current status.
type pictures struct {
	mu    sync.Mutex
	kept  map[[32]byte][]byte
	order [][32]byte

	once  sync.Once
	style []byte
}

const mostPictures = 12

// css is the style of the drawings. It is a separate file because the page allows no inline style.
func (p *pictures) css() []byte {
	p.once.Do(func() {
		var out bytes.Buffer
		if err := graph.SVG(context.Background(), &out, graph.Graph{}); err != nil {
			return // drawing reports the error
		}
		_, rest, _ := bytes.Cut(out.Bytes(), []byte("<style>"))
		style, _, _ := bytes.Cut(rest, []byte("</style>"))
		p.style = style
	})
	return p.style
}

// draw returns the SVG of a graph, without its style.
func (p *pictures) draw(ctx context.Context, g graph.Graph) ([]byte, error) {
	for i := range g.Nodes { // one drawing serves every state of the plan
		g.Nodes[i].Status, g.Nodes[i].Class, g.Nodes[i].Critical = plan.StatusPending, graph.Pending, false
	}
	text, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(text)
	p.mu.Lock()
	defer p.mu.Unlock() // two requests for one picture draw it once
	if svg, ok := p.kept[key]; ok {
		return svg, nil
	}
	var out bytes.Buffer
	if err := graph.SVG(ctx, &out, g); err != nil {
		return nil, err
	}
	head, rest, _ := bytes.Cut(out.Bytes(), []byte("<style>"))
	_, rest, _ = bytes.Cut(rest, []byte("</style>"))
	svg := append(slices.Clone(head), rest...)
	if p.kept == nil {
		p.kept = map[[32]byte][]byte{}
	}
	p.kept[key] = svg
	p.order = append(p.order, key)
	if len(p.order) > mostPictures {
		delete(p.kept, p.order[0])
		p.order = p.order[1:]
	}
	return svg, nil
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
	svg, err := s.pictures.draw(r.Context(), folded(g, goals))
	if err != nil {
		return fmt.Errorf("draw %s: %w", state.Plan.PlanID, err)
	}
	w.Header().Set("Content-Type", "image/svg+xml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, err = w.Write(svg)
	return err
}
