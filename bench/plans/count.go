package main

import (
	"encoding/json"
	"io/fs"
	"path"
	"regexp"
	"strings"

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
	box     = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)])\s+\[([^\]]?)\]\*?\s+(.*)$`)
	specKit = regexp.MustCompile(`^\W*T-?\d{3}`)
	kiro    = regexp.MustCompile(`^\W*\d+(\.\d+)*\.?\s`)
)

func isDone(word string) bool {
	switch strings.ToLower(strings.Trim(word, " *`")) {
	case "x", "done", "completed", "complete", "closed", "cancelled", "canceled", "verified", "resolved", "not_planned":
		return true
	}
	return false
}

// counts counts one source. It knows no more of a format than its first page of documentation says.
func counts(fsys fs.FS, f exchange.Found) (count, bool) {
	data, err := fs.ReadFile(fsys, f.Path)
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
			code = !code
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
	ID       any    `json:"id"`
	Status   string `json:"status"`
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
			if isDone(t.Status) {
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

func backlog(fsys fs.FS, dir string) count {
	var texts []string
	if data, err := fs.ReadFile(fsys, dir); err == nil {
		texts = []string{string(data)}
	}
	for _, sub := range []string{"tasks", "completed"} {
		entries, _ := fs.ReadDir(fsys, path.Join(dir, sub))
		for _, e := range entries {
			if data, err := fs.ReadFile(fsys, path.Join(dir, sub, e.Name())); err == nil && path.Ext(e.Name()) == ".md" &&
				strings.HasPrefix(string(data), "---") {
				texts = append(texts, string(data))
			}
		}
	}
	ids, c := map[string]bool{}, count{edges: -1}
	for _, text := range texts {
		head, _, _ := strings.Cut(strings.TrimPrefix(text, "---"), "\n---")
		for line := range strings.Lines(head) {
			switch key, value, _ := strings.Cut(strings.TrimSpace(line), ":"); key {
			case "id":
				ids[strings.ToLower(strings.Trim(value, ` '"`))] = true
			case "status":
				if isDone(strings.Trim(value, ` '"○◯◒●✔`)) {
					c.done++
				}
			}
		}
	}
	c.tasks = len(ids)
	return c
}
