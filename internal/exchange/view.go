package exchange

import (
	"strings"

	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// view is what a file of a session directory shows.
type view string

// The views that CCW writes.
const (
	ViewSession view = "session" // workflow-session.json
	viewPlan    view = "plan"    // IMPL_PLAN.md
	ViewTodo    view = "todo"    // TODO_LIST.md
	ViewTask    view = "task"    // .task/<id>.json
	ViewSummary view = "summary" // .summaries/<id>-summary.md
	ViewMarker  view = "marker"  // .active-<plan id>
)

// ViewOf says what a file that CCW wrote shows, by its path below .workflow, and of which task; "" for every other
// path.
func ViewOf(id plan.ID, name string) (v view, task plan.TaskID) {
	if name == Marker(id) {
		return ViewMarker, ""
	}
	rest, ok := strings.CutPrefix(name, string(id)+"/")
	if !ok {
		return "", ""
	}
	if base, ok := strings.CutPrefix(rest, ".task/"); ok {
		v, task = ViewTask, plan.TaskID(strings.TrimSuffix(base, ".json"))
	} else if base, ok := strings.CutPrefix(rest, ".summaries/"); ok {
		v, task = ViewSummary, plan.TaskID(strings.TrimSuffix(base, "-summary.md"))
	} else {
		return map[string]view{"workflow-session.json": ViewSession, "IMPL_PLAN.md": viewPlan,
			"TODO_LIST.md": ViewTodo}[rest], ""
	}
	if !task.Valid() {
		return "", ""
	}
	return v, task
}

// Marker is the file below .workflow that marks the plan as the active one.
func Marker(id plan.ID) string { return ".active-" + string(id) }

var todoLine = pattern.Compile(`^\s*- \[([ xX])\] \*\*([^*]+)\*\*`)

// Ticks are the boxes of a TODO_LIST.md: whether that of each task is ticked.
func Ticks(list []byte) map[plan.TaskID]bool {
	ticks := map[plan.TaskID]bool{}
	for line := range strings.Lines(string(list)) {
		if m := todoLine.Get().FindStringSubmatch(line); m != nil && plan.TaskID(m[2]).Valid() {
			ticks[plan.TaskID(m[2])] = m[1] != " "
		}
	}
	return ticks
}

// WithoutTicks is a TODO_LIST.md with every box empty: what else differs in two of them.
func WithoutTicks(list []byte) string {
	lines := strings.Split(string(list), "\n")
	for i, line := range lines {
		if todoLine.Get().MatchString(line) {
			at := strings.Index(line, "[")
			lines[i] = line[:at] + "[ ]" + line[at+3:]
		}
	}
	return strings.Join(lines, "\n")
}
