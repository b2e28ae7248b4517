package plandoc

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// Progress is where a task stands, in the words of a development plan (seed 4): one of TODO, DOING, BLOCKED, DONE and
// VERIFIED, and what shows it, "" for nothing.
type Progress struct{ Status, Evidence string }

// WriteMarkdown gives a plan in git wf's own Markdown: milestones and tasks with status, acceptance and evidence, and
// what these do not say in YAML. Parse reads it back as the same plan, its planning tasks and grafts apart.
func WriteMarkdown(p *plan.Plan, progress func(plan.TaskID) Progress) ([]byte, error) {
	text, err := WriteYAML(p)
	if err != nil {
		return nil, err
	}
	want, err := reread(text)
	if err != nil {
		return nil, err
	}
	for _, plainly := range []bool{true, false} { // a description may look like a field: then it goes into the YAML
		out, err := (&markdownWriter{progress: progress, plainly: plainly}).write(text)
		if err != nil {
			return nil, fmt.Errorf("write plan %s: %w", p.PlanID, err)
		}
		if got, err := reread(out); err == nil && bytes.Equal(got, want) {
			return out, nil
		}
	}
	return nil, fmt.Errorf("write plan %s: Markdown can't hold it; git wf export --format yaml can", p.PlanID)
}

func reread(data []byte) ([]byte, error) {
	p, err := Parse("plan", data)
	if err != nil {
		return nil, err
	}
	return Encode(p)
}

type markdownWriter struct {
	progress func(plan.TaskID) Progress
	plainly  bool
	out      bytes.Buffer
	kids     map[string][]*yaml.Node // by the parent's id
	nested   bool                    // a task stands below its parent
}

// write makes Markdown of the plan in YAML.
func (w *markdownWriter) write(text []byte) ([]byte, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, err
	}
	top := doc.Content[0]
	title, asked, tasks := value(top, "title"), value(top, "top_task"), field(top, "tasks")
	drop(top, "tasks")
	if heading(title) {
		drop(top, "title")
	}
	if asked == "" || w.plainly && !strings.Contains("\n"+asked, "\n#") {
		drop(top, "top_task")
	} else {
		asked = ""
	}
	w.out.WriteString("---\n" + markdownHead + "\n")
	if err := w.yaml(top); err != nil {
		return nil, err
	}
	w.out.WriteString("---\n\n# " + title + "\n")
	if asked != "" {
		w.out.WriteString("\n" + asked + "\n")
	}
	w.kids = map[string][]*yaml.Node{}
	var order []*yaml.Node
	ids := each.Set(tasks.Content, func(t *yaml.Node) string { return value(t, "task_id") })
	root := cmp.Or(value(top, "root_task_id"), string(plan.RootID))
	for _, t := range tasks.Content {
		above := value(t, "parent_task_id")
		if above == root || !ids[above] {
			above = ""
		}
		w.kids[above] = append(w.kids[above], t)
	}
	var depth func(id string, n int) int
	depth = func(id string, n int) int {
		deepest := n
		for _, t := range w.kids[id] {
			if order = append(order, t); n < 20 {
				deepest = max(deepest, depth(value(t, "task_id"), n+1))
			}
		}
		return deepest
	}
	if w.nested = depth("", 1) <= 6 && slices.Equal(order, tasks.Content); !w.nested {
		w.kids = map[string][]*yaml.Node{"": tasks.Content}
	}
	err := w.tasks("", 2, root)
	return w.out.Bytes(), err
}

