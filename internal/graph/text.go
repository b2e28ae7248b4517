package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"

	"gitwf/internal/each"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// ASCII draws the graph as an indented tree, in ASCII except for titles and ids. The indent is DECOMPOSE, "<-" is
// DEPENDS_ON, and a CHECK is below what it reviews. paint, if not nil, colours the mark of a status.
func ASCII(w io.Writer, g Graph, paint func(Class, string) string) error {
	if paint == nil {
		paint = func(_ Class, s string) string { return s }
	}
	out := bufio.NewWriter(w)
	p := asciiPrinter{w: out, t: newTree(g), needs: map[plan.TaskID][]plan.TaskID{}, paint: paint}
	for _, e := range g.Edges {
		if e.Kind == DependsOn {
			p.needs[e.From] = append(p.needs[e.From], e.To)
		}
	}
	fmt.Fprintf(out, "%s  %s\n\n", clean(string(g.PlanID)), clean(g.Title))
	for _, id := range p.t.roots {
		p.node(id, "", "")
	}
	p.critical(g)
	p.legend(g)
	return out.Flush()
}

type asciiPrinter struct {
	w     io.Writer
	t     *tree
	needs map[plan.TaskID][]plan.TaskID
	paint func(Class, string) string
}

func (p asciiPrinter) node(id plan.TaskID, lead, under string) {
	n := p.t.nodes[id]
	name, title := label(n)
	if n.Critical {
		name = "*" + name
	}
	mark := p.paint(n.Class, "["+lookOf(n.Class).letter+"]")
	fmt.Fprintf(p.w, "%s%s %s  %s  %s", lead, mark, name, title, n.Status)
	if needs := p.needs[id]; len(needs) > 0 {
		fmt.Fprintf(p.w, "  <- %s", strings.Join(each.Of(needs, func(dep plan.TaskID) string {
			return clean(string(dep)) + " [" + lookOf(p.t.nodes[dep].Class).letter + "]"
		}), ", "))
	}
	fmt.Fprintln(p.w)
	below := append(append([]plan.TaskID{}, p.t.checks[id]...), p.t.children[id]...)
	for i, c := range below {
		if i == len(below)-1 {
			p.node(c, under+"`- ", under+"   ")
		} else {
			p.node(c, under+"|- ", under+"|  ")
		}
	}
}

func (p asciiPrinter) critical(g Graph) {
	if len(g.CriticalPath) == 0 {
		return
	}
	ids := each.Of(g.CriticalPath, func(id plan.TaskID) string { return clean(string(id)) })
	assumed := ""
	if g.Assumed {
		assumed = " (some assumed, by the rule)"
	}
	fmt.Fprintf(p.w, "\nCritical path, %.4g person-days%s: %s\n", g.PathDays, assumed, strings.Join(ids, " -> "))
}

func (p asciiPrinter) legend(g Graph) {
	parts := each.Of(usedLooks(g), func(l look) string { return "[" + l.letter + "] " + l.word })
	parts = append(parts, "indent: DECOMPOSE", "<- needs: DEPENDS_ON")
	if len(p.t.checks) > 0 {
		parts = append(parts, "CHECK: REVIEWS what it is below")
	}
	if len(g.CriticalPath) > 0 {
		parts = append(parts, "* on the critical path")
	}
	fmt.Fprintf(p.w, "\n%s\n", strings.Join(parts, "  "))
}

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
			mermaidText(terminal.Clip(title, 60)), end, n.Class)
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
