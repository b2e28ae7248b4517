package plandoc

import (
	"fmt"
	"time"

	"gitwf/internal/plan"
)

// mostUnordered is how many pairs of tasks Unordered names.
const mostUnordered = 10

// OverlappingChanges finds changes of the repository that may touch the same paths and of which neither builds on the
// other: the one that lands second may conflict with the first. That is no error.
func OverlappingChanges(p *plan.Plan) plan.Findings {
	s := plan.Derive(p, plan.Records{}, nil, time.Time{})
	var fs plan.Findings
	o := order{state: s, of: map[plan.TaskID][]uint64{}}
	for i, t := range p.Tasks {
		if t.NodeType != plan.Action || !t.Changes() {
			continue
		}
		for _, earlier := range p.Tasks[:i] {
			if earlier.NodeType != plan.Action || !earlier.Changes() || !SameFocus(t, earlier) ||
				o.buildsOn(t.TaskID, earlier.TaskID) || o.buildsOn(earlier.TaskID, t.TaskID) {
				continue
			}
			fs = append(fs, plan.Finding{
				Code: "same-paths", TaskID: t.TaskID, Path: fmt.Sprintf("tasks[%d].deliverable_spec.paths", i),
				Message: fmt.Sprintf("may change the same files as %s, and neither builds on the other: they are "+
					"not done at once, and may conflict when they land", earlier.TaskID),
				Expected: "an order, other paths, or meta: {parallel: true} in both", Found: "neither",
				Example: fmt.Sprintf("depends_on: [%s]", earlier.TaskID),
			})
			if len(fs) == mostUnordered {
				return fs
			}
		}
	}
	return fs
}

// order knows which task builds on which, directly or not.
type order struct {
	state *plan.State
	of    map[plan.TaskID][]uint64 // a bit for each task of the plan
}

func (o order) buildsOn(task, on plan.TaskID) bool {
	at := o.state.Place(on)
	return o.ancestors(task)[at/64]&(1<<(at%64)) != 0
}

func (o order) ancestors(task plan.TaskID) []uint64 {
	if set, known := o.of[task]; known {
		return set
	}
	set := make([]uint64, len(o.state.Plan.Tasks)/64+1)
	o.of[task] = set
	for _, in := range o.state.Inputs(task) {
		at := o.state.Place(in)
		set[at/64] |= 1 << (at % 64)
		for i, word := range o.ancestors(in) {
			set[i] |= word
		}
	}
	return set
}
