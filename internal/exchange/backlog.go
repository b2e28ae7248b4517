package exchange

import (
	"path"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/each"
	"gitwf/internal/outline"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

var (
	backlogHead = pattern.Compile(`(?s)\A---\n(?:.*\n)?id:\s*\S.*\nstatus:.*?\n---`)
	backlogMark = pattern.Compile(`^#[0-9]+\s+`)
	backlogName = pattern.Compile(`(?i)^(task-[0-9.]*[0-9]) - (.*)\.md$`)
	acHeading   = pattern.Compile(`(?i)^(?:acceptance criteria|definition of done)`)
)

func isBacklog(_ *reader, _, text string) bool { return backlogHead.Get().MatchString(text) }

// backlogFiles are the files of tasks in a directory.
func (r *reader) backlogFiles(dir string) (files []string) {
	const peeked = 1 // the first file tells
	for _, name := range r.list(dir) {
		if !strings.EqualFold(path.Ext(name), ".md") || strings.EqualFold(name, "readme.md") {
			continue
		}
		if len(files) < peeked {
			if text, ok := r.read(path.Join(dir, name)); !ok || !isBacklog(r, name, text) {
				continue
			}
		}
		files = append(files, path.Join(dir, name))
	}
	return files
}

// backlog reads the tasks of a board: one file each, with its fields in the head. A file of the board is one task.
func (r *reader) backlog(f Found) (*source, *plan.Plan) {
	src := &source{name: f.Name}
	var files []string
	switch {
	case r.has(f.Path):
		files = []string{f.Path}
	case isDir(r.fsys, path.Join(f.Path, "tasks")):
		for _, sub := range []string{"tasks", "completed"} {
			if dir := path.Join(f.Path, sub); isDir(r.fsys, dir) {
				files = append(files, r.backlogFiles(dir)...)
			}
		}
	default:
		files = r.backlogFiles(f.Path)
	}
	if file := path.Join(f.Path, "config.yml"); r.has(file) {
		if text, ok := r.read(file); ok {
			src.name = firstText(r.front([]outline.Line{{Text: text}}).Child("project_name"), f.Name)
		}
	}
	names := r.milestones(path.Join(f.Path, "milestones"))
	for _, file := range files {
		before := len(src.lines)
		front, whole, ok := r.cutFile(src, file)
		if !ok {
			continue
		}
		doc := r.front(front)
		if m := backlogName.Get().FindStringSubmatch(path.Base(file)); m != nil && len(front) == 0 {
			doc.Kids = []document.Node{textNode("id", m[1]), textNode("title", strings.ReplaceAll(m[2], "-", " ")),
				textNode("status", "")}
		}
		if textOf(doc.Child("id")) == "" || doc.Child("status") == nil {
			r.note("no-task", file, 1, "has no id and status in its head, and is no task")
			src.lines = src.lines[:before]
			continue
		}
		src.items = append(src.items, r.backlogTask(file, doc, whole))
	}
	slices.SortStableFunc(src.items, func(a, b *item) int { return compareIDs(a.source, b.source) })
	if len(src.items) == 1 && r.has(f.Path) {
		src.name = src.items[0].title
	}
	for _, it := range src.items {
		name := firstText(it.fields["milestone"])
		if name == "" || it.parent != "" {
			continue
		}
		if it.parent = "milestone " + name; !hasSource(src, it.parent) {
			title := firstText(names[strings.ToLower(name)], name)
			src.items = append(src.items, &item{source: it.parent, wish: name, title: title, heading: true,
				file: it.file})
		}
	}
	return src, nil
}

// milestones are the titles of a board's milestones, by their ids.
func (r *reader) milestones(dir string) map[string]string {
	titles := map[string]string{}
	if !isDir(r.fsys, dir) {
		return titles
	}
	for _, name := range r.list(dir) {
		if text, ok := r.read(path.Join(dir, name)); ok && strings.EqualFold(path.Ext(name), ".md") {
			front, _ := outline.Cut(text)
			doc := r.front(front)
			titles[strings.ToLower(textOf(doc.Child("id")))] = textOf(doc.Child("title"))
		}
	}
	return titles
}

func (r *reader) backlogTask(file string, doc *document.Node, whole *outline.Node) *item {
	it := &item{source: textOf(doc.Child("id")), wish: textOf(doc.Child("id")), file: file, line: 1,
		title: textOf(doc.Child("title")), word: textOf(doc.Child("status")),
		parent: firstText(doc.Child("parent_task_id"), doc.Child("parent")),
		fields: without(doc, "id", "title", "status")}
	it.deps = each.Add(it.deps, refs(doc.Child("dependencies"))...)
	made := map[*outline.Node]bool{}
	section := ""
	whole.Walk(func(n, _ *outline.Node) bool {
		if !n.Item {
			section = n.Text
		} else if n.Boxed && acHeading.Get().MatchString(bare(section)) {
			text := backlogMark.Get().ReplaceAllString(n.Text, "")
			if more := n.Below(func(*outline.Node) bool { return false }); more != "" &&
				!strings.HasPrefix(more, "<!--") {
				text += "\n" + more
			}
			it.criteria = append(it.criteria, text)
			made[n] = true
			return false
		}
		return true
	})
	it.text = whole.Below(func(n *outline.Node) bool { return made[n] })
	it.files = pathsIn(it.text)
	return it
}
