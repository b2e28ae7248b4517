package plandoc

import (
	"fmt"

	"gitwf/internal/glob"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
)

// MissingPaths finds the focus_paths of a strict plan that lead nowhere: exists says what the repository has, a file or
// a directory. What the task or one that it builds on will put there counts too. A plan that is not strict may name
// what it likes.
func MissingPaths(p *plan.Plan, exists func(path string) bool) plan.Findings {
	if !isStrict(p) {
		return nil
	}
	v := indexed(p)
	for i, t := range p.Tasks {
		if t.NodeType == plan.Check || t.Planning() {
			continue
		}
		for j, focus := range contextTexts(t, "focus_paths") {
			if relpath.Check(focus) != nil || exists(focus) || v.mayAdd(i, focus) {
				continue // what is wrong with its form is Validate's to say
			}
			v.add(i, "focus-path", fmt.Sprintf("context.focus_paths[%d]", j),
				"is not in the repository, and no task that this one builds on lands there",
				"a file or directory of HEAD, or one that the task or a dependency may add (deliverable_spec.paths)",
				plain.Quote(focus), "")
		}
	}
	return v.fs.Capped()
}

// mayAdd reports whether a task, or one that it builds on, may add a file at a path or below it.
func (v *validator) mayAdd(i int, path string) bool {
	for _, j := range v.reach([]int{i}, v.waitsFor) {
		if t := v.plan.Tasks[j]; t.Changes() {
			for _, pattern := range t.DeliverableSpec.Paths {
				if glob.Overlap(pattern, path) {
					return true
				}
			}
		}
	}
	return false
}
