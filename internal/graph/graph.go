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
	Critical            bool        `json:"critical,omitempty"` // on the critical path
}

// Edge relates two tasks of the graph.
type Edge struct {
	From     plan.TaskID `json:"from"`
	To       plan.TaskID `json:"to"`
	Kind     EdgeKind    `json:"kind"`
	Critical bool        `json:"critical,omitempty"`
}

// Graph is what is drawn: nodes in plan order, each id once, and edges between them.
type Graph struct {
	PlanID       plan.ID       `json:"plan_id"`
	Title        string        `json:"title"`
	Nodes        []Node        `json:"nodes"`
	Edges        []Edge        `json:"edges"`
	CriticalPath []plan.TaskID `json:"critical_path,omitempty"` // first to last
	PathDays     float64       `json:"critical_path_person_days,omitempty"`
	Assumed      bool          `json:"critical_path_assumed,omitempty"` // the plan has no estimate for some task of it
}

// Options choose what a graph shows.
type Options struct {
	Checks       bool // the CHECKs too
	CriticalPath Days // mark what determines when the plan can be done, by this; nil marks nothing
}

// Days is how long a leaf takes, in person-days, and whether that is assumed because the plan does not say.
type Days func(*plan.Task) (days float64, assumed bool)

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
	if o.CriticalPath != nil {
		g.CriticalPath, g.PathDays, g.Assumed = CriticalPath(s, o.CriticalPath)
	}
	before := map[plan.TaskID]plan.TaskID{} // along the critical path
	critical := make(map[plan.TaskID]bool, len(g.CriticalPath))
	for i, id := range g.CriticalPath {
		if critical[id] = true; i > 0 {
			before[id] = g.CriticalPath[i-1]
		}
	}
	add := func(e Edge) {
		if shown[e.From] && shown[e.To] && e.From != e.To {
			g.Edges = append(g.Edges, e)
		}
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Critical = critical[n.ID]
		t := s.Tasks[n.ID]
		if n.Kind == plan.Check {
			add(Edge{From: n.ID, To: t.ReviewTargetTaskID, Kind: Reviews})
			continue
		}
		add(Edge{From: n.Parent, To: n.ID, Kind: Decompose})
		deps := slices.Clone(t.DependsOn)
		slices.Sort(deps)
		for _, dep := range slices.Compact(deps) {
			add(Edge{From: n.ID, To: dep, Kind: DependsOn, Critical: isBelow(s, before[n.ID], dep)})
		}
	}
	return g
}

// isBelow reports whether a task is a dependency, or below one that is a goal.
func isBelow(s *plan.State, id, dep plan.TaskID) bool {
	t := s.Tasks[id]
	return t != nil && slices.Contains(s.Lineage(t.Task), dep)
}

// CriticalPath is the chain of open leaves, each depending on the one before, whose estimates add up to the most
// person-days: no number of workers finishes the plan sooner. Among equal chains the one with more tasks wins, then the
// first in the plan. It is empty when nothing is open.
func CriticalPath(s *plan.State, days Days) (path []plan.TaskID, sum float64, assumed bool) {
	p := pathFinder{s: s, days: days, open: map[plan.TaskID]bool{}, best: map[plan.TaskID]*chain{}}
	leaves := s.Leaves(s.Plan.RootTaskID)
	for _, id := range leaves {
		p.open[id] = s.Tasks[id] != nil && s.Tasks[id].Status != plan.StatusDone
	}
	var longest *chain
	for _, id := range leaves {
		if p.open[id] {
			longest = longer(longest, p.longestUntil(id))
		}
	}
	if longest == nil {
		return nil, 0, false
	}
	sum = longest.days
	for c := longest; c != nil; c = c.before {
		path = append(path, c.id)
		assumed = assumed || c.assumed
	}
	slices.Reverse(path)
	return path, sum, assumed
}

// chain is a path of tasks that ends with id.
type chain struct {
	id      plan.TaskID
	before  *chain
	days    float64 // of all its tasks
	assumed bool    // the last one's are
	tasks   int
}

func longer(a, b *chain) *chain {
	if a == nil || b != nil && (b.days > a.days || b.days == a.days && b.tasks > a.tasks) {
		return b
	}
	return a
}

type pathFinder struct {
	s    *plan.State
	days Days
	open map[plan.TaskID]bool
	best map[plan.TaskID]*chain // nil while a task is visited: a plan of a foreign ref may have a cycle
}

// longestTo is the longest chain that ends with an open leaf at or below a dependency.
func (p *pathFinder) longestTo(dep plan.TaskID) *chain {
	if t := p.s.Tasks[dep]; t == nil || t.NodeType != plan.Goal {
		if !p.open[dep] {
			return nil
		}
		return p.longestUntil(dep)
	}
	if c, begun := p.best[dep]; begun {
		return c
	}
	p.best[dep] = nil
	var longest *chain
	for _, leaf := range p.s.Leaves(dep) {
		if p.open[leaf] {
			longest = longer(longest, p.longestUntil(leaf))
		}
	}
	p.best[dep] = longest
	return longest
}

func (p *pathFinder) longestUntil(id plan.TaskID) *chain {
	if c, begun := p.best[id]; begun {
		return c
	}
	p.best[id] = nil
	var before *chain
	for _, d := range p.s.Tasks[id].DependsOn {
		before = longer(before, p.longestTo(d))
	}
	c := &chain{id: id, before: before, tasks: 1}
	if days, assumed := p.days(p.s.Tasks[id].Task); days > 0 { // neither NaN nor negative
		c.days, c.assumed = days, assumed
	}
	if before != nil {
		c.days += before.days
		c.tasks += before.tasks
	}
	p.best[id] = c
	return c
}
