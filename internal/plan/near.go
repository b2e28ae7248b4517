package plan

import (
	"maps"
	"slices"

	"gitwf/internal/each"
)

// Links are the tasks that name one task, by their places in the plan.
type Links struct {
	Checks     []int // CHECKs that review it
	Children   []int // tasks below it, CHECKs apart
	Dependants []int // ACTIONs that depend on it
	Splits     []int // tasks that split it
}

// Links returns the links of each task, in plan order. They say nothing if two tasks have one id: then ok is false.
func (p *Plan) Links() (links []Links, ok bool) {
	at := make(map[TaskID]int, len(p.Tasks))
	for i, t := range p.Tasks {
		at[t.TaskID] = i
	}
	links = make([]Links, len(p.Tasks))
	link := func(id TaskID, list func(*Links) *[]int, by int) {
		if to, ok := at[id]; ok && id != "" {
			l := list(&links[to])
			*l = append(*l, by)
		}
	}
	for i, t := range p.Tasks {
		if t.NodeType == Check {
			link(t.ReviewTargetTaskID, func(l *Links) *[]int { return &l.Checks }, i)
		} else {
			link(t.ParentTaskID, func(l *Links) *[]int { return &l.Children }, i)
		}
		if t.NodeType == Action {
			for _, d := range t.DependsOn {
				link(d, func(l *Links) *[]int { return &l.Dependants }, i)
			}
		}
		link(t.SplitTargetTaskID, func(l *Links) *[]int { return &l.Splits }, i)
	}
	return links, len(at) == len(p.Tasks)
}

// lookup finds single tasks of a plan that is not read as a whole.
type lookup interface {
	Find(id TaskID) (place int, ok bool)
	Task(place int) *Task
	Links(place int) Links
}

// Near returns, in plan order, the tasks from which Derive computes the same state for one task and its CHECK as from
// the whole plan: these two, the GOALs above, the dependencies with their leaves, what the newest versions of all these
// were made from, directly or not, and the tasks that split it or depend on it. Not all of their states are right: a
// GOAL above lacks leaves, and a dependant lacks its other dependencies. For a dependency, the versions, the verdict
// and whether it is DONE are right.
//
// For a GOAL, whose state follows from everything below it, ok is false.
func Near(l lookup, r Records, id TaskID) (tasks []*Task, ok bool) {
	n := near{lookup: l, records: r, tasks: map[int]*Task{}, whole: map[TaskID]bool{}}
	t := n.add(id)
	if t != nil && t.NodeType == Check {
		t = n.add(t.ReviewTargetTaskID)
	}
	if t != nil && t.NodeType != Action {
		return nil, false
	}
	if t != nil {
		n.addSources(t.TaskID)
		for _, d := range t.DependsOn {
			n.addDependency(d)
		}
		place, _ := l.Find(t.TaskID)
		for _, i := range l.Links(place).Splits {
			n.add(l.Task(i).TaskID)
		}
		for above, depth := t, 0; above != nil && depth <= MaxDepth; above, depth = n.add(above.ParentTaskID), depth+1 {
			place, _ := l.Find(above.TaskID)
			for _, i := range l.Links(place).Dependants {
				if n.tasks[i] == nil {
					n.tasks[i] = l.Task(i)
				}
			}
		}
	}
	return each.Of(slices.Sorted(maps.Keys(n.tasks)), func(place int) *Task { return n.tasks[place] }), true
}

// near collects tasks by their places.
type near struct {
	lookup
	records Records
	tasks   map[int]*Task
	whole   map[TaskID]bool // the dependencies that were added with all below them
}

// add adds a task with its CHECKs and the GOALs above it.
func (n *near) add(id TaskID) *Task {
	place, ok := n.Find(id)
	if !ok {
		return nil
	}
	if t := n.tasks[place]; t != nil {
		return t
	}
	t := n.Task(place)
	n.tasks[place] = t
	for _, i := range n.Links(place).Checks {
		n.tasks[i] = n.Task(i)
	}
	n.add(t.ParentTaskID)
	return t
}

// addDependency adds a task with what decides whether it is DONE: of a CHECK its target, of a GOAL all below it, of an
// ACTION what its newest version was made from.
func (n *near) addDependency(id TaskID) {
	t := n.add(id)
	if t == nil || n.whole[id] {
		return
	}
	n.whole[id] = true
	n.addSources(id)
	if t.NodeType == Check {
		n.addDependency(t.ReviewTargetTaskID)
	}
	if t.NodeType != Goal {
		return
	}
	place, _ := n.Find(id)
	for _, i := range n.Links(place).Children {
		n.addDependency(n.Task(i).TaskID)
	}
	if f := t.FinalDeliverableSpec; f != nil && f.AssembleTaskID != "" {
		n.add(f.AssembleTaskID)
	}
}

func (n *near) addSources(id TaskID) {
	r := n.records.Of(id)
	for _, l := range r.From {
		if l.Version == r.Active() {
			n.addDependency(l.Task)
		}
	}
}

// About is the task that an event is about, if its Apply looks at nothing but what Near has of that task.
func About(ev Event) (id TaskID, ok bool) {
	switch e := ev.(type) {
	case NewVersion:
		return e.Artifact.TaskID, true
	case AddReview:
		return e.Review.TaskID, true
	case AddCheck:
		return e.Checked.TaskID, true
	case AddAttempt:
		return e.Attempt.TaskID, true
	case Ask:
		return e.Attempt.Attempt.TaskID, true
	case AnswerQuestion:
		return e.Task, true
	case HandIn:
		return e.Task, true
	case Retry:
		return e.Task, true
	case Waive:
		return e.Task, true
	}
	return "", false
}
