package plandoc

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plan"
)

// checkTree checks the DECOMPOSE edges: parents exist and are GOALs, there is no loop, every GOAL has work below it,
// and depth and leaves are within the limits.
func (v *validator) checkTree() {
	p := v.plan
	for i, t := range p.Tasks {
		parent := v.taskByID(t.ParentTaskID)
		switch {
		case t.TaskID == p.RootTaskID:
		case t.ParentTaskID == "" && t.NodeType == plan.Check:
		case t.ParentTaskID == "":
			v.add(i, "unknown-parent", "parent_task_id", "only the root has no parent", "the id of a GOAL", "nothing",
				"parent_task_id: "+string(p.RootTaskID))
		case parent == nil:
			v.addUnknown(i, "unknown-parent", "parent_task_id", t.ParentTaskID, "the id of a GOAL of this plan",
				"parent_task_id: %s")
		case parent.NodeType != plan.Goal && t.NodeType != plan.Check:
			v.add(i, "parent-not-goal", "parent_task_id", "only a GOAL can have children", "the id of a GOAL",
				fmt.Sprintf("%s, which is of type %s", t.ParentTaskID, parent.NodeType),
				"parent_task_id: "+string(p.RootTaskID))
		}
	}
	depth := v.depths()
	v.reportParentLoops()
	for i, t := range p.Tasks {
		if limit := v.limits.MaxDecompositionDepth; t.NodeType != plan.Check && depth[i] > limit {
			f := p.TooDeep(t.TaskID, "is too deep below the root", depth[i])
			v.add(i, f.Code, "parent_task_id", f.Message, f.Expected, f.Found, f.Example)
		}
	}
	v.checkGoals()
	if leaves := p.Leaves(); leaves > v.limits.MaxLeafTasks {
		v.add(wholePlan, "too-many-leaves", "config.max_leaf_tasks", "the plan has too many ACTIONs",
			fmt.Sprintf("at most %d", v.limits.MaxLeafTasks), fmt.Sprint(leaves),
			fmt.Sprintf("max_leaf_tasks: %d", leaves))
	}
}

const unreached = -1

// depths gives the number of DECOMPOSE edges from the root to each task, unreached for what does not hang on it.
func (v *validator) depths() []int {
	depth := make([]int, len(v.plan.Tasks))
	for i := range depth {
		depth[i] = unreached
	}
	root := v.at[v.plan.RootTaskID]
	depth[root] = 0
	for _, i := range v.reach([]int{root}, func(i int) []int { return v.children[i] }) {
		for _, c := range v.children[i] {
			if depth[c] == unreached {
				depth[c] = depth[i] + 1
			}
		}
	}
	return depth
}

// reach lists what a walk comes to, where it begins too, the nearest first.
func (v *validator) reach(from []int, next func(int) []int) []int {
	var order []int
	seen := map[int]bool{}
	for _, i := range from {
		seen[i] = true
	}
	for queue := slices.Clone(from); len(queue) > 0; queue = queue[1:] {
		order = append(order, queue[0])
		for _, i := range next(queue[0]) {
			if !seen[i] {
				seen[i] = true
				queue = append(queue, i)
			}
		}
	}
	return order
}

// reportParentLoops reports each loop among the tasks that do not hang on the root.
func (v *validator) reportParentLoops() {
	parent := func(i int) []int {
		if above, ok := v.at[v.plan.Tasks[i].ParentTaskID]; ok {
			return []int{above}
		}
		return nil
	}
	root := string(v.plan.RootTaskID)
	for _, loop := range Loops(len(v.plan.Tasks), parent) {
		v.add(loop[0], "cycle", "parent_task_id", "the parents go round in a circle", "a way up to "+root,
			v.showLoop(loop), "parent_task_id: "+root)
	}
}

// checkGoals refuses a GOAL that could never be DONE because there is nothing below it. That of a plan which is still
// to be made has the task that makes it; one that the plan's workflow fills later has the task that does, once it is
// grafted.
func (v *validator) checkGoals() {
	hasWork := make([]bool, len(v.plan.Tasks))
	any := false
	for i, t := range v.plan.Tasks {
		if t.NodeType != plan.Action {
			continue
		}
		any = any || !t.Planning() || len(v.plan.Grafts) == 0
		for j, ok := i, true; ok && !hasWork[j]; j, ok = v.at[v.plan.Tasks[j].ParentTaskID] {
			hasWork[j] = true
		}
	}
	if !any {
		v.add(wholePlan, "no-action", "tasks", "the plan has nothing to do", "one ACTION or more", "none",
			"tasks: [{task_id: IMPL-1, ...}]")
		return
	}
	for i, t := range v.plan.Tasks {
		if t.NodeType == plan.Goal && !hasWork[i] && v.plan.Workflow == nil {
			v.add(i, "empty-goal", "node_type", "the GOAL has no ACTION below it and could never be done",
				"an ACTION below it, or node_type ACTION", "none", "")
		}
	}
}

// showLoop shows a loop: IMPL-1 -> IMPL-2 -> IMPL-1. The middle of a long one is left out.
func (v *validator) showLoop(loop []int) string {
	const ends = 8
	var ids []string
	for k, i := range loop {
		if len(loop) > 2*ends && k == ends {
			ids = append(ids, fmt.Sprintf("... %d more ...", len(loop)-2*ends))
		}
		if len(loop) <= 2*ends || k < ends || k >= len(loop)-ends {
			ids = append(ids, string(v.plan.Tasks[i].TaskID))
		}
	}
	return strings.Join(append(ids, string(v.plan.Tasks[loop[0]].TaskID)), " -> ")
}

