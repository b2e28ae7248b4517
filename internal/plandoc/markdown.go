package plandoc

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// markdownHead is what the head of a plan in Markdown says. Without it a text in Markdown is somebody's prose, and no
// word of it is a command.
const markdownHead = "git-wf: plan"

var (
	taskHeading = pattern.Compile(`^(?i:(milestone|goal|task|check|里程碑` +
		`|任务)\s+)?((?:[A-Z][A-Z0-9]*-)+[0-9]+(?:\.[0-9]+)*)(?:\s*[:：]\s*(.*))?$`)
	taskWord  = pattern.Compile(`^(?i:milestone|goal|task|check|里程碑|任务)\s`)
	fieldItem = pattern.Compile(`^(?i)(status|depends on|estimate|acceptance|evidence)\s*[:：]\s*(.*)$`)
	statement = pattern.Compile(`^([A-Za-z][A-Za-z0-9_.-]{0,63}):\s+(.*)$`)
	amount    = pattern.Compile(`^([0-9]+(?:\.[0-9]+)?)\s*(d|h|w)[a-z]*$`)
)

// taskFence opens the fields of a task that its heading and its list do not say, in YAML.
const taskFence = "```yaml task"

// IsMarkdown reports whether a text is a plan in git wf's own Markdown: its head says so.
func IsMarkdown(data []byte) bool {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != "---" {
		return false
	}
	said := false
	for line := range bytes.Lines(rest) {
		switch string(bytes.TrimRight(line, " \t\r\n")) {
		case "---", "...":
			return said
		case markdownHead:
			said = true
		}
	}
	return false
}

// markdownReader makes the document of a plan from Markdown. Its nodes have the lines of the text.
type markdownReader struct{ name string }

// markdownTree reads git wf's own Markdown: a head with the plan's fields, the title, what was asked for, and a heading
// for each task with its description, its list of fields, and the rest of them in YAML.
func markdownTree(name string, data []byte) (*document.Node, error) {
	r := &markdownReader{name}
	front, whole := outline.Cut(string(bytes.TrimPrefix(data, []byte("\ufeff"))))
	root, err := r.yaml(front)
	if err != nil {
		return nil, err
	}
	if root.Kind != document.Object {
		return nil, r.wrong(1, "the head has no fields", markdownHead)
	}
	root.Kids = slices.DeleteFunc(root.Kids, func(kid document.Node) bool { return kid.Key == "git-wf" })
	top, tasks := whole, &document.Node{Kind: document.Array, Key: "tasks", Line: 1}
	if h := whole.Heading(); h != nil && h.Level == 1 && taskHeading.Get().FindStringSubmatch(h.Text) == nil {
		top = h
		add(root, "title", h.Text, h.Line)
	}
	if err := r.tasks(whole, tasks); err != nil {
		return nil, err
	}
	if text := top.Below(isTaskNode); text != "" {
		add(root, "top_task", text, max(top.Line, 1))
	}
	if old := root.Child("tasks"); old != nil {
		return nil, r.wrong(int(old.Line), "the head names tasks", "a heading for each task")
	}
	root.Kids = append(root.Kids, *tasks)
	return root, nil
}

func isTaskNode(n *outline.Node) bool { return !n.Item && taskHeading.Get().MatchString(n.Text) }

func (r *markdownReader) wrong(line int, message, expected string) error {
	return plan.Findings{{Code: "markdown", File: r.name, Line: line, Message: message, Expected: expected}}
}

// add gives an object a text, unless it has the field.
func add(to *document.Node, key, text string, line int) {
	if to.Child(key) == nil {
		to.Kids = append(to.Kids, document.Node{Kind: document.String, Key: key, Text: text, Line: int32(line)})
	}
}

