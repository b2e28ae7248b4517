package plandoc

import (
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/document"
	"gitwf/internal/plan"
)

// What a file breaks of the form does not hide what else is wrong with it: the author mends all at once. The rules are
// held against the rest of the file, and what they say of the broken places is left out.

// shape are the fields without which nothing can be said of how the tasks hang together.
var shape = []string{"task_id", "tasks", "node_type", "root_task_id", "parent_task_id", "review_target_task_id"}

// withoutMisfits is the document without what does not have the right form, nil if the rules would say nothing of that.
func (d *written) withoutMisfits() *document.Node {
	if d.wrong.Full() {
		return nil
	}
	rest := *d.root
	for _, f := range d.wrong {
		at := splitPath(f.Path)
		if f.Code == "unknown-field" && len(at) > 0 {
			_, fields, _ := strings.Cut(f.Expected, "one of ")
			if guess := Nearest(at[len(at)-1].key, strings.Split(fields, ", ")); guess != "" {
				d.touched = append(d.touched, f.Path[:strings.LastIndexByte(f.Path, '.')+1]+guess)
			}
		}
		for len(at) > 0 && at[len(at)-1].key == "" { // an item takes its list along: the others would move up
			at = at[:len(at)-1]
		}
		path := ""
		for _, s := range at {
			part := s.key
			if part == "" {
				part = strconv.Itoa(s.index)
			}
			path = joinPath(path, part)
		}
		d.touched = append(d.touched, path)
		if len(at) > 0 {
			rest = withoutPath(rest, at)
		}
	}
	for _, path := range d.touched {
		if slices.Contains(shape, path[strings.LastIndexByte(path, '.')+1:]) {
			return nil
		}
	}
	left, err := checkSchema(&rest)
	if err != nil || slices.ContainsFunc(left, func(f plan.Finding) bool { return f.Code != "missing-field" }) {
		return nil
	}
	return &rest
}

// withoutPath is a node without what is at a path, sharing what it can.
func withoutPath(n document.Node, at []segment) document.Node {
	n.Kids = slices.Clone(n.Kids)
	for i := range n.Kids {
		if at[0].key == "" && i != at[0].index || at[0].key != "" && n.Kids[i].Key != at[0].key {
			continue
		}
		if len(at) > 1 {
			n.Kids[i] = withoutPath(n.Kids[i], at[1:])
		} else {
			n.Kids = slices.Delete(n.Kids, i, i+1)
		}
		break
	}
	return n
}

// withRuleFindings is what is wrong with a file: its form, and what the rules say of the rest of it, as far as that
// does not follow from the form.
func (d *written) withRuleFindings(rules plan.Findings) plan.Findings {
	all := slices.Clone(d.wrong)
	for _, f := range rules {
		if !slices.ContainsFunc(d.touched, func(path string) bool { return followsFrom(f, path) }) {
			all = append(all, f)
		}
	}
	sortByLine(all)
	return all.Capped()
}

// followsFrom reports whether a finding may be there because what is at a path was left out.
func followsFrom(f plan.Finding, path string) bool {
	covering := strings.HasSuffix(path, "covers") || strings.HasSuffix(path, "acceptance_criteria")
	return isBelow(f.Path, path) || isBelow(path, f.Path) || covering && f.Code == "uncovered-root-criterion"
}

// isBelow reports whether a path is another one, or leads below it.
func isBelow(path, above string) bool {
	rest, ok := strings.CutPrefix(path, above)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
