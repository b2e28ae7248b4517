package plandoc

import (
	"fmt"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Validate holds the plan against every hard rule and the policy's floors, and returns all that it breaks, in plan
// order, cut to what one reader can use. A plan without findings can be carried out. Paths count the tasks as they
// stand in plan.json.
func Validate(p *plan.Plan, floors policy.Floors) plan.Findings {
	return validate(p, floors).Capped()
}

func validate(p *plan.Plan, floors policy.Floors) plan.Findings {
	v := &validator{plan: p, floors: floors, limits: p.Limits()}
	if v.indexTasks(); v.hasBadIDs() {
		return v.fs // without ids the graph means nothing
	}
	twice := map[plan.TaskID]bool{}
	for _, f := range v.fs {
		twice[f.TaskID], twice[f.TaskID.CheckID()] = true, true
	}
	v.checkRoles()
	for i, t := range p.Tasks {
		v.checkTask(i, t)
	}
	v.checkTree()
	for _, loop := range Loops(len(p.Tasks), v.waitsFor) {
		v.reportCycle(loop)
	}
	v.checkBindings()
	v.checkRoot()
	v.checkTargets()
	v.checkConfig()
	return slices.DeleteFunc(v.fs, func(f plan.Finding) bool { // of tasks with one id, nothing else
		return f.Code != "duplicate-id" && twice[f.TaskID]
	})
}

// validator gathers findings about one plan.
type validator struct {
	plan     *plan.Plan
	floors   policy.Floors
	limits   plan.Config
	fs       plan.Findings
	at       map[plan.TaskID]int // index in plan.Tasks
	children [][]int             // DECOMPOSE, CHECKs apart
}

// wholePlan stands for the index of a task where a finding is about the plan as a whole.
const wholePlan = -1

// add notes a finding about a field of the task with index i, or of the plan.
func (v *validator) add(i int, code, field, text, expected, found, example string) {
	f := plan.Finding{Code: code, Path: field, Message: text, Expected: expected, Found: found, Example: example}
	if i != wholePlan {
		f.Path = strings.TrimSuffix(fmt.Sprintf("tasks[%d].%s", i, field), ".")
		f.TaskID = v.plan.Tasks[i].TaskID
	}
	v.fs = append(v.fs, f)
}

// addUnknown notes that a field names no task of the plan. example has %s in the place of an id that was meant.
func (v *validator) addUnknown(i int, code, field string, id plan.TaskID, expected, example string) {
	v.add(i, code, field, "names a task that does not exist", expected, plain.Quote(string(id)),
		v.exampleID(id, example))
}

// checkLine refuses a text that can't stand on one line of a terminal.
func (v *validator) checkLine(i int, field, text, expected, example string) {
	if rule := badLine(text); rule != "" {
		v.add(i, "bad-text", field, rule, expected, plain.Quote(text), example)
	}
}

// checkFloor refuses what is looser than the repository's policy.
func (v *validator) checkFloor(i int, field string, have, floor int) {
	if have < floor {
		name := field[strings.LastIndexByte(field, '.')+1:]
		v.add(i, "looser-than-policy", field, "is looser than the repository's policy",
			fmt.Sprintf("at least %d", floor), strconv.Itoa(have), fmt.Sprintf("%s: %d", name, floor))
	}
}

func (v *validator) taskByID(id plan.TaskID) *plan.Task {
	if i, ok := v.at[id]; ok {
		return v.plan.Tasks[i]
	}
	return nil
}

// indexTasks checks what every other rule needs: ids that are valid and unique, and a root.
func (v *validator) indexTasks() {
	v.at = make(map[plan.TaskID]int, len(v.plan.Tasks))
	for i, t := range v.plan.Tasks {
		if t == nil {
			v.add(wholePlan, "no-task", fmt.Sprintf("tasks[%d]", i), "is null", "a task", "null", "")
			return
		}
		first, taken := v.at[t.TaskID]
		switch {
		case !t.TaskID.Valid():
			v.add(i, "bad-id", "task_id", "is not a task id", "upper-case words with hyphens, then numbers with dots",
				plain.Quote(string(t.TaskID)), "task_id: IMPL-1")
		case taken:
			v.add(i, "duplicate-id", "task_id", "the id belongs to another task already", "an id of its own",
				fmt.Sprintf("%s, also %s", t.TaskID, plain.Quote(v.plan.Tasks[first].Title)),
				"task_id: "+string(v.freeID(t.TaskID)))
		default:
			v.at[t.TaskID] = i
		}
	}
	if v.hasBadIDs() {
		return
	}
	v.checkRootExists()
	v.linkChildren()
}

// linkChildren sets children from the index.
func (v *validator) linkChildren() {
	v.children = make([][]int, len(v.plan.Tasks))
	for i, t := range v.plan.Tasks {
		if parent, ok := v.at[t.ParentTaskID]; ok && t.NodeType != plan.Check {
			v.children[parent] = append(v.children[parent], i)
		}
	}
}

// indexed is a validator of a plan that Validate has looked at already.
func indexed(p *plan.Plan) *validator {
	v := &validator{plan: p, at: make(map[plan.TaskID]int, len(p.Tasks))}
	for i, t := range p.Tasks {
		v.at[t.TaskID] = i
	}
	v.linkChildren()
	return v
}

// hasBadIDs reports whether something is wrong with the ids but that some are there twice.
func (v *validator) hasBadIDs() bool {
	return slices.ContainsFunc(v.fs, func(f plan.Finding) bool { return f.Code != "duplicate-id" })
}

// freeID suggests an id that no task has yet.
func (v *validator) freeID(id plan.TaskID) plan.TaskID {
	for n := 2; n < 100; n++ {
		try := id + plan.TaskID("."+strconv.Itoa(n))
		if _, taken := v.at[try]; !taken {
			return try
		}
	}
	return id
}

func (v *validator) checkRootExists() {
	i, ok := v.at[v.plan.RootTaskID]
	if !ok {
		v.add(wholePlan, "no-root", "root_task_id", "names no task", "the id of the root GOAL",
			plain.Quote(string(v.plan.RootTaskID)), "root_task_id: GOAL-1")
		return
	}
	switch root := v.plan.Tasks[i]; {
	case root.NodeType != plan.Goal:
		v.add(i, "bad-root", "node_type", "the root must be a GOAL", string(plan.Goal), string(root.NodeType),
			"node_type: GOAL")
	case root.ParentTaskID != "":
		v.add(i, "bad-root", "parent_task_id", "the root has no parent", "nothing", string(root.ParentTaskID), "")
	}
}

// checkConfig checks the plan's own fields and its limits against the policy.
func (v *validator) checkConfig() {
	p := v.plan
	v.checkLine(wholePlan, "title", p.Title, "one line of text", "title: Release dossier")
	if p.PlanID != "" && !p.PlanID.Valid() {
		v.add(wholePlan, "bad-id", "plan_id", "is not a plan id",
			"WFS- and a slug in lower case, at most 50 characters",
			plain.Quote(string(p.PlanID)), "plan_id: "+string(plan.NewID(p.Title, 1)))
	}
	v.checkFloor(wholePlan, "config.min_score", v.limits.MinScore, v.floors.MinScore)
	v.checkFloor(wholePlan, "config.quorum", v.limits.Quorum, v.floors.Quorum)
	for i, name := range p.Config.Reviewers {
		v.checkLine(wholePlan, fmt.Sprintf("config.reviewers[%d]", i), name, "a name", "")
	}
	// The schema refuses such limits too, but a stored plan may come from anywhere.
	for name, value := range p.Config.Numbers() {
		if value < 0 {
			v.add(wholePlan, "bad-value", "config."+name, "is negative", "zero for the default, or more",
				fmt.Sprint(value), "")
		}
	}
	if p.Config.MinScore > 100 {
		v.add(wholePlan, "bad-value", "config.min_score", "can never be reached", "at most 100",
			strconv.Itoa(p.Config.MinScore), "min_score: 90")
	}
	if mode := p.Config.TaskDocument; mode != "" && mode != StrictTaskDocument {
		v.add(wholePlan, "bad-value", "config.task_document", "is not a way to check",
			StrictTaskDocument+", or nothing",
			plain.Quote(mode), "task_document: strict")
	}
}

// badLine says why a text can't stand on one line of a terminal, "" when it can.
func badLine(s string) string {
	switch {
	case s == "":
		return "is empty"
	case !utf8.ValidString(s):
		return "is not UTF-8"
	case slices.ContainsFunc([]rune(s), plain.Hostile):
		return "contains a line break, a control character or an invisible one"
	}
	return ""
}
