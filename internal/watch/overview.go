package watch

import (
	"fmt"
	"strings"
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// treeKeys begins with what helps on a screen that cuts it.
const treeKeys = "q leave  ? keys  Enter open  r review  v versions  a approve  x reject  / find"

// treeLines is the overview. A small screen drops first what says least about the whole.
func (m *Model) treeLines(columns, height int, now time.Time) (head, body, foot []Line) {
	const small, tiny = 14, 7
	head = []Line{m.titleLine(columns), m.progressLine(columns)}
	if height >= small {
		head = append(head, m.countsLine())
		head = append(head, m.runningLines(columns, max(height/6, 1), now)...)
		foot = append(foot, Line{{m.rule(columns), Faint}})
		foot = append(foot, m.detailLines(columns)...)
	} else if len(m.over.Running) > 0 && height >= tiny {
		head = append(head, m.runningLines(columns, 1, now)...)
	}
	if height >= tiny {
		head = append(head, Line{{m.rule(columns), Faint}})
	}
	if height < 4 {
		head = nil
	}
	foot = append(foot, m.footer(columns, treeKeys))
	m.body = max(height-len(head)-len(foot), 1)
	rows := m.tree()
	at := 0
	for i, t := range rows {
		if t.ID == m.selected {
			at = i
		}
	}
	m.top = max(min(window(m.top, at, m.body), len(rows)-m.body), 0)
	leads := m.leads(rows)
	for i := m.top; i < min(m.top+m.body, len(rows)); i++ {
		body = append(body, m.taskLine(rows[i], leads[i], columns))
	}
	return head, body, foot
}

func (m *Model) titleLine(columns int) Line {
	id := string(m.over.ID)
	notes := m.text(m.over.Notes)
	title := m.clip(m.text(m.over.Title), columns-terminal.Cells(id)-terminal.Cells(notes)-4)
	return Line{{title, Strong}, {"  " + m.text(id), Plain}, {"  " + notes, Warn}}
}

// progressLine has the plan's status, a bar, and the number of approved deliverables.
func (m *Model) progressLine(columns int) Line {
	line := Line{{m.mark(m.over.Status) + " " + string(m.over.Status) + " ", styleOf(m.over.Status)}}
	const most, least = 40, 6
	if room := min(columns/3, most); room >= least && m.over.Total > 0 {
		full := room * m.over.Done / m.over.Total
		line = append(line, Span{"[" + strings.Repeat("#", full) + strings.Repeat(".", room-full) + "] ", Plain})
	}
	line = append(line, Span{fmt.Sprintf("%d/%d done", m.over.Done, m.over.Total), Strong})
	waits := 0
	for _, t := range m.over.Tasks {
		if t.Waits {
			waits++
		}
	}
	if waits > 0 {
		line = append(line, Span{fmt.Sprintf("  %d for you", waits), Warn})
	}
	return line
}

// countsLine counts the tasks by status. A goal counts with the tasks below it.
func (m *Model) countsLine() Line {
	counts := map[plan.Status]int{}
	for i, t := range m.over.Tasks {
		if i+1 == len(m.over.Tasks) || m.over.Tasks[i+1].Depth <= t.Depth {
			counts[t.Status]++
		}
	}
	line := Line{}
	for _, c := range []struct {
		word     string
		statuses []plan.Status
	}{
		{"running", []plan.Status{plan.StatusInProgress}}, {"to review", []plan.Status{plan.StatusReadyToCheck}},
		{"ready", []plan.Status{plan.StatusReady}},
		{"to redo", []plan.Status{plan.StatusToBeModified}}, {"blocked",
			[]plan.Status{plan.StatusWaitingInput, plan.StatusWaitingExternal}},
		{"pending", []plan.Status{plan.StatusPending}}, {"abandoned", []plan.Status{plan.StatusAbandoned}},
	} {
		n := 0
		for _, s := range c.statuses {
			n += counts[s]
		}
		if n > 0 {
			line = append(line, Span{fmt.Sprintf("%s %d %s  ", m.mark(c.statuses[0]), n, c.word), styleOf(c.statuses[0])})
		}
	}
	return line
}

// runningLines are the current work, at most most rows.
func (m *Model) runningLines(columns, most int, now time.Time) []Line {
	var lines []Line
	for i, r := range m.over.Running {
		if i+1 == most && len(m.over.Running) > most {
			lines = append(lines, Line{{fmt.Sprintf("%s %7s  %d more at work", m.mark(plan.StatusInProgress), "...",
				len(m.over.Running)-i), Busy}})
			break
		}
		text := fmt.Sprintf("%s %7s  %s  %s  %s", m.mark(plan.StatusInProgress), Elapsed(now.Sub(r.Since)), r.Task,
			m.text(r.Agent), m.text(r.Title))
		lines = append(lines, Line{{m.clip(text, columns), Busy}})
	}
	return lines
}

// detailLines say more of the selected task: what it is, what it waits for, what is before and after it.
func (m *Model) detailLines(columns int) []Line {
	t := m.byID[m.selected]
	if t == nil {
		return []Line{{}, {}, {}}
	}
	why := t.Held
	if why == "" {
		why = t.Notes
	}
	if t.Command != "" {
		why += "  (" + t.Command + ")"
	}
	style := Plain
	if t.Waits {
		style = Warn
	}
	around := "needs " + m.list(t.Needs) + "; is needed by " + names(t.NeededBy)
	return []Line{
		{{m.clip(string(t.ID)+"  "+m.text(t.Title), columns), Strong}},
		{{m.clip(m.text(why), columns), style}},
		{{m.clip(m.text(around), columns), Faint}},
	}
}

// list is tasks with the marks of their statuses.
func (m *Model) list(ids []plan.TaskID) string {
	var all []string
	for _, id := range ids {
		if t := m.byID[id]; t != nil {
			all = append(all, m.mark(t.Status)+string(id))
		} else {
			all = append(all, string(id))
		}
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}

func names(ids []plan.TaskID) string {
	if len(ids) == 0 {
		return "nothing"
	}
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(id)
	}
	return strings.Join(all, ", ")
}

// taskLine is one task of the tree.
func (m *Model) taskLine(t *Task, lead string, columns int) Line {
	style := styleOf(t.Status)
	cursor, id, name := "  ", Strong, Plain
	if t.ID == m.selected {
		cursor, id, name = "> ", Chosen, Chosen
	}
	status := string(t.Status)
	if m.folded[t.ID] {
		status += " (folded)"
	}
	used := len(cursor) + terminal.Cells(lead) + 2 + len(t.ID) + 2 + 2 + len(status)
	title := m.clip(m.text(t.Title), max(columns-used, 8))
	notes := m.text(t.Notes)
	room := columns - used - terminal.Cells(title) - 2
	if room < 4 {
		notes = ""
	}
	return Line{
		{cursor, Strong}, {lead, Faint}, {m.mark(t.Status) + " ", style}, {string(t.ID), id}, {"  " + title, name},
		{"  " + status, style}, {"  " + m.clip(notes, room), Faint},
	}
}

// leads are the lines of the tree in front of each row.
func (m *Model) leads(rows []*Task) []string {
	branch, last, through, empty := "├─ ", "└─ ", "│  ", "   "
	if m.ASCII {
		branch, last, through = "|- ", "`- ", "|  "
	}
	leads := make([]string, len(rows))
	var goesOn []bool // whether another row of each depth follows below
	for i := len(rows) - 1; i >= 0; i-- {
		depth := rows[i].Depth
		for len(goesOn) <= depth {
			goesOn = append(goesOn, false)
		}
		var b strings.Builder
		for d := 1; d < depth; d++ {
			if goesOn[d] {
				b.WriteString(through)
			} else {
				b.WriteString(empty)
			}
		}
		if depth > 0 {
			if goesOn[depth] {
				b.WriteString(branch)
			} else {
				b.WriteString(last)
			}
		}
		goesOn = goesOn[:depth+1]
		goesOn[depth] = true
		leads[i] = b.String()
	}
	return leads
}

// Elapsed formats a duration as H:MM:SS, or as M:SS below an hour.
func Elapsed(d time.Duration) string {
	s := int(max(d, 0) / time.Second)
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
