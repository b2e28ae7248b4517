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
	known := map[string]int{}
	for j, c := range root.RootAcceptanceCriteria {
		at := fmt.Sprintf("root_acceptance_criteria[%d]", j)
		if !validCriterionID(c.ID) {
			v.add(i, "bad-id", at+".id", "is not a criterion's id",
				"letters and digits, with . _ - inside, at most 64 bytes",
				plain.Quote(c.ID), fmt.Sprintf("id: R%d", j+1))
		}
		if _, taken := known[c.ID]; taken {
			v.add(i, "duplicate-criterion", at+".id", "two root criteria have the same id", "an id of its own",
				plain.Quote(c.ID),
				fmt.Sprintf("id: R%d", j+1))
		}
		known[c.ID] = j
		if strings.TrimSpace(c.Statement) == "" {
			v.add(i, "no-statement", at+".statement", "the criterion says nothing", "what the whole must fulfil",
				"nothing", "")
		}
	}
	covered := v.coveredCriteria(known)
	// A plan that is not made yet has only a root and planning tasks, which cover nothing. In a plan that is made from
	// a workflow, fills may cover more later; the lint of the file demands that something does.
	for j, c := range root.RootAcceptanceCriteria {
		if !covered[c.ID] && v.plan.Leaves() > 0 && v.plan.Workflow == nil {
			v.add(i, "uncovered-root-criterion", fmt.Sprintf("root_acceptance_criteria[%d]", j),
				"no task covers it: "+plain.Quote(c.Statement),
				"an ACTION or a criterion with covers", "none", fmt.Sprintf("covers: [%s]", c.ID))
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
					"names a root criterion that does not exist",
					v.rootCriteriaIDs(), plain.Quote(id), "")
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
	const most = 20
	var ids []string
	for _, c := range v.taskByID(v.plan.RootTaskID).RootAcceptanceCriteria {
		ids = append(ids, c.ID)
	}
	switch {
	case len(ids) == 0:
		return "root_acceptance_criteria, which the plan has none of"
	case len(ids) > most:
		ids = append(ids[:most], "...")
	}
	return "one of " + strings.Join(ids, ", ")
}

func (v *validator) checkFinal(i int, f *plan.FinalDeliverableSpec) {
	const at = "final_deliverable_spec."
	for j, id := range f.IncludeChildren {
		if t := v.taskByID(id); t == nil || t.NodeType == plan.Check {
			v.add(i, "bad-final-spec", fmt.Sprintf("%sinclude_children[%d]", at, j),
				"names no deliverable of this plan",
				"the id of an ACTION or a GOAL",
				plain.Quote(string(id)), v.exampleID(id, "include_children: [", "]"))
		}
	}
	switch f.Mode {
	case plan.PassThrough:
		if f.AssembleTaskID != "" {
			v.add(i, "bad-final-spec", at+"assemble_task_id", "PASS_THROUGH assembles nothing",
				"nothing, or mode ASSEMBLE",
				string(f.AssembleTaskID), "mode: ASSEMBLE")
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
			plain.Quote(string(f.AssembleTaskID)), v.exampleID(f.AssembleTaskID, "assemble_task_id: ", ""))
		return
	}
	task := v.plan.Tasks[j]
	inputs := v.leavesOf(task.DependsOn)
	wanted := []plan.TaskID{v.plan.RootTaskID}
	if len(f.IncludeChildren) > 0 {
		wanted = f.IncludeChildren
	}
	needed := v.leavesOf(wanted)
	var missing []string
	for k, t := range v.plan.Tasks {
		if needed[k] && !inputs[k] && k != j {
			missing = append(missing, string(t.TaskID))
		}
	}
	if len(missing) == 0 {
		return
	}
	all := make([]string, 0, len(task.DependsOn)+len(missing))
	for _, d := range task.DependsOn {
		all = append(all, string(d))
	}
	const most = 50
	short := missing
	if len(short) > most {
		short = append(slices.Clone(short[:most]), fmt.Sprintf("%d more", len(missing)-most))
	}
	suggestion := ""
	if all = append(all, missing...); len(all) <= most {
		suggestion = "depends_on: [" + strings.Join(all, ", ") + "]"
	}
	v.add(j, "assemble-inputs", "depends_on", "the assembling task must depend on all of its inputs",
		"also "+strings.Join(short, ", "),
		fmt.Sprintf("%d of %d inputs", len(needed)-len(missing)-boolInt(needed[j]), len(needed)-boolInt(needed[j])),
		suggestion)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// leavesOf is the set of ACTIONs at or below the tasks, planning tasks apart.
func (v *validator) leavesOf(ids []plan.TaskID) map[int]bool {
	leaves, seen := map[int]bool{}, map[int]bool{}
	var queue []int
	for _, id := range ids {
		if i, ok := v.at[id]; ok {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		if seen[i] {
			continue
		}
		seen[i] = true
		if t := v.plan.Tasks[i]; t.NodeType == plan.Action && !t.Planning() {
			leaves[i] = true
		}
		queue = append(queue, v.children[i]...)
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
					"each file once",
					plain.Quote(f.path)+" and "+first, "")
				continue
			}
			own[key] = plain.Quote(f.path)
			if s.OutputDir == "" {
				continue
			}
			k := relpath.Fold(s.OutputDir + "/" + f.path)
			if other, twice := taken[k]; twice && other != t.TaskID {
				v.add(i, "same-target", "deliverable_spec."+f.field, "two tasks write the same path",
					"a path of its own",
					plain.Quote(s.OutputDir+"/"+f.path)+", also of "+string(other),
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
					dir+" and "+shown,
					"")
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
