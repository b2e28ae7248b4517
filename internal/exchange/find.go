package exchange

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// Find lists what a directory or a file has to read, each session, tag or change separately. A file is judged by its
// content; a directory is looked through where systems put their files, and so gives what its files give. Findings name
// what looked like a plan and could not be looked at.
func Find(fsys fs.FS, name string) ([]Found, plan.Findings) {
	r := &reader{fsys: fsys}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		r.find("unreadable", name, 0, "can't be read: "+reason(err), "a file or a directory", "")
		return nil, r.findings
	}
	if !info.IsDir() {
		return r.findFile(name), r.findings
	}
	return r.findDir(name, 0), r.findings
}

// Known reports whether a file holds a plan of some system, and whether that is git wf's own form. name is its base
// name.
func Known(name string, data []byte) (known, own bool) {
	if !fs.ValidPath(name) || len(data) == 0 {
		return false, false
	}
	found := (&reader{fsys: Text(name, data)}).findFile(name)
	return len(found) > 0, len(found) > 0 && found[0].Own()
}

// rootFiles are what people call their plans at the top of a repository.
var rootFiles = pattern.Compile(`(?i)^(?:todo|tasks?|roadmap|plan|dev_?plan|implementation[_-]?plan)s?\.(?:md` +
	`|markdown)$`)

// findDir tries the shapes of a directory, the most certain first.
func (r *reader) findDir(dir string, depth int) []Found {
	names := r.list(dir)
	has := func(name string) bool { return slices.Contains(names, name) }
	if has("workflow-session.json") || has(".task") {
		return []Found{{formatCCW, dir, r.baseName(dir)}}
	}
	if found := r.sessions(dir, names); len(found) > 0 {
		return found
	}
	for _, n := range []string{"tasks.md", "Tasks.md", "TASKS.md"} {
		if has(n) {
			if found := r.findFile(path.Join(dir, n)); len(found) > 0 {
				return found
			}
		}
	}
	board := path.Base(dir) == "backlog" || path.Base(dir) == ".backlog" || has("config.yml")
	if board && has("tasks") && len(r.backlogFiles(path.Join(dir, "tasks"))) > 0 || len(r.backlogFiles(dir)) > 0 {
		return []Found{{formatBacklog, dir, r.baseName(dir)}}
	}
	for _, i := range importers {
		for _, n := range i.files {
			if file := path.Join(dir, n); r.has(file) {
				return r.findFile(file)
			}
		}
	}
	var found []Found
	for _, i := range importers {
		for _, n := range i.dirs {
			if sub := path.Join(dir, n); isDir(r.fsys, sub) {
				found = append(found, r.findDir(sub, depth+1)...)
			}
		}
	}
	if len(found) > 0 || depth > 1 {
		return append(found, r.topFiles(dir, names)...)
	}
	for _, n := range names {
		sub := path.Join(dir, n)
		if n != "archive" && n != "node_modules" && n != "vendor" && r.has(path.Join(sub, "tasks.md")) {
			found = append(found, r.findFile(path.Join(sub, "tasks.md"))...)
		}
	}
	return append(found, r.topFiles(dir, names)...)
}

// topFiles are the lists and plans that lie in a directory under one of their usual names.
func (r *reader) topFiles(dir string, names []string) (found []Found) {
	for _, n := range names {
		if rootFiles.Get().MatchString(n) && !strings.EqualFold(n, "tasks.md") {
			before := len(r.findings)
			found = append(found, r.findFile(path.Join(dir, n))...)
			r.findings = r.findings[:min(before, len(r.findings))] // nobody asked for this one
		}
	}
	return found
}