// tasks adds the tasks below a node.
func (r *markdownReader) tasks(n *outline.Node, to *document.Node) error {
	for _, kid := range n.Kids {
		switch {
		case kid.Item:
		case isTaskNode(kid):
			task, err := r.task(kid)
			if err != nil {
				return err
			}
			to.Kids = append(to.Kids, task)
		case taskWord.Get().MatchString(kid.Text):
			return r.wrong(kid.Line, "the heading names no task", "## Task IMPL-1: what it is called")
		default:
			if err := r.tasks(kid, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// task makes one task, with those below it.
func (r *markdownReader) task(n *outline.Node) (document.Node, error) {
	m := taskHeading.Get().FindStringSubmatch(n.Text)
	task := document.Node{Kind: document.Object, Line: int32(n.Line)}
	fence, rest := r.fence(n)
	if len(fence) > 0 {
		given, err := r.yaml(fence)
		if err != nil {
			return task, err
		}
		task.Kids = given.Kids
	}
	add(&task, "task_id", m[2], n.Line)
	add(&task, "title", m[3], n.Line)
	switch strings.ToLower(m[1]) {
	case "milestone", "goal", "里程碑":
		add(&task, "node_type", string(plan.Goal), n.Line)
	case "check":
		add(&task, "node_type", string(plan.Check), n.Line)
	}
	fields := map[*outline.Node]bool{}
	for _, kid := range n.Kids {
		if m := fieldItem.Get().FindStringSubmatch(kid.Text); kid.Item && m != nil {
			fields[kid] = true
			if err := r.field(&task, kid, strings.ToLower(m[1]), strings.TrimSpace(m[2])); err != nil {
				return task, err
			}
		}
	}
	own := *n
	own.Lines = rest
	if text := own.Below(func(kid *outline.Node) bool { return fields[kid] || isTaskNode(kid) }); text != "" {
		add(&task, "description", text, n.Line)
	}
	below := document.Node{Kind: document.Array, Key: "tasks", Line: int32(n.Line)}
	if err := r.tasks(n, &below); err != nil {
		return task, err
	}
	if len(below.Kids) > 0 {
		task.Kids = append(task.Kids, below)
	}
	return task, nil
}

// fence takes the YAML out of the lines of a task.
func (r *markdownReader) fence(n *outline.Node) (fence, rest []outline.Line) {
	inside := false
	for _, l := range n.Lines {
		switch {
		case !inside && strings.TrimRight(l.Text, " \t") == taskFence:
			inside = true
		case inside && strings.HasPrefix(l.Text, "```"):
			inside = false
		case inside:
			fence = append(fence, l)
		default:
			rest = append(rest, l)
		}
	}
	return fence, rest
}

// field adds what an item of a task's list says. Status and evidence are what came of a task, which nobody believes.
func (r *markdownReader) field(task *document.Node, n *outline.Node, key, value string) error {
	line := int32(n.Line)
	switch key {
	case "depends on":
		list := document.Node{Kind: document.Array, Key: "depends_on", Line: line}
		between := func(c rune) bool { return strings.ContainsRune(",，、; ", c) }
		for _, id := range strings.FieldsFunc(value, between) {
			list.Kids = append(list.Kids, document.Node{Kind: document.String, Text: id, Line: line})
		}
		if task.Child("depends_on") == nil && len(list.Kids) > 0 {
			task.Kids = append(task.Kids, list)
		}
	case "estimate":
		m := amount.Get().FindStringSubmatch(strings.ToLower(value))
		if m == nil {
			return r.wrong(n.Line, "is no estimate: "+value, "- estimate: 2 days")
		}
		days, _ := strconv.ParseFloat(m[1], 64)
		days *= map[string]float64{"d": 1, "h": 0.125, "w": 5}[m[2]]
		if task.Child("estimated_person_days") == nil {
			task.Kids = append(task.Kids, document.Node{Kind: document.Number, Key: "estimated_person_days", Line: line,
				Text: strconv.FormatFloat(days, 'f', -1, 64)})
		}
	case "acceptance":
		r.acceptance(task, n, value)
	}
	return nil
}

// acceptance makes the criteria of a list. What the YAML says of a criterion is added to it.
func (r *markdownReader) acceptance(task *document.Node, n *outline.Node, value string) {
	list := document.Node{Kind: document.Array, Key: "acceptance_criteria", Line: int32(n.Line)}
	one := func(text string, line int) *document.Node {
		id := "A" + strconv.Itoa(len(list.Kids)+1)
		if m := statement.Get().FindStringSubmatch(text); m != nil {
			id, text = m[1], m[2]
		}
		c := document.Node{Kind: document.Object, Line: int32(line)}
		add(&c, "id", id, line)
		add(&c, "statement", text, line)
		list.Kids = append(list.Kids, c)
		return &list.Kids[len(list.Kids)-1]
	}
	if value != "" {
		one(value, n.Line)
	}
	for _, kid := range n.Kids {
		c := one(kid.Text, kid.Line)
		for _, below := range kid.Kids {
			if line, ok := strings.CutPrefix(below.Text, "run: "); ok {
				add(c, "run", strings.Trim(strings.TrimSpace(line), "`"), below.Line)
			}
		}
	}
	given := task.Child("acceptance_criteria")
	if given == nil {
		task.Kids = append(task.Kids, list)
		return
	}
	for _, more := range given.Kids {
		id := more.Child("id")
		i := slices.IndexFunc(list.Kids, func(c document.Node) bool {
			own := c.Child("id")
			return id != nil && own != nil && own.Text == id.Text
		})
		if i < 0 {
			list.Kids = append(list.Kids, more)
			continue
		}
		listed := list.Kids[i].Kids
		list.Kids[i].Kids = more.Kids
		for _, kid := range listed {
			if more.Child(kid.Key) == nil {
				list.Kids[i].Kids = append(list.Kids[i].Kids, kid)
			}
		}
	}
	given.Kids = list.Kids
}

// yaml reads lines of the text as YAML. An error has their numbers.
func (r *markdownReader) yaml(lines []outline.Line) (*document.Node, error) {
	if len(lines) == 0 {
		return &document.Node{Kind: document.Object, Line: 1}, nil
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.Text + "\n")
	}
	root, err := document.ParseYAML([]byte(b.String()), limits)
	if f, ok := errors.AsType[*document.Fault](err); ok {
		moved := *f
		moved.Line += lines[0].No - 1
		err = &moved
	}
	if err != nil {
		return nil, syntaxFindings(r.name, err)
	}
	move(root, int32(lines[0].No-1))
	return root, nil
}

func move(n *document.Node, by int32) {
	n.Line += by
	for i := range n.Kids {
		move(&n.Kids[i], by)
	}
}
