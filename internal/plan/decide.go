package plan

import (
	"fmt"
	"slices"
)

// What a task that decides can do, for the review of its decisions.

// Held are the tasks that a deciding task orders, in plan order.
func (s *State) Held(by TaskID) []TaskID {
	f := s.newFlow()
	var held []TaskID
	for _, t := range s.order {
		if t.NodeType == Action && t.Status != StatusAbandoned && f.holderOf(t.Task) == by {
			held = append(held, t.TaskID)
		}
	}
	return held
}

// Ordered are the tasks that a deciding task waits for, because an order of them is open.
func (s *State) Ordered(by TaskID) []TaskID {
	return slices.DeleteFunc(s.Held(by), func(id TaskID) bool { return !s.Tasks[id].ordered })
}

// IsOrdered reports whether an order of the task is open.
func (s *State) IsOrdered(id TaskID) bool {
	t := s.Tasks[id]
	return t != nil && t.ordered
}

// Unfinished lists the tasks because of which a deciding task can't end yet: neither verified nor
// abandoned.
func (s *State) Unfinished(by TaskID) []TaskID {
	f := s.newFlow()
	return f.unverified(s.Tasks[by])
}

// Orderable says why a deciding task can't order work on a task in a mode, "" if it can. The questions
// of the task that are in answered count as answered.
func (s *State) Orderable(by, id TaskID, mode string, answered []int) string {
	f, t := s.newFlow(), s.Tasks[id]
	switch {
	case t == nil || t.NodeType != Action:
		return "is no task of the plan"
	case f.holderOf(t.Task) != by:
		return fmt.Sprintf("is no task that %s orders", by)
	}
	if t.ordered {
		return "is ordered already"
	}
	open := slices.DeleteFunc(s.Records.Of(id).OpenQuestions(),
		func(n int) bool { return slices.Contains(answered, n) })
	asked := t.Status == StatusWaitingInput && len(answered) > 0 && len(open) == 0
	if t.Status != StatusPending && t.Status != StatusToBeModified && !asked {
		return fmt.Sprintf("is %s: %s", t.Status, s.Reason(t))
	}
	for _, d := range t.DependsOn {
		if f.awaits(d, mode).open {
			return "waits for " + string(d)
		}
	}
	return ""
}

// DecisionsSince counts the decisions that took effect since the last one that ordered the task, or all
// if none did.
func (s *State) DecisionsSince(by, id TaskID) int {
	last, n := newestOf(s.Records.Of(id).Orders).Decision, 0
	for _, a := range s.Records.Of(by).Acts {
		if a.Version > last {
			n++
		}
	}
	return n
}

// Settled reports whether, since a deciding task last ordered work on one task (ordered), it has asked
// the user or had a judge find out who is at fault for another (id).
func (s *State) Settled(by, ordered, id TaskID) bool {
	last := newestOf(s.Records.Of(ordered).Orders).Decision
	return slices.ContainsFunc(s.Records.Of(by).Acts, func(a actRecord) bool {
		return a.Version > last && a.Kind == actAsk
	}) ||
		slices.ContainsFunc(s.JudgesOf(id),
			func(judge TaskID) bool { return s.lookedInto(judge, modeInvestigate) > last })
}

// lookedInto is the newest decision that ordered a judge in a mode and got its verdicts; 0 for none.
func (s *State) lookedInto(judge TaskID, mode string) int {
	r := s.Records.Of(judge)
	for _, o := range slices.Backward(r.Orders) {
		if o.Mode == mode && newestOf(r.Acts).Version > o.Versions {
			return o.Decision
		}
	}
	return 0
}

// Acted are the versions of a task that took effect, oldest first.
func (s *State) Acted(id TaskID) []int {
	var versions []int
	for _, a := range s.Records.Of(id).Acts {
		versions = append(versions, a.Version)
	}
	return versions
}

// LastAct is the newest decision that took effect, 0 for none.
func (s *State) LastAct(by TaskID) int { return newestOf(s.Records.Of(by).Acts).Version }

// OrderedOf reports whether the newest decision ordered work on the task. Decisions that only had a
// judge find out who is at fault do not count.
func (s *State) OrderedOf(by, id TaskID) bool {
	last := newestOf(s.Records.Of(id).Orders)
	return last.N > 0 && !slices.ContainsFunc(s.Records.Of(by).Acts, func(a actRecord) bool {
		return a.Version > last.Decision && !s.investigates(by, a.Version)
	})
}

// investigates reports whether a decision ordered a judge to find out who is at fault.
func (s *State) investigates(by TaskID, decision int) bool {
	return slices.ContainsFunc(s.Held(by), func(id TaskID) bool {
		return slices.ContainsFunc(s.Records.Of(id).Orders, func(o orderRecord) bool {
			return o.Decision == decision && o.Mode == modeInvestigate
		})
	})
}

// OrderedBy reports whether a decision ordered work on the task.
func (s *State) OrderedBy(id TaskID, decision int) bool {
	return slices.ContainsFunc(s.Records.Of(id).Orders, func(o orderRecord) bool { return o.Decision == decision })
}

// BeforeOrder counts the versions and attempts that a task had when work on it was last ordered.
func (s *State) BeforeOrder(id TaskID) (versions, attempts int) {
	last := newestOf(s.Records.Of(id).Orders)
	return last.Versions, last.Attempts
}

// ModeAgain reports whether a judge has already judged in the mode, and no work on what it judges was
// ordered since.
func (s *State) ModeAgain(judge TaskID, mode string) bool {
	last := s.lookedInto(judge, mode)
	return last > 0 && !slices.ContainsFunc(s.Judged(judge), func(id TaskID) bool {
		return newestOf(s.Records.Of(id).Orders).Decision > last
	})
}
