package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"gitwf/internal/gitstore"
	"gitwf/internal/graph"
)

func (e *env) graphCommand() *cli.Command {
	return &cli.Command{
		Name:  "graph",
		Usage: "draw the plan: goals, tasks, dependencies and statuses",
		Flags: []cli.Flag{
			textFlag("format", "draw as `FORMAT`: ascii for a terminal, mermaid, or svg, a picture in one file",
				"ascii"),
			boolFlag("checks", "show the CHECKs too"),
			boolFlag("critical-path", "mark the chain of open tasks with the most person-days"),
			textFlag("output,o", "write to `FILE`; - is standard output", ""),
			planFlag(), jsonFlag(),
		},
		Action: e.onReadable(wholePlan, e.drawGraph),
	}
}

func (e *env) drawGraph(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	if format := c.String("format"); !slices.Contains([]string{"", "ascii", "mermaid", "svg"}, format) {
		return usage("--format: expected ascii, mermaid or svg, found %q", format)
	}
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
	g := graph.FromState(s, o)
	name := c.String("output")
	if name == "" || name == "-" {
		return e.writeGraph(c, g, true)
	}
	// The file is written whole: an interrupted picture must not replace a complete one.
	whole := *e
	var out bytes.Buffer
	whole.stdout = &out
	if err := whole.writeGraph(c, g, false); err != nil {
		return err
	}
	name = e.absolute(name)
	if err := os.WriteFile(name, out.Bytes(), 0o666); err != nil {
		return fmt.Errorf("write the graph: %w", err)
	}
	return nil
}

// writeGraph writes the graph to standard output in the format asked for; shown means for a person.
func (e *env) writeGraph(c *cli.Context, g graph.Graph, shown bool) error {
	switch c.String("format") {
	case "mermaid":
		return graph.Mermaid(e.stdout, g)
	case "svg":
		return graph.SVG(c.Context, e.stdout, g)
	}
	if e.json {
		return writeJSON(e.stdout, "  ", g)
	}
	if !shown {
		return graph.ASCII(e.stdout, g, 0, nil)
	}
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
