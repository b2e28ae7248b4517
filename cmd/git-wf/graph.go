package main

import (
	"os"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

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
	return graph.ASCII(e.stdout, g, e.columns(), func(class graph.Class, text string) string {
		return e.paint(class.Colour(), text)
	})
}

// columns is the width of the terminal, or what COLUMNS says; zero if nobody knows.
func (e *env) columns() int {
	if f, ok := e.stdout.(*os.File); ok {
		if n, _, err := term.GetSize(int(f.Fd())); err == nil && n > 0 {
			return n
		}
	}
	n, err := strconv.Atoi(e.getenv("COLUMNS"))
	if err != nil || n < 20 {
		return 0
	}
	return n
}
