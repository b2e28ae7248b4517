package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf16"

	"gitwf/internal/exchange"
)

// count is what a simple reader sees in a source. Edges are those that are written down as such; -1 where a format has
// none.
type count struct{ tasks, edges, done int }

func (c count) plus(o count) count {
	sum := count{c.tasks + o.tasks, c.edges + o.edges, c.done + o.done}
	if c.edges < 0 || o.edges < 0 {
		sum.edges = -1
	}
	return sum
}

var (
	box     = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+\[([ xX✓✔✅~/>!?.*-]?)\]\*?\s+(.*)$`)
	specKit = regexp.MustCompile(`^\W*T-?\d{3}`)
	kiro    = regexp.MustCompile(`^\W*\d+(\.\d+)*\.?\s`)
)

func isDone(word string) bool {
	switch strings.ToLower(strings.Trim(word, " *`")) {
	case "x", "✓", "✔", "✅", "done", "completed", "complete", "closed", "cancelled", "canceled", "verified", "resolved", "not_planned":
		return true
	}
	return false
}

// counts counts one source. It knows no more of a format than its first page of documentation says.
func counts(fsys fs.FS, f exchange.Found) (count, bool) {
	data, err := fs.ReadFile(fsys, f.Path)
	if bytes.HasPrefix(data, []byte("\xff\xfe")) {
		units := make([]uint16, len(data)/2-1)
		_ = binary.Read(bytes.NewReader(data[2:]), binary.LittleEndian, units)
		data = []byte(string(utf16.Decode(units)))
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch string(f.Format) {
	case "spec-kit":
		return boxes(string(data), func(text string, top bool) bool { return specKit.MatchString(text) }), err == nil
	case "kiro":
		return boxes(string(data), func(text string, top bool) bool { return top || kiro.MatchString(text) }), err == nil
	case "openspec":
		return boxes(string(data), func(text string, top bool) bool { return top || kiro.MatchString(text) }), err == nil
	case "boxes":
		return boxes(string(data), func(string, bool) bool { return true }), err == nil
	case "task-master":
		return taskMaster(data, f.Name), err == nil
	case "beads":
		return beads(data), err == nil
	case "backlog":
		return backlog(fsys, f.Path), true
	case "ccw":
		return ccw(fsys, f.Path), true
	case "github":
		return issues(data), err == nil
	case "dev-plan":
		return devPlan(string(data)), err == nil
	}
	return count{}, false
}

// boxes counts the boxes outside of code whose text counts; top says that a box is not indented.
func boxes(text string, counts func(text string, top bool) bool) count {
	c := count{edges: -1}
	code, comment := false, false
	for line := range strings.Lines(text) {
		switch trimmed := strings.TrimSpace(line); {
		case comment || strings.HasPrefix(trimmed, "<!--"):
			comment = !strings.Contains(line, "-->")
			continue
		case strings.HasPrefix(trimmed, "```"):
			code = !code || strings.Trim(trimmed, "`") != "" // what names a language closes nothing
		}
		m := box.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		if code || m == nil || !counts(m[2], line[0] != ' ' && line[0] != '\t') {
			continue
		}
		c.tasks++
		if isDone(m[1]) {
			c.done++
		}
	}
	return c
}

type task struct {
	Status   any    `json:"status"`
	Deps     []any  `json:"dependencies"`
	Subtasks []task `json:"subtasks"`
}

func taskMaster(data []byte, tag string) count {
	var whole map[string]json.RawMessage
	if json.Unmarshal(data, &whole) != nil {
		return count{}
	}
	list := struct {
		Tasks []task `json:"tasks"`
	}{}
	if part, ok := whole[tag]; !ok || json.Unmarshal(part, &list) != nil || list.Tasks == nil {
		if json.Unmarshal(data, &list) != nil {
			return count{}
		}
	}
	c := count{}
	var add func(list []task)
	add = func(list []task) {
		for _, t := range list {
			c.tasks, c.edges = c.tasks+1, c.edges+len(t.Deps)
			if isDone(fmt.Sprint(t.Status)) {
				c.done++
			}
			add(t.Subtasks)
		}
	}
	add(list.Tasks)
	return c
}

func beads(data []byte) count {
	type issue struct {
		ID, Status string
		Deps       []struct {
			On   string `json:"depends_on_id"`
			Type string `json:"type"`
		} `json:"dependencies"`
	}
	var list []issue
	known := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		var i issue
		if json.Unmarshal([]byte(line), &i) == nil && i.ID != "" && i.Status != "tombstone" && !known[i.ID] {
			list, known[i.ID] = append(list, i), true
		}
	}
	c := count{}
	for _, i := range list {
		c.tasks++
		for _, d := range i.Deps {
			if d.Type == "blocks" && known[d.On] && !strings.HasPrefix(d.On, i.ID+".") && !strings.HasPrefix(i.ID, d.On+".") {
				c.edges++
			}
		}
		if isDone(i.Status) {
			c.done++
		}
	}
	return c
}

