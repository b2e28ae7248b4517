package workflow

import (
	"math/big"
	"slices"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Bounds say how much can come of a workflow between two acts of persons. Not counted are workers that were killed and
// replies that had to be repeated because of their form.
type Bounds struct {
	Tasks int `json:"tasks"`       // ACTIONs, where every loop goes to its bound
	Usual int `json:"usual_calls"` // of agents, where nothing is rejected
	Most  int `json:"most_calls"`  // of agents, where everything is that can be
	// Decisions are what a task that decides needs there, and may make: an order for each task that waits for one, and
	// the end. Zero without such a task.
	Decisions    int `json:"decisions"`
	MaxDecisions int `json:"max_decisions"`
}

// Bounds computes the bounds for some inputs. A task has at most max_rounds versions of its own, and one more for each
// rejection of something that it depends on, directly or not, each counted once: what follows is redone once for each
// new version. Each version may take several attempts, also to have a role answer, and so may each
// review of it.
func (w *Workflow) Bounds(in *Inputs) (Bounds, error) {
	x := w.expand(in, utmost, nil)
	p := x.plan()
	if len(x.fs) > 0 {
		return Bounds{}, x.findings()
	}
	return BoundsOf(p, nil), nil
}

// Widest are the largest bounds that any combination of choices has.
func (w *Workflow) Widest() (Bounds, error) {
	var all Bounds
	choices, _ := w.Choices()
	for _, in := range choices {
		b, err := w.Bounds(in)
		if err != nil {
			return all, err
		}
		all = Bounds{max(all.Tasks, b.Tasks), max(all.Usual, b.Usual), max(all.Most, b.Most),
			max(all.Decisions, b.Decisions), max(all.MaxDecisions, b.MaxDecisions)}
	}
	return all, nil
}

// graph is a plan's ACTIONs by number.
type graph struct {
	tasks []*plan.Task
	check []*plan.Task
	leafs map[plan.TaskID][]int // of an ACTION or a GOAL
	above []*big.Int            // of each task, all that it is made from
}

func newGraph(p *plan.Plan) *graph {
	g := &graph{leafs: map[plan.TaskID][]int{}}
	tasks := p.Index()
	checks := map[plan.TaskID]*plan.Task{}
	for _, t := range p.Tasks {
		if t.NodeType == plan.Check {
			checks[t.ReviewTargetTaskID] = t
		}
	}
	for _, t := range p.Tasks {
		if t.NodeType != plan.Action {
			continue
		}
		k := len(g.tasks)
		g.tasks, g.check = append(g.tasks, t), append(g.check, checks[t.TaskID])
		for at, depth := t, 0; at != nil && depth <= plan.MaxDepth; at, depth = tasks.Task(at.ParentTaskID), depth+1 {
			g.leafs[at.TaskID] = append(g.leafs[at.TaskID], k)
		}
	}
	g.above = plandoc.Behind(len(g.tasks), func(k int) (all []int) {
		for _, d := range g.tasks[k].DependsOn {
			if !slices.Contains(g.tasks[k].OrderOnly, d) { // nothing becomes stale by it
				all = append(all, g.leafs[d]...)
			}
		}
		return all
	})
	return g
}

// BoundsOf computes the bounds of a plan. asks says which tasks agents are still to make, and to review; if it is nil,
// all that the plan does not give to somebody else. An agent's plan is also estimated, in one more call.
func BoundsOf(p *plan.Plan, asks func(*plan.Task) (makes, judges bool)) Bounds {
	g := newGraph(p)
	attempts := p.Limits().MaxAttempts
	b := Bounds{Tasks: len(g.tasks)}
	var held []string
	for _, t := range g.tasks {
		if t.Decides != nil {
			held, b.MaxDecisions = append(held, t.Decides.Orders...), b.MaxDecisions+t.Decides.Max
		}
	}
	rounds := func(k int) int {
		if c := g.check[k]; c != nil && c.MaxRounds > 0 {
			return c.MaxRounds
		}
		return attempts
	}
	for k, t := range g.tasks {
		versions, tries, usual := rounds(k), attempts, 1
		for j := range g.tasks {
			if g.above[k].Bit(j) == 0 {
				continue
			}
			if versions += rounds(j) - 1; g.check[j] != nil && g.check[j].Drops() {
				versions++ // it is made again without what was dropped
			}
		}
		switch {
		case t.Decides != nil:
			for _, o := range g.tasks {
				if slices.Contains(t.Decides.Orders, o.Role) {
					usual++ // it waits for an order
				}
			}
			b.Decisions += usual
			versions, tries = t.Decides.Max*rounds(k), attempts*(t.Decides.Max+1)
		case slices.Contains(held, t.Role):
			versions = min(versions, b.MaxDecisions)
		}
		if t.Consults != nil { // each answer is a call, and so is the attempt that asks
			b.Most += 2 * t.Consults.Max
		}
		makes, seats := t.Agent != plan.AgentExec, seatsOf(t, g.check[k])
		if asks != nil {
			does, judges := asks(t)
			if makes = does; !judges {
				seats = 0
			} else if t.Planning() {
				seats = 1 // beside the engine
			}
			if makes && t.Planning() {
				b.Usual, b.Most = b.Usual+1, b.Most+attempts
			}
		}
		if makes {
			b.Usual, b.Most = b.Usual+usual, b.Most+versions+tries
		}
		if seats > 0 {
			b.Usual, b.Most = b.Usual+usual*seats, b.Most+versions*(seats+attempts)
		}
	}
	return b
}

// seatsOf counts the agents that review a task: not the engine, which calls nobody, nor persons.
func seatsOf(t, check *plan.Task) int {
	if check == nil || len(check.Reviewers) == 0 {
		if t.Agent == plan.AgentExec && !slices.ContainsFunc(t.AcceptanceCriteria, plan.Criterion.Manual) {
			return 0 // a command made it, and commands judge it
		}
		return 1
	}
	n := 0
	for _, name := range check.Reviewers {
		switch name {
		case plan.ReviewerChecks, plan.ReviewerPerson, plan.ReviewerVerdicts, plan.ReviewerDecision:
		default:
			n++
		}
	}
	return n
}
