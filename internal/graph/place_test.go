package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"gitwf/internal/graph"
	"gitwf/internal/plan"
)

// flat is a goal with n tasks of which each needs up to two of the 20 before it.
func flat(n int) graph.Graph { return made(n, n) }

// made is a plan of n tasks in goals of size tasks each.
func made(n, size int) graph.Graph {
	rnd := rand.New(rand.NewPCG(1, 2))
	g := graph.Graph{PlanID: "WFS-made", Title: "Made", Nodes: []graph.Node{{ID: "GOAL-1", Kind: plan.Goal,
		Class: graph.Running}}}
	for i := range n {
		goal := plan.TaskID(fmt.Sprintf("GOAL-%d", i/size+2))
		if i%size == 0 {
			g.Nodes = append(g.Nodes, graph.Node{ID: goal, Kind: plan.Goal, Parent: "GOAL-1", Title: "Part",
				Class: graph.Running})
		}
		id := plan.TaskID(fmt.Sprintf("IMPL-%d", i))
		g.Nodes = append(g.Nodes, graph.Node{ID: id, Kind: plan.Action, Parent: goal, Title: "A task of many",
			Class: graph.Ready})
		for range rnd.IntN(3) {
			if i > 0 {
				g.Edges = append(g.Edges, graph.Edge{From: id, To: plan.TaskID(fmt.Sprintf("IMPL-%d", i-1-rnd.IntN(min(i, 20)))),
					Kind: graph.DependsOn})
			}
		}
	}
	return g
}

// chain is n tasks in a goal that all need each other in turn, and the first one too.
func chain(n int) graph.Graph {
	g := made(n, n)
	g.Edges = nil
	for i := 1; i < n; i++ {
		id, last := plan.TaskID(fmt.Sprintf("IMPL-%d", i)), plan.TaskID(fmt.Sprintf("IMPL-%d", i-1))
		g.Edges = append(g.Edges, graph.Edge{From: id, To: last, Kind: graph.DependsOn},
			graph.Edge{From: id, To: "IMPL-0", Kind: graph.DependsOn})
	}
	return g
}

// crossed is two rows of n tasks each, of which each in the second needs each in the first, and a chain beside them.
func crossed(n int) graph.Graph {
	g := chain(3 * n)
	for i := range n {
		for j := range n {
			from, to := plan.TaskID(fmt.Sprintf("IMPL-%d", n+i)), plan.TaskID(fmt.Sprintf("IMPL-%d", j))
			g.Edges = append(g.Edges, graph.Edge{From: from, To: to, Kind: graph.DependsOn})
		}
	}
	return g
}

// overlap names two boxes that cover each other though neither is a goal around the other.
func overlap(g graph.Graph, l *graph.Layout) string {
	inside := func(a, b graph.Box) bool {
		return a.X >= b.X && a.Y >= b.Y && a.X+a.Width <= b.X+b.Width && a.Y+a.Height <= b.Y+b.Height
	}
	for i, n := range g.Nodes {
		a, ok := l.Boxes[n.ID]
		if !ok || a.X < 0 || a.Y < 0 || a.X+a.Width > l.Width+0.01 || a.Y+a.Height > l.Height+0.01 {
			return fmt.Sprintf("%s has no place in the picture: %v", n.ID, a)
		}
		for _, m := range g.Nodes[:i] {
			b := l.Boxes[m.ID]
			if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height && !inside(a, b) &&
				!inside(b, a) {
				return fmt.Sprintf("%s and %s overlap", n.ID, m.ID)
			}
		}
	}
	return ""
}

