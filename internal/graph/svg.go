package graph

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"slices"
	"strings"

	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// SVG draws the graph as one file that needs nothing from elsewhere: no script, no font, no image. It follows the
// reader's choice of a light or a dark screen. A goal is a box around its parts. It fails when ctx ends.
func SVG(ctx context.Context, w io.Writer, g Graph) error {
	l, err := Place(ctx, g)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	p := svgPrinter{w: out, g: g, l: l, t: newTree(g)}
	p.picture()
	return out.Flush()
}

type svgPrinter struct {
	w io.Writer
	g Graph
	l *Layout
	t *tree
}

// The room around the drawing, above it for the title, and below it for the legend.
const (
	margin       = 20.0
	titleHeight  = 34.0
	legendHeight = 84.0
	legendWidth  = 950.0
)

func (p *svgPrinter) printf(format string, args ...any) { fmt.Fprintf(p.w, format, args...) }

func (p *svgPrinter) picture() {
	width, height := max(p.l.Width, legendWidth)+2*margin, p.l.Height+titleHeight+legendHeight+2*margin
	p.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="wf" role="img" aria-labelledby="wf-title" `+
		`width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f">`+"\n", width, height, width, height)
	p.printf("<title id=\"wf-title\">%s</title>\n", xmlText(string(p.g.PlanID)+": "+p.g.Title))
	p.style()
	for _, m := range []struct{ name, path string }{
		{"needs", "M0 0 9 4.5 0 9z"}, {"critical", "M0 0 9 4.5 0 9z"},
	} {
		p.printf("<marker id=\"wf-%s\" class=\"%s-end\" viewBox=\"0 0 9 9\" refX=\"8.5\" refY=\"4.5\" "+
			"markerWidth=\"9\" markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path "+
			"d=\"%s\"/></marker>\n", m.name, m.name, m.path)
	}
	p.printf("<rect class=\"ground\" width=\"100%%\" height=\"100%%\"/>\n")
	p.printf("<text class=\"heading\" x=\"%.0f\" y=\"%.0f\">%s</text>\n", margin, margin+14,
		xmlText(terminal.Clip(clean(string(p.g.PlanID)+"  "+p.g.Title), 110)))
	p.printf("<g transform=\"translate(%.0f %.0f)\">\n", margin, margin+titleHeight)
	for _, id := range p.t.roots {
		p.goals(id)
	}
	p.edges()
	for _, n := range p.g.Nodes {
		p.node(n)
	}
	p.printf("</g>\n")
	p.legend(margin, p.l.Height+titleHeight+margin+24)
	p.printf("</svg>\n")
}

// style has the colours, light and dark, and what both share. It uses no CSS variables, because not every SVG viewer
// knows them.
func (p *svgPrinter) style() {
	light := palette{ground: "#fff", text: "#1c2330", soft: "#5c6470", box: "#f7f8fa", edge: "#5c6470",
		critical: "#c2410c"}
	dark := palette{ground: "#12161c", text: "#e7ebf1", soft: "#a7b0bd", box: "#171c23", edge: "#a7b0bd",
		critical: "#ff9a5c"}
	p.printf("<style>\n")
	p.printf(`.wf text{font:12px system-ui,-apple-system,"Segoe UI","Noto Sans","Noto Sans CJK SC",sans-serif}
.wf text.heading{font-size:16px;font-weight:600}.wf .id{font-weight:600;font-size:11.5px}.wf text.soft{font-size:11px}
.wf .box{stroke-width:1.3}.wf .drawn{fill:none;stroke-width:2}.wf .edge{fill:none;stroke-width:1.2}
.wf .reviews{stroke-dasharray:2 3}.wf .edge.critical{stroke-width:2.6}.wf .critical .box{stroke-width:3}
`)
	for _, l := range looks() {
		if dashes := map[string]string{"dashed": "5 3", "dotted": "2 3"}[l.dash]; dashes != "" {
			p.printf(".wf .%s .box{stroke-dasharray:%s}\n", l.class, dashes)
		}
	}
	p.palette(light, func(l look) (fill, line string) { return l.fill, l.line })
	p.printf("@media (prefers-color-scheme:dark){\n")
	p.palette(dark, func(l look) (fill, line string) { return l.dark, l.bright })
	p.printf("}\n</style>\n")
}