func (w *markdownWriter) tasks(above string, level int, root string) error {
	for _, t := range w.kids[above] {
		id := value(t, "task_id")
		if err := w.task(t, id, level, root); err != nil {
			return err
		}
		if w.nested {
			if err := w.tasks(id, level+1, root); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *markdownWriter) task(t *yaml.Node, id string, level int, root string) error {
	title, text, kind := value(t, "title"), value(t, "description"), value(t, "node_type")
	word := map[string]string{string(plan.Goal): "Milestone", string(plan.Check): "Check"}[kind]
	fmt.Fprintf(&w.out, "\n%s %s %s: %s\n\n", strings.Repeat("#", level), cmp.Or(word, "Task"), id, title)
	gone := []string{"task_id", "node_type"}
	if heading(title) {
		gone = append(gone, "title")
	}
	if above := value(t, "parent_task_id"); above == root || w.nested && level > 2 {
		gone = append(gone, "parent_task_id")
	}
	if text != "" && w.plainly && prose(text) {
		gone = append(gone, "description")
		w.out.WriteString(text + "\n\n")
	}
	now := Progress{}
	if w.progress != nil && kind == string(plan.Action) {
		if now = w.progress(plan.TaskID(id)); now.Status != "" {
			fmt.Fprintf(&w.out, "- status: %s\n", now.Status)
		}
	}
	if deps := field(t, "depends_on"); deps != nil && len(deps.Content) > 0 {
		list := each.Of(deps.Content, func(d *yaml.Node) string { return d.Value })
		fmt.Fprintf(&w.out, "- depends on: %s\n", strings.Join(list, ", "))
		gone = append(gone, "depends_on")
	}
	if days, err := strconv.ParseFloat(value(t, "estimated_person_days"), 64); err == nil && days > 0 {
		unit := map[bool]string{true: "day"}[days == 1]
		fmt.Fprintf(&w.out, "- estimate: %s %s\n", strconv.FormatFloat(days, 'f', -1, 64), cmp.Or(unit, "days"))
		gone = append(gone, "estimated_person_days")
	}
	if criteria := field(t, "acceptance_criteria"); criteria != nil {
		w.acceptance(criteria)
		if len(criteria.Content) == 0 {
			gone = append(gone, "acceptance_criteria")
		}
	}
	if now.Evidence != "" {
		fmt.Fprintf(&w.out, "- evidence: %s\n", now.Evidence)
	}
	for _, key := range gone {
		drop(t, key)
	}
	if len(t.Content) == 0 {
		return nil
	}
	w.out.WriteString("\n" + taskFence + "\n")
	if err := w.yaml(t); err != nil {
		return err
	}
	w.out.WriteString("```\n")
	return nil
}

// acceptance lists the criteria and leaves in the YAML what the list does not say of them.
func (w *markdownWriter) acceptance(criteria *yaml.Node) {
	w.out.WriteString("- acceptance:\n")
	rest := criteria.Content[:0]
	for _, c := range criteria.Content {
		id, says := value(c, "id"), value(c, "statement")
		line := strings.Join(strings.Fields(says), " ")
		fmt.Fprintf(&w.out, "  - %s: %s\n", id, line)
		if line == says {
			drop(c, "statement")
		}
		if value(c, "severity") == plan.Must {
			drop(c, "severity")
		}
		method := plan.ManualReview
		if value(c, "run") != "" {
			method = plan.StaticCheck
		}
		if value(c, "check_method") == method {
			drop(c, "check_method")
		}
		if len(c.Content) > 2 {
			rest = append(rest, c)
		}
	}
	criteria.Content = rest
	criteria.Style = 0
}

func (w *markdownWriter) yaml(n *yaml.Node) error {
	if len(n.Content) == 0 {
		return nil
	}
	data, err := MarshalYAML(n)
	w.out.Write(data)
	return err
}

// heading reports whether a heading says a title as it is.
func heading(s string) bool {
	return s != "" && strings.Join(strings.Fields(s), " ") == s && !strings.HasSuffix(s, "#")
}

// prose reports whether a description can stand as it is between a heading and a list.
func prose(s string) bool {
	for line := range strings.Lines(s) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(strings.TrimLeft(line, " \t-*+"), "```") || strings.HasPrefix(line, "#") ||
			fieldItem.Get().MatchString(strings.TrimLeft(line, " \t-*+")) || strings.TrimRight(line, " \t\r") != line {
			return false
		}
	}
	return strings.TrimSpace(s) == s && !strings.Contains(s, "\n\n\n")
}

func value(m *yaml.Node, key string) string {
	if n := field(m, key); n != nil {
		return n.Value
	}
	return ""
}

func drop(m *yaml.Node, key string) {
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value == key {
			m.Content = append(m.Content[:i:i], m.Content[i+2:]...)
			return
		}
	}
}
