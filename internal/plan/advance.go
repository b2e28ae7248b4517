package plan

import (
	"maps"
	"slices"
	"time"
)

// Advance derives the state of the same plan again after the records of some tasks or the claims have
// changed. Its cost depends on what changed, not on the size of the plan; only where a task judges or
// decides, all tasks are looked at. changed names every task whose records differ from those of s. s
// does not change.
func (s *State) Advance(r Records, changed []TaskID, claims Claims, now time.Time) *State {
	if s.shape.acts {
		return Derive(s.Plan, r, claims, now)
	}
	for _, id := range changed {
		// A mark changes what is a leaf, and with that nearly everything. It is rare.
		if s.Records.Of(id).Abandoned() != r.Of(id).Abandoned() {
			return Derive(s.Plan, r, claims, now)
		}
	}
	next := &State{
		Plan: s.Plan, Records: r, Tasks: maps.Clone(s.Tasks), order: slices.Clone(s.order), shape: s.shape,
		below: s.below, over: s.over, splits: s.splits, fills: s.fills, followers: slices.Clone(s.followers),
		claims: unexpired(claims, now),
	}
	a := advance{State: next, before: s, redone: map[TaskID]*TaskState{}, touched: map[TaskID]bool{}}
	for _, id := range changed {
		a.redoTask(id)
	}
	for id := range s.claims {
		a.redoTask(id)
	}
	for id := range next.claims {
		a.redoTask(id)
	}
	a.deriveOthers()
	return next
}

// advance is a State in the making. It shares the TaskStates of the State before, and makes new ones for tasks that may
// have changed.
type advance struct {
	*State
	before  *State
	redone  map[TaskID]*TaskState
	touched map[TaskID]bool // GOALs, with all below them
}

// redoTask redoes the ACTIONs that look at the records of a task or at the claims on it.
func (a *advance) redoTask(id TaskID) {
	t := a.before.Tasks[id]
	switch {
	case t == nil:
	case t.NodeType == Action:
		a.redoAction(id)
	case t.NodeType == Check:
		a.redoTask(t.ReviewTargetTaskID)
		a.resetState(id)
	default: // what was handed in for a GOAL counts for all below it
		if a.touched[id] {
			return
		}
		a.touched[id] = true
		a.redoGoal(id)
		for _, child := range a.shape.children[id] {
			a.redoTask(child)
		}
	}
}

// resetState gives a task a new, empty state. A GOAL keeps its tally.
func (a *advance) resetState(id TaskID) *TaskState {
	was := a.Tasks[id]
	t := &TaskState{Task: was.Task, tally: was.tally, place: was.place}
	a.redone[id], a.Tasks[id], a.order[t.place] = t, t, t
	return t
}

// redoAction redoes an ACTION from its own records, and the tasks that were made from one of its
// versions: they may have become stale, or have ceased to be.
func (a *advance) redoAction(id TaskID) {
	if t := a.Tasks[id]; a.redone[id] != nil || t == nil || t.NodeType != Action {
		return
	}
	t := a.resetState(id)
	a.State.deriveAction(t)
	a.addFollower(t, func(list []int, place int) []int {
		if slices.Contains(list, place) {
			return list
		}
		return append(slices.Clip(list), place) // the State before has the list, too
	})
	for _, i := range a.followers[t.place] {
		a.redoAction(a.order[i].TaskID)
	}
}

// redoGoal redoes a GOAL, once.
func (a *advance) redoGoal(id TaskID) *TaskState {
	if t := a.redone[id]; t != nil {
		return t
	}
	return a.resetState(id)
}

// recheckDependants finds out again what the ACTIONs that depend on a task wait for. Nothing else about
// them changes.
func (a *advance) recheckDependants(id TaskID) {
	for _, d := range a.shape.dependants[id] {
		was := a.before.Tasks[d]
		if a.redone[d] != nil || was.Status != StatusPending && was.Status != StatusReady &&
			was.Status != StatusToBeModified {
			continue
		}
		*a.resetState(d) = *was
		if was.Status == StatusReady {
			a.Tasks[d].Status = StatusPending
		}
	}
}

// deriveOthers derives the states that depend on other tasks, once those are redone.
func (a *advance) deriveOthers() {
	actions := slices.DeleteFunc(slices.Collect(maps.Values(a.redone)), func(t *TaskState) bool {
		return t.NodeType != Action
	})
	a.demoteUndone(actions)
	for _, t := range actions {
		was := a.before.Tasks[t.TaskID]
		for _, i := range a.over[t.place] {
			goal := a.redoGoal(a.order[i].TaskID)
			goal.tally.count(was, -1)
			goal.tally.count(t, 1)
		}
		if (t.Status == StatusDone) != (was.Status == StatusDone) {
			a.recheckDependants(t.TaskID)
		}
	}
	for _, t := range slices.Collect(maps.Values(a.redone)) {
		if t.NodeType == Goal && t.tally.open() != a.before.Tasks[t.TaskID].tally.open() {
			a.recheckDependants(t.TaskID)
		}
	}
	for _, t := range slices.Collect(maps.Values(a.redone)) {
		if t.NodeType != Action {
			continue
		}
		a.State.derivePending(t)
		if check := a.shape.checks[t.TaskID]; check != "" {
			a.resetState(check)
		}
		for _, goal := range a.shape.assembles[t.TaskID] {
			a.redoGoal(goal)
		}
	}
	for _, t := range a.redone {
		switch t.NodeType {
		case Check:
			a.State.deriveCheck(t)
		case Goal:
			a.State.deriveGoal(t)
		}
	}
}
