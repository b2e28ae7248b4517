package watch

import (
	"fmt"
	"strings"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// pressPage moves in a page.
func (m *Model) pressPage(k terminal.Key, v *view) Wish {
	switch k {
	case "q", terminal.Escape, terminal.Left, "h", terminal.Backspace:
		m.pages = m.pages[:len(m.pages)-1]
		return Wish{}
	}
	if len(v.Versions) > 0 {
		if to, ok := moved(k, v.at, len(v.Versions), m.body); ok {
			v.at = to
			return Wish{}
		}
		switch n := v.Versions[v.at].N; k {
		case terminal.Enter, terminal.Right, "l":
			return Wish{Open: &Want{Kind: VersionPage, Task: v.Task, Version: n}}
		case "d":
			return Wish{Open: &Want{Kind: DiffPage, Task: v.Task, Version: n}}
		}
	} else if k == terminal.Up || k == "k" { // a page moves by its first row, which is never the last
		v.top--
		return Wish{}
	} else if to, ok := moved(k, v.top, 1<<30, m.body); ok {
		v.top = to // drawing limits it
		return Wish{}
	}
	switch {
	case k == "d" && v.Kind == VersionPage:
		return Wish{Open: &Want{Kind: DiffPage, Task: v.Task, Version: v.Version}}
	case k == terminal.Enter, v.Task == "":
		return Wish{}
	}
	return m.about(k, v.Task)
}

// rows are the page's lines, wrapped to the screen's width.
func (v *view) rows(columns int, ascii bool) []string {
	var rows []string
	for _, line := range v.Lines {
		rows = append(rows, terminal.Wrap(terminal.Text(line, ascii), columns)...)
	}
	return rows
}

// find goes to the next row of the page that has a text, or to the next version.
func (v *view) find(want string, forward bool, columns int, ascii bool) bool {
	rows, at := v.rows(columns, ascii), v.top
	if len(v.Versions) > 0 {
		rows, at = nil, v.at
		for _, version := range v.Versions {
			rows = append(rows, versionText(version))
		}
	}
	for i := 1; i <= len(rows); i++ {
		j := (at + i) % len(rows)
		if !forward {
			j = (at - i + 2*len(rows)) % len(rows)
		}
		if strings.Contains(strings.ToLower(rows[j]), want) {
			if len(v.Versions) > 0 {
				v.at = j
			} else {
				v.top = j
			}
			return true
		}
	}
	return false
}

func versionText(v Version) string {
	verdict := string(v.Verdict)
	if verdict == "" {
		verdict = "awaits review"
	}
	return fmt.Sprintf("%s  %-13s  %s", plan.VersionID(v.N), verdict, plain.Line(v.Text))
}
