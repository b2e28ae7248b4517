package plandoc

import (
	"fmt"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"slices"
	"strconv"
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
	v.findCycles()
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

// add notes a finding about a field of the task with index i.
func (v *validator) add(i int, code, field, text, expected, found, example string) {
	path := fmt.Sprintf("tasks[%d]", i)
	if field != "" {
		path += "." + field
	}
	v.fs = append(v.fs, plan.Finding{
		Code: code, Path: path, TaskID: v.plan.Tasks[i].TaskID,
		Message: text, Expected: expected, Found: found, Example: example,
	})
}

// addTop notes a finding about the plan as a whole.
func (v *validator) addTop(code, path, text, expected, found, example string) {
	v.fs = append(v.fs, plan.Finding{Code: code, Path: path, Message: text, Expected: expected, Found: found,
		Example: example})
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
			v.addTop("no-task", fmt.Sprintf("tasks[%d]", i), "is null", "a task", "null", "")
			return
		}
		if !t.TaskID.Valid() {
			v.add(i, "bad-id", "task_id", "is not a task id", "upper-case words with hyphens, then numbers with dots",
				plain.Quote(string(t.TaskID)), "task_id: IMPL-1")
			continue
		}
		if first, taken := v.at[t.TaskID]; taken {
			v.add(i, "duplicate-id", "task_id", "the id belongs to another task already", "an id of its own",
				fmt.Sprintf("%s, also %s", t.TaskID, plain.Quote(v.plan.Tasks[first].Title)),
				"task_id: "+string(v.freeID(t.TaskID)))
			continue
		}
		v.at[t.TaskID] = i
	}
	if v.hasBadIDs() {
		return
	}
	v.checkRootExists()
	v.children = make([][]int, len(v.plan.Tasks))
	for i, t := range v.plan.Tasks {
		if parent, ok := v.at[t.ParentTaskID]; ok && t.NodeType != plan.Check {
			v.children[parent] = append(v.children[parent], i)
		}
	}
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
	switch {
	case !ok:
		v.addTop("no-root", "root_task_id", "names no task", "the id of the root GOAL",
			plain.Quote(string(v.plan.RootTaskID)),
			"root_task_id: GOAL-1")
	case v.plan.Tasks[i].NodeType != plan.Goal:
		v.add(i, "bad-root", "node_type", "the root must be a GOAL", string(plan.Goal),
			string(v.plan.Tasks[i].NodeType),
			"node_type: GOAL")
	case v.plan.Tasks[i].ParentTaskID != "":
		v.add(i, "bad-root", "parent_task_id", "the root has no parent", "nothing",
			string(v.plan.Tasks[i].ParentTaskID), "")
	}
}

// checkConfig checks the plan's own fields and its limits against the policy.
func (v *validator) checkConfig() {
	p := v.plan
	if rule := badLine(p.Title); rule != "" {
		v.addTop("bad-text", "title", rule, "one line of text", plain.Quote(p.Title), "title: Release dossier")
	}
	if p.PlanID != "" && !p.PlanID.Valid() {
		v.addTop("bad-id", "plan_id", "is not a plan id", "WFS- and a slug in lower case, at most 50 characters",
			plain.Quote(string(p.PlanID)), "plan_id: "+string(plan.NewID(p.Title, 1)))
	}
	if v.limits.MinScore < v.floors.MinScore {
		v.checkFloor("config.min_score", "min_score", v.floors.MinScore, v.limits.MinScore)
	}
	if v.limits.Quorum < v.floors.Quorum {
		v.checkFloor("config.quorum", "quorum", v.floors.Quorum, v.limits.Quorum)
	}
	for i, name := range p.Config.Reviewers {
		if rule := badLine(name); rule != "" {
			v.addTop("bad-text", fmt.Sprintf("config.reviewers[%d]", i), rule, "a name", plain.Quote(name), "")
		}
	}
	v.checkNegative()
	v.checkDocumentMode()
}

func (v *validator) checkFloor(path, field string, floor, have int) {
	v.addTop("looser-than-policy", path, "is looser than the repository's policy",
		fmt.Sprintf("at least %d", floor), strconv.Itoa(have), fmt.Sprintf("%s: %d", field, floor))
}

// checkNegative refuses limits that the schema refuses too: a stored plan may come from anywhere.
func (v *validator) checkNegative() {
	c := v.plan.Config
	for name, value := range c.Numbers() {
		if value < 0 {
			v.addTop("bad-value", "config."+name, "is negative", "zero for the default, or more", fmt.Sprint(value), "")
		}
	}
	if c.MinScore > 100 {
		v.addTop("bad-value", "config.min_score", "can never be reached", "at most 100", strconv.Itoa(c.MinScore),
			"min_score: 90")
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
