package plandoc

import (
	"fmt"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/relpath"
	"slices"
	"strings"
)

// checkRoot checks that the top task's checklist is covered and that the final deliverable can come about.
func (v *validator) checkRoot() {
	i := v.at[v.plan.RootTaskID]
	root := v.plan.Tasks[i]
	heads := criteriaHeads{v, i, "root_acceptance_criteria", "R", map[string]int{}}
	for j, c := range root.RootAcceptanceCriteria {
		heads.check(j, c.ID, c.ID, c.Statement)
	}
	covered := v.coveredCriteria(heads.seen)
	// A plan that is not made yet has only a root and planning tasks, which cover nothing. In a plan that is made from
	// a workflow, fills may cover more later; the lint of the file demands that something does.
	for j, c := range root.RootAcceptanceCriteria {
		if !covered[c.ID] && v.plan.Leaves() > 0 && v.plan.Workflow == nil {
			v.add(i, "uncovered-root-criterion", fmt.Sprintf("root_acceptance_criteria[%d]", j),
				"no task covers it: "+plain.Quote(c.Statement), "an ACTION or a criterion with covers", "none",
				fmt.Sprintf("covers: [%s]", c.ID))
		}
	}
	if root.FinalDeliverableSpec != nil {
		v.checkFinal(i, root.FinalDeliverableSpec)
	}
}

// coveredCriteria is the set of root criteria that some ACTION or one of its criteria covers.
func (v *validator) coveredCriteria(known map[string]int) map[string]bool {
	covered := map[string]bool{}
	cover := func(i int, field string, ids []string) {
		for j, id := range ids {
			if _, ok := known[id]; !ok {
				v.add(i, "unknown-root-criterion", fmt.Sprintf("%s[%d]", field, j),
					"names a root criterion that does not exist", v.rootCriteriaIDs(), plain.Quote(id), "")
			}
			covered[id] = true
		}
	}
	for i, t := range v.plan.Tasks {
		if t.NodeType != plan.Action || t.Planning() {
			continue
		}
		cover(i, "covers", t.Covers)
		for j, c := range t.AcceptanceCriteria {
			cover(i, fmt.Sprintf("acceptance_criteria[%d].covers", j), c.Covers)
		}
	}
	return covered
}

func (v *validator) rootCriteriaIDs() string {
	criteria := v.taskByID(v.plan.RootTaskID).RootAcceptanceCriteria
	if len(criteria) == 0 {
		return "root_acceptance_criteria, which the plan has none of"
	}
	return "one of " + strings.Join(plain.Some(criteria, 20, func(c plan.RootCriterion) string { return c.ID }), ", ")
}

func (v *validator) checkFinal(i int, f *plan.FinalDeliverableSpec) {
	const at = "final_deliverable_spec."
	for j, id := range f.IncludeChildren {
		if t := v.taskByID(id); t == nil || t.NodeType == plan.Check {
			v.add(i, "bad-final-spec", fmt.Sprintf("%sinclude_children[%d]", at, j),
				"names no deliverable of this plan", "the id of an ACTION or a GOAL", plain.Quote(string(id)),
				v.exampleID(id, "include_children: [%s]"))
		}
	}
	switch f.Mode {
	case plan.PassThrough:
		if f.AssembleTaskID != "" {
			v.add(i, "bad-final-spec", at+"assemble_task_id", "PASS_THROUGH assembles nothing",
				"nothing, or mode ASSEMBLE", string(f.AssembleTaskID), "mode: ASSEMBLE")
		}
	case plan.Assemble:
		v.checkAssemble(i, f)
	default:
		v.add(i, "bad-final-spec", at+"mode", "is not a mode", "PASS_THROUGH or ASSEMBLE", plain.Quote(f.Mode),
			"mode: PASS_THROUGH")
	}
}

// ObsoleteFindings finds what nobody may write any more, and plans of earlier times may have.
func ObsoleteFindings(p *plan.Plan) (fs plan.Findings) {
	for i, t := range p.Tasks {
		if f := t.FinalDeliverableSpec; f != nil && f.Mode == plan.Assemble && len(f.IncludeChildren) > 0 {
			fs = append(fs, plan.Finding{Code: "bad-final-spec", TaskID: t.TaskID,
				Path:     fmt.Sprintf("tasks[%d].final_deliverable_spec.include_children", i),
				Message:  "ASSEMBLE delivers what its task makes, and leaves nothing out",
				Expected: "nothing, or mode PASS_THROUGH", Found: plan.JoinIDs(f.IncludeChildren)})
		}
		for j, r := range t.Requires {
			if r.Kind == plan.AskChoice && len(r.Options) == 0 {
				fs = append(fs, plan.Finding{Code: "bad-choice", TaskID: t.TaskID,
					Path: fmt.Sprintf("tasks[%d].requires[%d]", i, j), Message: "a choice has nothing to choose",
					Expected: "options", Found: "none", Example: "options: [small, large]"})
			}
		}
	}
	return fs
}

