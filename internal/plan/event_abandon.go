package plan

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
)

// abandonError says what a task is still needed for.
type abandonError struct {
	Task  TaskID
	Needs []string // each a reason for people, in plan order
}

func (e *abandonError) Error() string {
	list := plain.Some(e.Needs, 20, func(need string) string { return need })
	return fmt.Sprintf("%s can't be abandoned:\n  %s", e.Task, strings.Join(list, "\n  "))
}

// Exit has what to do about it.
func (e *abandonError) Exit() (int, string) {
	return fault.ExitRefused, "abandon what needs it first, or git wf plan --amend, which can change that"
}

// Abandon takes a task out of the plan, and with a GOAL everything below it that is not DONE.
// Abandoning the root gives up the whole plan.
type Abandon struct {
	Task     TaskID
	Closes   bool // another plan has done it: it is a task of a register
	Drops    bool // its rounds are used up: what has nothing else to build on goes along, the rest goes on without it
	Decision Decision
	Author   Actor
}

// Apply is refused with an *abandonError if other tasks depend on what would go, or if a root criterion
// would no longer be covered.
func (e Abandon) Apply(s *State) (Change, error) {
	t := s.Tasks[e.Task]
	switch {
	case t == nil:
		return Change{}, refuse(e.Task, "no such task in %s", s.Plan.PlanID)
	case t.NodeType == Check:
		return Change{}, &RefusedError{e.Task, "reviews " + string(t.ReviewTargetTaskID) + ", and goes with it",
			"git wf abandon " + string(t.ReviewTargetTaskID)}
	case t.Status == StatusAbandoned:
		return Change{}, refuse(e.Task, "is abandoned already")
	case e.Closes && (!s.Plan.Register || t.NodeType != Action || t.Planning() || t.Status.Gone()):
		return Change{}, refuse(e.Task, "is no open task of a register")
	case e.Closes:
		return s.markTasks(e.Task, []TaskID{e.Task}, eventClosed, fmt.Sprintf("%s: closed by %s", e.Task,
			plain.Line(e.Decision.Reason)), e.Decision, e.Author), nil
	case t.NodeType == Action && t.Planning() && s.Plan.Grafted(t.TaskID):
		return Change{}, refuse(e.Task, "has made the plan, which is part of it; amend the plan instead")
	}
	goes, kind, along := s.goesWith(t), eventAbandoned, ", with %s below it"
	if e.Drops {
		if !s.exhaustedTo(t, onExhaustedDrop) {
			return Change{}, refuse(e.Task, "has rounds left, or is not to be dropped")
		}
		goes, kind, along = s.dropsWith(t), eventDropped, ", with %s that had nothing else to build on"
	}
	if needs := s.neededFor(t, goes, e.Drops); len(needs) > 0 {
		return Change{}, &abandonError{e.Task, needs}
	}
	subject := fmt.Sprintf("%s: %s", e.Task, kind)
	if n := len(goes) - 1; n > 0 {
		subject += fmt.Sprintf(along, plain.Count(n, "task"))
	}
	return s.markTasks(e.Task, goes, kind, subject, e.Decision, e.Author), nil
}

// dropsWith lists the tasks that are dropped with a task: itself, those that have nothing left to build on, or to
// judge, the changes that nothing left builds on, and the GOALs that have nothing left below them.
func (s *State) dropsWith(t *TaskState) []TaskID {
	goes, gone := []TaskID{t.TaskID}, map[TaskID]bool{t.TaskID: true}
	allGone := func(ids []TaskID) bool {
		return len(ids) > 0 && !slices.ContainsFunc(ids, func(id TaskID) bool { return !gone[id] })
	}
	for n := 0; n < len(goes); {
		n = len(goes)
		for _, other := range s.order {
			if gone[other.TaskID] || other.Status.Gone() || other.Decides != nil || s.shape.grafted[other.TaskID] {
				continue
			}
			var of []TaskID
			switch {
			case other.NodeType == Goal && other.ParentTaskID != "" && s.fillOf(other.TaskID) == "":
				of = s.Leaves(other.TaskID)
			case other.Judges != nil:
				of = s.Judged(other.TaskID)
			case other.NodeType == Action:
				of = s.Inputs(other.TaskID)
			}
			if allGone(of) || other.Changes() && !s.drops(other.TaskID) && allGone(s.builders(other)) {
				goes, gone[other.TaskID] = append(goes, other.TaskID), true
			}
		}
	}
	return goes
}

