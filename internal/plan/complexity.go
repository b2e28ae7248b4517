package plan

import "slices"

// Complexity is how much there is to a plan, by its number of tasks and their levels.
type Complexity string

// The complexities, in ascending order.
const (
	simple  Complexity = "simple"  // fewer than 5 tasks, on one level
	medium  Complexity = "medium"  // 5 to 15 tasks, or more than one level
	highest Complexity = "complex" // more than 15 tasks
)

// rank orders the complexities. A word that is none of them comes first.
func (c Complexity) rank() int { return slices.Index([]Complexity{simple, medium, highest}, c) + 1 }

// Valid reports whether c is one of the three.
func (c Complexity) Valid() bool { return c.rank() > 0 }

// Higher is the higher of the two.
func (c Complexity) Higher(o Complexity) Complexity {
	if o.rank() > c.rank() {
		return o
	}
	return c
}

// Highest reports whether no complexity is above c.
func (c Complexity) Highest() bool { return c == highest }

// AssessComplexity is the complexity of the plan as it is: that of its tasks or the one that it was given, whichever is
// higher. Every task counts that makes a deliverable, also an abandoned one: a plan never becomes simpler than it was.
func (p *Plan) AssessComplexity() Complexity {
	return p.Complexity.Higher(p.countedComplexity())
}

func (p *Plan) countedComplexity() Complexity {
	n, below := 0, false
	for _, t := range p.Tasks {
		if t.NodeType == Action && !t.Planning() {
			n++
			below = below || t.ParentTaskID != p.RootTaskID && t.ParentTaskID != ""
		}
	}
	switch {
	case n > 15:
		return highest
	case n >= 5 || below:
		return medium
	}
	return simple
}

// keepComplexity gives the plan that takes the place of base at least the complexity that base had. It is written down
// only where it does not follow from the tasks.
func (p *Plan) keepComplexity(base *Plan) {
	floor := base.Complexity
	if len(base.Grafts) > 0 { // before, base has none of the tasks
		floor = base.AssessComplexity()
	}
	if p.Complexity = p.Complexity.Higher(floor); p.Complexity.rank() <= p.countedComplexity().rank() {
		p.Complexity = ""
	}
}