// backlog counts the files of a board: each that has a status, or no head but an id in its name. Those of a directory
// of tasks are in it.
func backlog(fsys fs.FS, dir string) count {
	files := []string{dir}
	for _, pattern := range []string{"tasks/*.md", "completed/*.md", "*.md"} {
		if found, _ := fs.Glob(fsys, path.Join(dir, pattern)); len(found) > 0 && (len(files) == 1 || pattern != "*.md") {
			files = append(files, found...)
		}
	}
	c := count{edges: -1}
	for _, file := range files {
		data, _ := fs.ReadFile(fsys, file)
		text := strings.ReplaceAll(string(data), "\r", "")
		head, _, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---")
		switch status := backlogStatus.FindStringSubmatch(head); {
		case strings.HasPrefix(text, "---\n") && status != nil && strings.Contains("\n"+head, "\nid:"):
			c.tasks++
			if isDone(strings.Trim(status[1], ` '"○◯◒●✔`)) {
				c.done++
			}
		case text != "" && !strings.HasPrefix(text, "---\n") && backlogFile.MatchString(file):
			c.tasks++
		}
	}
	return c
}

var (
	backlogStatus = regexp.MustCompile(`(?m)^status:(.*)$`)
	backlogFile   = regexp.MustCompile(`/\w+-[\d.]+ - [^/]*$`)
)

// ccw counts the files of a session's tasks.
func ccw(fsys fs.FS, dir string) count {
	type fields struct {
		Status  string `json:"status"`
		Deps    []any  `json:"depends_on"`
		Older   []any  `json:"dependencies"`
		Context struct {
			Deps []any `json:"depends_on"`
		} `json:"context"`
	}
	files, _ := fs.Glob(fsys, path.Join(dir, ".task", "*.json"))
	c := count{}
	for _, file := range append(files, dir) {
		var t fields
		if data, err := fs.ReadFile(fsys, file); err == nil && json.Unmarshal(data, &t) == nil {
			c.tasks, c.edges = c.tasks+1, c.edges+len(t.Deps)+len(t.Older)+len(t.Context.Deps)
			if isDone(t.Status) {
				c.done++
			}
		}
	}
	return c
}

// issues counts issues and the boxes in their texts; of one issue alone its boxes, if it has any.
func issues(data []byte) count {
	type issue struct{ State, Body string }
	c := count{edges: -1}
	var list []issue
	var one issue
	if json.Unmarshal(data, &list) != nil && json.Unmarshal(data, &one) == nil {
		if c = boxes(one.Body, func(string, bool) bool { return true }); c.tasks == 0 {
			list = []issue{one}
		}
	}
	for _, i := range list {
		below := boxes(i.Body, func(string, bool) bool { return true })
		c.tasks, c.done = c.tasks+1+below.tasks, c.done+below.done
		if isDone(i.State) {
			c.done++
		}
	}
	return c
}

var (
	devTask   = regexp.MustCompile(`^(?:#+ )?[*_]*(?:Milestone )?[A-Z]+-?\d+(?:-[A-Z]?\d+)?\b.*[:：]`)
	devStatus = regexp.MustCompile(`^\W*(?i:status|状态)\W*[:：]\W*([A-Z]+)`)
)

// devPlan counts the blocks that begin with an id and have a status; the last one of a block counts.
func devPlan(text string) count {
	c, status, open := count{edges: -1}, "", false
	for line := range strings.Lines(text + "\nZ0-1:\n") {
		if m := devStatus.FindStringSubmatch(line); m != nil {
			status = m[1]
		} else if devTask.MatchString(line) {
			if open && status != "" {
				c.tasks++
				if isDone(status) {
					c.done++
				}
			}
			open, status = true, ""
		}
	}
	return c
}
