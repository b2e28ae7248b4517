package plandoc

import (
	"iter"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/plan"
)

// joinPath appends a segment: joinPath("tasks", "3") is tasks[3], joinPath("tasks[3]", "title") is tasks[3].title.
func joinPath(path, part string) string {
	if _, err := strconv.Atoi(part); err == nil && path != "" {
		return path + "[" + part + "]"
	}
	if path == "" {
		return part
	}
	return path + "." + part
}

// nodesTo gives the nodes on the way from the root to the value at path, as far as they exist, the root first.
func nodesTo(root *document.Node, path string) iter.Seq[*document.Node] {
	return func(yield func(*document.Node) bool) {
		at := root
		for part := range strings.FieldsFuncSeq(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
			if !yield(at) {
				return
			}
			next := at.Child(part)
			if i, err := strconv.Atoi(part); err == nil && at.Kind == document.Array && i < len(at.Kids) {
				next = &at.Kids[i]
			}
			if next == nil {
				return
			}
			at = next
		}
		yield(at)
	}
}

// LineOf is the line of the value at path, or of the innermost value on the way to it that exists.
func LineOf(root *document.Node, path string) int {
	line := 0
	for n := range nodesTo(root, path) {
		line = int(n.Line)
	}
	return line
}

// taskAt is the id of the innermost task that the path leads through.
func taskAt(root *document.Node, path string) plan.TaskID {
	id := plan.TaskID("")
	for n := range nodesTo(root, path) {
		if t := n.Child("task_id"); n != root && t != nil && t.Kind == document.String && plan.TaskID(t.Text).Valid() {
			id = plan.TaskID(t.Text)
		}
	}
	return id
}