func TestPlace(t *testing.T) {
	cycle := made(6, 3) // the goals need each other in turn, the tasks do not
	cycle.Edges = []graph.Edge{
		{From: "IMPL-3", To: "IMPL-0", Kind: graph.DependsOn}, {From: "IMPL-1", To: "IMPL-4", Kind: graph.DependsOn},
		{From: "IMPL-2", To: "IMPL-1", Kind: graph.DependsOn},
	}
	knot := made(3, 3) // what no valid plan has
	knot.Edges = []graph.Edge{
		{From: "IMPL-0", To: "IMPL-1", Kind: graph.DependsOn}, {From: "IMPL-1", To: "IMPL-2", Kind: graph.DependsOn},
		{From: "IMPL-2", To: "IMPL-0", Kind: graph.DependsOn}, {From: "IMPL-0", To: "GOAL-1", Kind: graph.DependsOn},
	}
	parents := graph.Graph{Nodes: []graph.Node{
		{ID: "GOAL-1", Parent: "GOAL-2"}, {ID: "GOAL-2", Parent: "GOAL-1"}, {ID: "GOAL-3", Parent: "GOAL-3"},
		{ID: "IMPL-1", Parent: "GOAL-9"},
	}}
	checks := made(4, 2)
	for i := range 4 {
		id := plan.TaskID(fmt.Sprintf("CHECK-IMPL-%d", i))
		checks.Nodes = append(checks.Nodes, graph.Node{ID: id, Kind: plan.Check, Parent: "GOAL-2"})
		checks.Edges = append(checks.Edges, graph.Edge{From: id, To: plan.TaskID(fmt.Sprintf("IMPL-%d", i)),
			Kind: graph.Reviews})
	}
	star := made(80, 80)
	star.Edges = nil
	for i := 1; i < 80; i++ {
		star.Edges = append(star.Edges, graph.Edge{From: "IMPL-0", To: plan.TaskID(fmt.Sprintf("IMPL-%d", i)),
			Kind: graph.DependsOn})
	}
	for name, g := range map[string]graph.Graph{
		"empty": {}, "one": made(1, 1), "ten": made(10, 4), "hundred": made(100, 9), "flat": flat(90),
		"cycle of goals": cycle,
		"cycle of tasks": knot, "cycle of parents": parents, "checks": checks, "star": star,
		"too many for layers": crossed(300), "chain": chain(1100),
	} {
		t.Run(name, func(t *testing.T) {
			l, err := graph.Place(context.Background(), g)
			if err != nil {
				t.Fatal(err)
			}
			if problem := overlap(g, l); problem != "" {
				t.Error(problem)
			}
		})
	}
}

func TestPlaceFollowsTheWork(t *testing.T) {
	one := flat(12)
	l, err := graph.Place(context.Background(), one)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range one.Edges {
		if a, b := l.Boxes[e.To], l.Boxes[e.From]; a.X+a.Width > b.X {
			t.Errorf("%s is not to the right of %s, which it needs", e.From, e.To)
		}
	}
}

func TestPlaceEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := graph.Place(ctx, flat(700)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// However a plan is bound together, its picture takes a bounded time.
func TestPlaceIsBounded(t *testing.T) {
	for name, g := range map[string]graph.Graph{
		"flat": flat(3000), "goals": made(3000, 10), "chain": chain(3000), "crossed": crossed(400),
		"flat, many edges": dense(900),
	} {
		begin := time.Now()
		if _, err := graph.Place(context.Background(), g); err != nil {
			t.Fatal(err)
		}
		// The bound leaves room for a machine that does other work; what is measured is a tenth of it.
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s: it took %v", name, took)
		} else {
			t.Logf("%s: %v", name, took)
		}
	}
}

// dense is n tasks of which each needs a third of those before it.
func dense(n int) graph.Graph {
	rnd := rand.New(rand.NewPCG(5, 6))
	g := made(n, n)
	for i := range n {
		for j := range i {
			if rnd.IntN(3) == 0 {
				from, to := plan.TaskID(fmt.Sprintf("IMPL-%d", i)), plan.TaskID(fmt.Sprintf("IMPL-%d", j))
				g.Edges = append(g.Edges, graph.Edge{From: from, To: to, Kind: graph.DependsOn})
			}
		}
	}
	return g
}

// Edges cross no more than they have to: a tree has none, nor have two chains that belong apart.
func TestPlaceCrossesLittle(t *testing.T) {
	edge := func(after, before string) graph.Edge {
		return graph.Edge{From: plan.TaskID(after), To: plan.TaskID(before), Kind: graph.DependsOn}
	}
	g := graph.Graph{}
	for _, id := range []string{"A-0", "D-1", "C-1", "B-1", "B-2", "C-2", "D-2"} {
		g.Nodes = append(g.Nodes, graph.Node{ID: plan.TaskID(id), Kind: plan.Action})
	}
	for _, x := range []string{"B", "C", "D"} {
		g.Edges = append(g.Edges, edge(x+"-1", "A-0"), edge(x+"-2", x+"-1"))
	}
	l, err := graph.Place(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []plan.TaskID{"B", "C", "D"} {
		for _, y := range []plan.TaskID{"B", "C", "D"} {
			if (l.Boxes[x+"-1"].Y < l.Boxes[y+"-1"].Y) != (l.Boxes[x+"-2"].Y < l.Boxes[y+"-2"].Y) {
				t.Errorf("%s and %s cross", x, y)
			}
		}
		if l.Boxes[x+"-1"].Y != l.Boxes[x+"-2"].Y {
			t.Errorf("the edge between %s-1 and %s-2 is not level", x, x)
		}
	}
}

func BenchmarkPlace(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 3000} {
		for name, g := range map[string]graph.Graph{"flat": flat(n), "goals": made(n, 10)} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for range b.N {
					if _, err := graph.Place(context.Background(), g); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
