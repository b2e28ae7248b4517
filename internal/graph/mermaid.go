package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"gitwf/internal/plan"
)

// Mermaid writes the graph as a Mermaid flowchart. Nodes are called n1, n2, ..., because a task's id is not a Mermaid
// name; labels have the ids.
func Mermaid(w io.Writer, g Graph) error {
	out := bufio.NewWriter(w)
	names := map[plan.TaskID]string{}
	fmt.Fprintf(out, "---\ntitle: \"%s\"\n---\nflowchart LR\n", yamlText(clean(string(g.PlanID)+": "+g.Title)))
	for i, n := range g.Nodes {
		names[n.ID] = fmt.Sprintf("n%d", i+1)
		open, end := mermaidShape(n.Kind)
		id, title := label(n)
		fmt.Fprintf(out, "  %s%s\"%s %s<br/>%s\"%s:::%s\n", names[n.ID], open, lookOf(n.Class).mark, mermaidText(id),
			mermaidText(clip(title, 60)), end, n.Class)
	}
	var critical []string
	for i, e := range g.Edges {
		from, arrow, to := names[e.From], "-.-", names[e.To]
		switch {
		case e.Kind == Reviews:
			arrow = "--o"
		case e.Kind == DependsOn && e.Critical:
			from, arrow, to = to, "==>", from
		case e.Kind == DependsOn:
			from, arrow, to = to, "-->", from
		}
		if e.Critical {
			critical = append(critical, fmt.Sprint(i))
		}
		fmt.Fprintf(out, "  %s %s %s\n", from, arrow, to)
	}
	mermaidLegend(out, g)
	for _, l := range looks() {
		dashes := ""
		if l.dash != "" {
			dashes = ",stroke-dasharray:4 3"
		}
		fmt.Fprintf(out, "  classDef %s fill:%s,stroke:%s,color:#1c2330%s\n", l.class, l.fill, l.line, dashes)
	}
	if len(critical) > 0 {
		fmt.Fprintf(out, "  linkStyle %s stroke:#c2410c,stroke-width:3px\n", strings.Join(critical, ","))
	}
	for _, n := range g.Nodes {
		if n.Critical {
			fmt.Fprintf(out, "  style %s stroke:#c2410c,stroke-width:3px\n", names[n.ID])
		}
	}
	return out.Flush()
}

func mermaidShape(k plan.NodeType) (open, end string) {
	switch k {
	case plan.Goal:
		return "[[", "]]"
	case plan.Check:
		return "{{", "}}"
	}
	return "[", "]"
}

// mermaidLegend draws the three kinds of edges and one node of each class that is in the graph.
func mermaidLegend(out io.Writer, g Graph) {
	fmt.Fprint(out, "  subgraph legend\n    l1[[\"goal\"]] -.-|DECOMPOSE| l2[\"action\"]\n    l2 "+
		"-->|DEPENDS_ON| l3[\"action that needs it\"]\n")
	fmt.Fprint(out, "    l4{{\"check\"}} --o|REVIEWS| l3\n")
	for _, l := range usedLooks(g) {
		fmt.Fprintf(out, "    l_%s[\"%s %s\"]:::%s\n", l.class, mermaidText(l.mark), l.word, l.class)
	}
	fmt.Fprint(out, "  end\n")
}

// mermaidText escapes a text for a label in quotes. What means something to Mermaid, Markdown or HTML becomes a
// character reference; letters, digits and plain punctuation stay readable.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" -.,()/", r) {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// yamlText escapes a text for a string in double quotes of the front matter.
func yamlText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
}
