package watch

import (
	"fmt"
	"strings"
	"time"

	"gitwf/internal/graph"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// Style is how a piece of a line looks on a colour terminal. No fact is shown by style alone.
type Style string

// The styles, as parameters of the sequence that selects them.
const (
	Plain  Style = ""
	Strong Style = "1"
	Faint  Style = "90"
	Good   Style = "32"
	Bad    Style = "31"
	Warn   Style = "35"
	Busy   Style = "34"
	Ready  Style = "36"
	Asks   Style = "33"
	Chosen Style = "1;7"
)

// Span is a piece of a line.
type Span struct {
	Text  string
	Style Style
}

// Line is a row of the screen.
type Line []Span

// Render cuts a line to a number of columns and, with colour, adds the sequences of its styles.
func Render(l Line, columns int, colour bool) string {
	var b strings.Builder
	for _, s := range l {
		text := terminal.Fit(s.Text, columns)
		columns -= terminal.Cells(text)
		if colour && s.Style != Plain && text != "" {
			text = "\x1b[" + string(s.Style) + "m" + text + "\x1b[0m"
		}
		b.WriteString(text)
		if columns <= 0 {
			break
		}
	}
	return b.String()
}

// styleOf is the style of a status; none without a status.
func styleOf(s plan.Status) Style {
	if s == "" {
		return Plain
	}
	return Style(graph.ClassOf(s).Colour())
}

// mark is the sign of a status, one column wide.
func (m *Model) mark(s plan.Status) string {
	mark, ascii := graph.ClassOf(s).Mark()
	switch {
	case s == "":
		return " "
	case m.ASCII:
		return ascii
	}
	return mark
}

// text makes what a plan says safe to draw, on one line.
func (m *Model) text(s string) string { return terminal.Text(plain.Line(s), m.ASCII) }

// clip cuts a text to a number of columns, and shows that.
func (m *Model) clip(s string, columns int) string {
	if m.ASCII {
		return terminal.Clip(s, max(columns, 0), "..")
	}
	return terminal.Clip(s, max(columns, 0), "…")
}

func (m *Model) rule(columns int) string {
	if m.ASCII {
		return strings.Repeat("-", columns)
	}
	return strings.Repeat("─", columns)
}

// Lines are all rows of a screen of this size.
func (m *Model) Lines(columns, height int, now time.Time) []Line {
	m.wide = columns
	var head, body, foot []Line
	switch {
	case m.help:
		head, foot = m.frame(columns, "Keys", "any key goes back")
		m.body = max(height-len(head)-len(foot), 1)
		for _, text := range keys() {
			body = append(body, Line{{m.shown(text), Plain}})
		}
	case m.form != nil:
		what := "Approve"
		if !m.form.approve {
			what = "Reject"
		}
		head, foot = m.frame(columns, fmt.Sprintf("%s %s %s: %s", what, m.form.task, m.form.version, m.form.title),
			"Enter next field  arrows move  Space, p, f: verdict  Esc nothing")
		m.body = max(height-len(head)-len(foot), 1)
		var at int
		body, at = m.form.lines(columns, m.ASCII)
		m.form.top = window(m.form.top, at, m.body)
		body = body[min(m.form.top, len(body)):]
	case len(m.pages) > 0:
		head, body, foot = m.pageLines(m.pages[len(m.pages)-1], columns, height)
	default:
		head, body, foot = m.treeLines(columns, height, now)
	}
	if len(body) > m.body {
		body = body[:m.body]
	}
	for len(head)+len(body)+len(foot) < height {
		body = append(body, Line{})
	}
	all := append(append(head, body...), foot...)
	return all[len(all)-min(len(all), height):]
}

func (m *Model) shown(s string) string { return terminal.Text(s, m.ASCII) }

// frame is what is above and below a page.
func (m *Model) frame(columns int, title, keys string) (head, foot []Line) {
	head = []Line{{{m.clip(m.text(title), columns), Strong}}, {{m.rule(columns), Faint}}}
	return head, []Line{m.footer(columns, keys)}
}

// footer is the last row: what is typed, what has just happened, or the keys.
func (m *Model) footer(columns int, keys string) Line {
	switch {
	case m.typing != nil:
		return Line{{"/" + m.shown(*m.typing) + "_", Strong}}
	case m.said != "":
		return Line{{m.clip(m.text(m.said), columns), Warn}}
	}
	return Line{{m.clip(keys, columns), Faint}}
}

func (m *Model) pageLines(v *view, columns, height int) (head, body, foot []Line) {
	keys := "j k move  / search  q back"
	if v.Task != "" {
		keys += "  r review  v versions  a approve  x reject"
	}
	if len(v.Versions) > 0 {
		keys = "j k move  Enter open  d compare with the one before  a approve  x reject  q back"
	} else if v.Kind == VersionPage {
		keys = "j k move  / search  d compare with the one before  a approve  x reject  q back"
	}
	head, foot = m.frame(columns, v.Title, keys)
	m.body = max(height-len(head)-len(foot), 1)
	if len(v.Versions) > 0 {
		v.top = window(v.top, v.at, m.body)
		for i, version := range v.Versions {
			lead := "  "
			if i == v.at {
				lead = "> "
			}
			style := Asks
			switch version.Verdict {
			case plan.Approved:
				style = Good
			case plan.Rejected:
				style = Bad
			}
			body = append(body, Line{{lead, Strong}, {m.clip(m.shown(versionText(version)), columns-2), style}})
		}
		return head, body[v.top:], foot
	}
	rows := v.rows(columns, m.ASCII)
	v.top = min(max(v.top, 0), max(len(rows)-m.body, 0))
	for _, row := range rows[v.top:min(v.top+m.body, len(rows))] {
		style := Plain
		if v.Kind == DiffPage {
			style = diffStyle(row)
		}
		body = append(body, Line{{row, style}})
	}
	if len(rows) > m.body && m.said == "" && m.typing == nil {
		where := fmt.Sprintf("  %d%%", 100*(v.top+m.body)/len(rows))
		foot[0] = Line{{m.clip(keys, columns-len(where)) + where, Faint}}
	}
	return head, body, foot
}

func diffStyle(row string) Style {
	switch {
	case strings.HasPrefix(row, "+"):
		return Good
	case strings.HasPrefix(row, "-"):
		return Bad
	case strings.HasPrefix(row, "@@"):
		return Ready
	}
	return Plain
}

// window is the first of the seen rows, moved as little as possible from top so that at is among them.
func window(top, at, seen int) int {
	switch {
	case at < top:
		return at
	case at >= top+seen:
		return at - seen + 1
	}
	return top
}

// keys is the help page about the keys.
func keys() []string {
	return []string{
		"Up, Down, k, j        one task, or one row, up or down",
		"PgUp, PgDn, Space     one screen up or down",
		"g, G, Home, End       to the first, to the last",
		"Left, Right, h, l     fold a goal or go to it; unfold it",
		"/                     search; n and N go on, forward and back",
		"w                     to the next task that waits for a person",
		"Enter                 open the task",
		"r                     read its newest review file",
		"v                     its versions; Enter opens one, d compares it with the one before",
		"a, x                  approve or reject its newest version",
		"Ctrl+L, Ctrl+Z        draw anew; stop, and go on with fg",
		"q, Esc                back; from the overview, q leaves",
	}
}
