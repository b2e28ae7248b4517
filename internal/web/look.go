package web

import (
	"gitwf/internal/graph"
	"gitwf/internal/plan"
)

// classes in the order of the legend.
func classes() []graph.Class {
	return []graph.Class{
		graph.Ready, graph.Running, graph.Review, graph.Done, graph.Rejected, graph.Pending, graph.Blocked, graph.Abandoned,
	}
}

// classOf is which mark and colour stand for a status; the same as in pictures, which are asked.
func classOf(s plan.Status) graph.Class {
	t := &plan.Task{TaskID: "T-1", NodeType: plan.Action}
	g := graph.FromState(&plan.State{
		Plan:  &plan.Plan{RootTaskID: t.TaskID, Tasks: []*plan.Task{t}},
		Tasks: map[plan.TaskID]*plan.TaskState{t.TaskID: {Task: t, Status: s}},
	}, graph.Options{})
	return g.Nodes[0].Class
}

// wordOf says what a class stands for.
func wordOf(c graph.Class) string {
	return map[graph.Class]string{
		graph.Ready: "ready", graph.Running: "in progress", graph.Review: "awaits review", graph.Done: "done", graph.Rejected: "rejected",
		graph.Pending: "waits for others", graph.Blocked: "waits for a person", graph.Abandoned: "abandoned",
	}[c]
}
