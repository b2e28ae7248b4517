package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"gitwf/internal/plan"
)

// DOT writes the graph in the language of Graphviz. A node's name is its task's id.
func DOT(w io.Writer, g Graph) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "digraph %s {\n", dotText(clean(string(g.PlanID))))
	fmt.Fprintf(out, "  graph [rankdir=LR, label=%s, labelloc=t, fontname=\"sans-serif\"]\n", dotText(clean(g.Title)))
	fmt.Fprint(out, "  node [fontname=\"sans-serif\", fontsize=11, margin=\"0.15,0.06\"]\n  edge "+
		"[fontname=\"sans-serif\", fontsize=9, color=\"#5c6470\"]\n")
	for _, n := range g.Nodes {
		id, title := label(n)
		l := lookOf(n.Class)
		style, line, pen := "filled", l.line, 1
		if l.dot != "" {
			style += "," + l.dot
		}
		if n.Critical {
			line, pen = "#c2410c", 3
		}
		// The line break is DOT's own: the texts around it are escaped.
		text := strings.TrimSuffix(dotText(l.mark+" "+id), `"`) + `\n` +
			strings.TrimPrefix(dotText(clip(title, 40)), `"`)
		fmt.Fprintf(out, "  %s [label=%s, tooltip=%s, shape=%s, style=\"%s\", fillcolor=\"%s\", "+
			"color=\"%s\", penwidth=%d]\n",
			dotText(string(n.ID)), text, dotText(tooltip(n)), dotShape(n.Kind), style, l.fill, line, pen)
	}
	for _, e := range g.Edges {
		switch e.Kind {
		case Decompose:
			fmt.Fprintf(out, "  %s -> %s [style=dashed, arrowhead=none, edgetooltip=\"DECOMPOSE\"]\n",
				dotText(string(e.From)), dotText(string(e.To)))
		case Reviews:
			// From the target to the CHECK, so that dot places the CHECK after it; the mark stays at the target.
			fmt.Fprintf(out, "  %s -> %s [style=dotted, dir=back, arrowtail=odot, edgetooltip=\"REVIEWS\"]\n",
				dotText(string(e.To)), dotText(string(e.From)))
		case DependsOn:
			more := ""
			if e.Critical {
				more = ", color=\"#c2410c\", penwidth=3"
			}
			fmt.Fprintf(out, "  %s -> %s [edgetooltip=\"DEPENDS_ON\"%s]\n", dotText(string(e.To)),
				dotText(string(e.From)), more)
		}
	}
	dotLegend(out, g)
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

func dotShape(k plan.NodeType) string {
	switch k {
	case plan.Goal:
		return "folder"
	case plan.Check:
		return "hexagon"
	}
	return "box"
}

func dotLegend(out io.Writer, g Graph) {
	fmt.Fprint(out, "  subgraph cluster_legend {\n    label=\"Legend\"; fontsize=10; color=\"#a7b0bd\"\n")
	fmt.Fprint(out, "    node [shape=plaintext, style=\"\", margin=0]\n    \" 1\" [label=\"goal\"]; \" "+
		"2\" [label=\"part\"]; \" 3\" [label=\"needs it\"]; \" 4\" [label=\"check\"]\n")
	fmt.Fprint(out, "    \" 1\" -> \" 2\" [style=dashed, arrowhead=none, label=\"DECOMPOSE\"]\n    \" "+
		"2\" -> \" 3\" [label=\"DEPENDS_ON\"]\n    \" 3\" -> \" 4\" [style=dotted, dir=back, "+
		"arrowtail=odot, label=\"REVIEWS\"]\n")
	for _, l := range usedLooks(g) {
		fmt.Fprintf(out, "    \" %s\" [label=%s, shape=box, style=filled, fillcolor=\"%s\", "+
			"color=\"%s\", margin=0.08]\n", l.class, dotText(l.mark+" "+l.word), l.fill, l.line)
	}
	fmt.Fprint(out, "  }\n")
}

// dotText is a text as a quoted string of DOT. Labels know escapes with a backslash, and HTML's entities.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(clean(s)) + `"`
}
