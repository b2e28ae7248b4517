package main

import (
	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/graph"
)

func (e *env) drawGraph(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	s, err := e.state(c.Context, store, snap)
	if err != nil {
		return err
	}
	o := graph.Options{Checks: c.Bool("checks")}
	if c.Bool("critical-path") {
		weights, err := e.weights(store)
		if err != nil {
			return err
		}
		o.CriticalPath = weights.Days
	}
	return e.writeGraph(c, graph.FromState(s, o))
}

// writeGraph prints the graph in the format asked for.
func (e *env) writeGraph(c *cli.Context, g graph.Graph) error {
	switch format := c.String("format"); format {
	case "mermaid":
		return graph.Mermaid(e.stdout, g)
	case "svg":
		return graph.SVG(c.Context, e.stdout, g)
	case "", "ascii":
	default:
		return usage("--format: expected ascii, mermaid or svg, found %q", format)
	}
	if e.json {
		return writeJSON(e.stdout, "  ", g)
	}
	return e.drawTree(g)
}

// drawTree prints the graph as a tree of text.
func (e *env) drawTree(g graph.Graph) error {
	return graph.ASCII(e.stdout, g, func(class graph.Class, text string) string {
		return e.paint(class.Colour(), text)
	})
}
