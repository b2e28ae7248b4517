package exchange

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gitwf/internal/plan"
)

// Find lists what a directory or a file has to read, each session, tag or change separately. A
// directory is looked through where those systems put their files. Findings name what looked like a plan and could not
// be looked at.
func Find(fsys fs.FS, name string) ([]Found, plan.Findings) {
	r := &reader{fsys: fsys}
	info, err := fs.Stat(fsys, name)
	if err != nil {
		r.find("unreadable", name, 0, "can't be read: "+reason(err), "a file or a directory", "")
		return nil, r.findings
	}
	if !info.IsDir() {
		return r.findFile(name, path.Base(name)), r.findings
	}
	return r.findDir(name), r.findings
}

// Foreign reports whether a file of JSON is another system's, or an export of a plan and its state, rather than a plan
// file. name is its base name.
func Foreign(name string, data []byte) bool {
	switch path.Ext(name) {
	case ".jsonl", ".ndjson":
		return true
	}
	head := bytes.TrimSpace(data)
	if !fs.ValidPath(name) || len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	r := &reader{fsys: Text(name, data)}
	found := r.findFile(name, name)
	if len(found) == 0 {
		return false
	}
	v, _ := r.jsonText(name, string(data), 1)
	o, _ := v.(*object)
	switch found[0].Format {
	case formatPlan:
		return o.object("plan").has("schema_version")
	case formatTaskMaster: // which has tasks, as a plan file without ids has them
		return !o.has("title") && !o.has("top_task") && !o.has("root_acceptance_criteria")
	}
	return true
}

// findDir tries the shapes of a directory, the most certain first.
func (r *reader) findDir(dir string) []Found {
	names := r.list(dir)
	has := map[string]bool{}
	for _, n := range names {
		has[n] = true
	}
	if has["workflow-session.json"] || has[".task"] {
		return []Found{{formatCCW, dir, r.baseName(dir)}}
	}
	if found := r.sessions(dir, names); len(found) > 0 {
		return found
	}
	if has["tasks.md"] {
		return r.findFile(path.Join(dir, "tasks.md"), r.baseName(dir))
	}
	for _, i := range importers {
		for _, n := range i.files {
			if file := path.Join(dir, n); r.has(file) {
				return r.findFile(file, r.baseName(dir))
			}
		}
	}
	var found []Found
	for _, i := range importers {
		for _, n := range i.dirs {
			if sub := path.Join(dir, n); isDir(r.fsys, sub) {
				found = append(found, r.findDir(sub)...)
			}
		}
	}
	if len(found) > 0 || dir == "." && !has["tasks.md"] && len(names) > 200 {
		return found
	}
	for _, n := range names {
		sub := path.Join(dir, n)
		if file := path.Join(sub, "tasks.md"); r.has(file) && n != "archive" {
			found = append(found, r.findFile(file, n)...)
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
				r.find("unreadable", sub, 0, "can't be read: "+reason(err), "a directory inside the one that is imported", "")
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

const sniffed = 256 << 10 // bytes of a text that are looked at

// findFile says what a file holds: by its name, else by its text.
func (r *reader) findFile(file, name string) []Found {
	ext := strings.ToLower(path.Ext(file))
	if ext == ".json" {
		if dir := path.Dir(file); path.Base(file) == "workflow-session.json" {
			return []Found{{formatCCW, dir, r.baseName(dir)}}
		}
	}
	text, ok := r.read(file)
	if !ok {
		return nil
	}
	stem := strings.TrimSuffix(path.Base(file), path.Ext(file))
	if name == path.Base(file) {
		name = stem
	}
	if name == "tasks" || name == "issues" {
		if dir := path.Base(path.Dir(file)); dir != "." {
			name = dir
		}
	}
	for _, i := range importers {
		if slices.Contains(i.exts, ext) {
			return []Found{{i.format, file, name}}
		}
	}
	if head := strings.TrimSpace(text); strings.HasPrefix(head, "{") || strings.HasPrefix(head, "[") {
		return r.findJSON(file, name, text)
	}
	text = text[:min(len(text), sniffed)]
	i := slices.IndexFunc(importers[:], func(i importer) bool { return i.text != nil && i.text(file, text) })
	return []Found{{importers[i].format, file, name}} // the last one takes everything
}

// findJSON tells the systems that write JSON apart by their fields.
func (r *reader) findJSON(file, name, text string) []Found {
	before := len(r.findings)
	v, ok := r.jsonText(file, text, 1)
	if !ok {
		if lines := strings.SplitN(strings.TrimSpace(text), "\n", 2); json.Valid([]byte(lines[0])) &&
			strings.HasPrefix(lines[0], "{") {
			r.findings = r.findings[:before]
			return []Found{{formatBeads, file, name}} // one object a line
		}
		return nil
	}
	r.findings = r.findings[:before] // Read reports them
	switch v := v.(type) {
	case []any:
		first, _ := firstOf(v).(*object)
		for _, i := range importers {
			if i.list != nil && i.list(first) {
				return []Found{{i.format, file, name}}
			}
		}
	case *object:
		return r.findObject(file, name, v)
	}
	r.find("unknown-format", file, 1, "is of no system that is known", known, "")
	return nil
}

const known = "a session directory, tasks.json, tasks.md, issues.jsonl, an issue, or Markdown with tasks"

func firstOf(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

func (r *reader) findObject(file, name string, o *object) []Found {
	for _, i := range importers {
		if i.object != nil && i.object(o) {
			return []Found{{i.format, file, name}}
		}
	}
	var found []Found
	for _, i := range importers {
		if i.parts != nil {
			for _, part := range i.parts(o) {
				found = append(found, Found{i.format, file, part})
			}
		}
	}
	if len(found) == 0 {
		r.find("unknown-format", file, 1, "is of no system that is known", known, strings.Join(sortedKeys(o.fields), ", "))
	}
	return found
}
