package graph

import (
	"slices"

	"gitwf/internal/plan"
)

// EdgeKind is how two tasks are related. An edge reads as a sentence: GOAL-1 DECOMPOSE IMPL-1, IMPL-2 DEPENDS_ON
// IMPL-1, CHECK-IMPL-1 REVIEWS IMPL-1.
type EdgeKind string

// The kinds of edges.
const (
	Decompose EdgeKind = "DECOMPOSE" // From is the goal that To is a part of
	// From needs what To makes; pictures draw the arrow with the work, from To to From
	DependsOn EdgeKind = "DEPENDS_ON"
	Reviews   EdgeKind = "REVIEWS" // From judges what To makes
)

// Node is one task.
type Node struct {
	ID     plan.TaskID   `json:"task_id"`
	Title  string        `json:"title"`
	Kind   plan.NodeType `json:"node_type"`
	Status plan.Status   `json:"status"`
	// criteria of the newest version that do not count: "A2 waived"
	Waived              string      `json:"waived,omitempty"`
	Class               Class       `json:"class"`                    // which mark and shape the status has
	Parent              plan.TaskID `json:"parent_task_id,omitempty"` // "" for a root
	EstimatedPersonDays float64     `json:"estimated_person_days,omitempty"`
}

// Edge relates two tasks of the graph.
type Edge struct {
	From plan.TaskID `json:"from"`
	To   plan.TaskID `json:"to"`
	Kind EdgeKind    `json:"kind"`
}

// Graph is what is drawn: nodes in plan order, each id once, and edges between them.
type Graph struct {
	PlanID plan.ID `json:"plan_id"`
	Title  string  `json:"title"`
	Nodes  []Node  `json:"nodes"`
	Edges  []Edge  `json:"edges"`
}

// Options choose what a graph shows.
type Options struct {
	Checks bool // the CHECKs too
}

// FromState makes the graph of a plan in its current state. A CHECK has an edge to its target alone: that both belong
// to one goal says nothing more.
func FromState(s *plan.State, o Options) Graph {
	g := Graph{PlanID: s.Plan.PlanID, Title: s.Plan.Title, Nodes: []Node{}, Edges: []Edge{}}
	shown := map[plan.TaskID]bool{}
	for _, t := range s.Plan.Tasks {
		state := s.Tasks[t.TaskID]
		if state == nil || shown[t.TaskID] || t.NodeType == plan.Check && !o.Checks {
			continue
		}
		shown[t.TaskID] = true
		g.Nodes = append(g.Nodes, Node{
			ID: t.TaskID, Title: t.Title, Kind: t.NodeType, Status: state.Status, Waived: s.WaivedNote(t.TaskID),
			Class: ClassOf(state.Status), Parent: t.ParentTaskID,
			EstimatedPersonDays: t.EstimatedPersonDays,
		})
	}
	add := func(e Edge) {
		if shown[e.From] && shown[e.To] && e.From != e.To {
			g.Edges = append(g.Edges, e)
		}
	}
	for _, n := range g.Nodes {
		t := s.Tasks[n.ID]
		if n.Kind == plan.Check {
			add(Edge{From: n.ID, To: t.ReviewTargetTaskID, Kind: Reviews})
			continue
		}
		add(Edge{From: n.Parent, To: n.ID, Kind: Decompose})
		deps := slices.Clone(t.DependsOn)
		slices.Sort(deps)
		for _, dep := range slices.Compact(deps) {
			add(Edge{From: n.ID, To: dep, Kind: DependsOn})
		}
	}
	return g
}