// palette are the colours besides those of the statuses.
type palette struct{ ground, text, soft, box, edge, critical string }

func (p *svgPrinter) palette(c palette, of func(look) (fill, line string)) {
	p.printf(".wf .ground{fill:%s}.wf text{fill:%s}.wf text.soft{fill:%s}.wf .edge{stroke:%s}.wf "+
		".needs-end path{fill:%s}\n", c.ground, c.text, c.soft, c.edge, c.edge)
	for _, l := range looks() {
		fill, line := of(l)
		p.printf(".wf .%s .box{fill:%s;stroke:%s}.wf .%s .solid{fill:%s}.wf .%s .drawn{stroke:%s}\n", l.class,
			fill, line, l.class, line, l.class, line)
	}
	p.printf(".wf .goal .box{fill:%s}.wf .edge.critical,.wf .critical .box{stroke:%s}.wf .critical-end path{fill:%s}\n",
		c.box, c.critical, c.critical)
}

// goals draws the boxes of goals, the outer ones first.
func (p *svgPrinter) goals(id plan.TaskID) {
	children := p.t.children[id]
	if len(children) == 0 {
		return
	}
	n, b := p.t.nodes[id], p.l.Boxes[id]
	p.beginNode(n, "goal")
	p.printf("<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"10\"/>", b.X, b.Y, b.Width,
		b.Height)
	p.badge(n.Class, b.X+12, b.Y+11)
	name, title := label(n)
	room := int((b.Width - 65) / 6.8) // without the corner, where a page may put a button
	name = terminal.Clip(name, room)
	p.printf("<text x=\"%.1f\" y=\"%.1f\"><tspan class=\"id\">%s</tspan> %s</text></g>\n", b.X+35, b.Y+23,
		xmlText(name), xmlText(terminal.Clip(title, max(room-terminal.Cells(name)-1, 1))))
	for _, c := range children {
		p.goals(c)
	}
}

// node draws a task that has no parts.
func (p *svgPrinter) node(n Node) {
	if len(p.t.children[n.ID]) > 0 {
		return
	}
	b := p.l.Boxes[n.ID]
	name, title := label(n)
	if n.Kind == plan.Check {
		p.beginNode(n, "check")
		p.printf("<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\"/>", b.X,
			b.Y, b.Width, b.Height, b.Height/2)
		p.badge(n.Class, b.X+8, b.Y+4)
		p.printf("<text class=\"soft\" x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", b.X+31, b.Y+16,
			xmlText(terminal.Clip(name, 25)))
		return
	}
	kind := strings.ToLower(string(n.Kind))
	p.beginNode(n, kind)
	p.printf("<rect class=\"box\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"6\"/>", b.X, b.Y, b.Width,
		b.Height)
	p.badge(n.Class, b.X+10, b.Y+15)
	p.printf("<text class=\"id\" x=\"%.1f\" y=\"%.1f\">%s</text>", b.X+36, b.Y+19,
		xmlText(terminal.Clip(name, 24)))
	p.printf("<text x=\"%.1f\" y=\"%.1f\">%s</text></g>\n", b.X+36, b.Y+35, xmlText(terminal.Clip(title, 25)))
}

// beginNode opens the group of a node, with its tooltip.
func (p *svgPrinter) beginNode(n Node, kind string) {
	classes := kind + " " + string(lookOf(n.Class).class)
	if n.Critical {
		classes += " critical"
	}
	p.printf("<g class=\"%s\" data-task=\"%s\"><title>%s</title>", classes, xmlText(string(n.ID)), xmlText(tooltip(n)))
}

