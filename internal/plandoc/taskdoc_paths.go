package plandoc

import (
	"fmt"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
	"strings"
)

// MissingPaths finds the focus_paths of a strict plan that lead nowhere: exists says what the repository has, a file or
// a directory. What the task or one that it builds on will put there counts too. A plan that is not strict may name
// what it likes.
func MissingPaths(p *plan.Plan, exists func(path string) bool) plan.Findings {
	if !isStrict(p) {
		return nil
	}
	v := &validator{plan: p}
	v.at = make(map[plan.TaskID]int, len(p.Tasks))
	for i, t := range p.Tasks {
		v.at[t.TaskID] = i
	}
	for i, t := range p.Tasks {
		if t.NodeType == plan.Check || t.Planning() {
			continue
		}
		var lands []string
		for j, focus := range contextTexts(t, "focus_paths") {
			if relpath.Check(focus) != nil || exists(focus) {
				continue // what is wrong with its form is Validate's to say
			}
			if lands == nil {
				lands = v.landingPaths(t)
			}
			if !leadsToFile(focus, lands) {
				v.add(i, "focus-path", fmt.Sprintf("context.focus_paths[%d]", j),
					"is not in the repository, and no task that this one builds on lands there",
					"a file or directory of HEAD, or one that the task or a dependency may add "+
						"(deliverable_spec.paths)",
					plain.Quote(focus), "")
			}
		}
	}
	return v.fs.Capped()
}

// landingPaths are the paths in the repository that the task, and those that it builds on, may add.
func (v *validator) landingPaths(t *plan.Task) []string {
	paths := []string{}
	seen := map[plan.TaskID]bool{}
	todo := []*plan.Task{t}
	for len(todo) > 0 {
		at := todo[0]
		todo = todo[1:]
		if at == nil || seen[at.TaskID] {
			continue
		}
		seen[at.TaskID] = true
		if at.Changes() {
			paths = append(paths, at.DeliverableSpec.Paths...)
		}
		for _, d := range at.DependsOn {
			todo = append(todo, v.taskByID(d))
		}
		if at.NodeType == plan.Goal {
			for _, below := range v.plan.Tasks {
				if below.ParentTaskID == at.TaskID {
					todo = append(todo, below)
				}
			}
		}
	}
	return paths
}

// leadsToFile reports whether one of the files is the path, or lies below it, or may by its pattern.
func leadsToFile(focus string, files []string) bool {
	for _, f := range files {
		if below(f, focus) {
			return true
		}
		if i := strings.IndexAny(f, "*?["); i >= 0 {
			dir := strings.TrimSuffix(f[:strings.LastIndexByte(f[:i], '/')+1], "/")
			if below(focus, dir) || below(dir, focus) {
				return true
			}
		}
	}
	return false
}

func below(p, dir string) bool {
	return dir == "" || p == dir || strings.HasPrefix(p, dir+"/")
}
