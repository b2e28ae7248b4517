package watch

import (
	"slices"
	"strings"

	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// Model is what the screen shows now, and the position in it.
type Model struct {
	ASCII bool // the terminal shows nothing else

	over     Overview
	byID     map[plan.TaskID]*Task
	folded   map[plan.TaskID]bool
	selected plan.TaskID
	top      int // first visible row of the tree

	pages  []*view // above the tree; the last is on top
	form   *form
	drafts map[plan.TaskID]*form // that led to no decision yet
	help   bool
	typing *string // the search text while it is typed
	sought string
	said   string // what has just happened, until the next key
	body   int    // rows of the scrolling part when last drawn
	wide   int    // columns then
}

// view is a page and the position in it.
type view struct {
	Page
	top, at int
}

// Show takes a new state of the plan. It keeps the selection.
func (m *Model) Show(o Overview) {
	m.over, m.byID = o, map[plan.TaskID]*Task{}
	for i := range o.Tasks {
		m.byID[o.Tasks[i].ID] = &o.Tasks[i]
	}
	if m.form != nil {
		m.outdated()
	}
	if m.byID[m.selected] == nil && len(o.Tasks) > 0 {
		m.selected = o.Tasks[0].ID
		for _, t := range o.Tasks { // first what a person can act on
			if t.Waits {
				m.selected = t.ID
				break
			}
		}
	}
}

// Open puts a page on top. It closes an open page that shows the same thing, and the pages above that.
func (m *Model) Open(p Page) {
	at := slices.IndexFunc(m.pages, func(v *view) bool { return v.Want == p.Want })
	if at >= 0 {
		m.pages = m.pages[:at]
	}
	m.pages = append(m.pages, &view{Page: p})
}

// Update gives an open page new content. A closed one stays closed.
func (m *Model) Update(p Page) {
	for _, v := range m.pages {
		if v.Want == p.Want {
			v.Page = p
			v.at = min(v.at, max(len(p.Versions)-1, 0))
		}
	}
}

// Wanted are the open pages, which need new content when the plan changes.
func (m *Model) Wanted() []Want {
	var all []Want
	for _, v := range m.pages {
		all = append(all, v.Want)
	}
	return all
}

// Say shows a message until the next key; several lines become a page.
func (m *Model) Say(text string) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 1 {
		m.pages = append(m.pages, &view{Page: Page{Title: lines[0], Lines: lines}})
		return
	}
	m.said = lines[0]
}

// Press does what a key asks for.
func (m *Model) Press(k terminal.Key) Wish {
	m.said = ""
	switch {
	case k == terminal.Interrupt:
		return Wish{Leave: true}
	case k == terminal.Suspend:
		return Wish{Pause: true}
	case k == terminal.Redraw:
		return Wish{Redraw: true}
	case m.help:
		m.help = false
		return Wish{}
	case m.typing != nil:
		m.typed(k)
		return Wish{}
	case m.form != nil:
		return m.pressForm(k)
	case k == "?":
		m.help = true
		return Wish{}
	case k == "/":
		m.typing = new(string)
		return Wish{}
	case k == "n", k == "N":
		m.find(k == "n", 1)
		return Wish{}
	}
	if len(m.pages) > 0 {
		return m.pressPage(k, m.pages[len(m.pages)-1])
	}
	return m.pressTree(k)
}

// pressTree moves in the tree of tasks.
func (m *Model) pressTree(k terminal.Key) Wish {
	rows := m.tree()
	at := slices.IndexFunc(rows, func(t *Task) bool { return t.ID == m.selected })
	goTo := func(to int) {
		if len(rows) > 0 {
			m.selected = rows[min(max(to, 0), len(rows)-1)].ID
		}
	}
	if to, ok := moved(k, at, len(rows), m.body); ok {
		goTo(to)
		return Wish{}
	}
	switch k {
	case "q":
		return Wish{Leave: true}
	case terminal.Left, "h":
		m.fold(rows, at, goTo)
	case terminal.Right, "l":
		if m.folded[m.selected] {
			delete(m.folded, m.selected)
		} else {
			goTo(at + 1)
		}
	case "w":
		m.nextWaiting()
	}
	return m.about(k, m.selected)
}