// drops reports whether the task's own rounds decide that it is dropped.
func (s *State) drops(id TaskID) bool { return s.onExhausted(id) == onExhaustedDrop }

// builders are the tasks that depend on a change for more than an order, but for those that judge or plan. What only
// they need, such as a test of what was to be made, does not land without them.
func (s *State) builders(t *TaskState) (ids []TaskID) {
	for _, id := range s.shape.dependants[t.TaskID] {
		d := s.Tasks[id]
		if d.Judges == nil && !d.Planning() && !slices.Contains(d.OrderOnly, t.TaskID) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Dropped are the tasks that a task depends on and that were dropped.
func (s *State) Dropped(id TaskID) []TaskID {
	var all []TaskID
	seen := map[TaskID]bool{}
	for _, d := range s.Tasks[id].DependsOn {
		all = s.leaves(d, true, all, seen)
	}
	return slices.DeleteFunc(all, func(d TaskID) bool { return !s.Records.Of(d).dropped() })
}

// ToDrop are the tasks that are to be dropped, in plan order. One that something else names is for a person.
func (s *State) ToDrop() (due []*TaskState) {
	for _, t := range s.order {
		if s.DropsNext(t) {
			due = append(due, t)
		}
	}
	return due
}

// DropsNext reports whether the task is among ToDrop.
func (s *State) DropsNext(t *TaskState) bool {
	return t.Status == StatusWaitingExternal && s.exhaustedTo(t, onExhaustedDrop) &&
		len(s.neededFor(t, s.dropsWith(t), true)) == 0
}

// assumesOrder reports whether nothing but the order of another system's file says what the task depends on.
func (t *Task) assumesOrder() bool {
	list, _ := t.Meta["assumed"].([]any)
	return slices.Contains(list, any("order"))
}

// goesWith lists the tasks that are abandoned with a task: itself and, for a GOAL, the tasks below it
// that are neither DONE nor abandoned. Planning tasks that are part of the plan already stay: they are
// its history.
func (s *State) goesWith(t *TaskState) []TaskID {
	goes := []TaskID{t.TaskID}
	for _, other := range s.order {
		if other == t || other.NodeType == Check || other.Status == StatusAbandoned ||
			!slices.Contains(s.Lineage(other.Task), t.TaskID) {
			continue
		}
		if other.Status != StatusDone || other.Planning() && !s.shape.grafted[other.TaskID] {
			goes = append(goes, other.TaskID)
		}
	}
	return goes
}

// neededFor says what the tasks that would go are needed for. A plan that is given up as a whole needs nothing; who
// depends on what is dropped has something else.
func (s *State) neededFor(t *TaskState, goes []TaskID, drops bool) []string {
	if t.TaskID == s.Plan.RootTaskID {
		return nil
	}
	gone := make(map[TaskID]bool, len(goes))
	for _, id := range goes {
		gone[id] = true
	}
	stays := func(id TaskID) bool {
		other := s.Tasks[id]
		return other != nil && !gone[id] && other.Status != StatusAbandoned
	}
	waits := func(id TaskID) bool { return !drops && stays(id) && !s.Tasks[id].assumesOrder() }
	var needs []string
	for _, id := range goes {
		for _, d := range s.shape.dependants[id] {
			if waits(d) {
				needs = append(needs, fmt.Sprintf("%s depends on %s", d, id))
			}
		}
	}
	// Who depends on a GOAL depends on its leaves, and must not be left with nothing.
	for _, above := range s.Lineage(t.Task)[1:] {
		if len(s.shape.dependants[above]) == 0 || slices.ContainsFunc(s.Leaves(above), stays) ||
			s.shape.elsewhere[above] {
			continue
		}
		for _, d := range s.shape.dependants[above] {
			if waits(d) {
				needs = append(needs, fmt.Sprintf("%s depends on %s, of which nothing would be left", d, above))
			}
		}
	}
	for _, g := range s.order {
		f := g.FinalDeliverableSpec
		switch {
		case f == nil || !stays(g.TaskID):
		case gone[f.AssembleTaskID]:
			needs = append(needs, fmt.Sprintf("%s is assembled by %s", g.TaskID, f.AssembleTaskID))
		default:
			for _, id := range f.IncludeChildren {
				if gone[id] && !(drops && slices.ContainsFunc(f.IncludeChildren, stays)) {
					needs = append(needs, fmt.Sprintf("%s delivers %s "+
						"(final_deliverable_spec.include_children)", g.TaskID, id))
				}
			}
		}
	}
	return append(needs, s.uncovered(stays)...)
}

// uncovered lists the root criteria that are covered now, and would not be by the tasks that stay.
func (s *State) uncovered(stays func(TaskID) bool) []string {
	var needs []string
	for _, c := range s.Root().RootAcceptanceCriteria {
		covering := each.If(s.order, func(t *TaskState) bool {
			return t.NodeType == Action && !t.Planning() && t.Status != StatusAbandoned && t.CoversRoot(c.ID)
		})
		if len(covering) > 0 && !slices.ContainsFunc(covering, func(t *TaskState) bool { return stays(t.TaskID) }) {
			needs = append(needs, fmt.Sprintf("the root criterion %s would be covered by nothing: %s", c.ID,
				plain.Line(c.Statement)))
		}
	}
	return needs
}

// Restore takes an abandoned task back into the plan; a GOAL with every abandoned task below it.
type Restore struct {
	Task     TaskID
	Decision Decision
	Author   Actor
}

// Apply is refused for a task that is not abandoned, and if it would depend on, or be below, a task
// that stays abandoned.
func (e Restore) Apply(s *State) (Change, error) {
	t := s.Tasks[e.Task]
	if t == nil {
		return Change{}, refuse(e.Task, "no such task in %s", s.Plan.PlanID)
	}
	if t.NodeType == Check || t.Status != StatusAbandoned && !s.Records.Of(e.Task).closed() {
		return Change{}, refuse(e.Task, "is %s, not abandoned", t.Status)
	}
	back, isBack := []TaskID{t.TaskID}, map[TaskID]bool{t.TaskID: true}
	for _, other := range s.order {
		if other != t && other.NodeType != Check && other.Status == StatusAbandoned &&
			slices.Contains(s.Lineage(other.Task), t.TaskID) {
			back, isBack[other.TaskID] = append(back, other.TaskID), true
		}
	}
	for _, above := range s.Lineage(t.Task)[1:] {
		if s.Tasks[above].Status == StatusAbandoned {
			return Change{}, &RefusedError{e.Task, "stands below " + string(above) + ", which is abandoned too",
				"git wf retry " + string(above)}
		}
	}
	for _, id := range back {
		for _, d := range s.Tasks[id].DependsOn {
			if dep := s.Tasks[d]; dep != nil && dep.Status == StatusAbandoned && !isBack[d] {
				return Change{}, &RefusedError{e.Task, fmt.Sprintf("%s depends on %s, which is abandoned too", id, d),
					"git wf retry " + string(d)}
			}
		}
	}
	subject := fmt.Sprintf("%s: restored", e.Task)
	if n := len(back) - 1; n > 0 {
		subject += fmt.Sprintf(", with %s below it", plain.Count(n, "task"))
	}
	return s.markTasks(e.Task, back, eventRestored, subject, e.Decision, e.Author), nil
}

// markTasks is the change that marks tasks, all by one decision.
func (s *State) markTasks(about TaskID, ids []TaskID, kind, subject string, d Decision, author Actor) Change {
	c := Change{Subject: subject, Body: d.Reason, Trailers: trailers(kind, about), Author: author}
	for _, id := range ids {
		rec := markRecord{N: nextNumber(s.Records.Of(id).Marks), Kind: kind}
		c.Add = append(c.Add, Entry{Path: id.Dir() + "/" + rec.Path(), Data: Document(d)})
	}
	return c
}
