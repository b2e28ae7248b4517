package outline

import (
	"gitwf/internal/plan"
)

// Limits of an outline. What people write for people is far below them.
const (
	MaxBytes        = 1 << 20 // of the source
	maxTasks        = 5000    // goals and tasks
	maxCriteria     = 20000   // of all tasks
	maxRequirements = 500
	maxNesting      = 40   // quotes and lists within each other
	maxLine         = 4000 // bytes of a line that is looked through for several fields
)

// Outline is what a Markdown file says: the task of the whole, its checklist, and the tree of goals and tasks. Texts
// are on one line each and free of control characters; commands are as they were written.
type Outline struct {
	File         string  `json:"file"`
	Title        string  `json:"title"`
	TopTask      string  `json:"top_task"`
	Requirements []Item  `json:"requirements"`
	Tasks        []*Task `json:"tasks"`

	// Unread names the lines that nothing was read of, in runs. They are no error: a plan holds prose.
	Unread plan.Findings `json:"-"`
}

// Item is one item of the root checklist.
type Item struct {
	ID  string `json:"id"`                  // R1, R2, ...
	Ref string `json:"source_id,omitempty"` // what the source calls it
	Criterion
}

// Task is a goal, which has Tasks, or a task.
type Task struct {
	ID           plan.TaskID   `json:"task_id"`
	SourceID     string        `json:"source_id,omitempty"` // as the source has it; "" if it has none
	Goal         bool          `json:"goal"`
	Title        string        `json:"title"`
	Status       Status        `json:"status"`
	Description  string        `json:"description,omitempty"`
	Acceptance   []Criterion   `json:"acceptance"`
	Evidence     []string      `json:"evidence,omitempty"`
	EstimateDays float64       `json:"estimated_person_days,omitempty"` // zero: the source has none
	DependsOn    []plan.TaskID `json:"depends_on,omitempty"`
	Needs        string        `json:"needs,omitempty"` // what the source says of dependencies, in its own words
	Deliverables []string      `json:"deliverables,omitempty"`
	Covers       []string      `json:"covers,omitempty"` // what the source says it covers: "1.2", "FR-3"
	Line         int           `json:"line"`             // from 1
	Tasks        []*Task       `json:"tasks,omitempty"`
}

// Criterion is one acceptance criterion. Text is what the source says; Command the command line in it, "" without one;
// Expect what is expected of the command, "" where the source says nothing (then it must exit with 0).
type Criterion struct {
	Text     string `json:"text"`
	Command  string `json:"command,omitempty"`
	Before   string `json:"before,omitempty"` // lines that stand before the command in its block: cd, export
	Expect   string `json:"expect,omitempty"`
	Optional bool   `json:"optional,omitempty"`
	Line     int    `json:"line"`
}

// Walk calls f for every goal and task, a goal before what is below it.
func (o *Outline) Walk(f func(*Task)) {
	var walk func([]*Task)
	walk = func(tasks []*Task) {
		for _, t := range tasks {
			f(t)
			walk(t.Tasks)
		}
	}
	walk(o.Tasks)
}

// Parse reads an outline. name is only used in messages. With findings, which name file and line, the outline is nil:
// it is read whole or not at all.
func Parse(name string, data []byte) (*Outline, plan.Findings) {
	src, fs := checkSource(name, data)
	if len(fs) > 0 {
		return nil, fs
	}
	b := &builder{file: name}
	if no := tasksInFront(src); no > 0 {
		b.find("tasks-in-front-matter", no, "tasks in the front matter are not read", "a heading or an item for each task",
			"a status", "### Task 1: Parse the file")
		return nil, b.findings()
	}
	front, body := frontMatter(src)
	r := newReader(body)
	blocks := r.read()
	if r.open > 0 {
		b.find("unclosed-fence", r.open, "the code that begins here never ends, and takes headings or fields in with it",
			"a line of ``` behind the code", "the end of the file", "```")
		return nil, b.findings()
	}
	b.build(front, blocks)
	if len(b.all()) == 0 && len(b.fs) == 0 {
		if inner := fenced(body); inner != nil {
			b, body = &builder{file: name}, inner
			b.build(front, newReader(inner).read())
		}
	}
	o := b.finish()
	if len(b.fs) == 0 {
		b.audit(body, o)
	}
	if len(b.fs) > 0 {
		return nil, b.findings()
	}
	o.Unread = b.unread(src)
	return o, nil
}