func (p *svgPrinter) badge(c Class, x, y float64) {
	l, how := lookOf(c), "drawn"
	if l.solid {
		how = "solid"
	}
	p.printf("<path class=\"%s\" transform=\"translate(%.1f %.1f)\" d=\"%s\"/>", how, x, y, l.badge)
}

// edges draws the edges. DECOMPOSE is a box around another and needs no line.
func (p *svgPrinter) edges() {
	for _, e := range p.g.Edges {
		from, to := p.l.Boxes[e.From], p.l.Boxes[e.To]
		switch e.Kind {
		case Reviews:
			y := from.Y + from.Height/2
			p.edge("edge reviews", "", e, fmt.Sprintf("M%.1f %.1fH%.1fV%.1f", from.X, y, from.X-7, to.Y+to.Height))
		case DependsOn:
			class, end := "edge", "needs"
			if e.Critical {
				class, end = "edge critical", "critical"
			}
			begin, target := Point{to.X + to.Width, to.Y + to.Height/2}, Point{from.X, from.Y + from.Height/2}
			way := slices.Concat([]Point{begin}, p.l.Bends[[2]plan.TaskID{e.To, e.From}], []Point{target})
			p.edge(class, end, e, curve(way))
		}
	}
}

func (p *svgPrinter) edge(class, end string, e Edge, path string) {
	if end != "" {
		end = ` marker-end="url(#wf-` + end + `)"`
	}
	p.printf("<path class=\"%s\"%s d=\"%s\"><title>%s</title></path>\n", class, end, path,
		xmlText(string(e.From)+" "+string(e.Kind)+" "+string(e.To)))
}

// curve is a path through points that leaves and arrives from the side.
func curve(points []Point) string {
	var b strings.Builder
	fmt.Fprintf(&b, "M%.1f %.1f", points[0][0], points[0][1])
	for i := 1; i < len(points); i++ {
		from, to := points[i-1], points[i]
		bend := (to[0] - from[0]) / 2
		if bend < 0 { // back to the left: out and around
			bend = min(60-bend/4, 160)
		}
		fmt.Fprintf(&b, "C%.1f %.1f %.1f %.1f %.1f %.1f", from[0]+bend, from[1], to[0]-bend, to[1], to[0], to[1])
	}
	return b.String()
}

// legend explains the badges, and the edges below them.
func (p *svgPrinter) legend(x, y float64) {
	p.printf("<g class=\"legend\" transform=\"translate(%.0f %.0f)\">", x, y)
	at := 0.0
	for _, l := range looks() {
		p.printf("<g class=\"%s\">", l.class)
		p.badge(l.class, at, 0)
		p.printf("<text class=\"soft\" x=\"%.0f\" y=\"12\">%s</text></g>", at+22, l.word)
		at += 36 + 6*float64(len(l.word))
	}
	p.printf("\n<g class=\"goal pending\"><rect class=\"box\" x=\"0\" y=\"30\" width=\"26\" " +
		"height=\"18\" rx=\"4\" stroke-dasharray=\"none\"/></g><text class=\"soft\" x=\"34\" " +
		"y=\"43\">box of a goal: DECOMPOSE</text>")
	p.printf("<path class=\"edge\" marker-end=\"url(#wf-needs)\" d=\"M200 39H236\"/><text class=\"soft\" " +
		"x=\"244\" y=\"43\">arrow to what needs it: DEPENDS_ON</text>")
	p.printf("<path class=\"edge reviews\" d=\"M460 39H490\"/><text class=\"soft\" x=\"498\" " +
		"y=\"43\">pill below a task: CHECK, REVIEWS</text>")
	if len(p.g.CriticalPath) > 0 {
		p.printf("<path class=\"edge critical\" marker-end=\"url(#wf-critical)\" d=\"M700 " +
			"39H736\"/><text class=\"soft\" x=\"744\" y=\"43\">critical path</text>")
	}
	p.printf("</g>\n")
}

// xmlText escapes a text for the content of an element or for an attribute in double quotes.
func xmlText(s string) string { return html.EscapeString(clean(s)) }