// about is what a key asks for about one task.
func (m *Model) about(k terminal.Key, id plan.TaskID) Wish {
	t := m.byID[id]
	if t == nil {
		return Wish{}
	}
	open := func(kind Kind) Wish { return Wish{Open: &Want{Kind: kind, Task: id}} }
	switch k {
	case terminal.Enter:
		return open(TaskPage)
	case "r":
		return open(ReviewPage)
	case "v":
		return open(VersionsPage)
	case "a", "x":
		if t.Review.Version == "" {
			m.said = string(id) + " has no version to review"
			return Wish{}
		}
		m.form = newForm(t, k == "a", m.drafts[t.ID])
		if m.drafts == nil {
			m.drafts = map[plan.TaskID]*form{}
		}
		m.drafts[t.ID] = m.form
	}
	return Wish{}
}

// moved is the place that a key leads to from at, among of places, of which seen are visible.
func moved(k terminal.Key, at, of, seen int) (int, bool) {
	to, page := at, max(seen-1, 1)
	switch k {
	case terminal.Up, "k":
		to--
	case terminal.Down, "j":
		to++
	case terminal.PageUp:
		to -= page
	case terminal.PageDown, " ":
		to += page
	case terminal.Home, "g":
		to = 0
	case terminal.End, "G":
		to = of - 1
	default:
		return at, false
	}
	return min(max(to, 0), max(of-1, 0)), true
}

// fold closes the selected goal, or goes to the goal that the task is part of.
func (m *Model) fold(rows []*Task, at int, goTo func(int)) {
	if at < 0 {
		return
	}
	if at+1 < len(rows) && rows[at+1].Depth > rows[at].Depth && rows[at].Depth > 0 {
		if m.folded == nil {
			m.folded = map[plan.TaskID]bool{}
		}
		m.folded[m.selected] = true
		return
	}
	for i := at - 1; i >= 0; i-- {
		if rows[i].Depth < rows[at].Depth {
			goTo(i)
			return
		}
	}
}

// tree is the tasks that no folded goal hides.
func (m *Model) tree() []*Task {
	var rows []*Task
	hidden := -1 // deeper than this
	for i := range m.over.Tasks {
		t := &m.over.Tasks[i]
		if hidden >= 0 && t.Depth > hidden {
			continue
		}
		hidden = -1
		if m.folded[t.ID] {
			hidden = t.Depth
		}
		rows = append(rows, t)
	}
	return rows
}

// nextWaiting goes to the next task that waits for a person.
func (m *Model) nextWaiting() {
	m.next(true, 1, func(t *Task) bool { return t.Waits })
	if t := m.byID[m.selected]; t == nil || !t.Waits {
		m.said = "nothing waits for a person"
	}
}

// next goes to the next wanted task, or the previous one; step 0 begins with the selected one. It unfolds the goals
// above.
func (m *Model) next(forward bool, step int, wanted func(*Task) bool) bool {
	all := m.over.Tasks
	if len(all) == 0 {
		return false
	}
	at := slices.IndexFunc(all, func(t Task) bool { return t.ID == m.selected })
	for i := step; i <= len(all); i++ {
		j := (at + i) % len(all)
		if !forward {
			j = (at - i + 2*len(all)) % len(all)
		}
		if wanted(&all[j]) {
			m.selected = all[j].ID
			m.unfold(j)
			return true
		}
	}
	return false
}

func (m *Model) unfold(i int) {
	depth := m.over.Tasks[i].Depth
	for j := i - 1; j >= 0 && depth > 0; j-- {
		if t := m.over.Tasks[j]; t.Depth < depth {
			delete(m.folded, t.ID)
			depth = t.Depth
		}
	}
}

// typed handles a key while a search is typed.
func (m *Model) typed(k terminal.Key) {
	switch k {
	case terminal.Escape:
		m.typing = nil
	case terminal.Enter:
		m.sought, m.typing = *m.typing, nil
		m.find(true, 0)
	default:
		edit(m.typing, k)
	}
}

// edit changes a text as a key asks for.
func edit(s *string, k terminal.Key) {
	const longest = 2000
	switch {
	case k == terminal.Backspace:
		r := []rune(*s)
		*s = string(r[:max(len(r)-1, 0)])
	case k == terminal.Clear:
		*s = ""
	case k.Text() != "" && len(*s) < longest:
		*s += k.Text()
	}
}

// find goes to the next place that has the search text.
func (m *Model) find(forward bool, step int) {
	if m.sought == "" {
		return
	}
	found := false
	want := strings.ToLower(m.sought)
	if len(m.pages) > 0 {
		found = m.pages[len(m.pages)-1].find(want, forward, m.wide, m.ASCII)
	} else {
		found = m.next(forward, step, func(t *Task) bool {
			return strings.Contains(strings.ToLower(string(t.ID)+" "+t.Title+" "+string(t.Status)), want)
		})
	}
	if !found {
		m.said = "nothing has " + m.sought
	}
}