// waitsFor lists what task i waits for: an ACTION for its dependencies, a GOAL for what is below it.
func (v *validator) waitsFor(i int) []int {
	t := v.plan.Tasks[i]
	if t.NodeType == plan.Goal {
		return v.children[i]
	}
	var deps []int
	if t.NodeType == plan.Action {
		for _, d := range t.DependsOn {
			if j, ok := v.at[d]; ok && j != i {
				deps = append(deps, j)
			}
		}
	}
	return deps
}

// Loops gives one loop for each part of a graph of n points that has any. The walk keeps its own stack: a chain of
// ten thousand tasks must not be ten thousand calls deep.
func Loops(n int, next func(int) []int) (loops [][]int) {
	const white, grey, black = 0, 1, 2
	type frame struct {
		task int
		next []int
	}
	colour := make([]uint8, n)
	for start := range n {
		if colour[start] != white {
			continue
		}
		reported := false
		colour[start] = grey
		stack := []frame{{start, next(start)}}
		for len(stack) > 0 {
			f := &stack[len(stack)-1]
			if len(f.next) == 0 {
				colour[f.task] = black
				stack = stack[:len(stack)-1]
				continue
			}
			to := f.next[0]
			f.next = f.next[1:]
			switch {
			case colour[to] == white:
				colour[to] = grey
				stack = append(stack, frame{to, next(to)})
			case colour[to] == grey && !reported:
				reported = true
				from := slices.IndexFunc(stack, func(f frame) bool { return f.task == to })
				loops = append(loops, each.Of(stack[from:], func(f frame) int { return f.task }))
			}
		}
	}
	return loops
}

// Behind gives, of each of n points of a graph, the set of those that a walk from it comes to. A circle ends the walk.
func Behind(n int, next func(int) []int) []*big.Int {
	sets := make([]*big.Int, n)
	var walk func(i int) *big.Int
	walk = func(i int) *big.Int {
		if sets[i] == nil {
			sets[i] = new(big.Int)
			for _, j := range next(i) {
				sets[i].Or(sets[i].SetBit(sets[i], j, 1), walk(j))
			}
		}
		return sets[i]
	}
	for i := range n {
		walk(i)
	}
	return sets
}

// reportCycle reports tasks that wait for themselves, beginning with an ACTION: only ACTIONs say what they depend on.
// Loops of parents, and those that run through a task's own GOAL, are reported where they arise.
func (v *validator) reportCycle(loop []int) {
	begin := slices.IndexFunc(loop, func(i int) bool { return v.plan.Tasks[i].NodeType == plan.Action })
	if begin < 0 {
		return
	}
	loop = slices.Concat(loop[begin:], loop[:begin])
	for k, i := range loop {
		after := v.plan.Tasks[loop[(k+1)%len(loop)]]
		t := v.plan.Tasks[i]
		if t.NodeType == plan.Action && after.NodeType == plan.Goal && v.hasAncestorIn(t, after.TaskID) {
			return
		}
	}
	after := v.plan.Tasks[loop[1%len(loop)]].TaskID
	v.add(loop[0], "cycle", "depends_on", "the tasks wait for each other in a circle",
		"an order in which they can be done", v.showLoop(loop), "a plan without "+string(after)+" in this list")
}

// checkBindings checks that ACTIONs and CHECKs are bound 1:1.
func (v *validator) checkBindings() {
	by := make(map[plan.TaskID]plan.TaskID, len(v.plan.Tasks)/2)
	for i, t := range v.plan.Tasks {
		if t.NodeType != plan.Check {
			continue
		}
		const field = "review_target_task_id"
		target := v.taskByID(t.ReviewTargetTaskID)
		first, taken := by[t.ReviewTargetTaskID]
		switch {
		case t.ReviewTargetTaskID == "":
			v.add(i, "check-binding", field, "the CHECK reviews nothing", "the id of an ACTION", "nothing",
				"review_target_task_id: IMPL-1")
		case target == nil:
			v.addUnknown(i, "check-binding", field, t.ReviewTargetTaskID,
				"the id of an ACTION of this plan", field+": %s")
		case target.NodeType != plan.Action:
			v.add(i, "check-binding", field, "only an ACTION is reviewed", "the id of an ACTION",
				fmt.Sprintf("%s, which is of type %s", target.TaskID, target.NodeType), "")
		case taken:
			v.add(i, "check-binding", field, "the ACTION has two CHECKs", "one CHECK for each ACTION",
				fmt.Sprintf("%s is reviewed by %s already", t.ReviewTargetTaskID, first),
				"quorum: 2, for two reviewers in one CHECK")
		}
		if !taken {
			by[t.ReviewTargetTaskID] = t.TaskID
		}
	}
	for i, t := range v.plan.Tasks {
		if t.NodeType == plan.Action && by[t.TaskID] == "" {
			v.add(i, "check-binding", "task_id", "the ACTION has no CHECK", "one CHECK for each ACTION", "none",
				fmt.Sprintf("{task_id: %s, node_type: CHECK, title: Review, review_target_task_id: %s}",
					t.TaskID.CheckID(), t.TaskID))
		}
	}
}