// checkAssemble checks that the assembling task depends on all of its inputs: what it does not depend on it would not
// see.
func (v *validator) checkAssemble(i int, f *plan.FinalDeliverableSpec) {
	const field = "final_deliverable_spec.assemble_task_id"
	j, ok := v.at[f.AssembleTaskID]
	if !ok || v.plan.Tasks[j].NodeType != plan.Action || v.plan.Tasks[j].Planning() {
		v.add(i, "bad-final-spec", field, "ASSEMBLE needs the task that assembles", "the id of an ACTION",
			plain.Quote(string(f.AssembleTaskID)), v.exampleID(f.AssembleTaskID, "assemble_task_id: %s"))
		return
	}
	task := v.plan.Tasks[j]
	inputs := v.leavesOf(task.DependsOn)
	wanted := []plan.TaskID{v.plan.RootTaskID}
	if len(f.IncludeChildren) > 0 {
		wanted = f.IncludeChildren
	}
	needed := v.leavesOf(wanted)
	var missing []plan.TaskID
	for k, t := range v.plan.Tasks {
		if needed[k] && !inputs[k] && k != j {
			missing = append(missing, t.TaskID)
		}
	}
	if len(missing) == 0 {
		return
	}
	const most = 50
	suggestion := ""
	if len(task.DependsOn)+len(missing) <= most {
		all := append(slices.Clone(task.DependsOn), missing...)
		suggestion = "depends_on: [" + plan.JoinIDs(all) + "]"
	}
	delete(needed, j)
	v.add(j, "assemble-inputs", "depends_on", "the assembling task must depend on all of its inputs",
		"also "+strings.Join(plain.Some(missing, most, func(id plan.TaskID) string { return string(id) }), ", "),
		fmt.Sprintf("%d of %d inputs", len(needed)-len(missing), len(needed)), suggestion)
}

// leavesOf is the set of ACTIONs at or below the tasks, planning tasks apart.
func (v *validator) leavesOf(ids []plan.TaskID) map[int]bool {
	var from []int
	for _, id := range ids {
		if i, ok := v.at[id]; ok {
			from = append(from, i)
		}
	}
	leaves := map[int]bool{}
	for _, i := range v.reach(from, func(i int) []int { return v.children[i] }) {
		if t := v.plan.Tasks[i]; t.NodeType == plan.Action && !t.Planning() {
			leaves[i] = true
		}
	}
	return leaves
}

// checkTargets refuses two files that would go to one place: twice in one task, or, for tasks that say where their
// files go, at one path of an output_dir that both name. Otherwise each task's files are apart.
func (v *validator) checkTargets() {
	taken := map[string]plan.TaskID{}
	for i, t := range v.plan.Tasks {
		s := t.DeliverableSpec
		if t.NodeType != plan.Action || s == nil {
			continue
		}
		own := map[string]string{}
		for _, f := range specPaths(s) {
			key := relpath.Fold(f.path)
			if first, twice := own[key]; twice {
				v.add(i, "same-target", "deliverable_spec."+f.field, "the same file is declared twice",
					"each file once", plain.Quote(f.path)+" and "+first, "")
				continue
			}
			own[key] = plain.Quote(f.path)
			if s.OutputDir == "" {
				continue
			}
			k := relpath.Fold(s.OutputDir + "/" + f.path)
			if other, twice := taken[k]; twice && other != t.TaskID {
				v.add(i, "same-target", "deliverable_spec."+f.field, "two tasks write the same path",
					"a path of its own", plain.Quote(s.OutputDir+"/"+f.path)+", also of "+string(other),
					"output_dir: "+s.OutputDir+"/"+strings.ToLower(string(t.TaskID)))
			} else {
				taken[k] = t.TaskID
			}
		}
		v.checkNested(i, own)
	}
}

// checkNested refuses a file that would have to be a directory for another file of the same task.
func (v *validator) checkNested(i int, own map[string]string) {
	for key, shown := range own {
		for slash := strings.LastIndexByte(key, '/'); slash > 0; slash = strings.LastIndexByte(key[:slash], '/') {
			if dir, ok := own[key[:slash]]; ok {
				v.add(i, "same-target", "deliverable_spec", "a file can't be a directory too", "different paths",
					dir+" and "+shown, "")
				return
			}
		}
	}
}

type specPath struct{ field, path string }

// paths lists the files and patterns of a spec with the field that each comes from. A filename that files repeats as
// its main file counts once.
func specPaths(s *plan.DeliverableSpec) []specPath {
	var list []specPath
	if s.Filename != "" && !slices.Contains(s.Files, s.Filename) {
		list = append(list, specPath{"filename", s.Filename})
	}
	for j, f := range s.Files {
		list = append(list, specPath{fmt.Sprintf("files[%d]", j), f})
	}
	return list
}
