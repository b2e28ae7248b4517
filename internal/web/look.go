package web

import (
	"gitwf/internal/graph"
)

// wordOf says what a class stands for.
func wordOf(c graph.Class) string {
	return map[graph.Class]string{
		graph.Ready: "ready", graph.Running: "in progress", graph.Review: "awaits review", graph.Done: "done",
		graph.Rejected: "to be made again",
		graph.Pending:  "waits for others", graph.Blocked: "waits for a person", graph.Abandoned: "abandoned",
	}[c]
}