// sessions are the session directories of ccw below a directory, in the layouts that it has had.
func (r *reader) sessions(dir string, names []string) []Found {
	var found []Found
	for _, n := range names {
		sub := path.Join(dir, n)
		switch {
		case (n == "active" || n == "archives") && path.Base(dir) == ".workflow" || n == ".archives":
			if isDir(r.fsys, sub) {
				found = append(found, r.sessions(sub, r.list(sub))...)
			}
		case strings.HasPrefix(n, "WFS-") && isDir(r.fsys, sub), r.has(path.Join(sub, "workflow-session.json")),
			isDir(r.fsys, path.Join(sub, ".task")):
			found = append(found, Found{formatCCW, sub, n})
		case strings.HasPrefix(n, "WFS-"):
			if _, err := fs.Stat(r.fsys, sub); err != nil {
				r.find("unreadable", sub, 0, "can't be read: "+reason(err),
					"a directory inside the one that is imported", "")
			}
		}
	}
	return found
}

func (r *reader) baseName(dir string) string {
	if base := path.Base(dir); base != "." {
		return base
	}
	return "import"
}

// nameOf is what a file's plan is called: files of one name lie in directories that say more.
func (r *reader) nameOf(file string) string {
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	switch strings.ToLower(name) {
	case "tasks", "issues", "beads":
		if dir := path.Base(path.Dir(file)); dir != "." {
			return dir
		}
	}
	return name
}

// besideTasks are the files of a feature whose tasks are in tasks.md: naming one of them names the feature.
var besideTasks = []string{"plan.md", "spec.md", "requirements.md", "design.md", "proposal.md"}

// findFile says what a file holds.
func (r *reader) findFile(file string) []Found {
	dir := path.Dir(file)
	if base := path.Base(file); base == "workflow-session.json" {
		return []Found{{formatCCW, dir, r.baseName(dir)}}
	} else if tasks := path.Join(dir, "tasks.md"); slices.Contains(besideTasks, strings.ToLower(base)) && r.has(tasks) {
		file = tasks
	}
	text, ok := r.read(file)
	if !ok {
		return nil
	}
	name := r.nameOf(file)
	head := strings.TrimSpace(text)
	ext := strings.ToLower(path.Ext(file))
	if (ext == ".jsonl" || ext == ".ndjson") && isBeads(file, head) {
		return []Found{{formatBeads, file, name}}
	}
	if ext == ".json" || strings.HasPrefix(head, "{") || strings.HasPrefix(head, "[{") || head == "[]" {
		return r.findJSON(file, name, text)
	}
	for _, i := range importers {
		if i.text != nil && i.text(r, file, text) {
			return []Found{{i.format, file, name}}
		}
	}
	r.find("unknown-format", file, 1, "is of no system that is known", known, firstLine(head))
	return nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// findJSON tells the systems that write JSON apart by their fields.
func (r *reader) findJSON(file, name, text string) []Found {
	before := len(r.findings)
	v, ok := r.jsonText(file, text, 1)
	if !ok {
		if isBeads(file, strings.TrimSpace(text)) {
			r.findings = r.findings[:before]
			return []Found{{formatBeads, file, name}} // one object a line
		}
		return nil
	}
	r.findings = r.findings[:before] // Read reports them
	fields := ""
	switch v.Kind {
	case document.Array:
		first := firstOf(v)
		for _, i := range importers {
			if i.list != nil && i.list(first) {
				return []Found{{i.format, file, name}}
			}
		}
	case document.Object:
		for _, i := range importers {
			if i.object != nil && i.object(v) {
				return []Found{{i.format, file, name}}
			}
		}
		var found []Found
		for _, i := range importers {
			if i.parts != nil {
				for _, part := range i.parts(v) {
					found = append(found, Found{i.format, file, part})
				}
			}
		}
		if len(found) > 0 {
			return found
		}
		fields = strings.Join(keysOf(v), ", ")
	}
	r.find("unknown-format", file, 1, "is of no system that is known", known, fields)
	return nil
}

const known = "a plan of git wf, or of spec-kit, Kiro, OpenSpec, task-master, Backlog.md, beads, GitHub issues, CCW; " +
	"milestones and tasks with a status; or boxes (- [ ])"

// firstOf is the first item of a list, nil if there is none.
func firstOf(n *document.Node) *document.Node {
	if len(listOf(n)) == 0 {
		return nil
	}
	return &n.Kids[0]
}
