package plan

import (
	"slices"

	"gitwf/internal/plain"
)

// What of an ACTION's status follows from other tasks: whether they hold it back, and whether a task that decides has
// ordered it. docs/format.md has the rows.

// flow derives the ACTIONs, each after those that it depends on, once it is settled which of these are done.
type flow struct {
	*State
	done    []bool            // by place: the task is derived, or the leaves of the GOAL are
	sums    map[ahead]awaited // of GOALs
	holder  map[string]TaskID // by role, the task whose orders its tasks wait for
	before  map[TaskID]bool   // what a deciding task depends on, directly or not: it can't wait for orders
	decides []*TaskState
}

// ahead is what a task waits for: a dependency, by the mode of its order.
type ahead struct {
	dependency TaskID
	mode       string
}

// awaited says whether a dependency holds a task back, can't go on but by an order or a person, and is behind what is
// blocked.
type awaited struct{ open, stuck, behind bool }

// newFlow knows which tasks wait for whose orders.
func (s *State) newFlow() flow {
	f := flow{State: s, done: make([]bool, len(s.order)), sums: map[ahead]awaited{}, holder: map[string]TaskID{},
		before: map[TaskID]bool{}}
	for _, t := range s.order {
		if t.NodeType == Action && t.Decides != nil && t.Status != StatusAbandoned {
			f.decides = append(f.decides, t)
			for _, role := range t.Decides.Orders {
				if f.holder[role] == "" {
					f.holder[role] = t.TaskID
				}
			}
		}
	}
	for _, t := range f.decides {
		f.noteDependencies(t.DependsOn)
	}
	return f
}

func (s *State) deriveWaiting() {
	f := s.newFlow()
	s.judging, s.judgedBy = map[TaskID][]TaskID{}, map[TaskID][]TaskID{}
	for _, t := range s.order {
		if t.NodeType == Action && t.Judges != nil && t.Status != StatusAbandoned {
			s.judging[t.TaskID] = f.judgedOf(t.Judges)
			for _, id := range s.judging[t.TaskID] {
				s.judgedBy[id] = append(s.judgedBy[id], t.TaskID)
			}
		}
	}
	for _, t := range s.order {
		if t.NodeType == Action && t.Decides == nil {
			f.visit(t)
		}
	}
	for _, t := range f.decides {
		f.visit(t)
	}
}

// noteDependencies notes what a deciding task depends on.
func (f *flow) noteDependencies(dependencies []TaskID) {
	for _, d := range dependencies {
		switch t := f.Tasks[d]; {
		case t == nil || f.before[d]:
			continue
		case t.NodeType == Goal:
			f.before[d] = true
			f.noteDependencies(f.leavesOf(d))
			f.noteDependencies(f.fills[d].open)
		default:
			f.before[d] = true
			f.noteDependencies(t.DependsOn)
		}
	}
}

// leavesOf are the ACTIONs that an id stands for.
func (f *flow) leavesOf(id TaskID) []TaskID {
	if t := f.Tasks[id]; t == nil || t.NodeType != Goal {
		return []TaskID{id}
	}
	return f.below[id].ids
}

// visit derives an ACTION after its dependencies, or those that stand below a GOAL. A plan that nobody has validated
// may go round in a circle: a task that is being visited counts as it is.
func (f *flow) visit(t *TaskState) {
	if t == nil || f.done[t.place] || t.NodeType == Check {
		return
	}
	f.done[t.place] = true
	if t.NodeType == Goal {
		f.visitBefore(f.below[t.TaskID].ids)
		f.visitBefore(f.fills[t.TaskID].open)
		return
	}
	f.visitBefore(t.DependsOn)
	if t.Decides != nil {
		clear(f.sums) // it counts in them
		if t.Status != StatusDone || f.checkApplied(t) {
			f.deriveDecider(t)
		}
		clear(f.sums)
		return
	}
	t.order, t.ordered = f.openOrder(t)
	f.deriveWait(t)
	t.stuck = f.shape.acts && f.isStuck(t)
	t.behind = f.shape.acts && (t.Status.blocked() || t.waits && slices.ContainsFunc(t.DependsOn,
		func(d TaskID) bool { return f.awaits(d, "").behind }))
}

// visitBefore visits those of a list that do not end last.
func (f *flow) visitBefore(list []TaskID) {
	for _, id := range list {
		if t := f.Tasks[id]; t != nil && t.Decides == nil {
			f.visit(t)
		}
	}
}

// hasActed reports whether a version has taken effect.
func (r *TaskRecords) hasActed(version int) bool {
	return slices.ContainsFunc(r.Acts, func(a actRecord) bool { return a.Version == version })
}

// Overtaken reports whether a version could not take effect any more when it was approved.
func (r *TaskRecords) Overtaken(version int) bool {
	return slices.ContainsFunc(r.Reviews, func(v ReviewRecord) bool {
		return v.Version == version && v.Reviewer == reviewerOvertook
	})
}

// Decided reports whether a task has used up the decisions that it may make.
func (s *State) Decided(id TaskID) bool {
	t := s.Tasks[id]
	return t != nil && t.Decides != nil && s.Records.Of(id).recentActs() >= t.Decides.Max
}

// recentActs are the acts of versions that were reviewed after the newest reset.
func (r *TaskRecords) recentActs() int {
	recent := 0
	for _, a := range r.Acts {
		if slices.ContainsFunc(r.Reviews, func(v ReviewRecord) bool {
			return v.Version == a.Version && v.N > r.Reset().Review
		}) {
			recent++
		}
	}
	return recent
}

// mode is the mode that a version was made under, "" for the usual one.
func (r *TaskRecords) mode(version int) string {
	for _, m := range r.Modes {
		if m.Version == version {
			return m.Mode
		}
	}
	return ""
}

// deriveWait finds the tasks that can be worked on, and those that other tasks hold back.
func (f *flow) deriveWait(t *TaskState) {
	if t.Status != StatusPending && t.Status != StatusToBeModified {
		return
	}
	_, split := f.splits[t.TaskID]
	if !t.ordered {
		t.holder = f.holderOf(t.Task)
	}
	t.waits = split || t.holder != "" || f.waitsForOne(t, t.order.Mode)
	if t.Status == StatusPending && !t.waits {
		t.Status = StatusReady
	}
}

// waitsForOne reports whether a dependency holds a task back.
func (f *flow) waitsForOne(t *TaskState, mode string) bool {
	return slices.ContainsFunc(t.DependsOn, func(d TaskID) bool { return f.awaits(d, mode).open })
}

// awaits says whether a dependency holds a task back. A judge with a partial or investigating order
// does not wait for the tasks that its order leaves out. The leaves of a GOAL are summed once.
func (f *flow) awaits(dependency TaskID, mode string) awaited {
	if t := f.Tasks[dependency]; t == nil || t.NodeType != Goal {
		open := f.isAwaited(dependency, mode)
		return awaited{open, open && (t == nil || t.stuck), open && t != nil && t.behind}
	}
	key := ahead{dependency, mode}
	sum, known := f.sums[key]
	if known {
		return sum
	}
	for _, id := range f.fills[dependency].open {
		sum.open, sum.stuck = true, sum.stuck || f.Tasks[id].stuck
	}
	for _, id := range f.below[dependency].ids {
		leaf := f.awaits(id, mode)
		sum = awaited{sum.open || leaf.open, sum.stuck || leaf.stuck, sum.behind || leaf.behind}
	}
	f.sums[key] = sum
	return sum
}

// isAwaited reports whether an ACTION is one that the tasks which depend on it wait for.
func (f *flow) isAwaited(id TaskID, mode string) bool {
	in := f.Tasks[id]
	switch {
	case in == nil:
		return true
	case mode == modeInvestigate:
		return false
	case mode == modePartial && in.behind:
		return false
	case in.Decides != nil && !f.done[in.place]:
		return true // it ends last
	}
	return in.Status.open()
}

// filled reports whether a workflow has filled a GOAL and every GOAL below it, even if with nothing.
func (s *State) filled(goal TaskID) bool { return s.fills[goal].ended }

// fillOf is the first open task that puts others below a GOAL, or below one that stands there; "" if there is none.
func (s *State) fillOf(goal TaskID) TaskID {
	if open := s.fills[goal].open; len(open) > 0 {
		return open[0]
	}
	return ""
}

// holderOf is the task whose orders a task waits for, "" if there is none.
func (f *flow) holderOf(t *Task) TaskID {
	if t.Role == "" || t.Decides != nil || t.Planning() {
		return ""
	}
	if by := f.holder[t.Role]; by != t.TaskID && by != "" && !f.before[t.TaskID] {
		return by
	}
	return ""
}

// openOrder is a task's newest order if it is still open. An order ends when the task has an attempt or
// a version with a verdict (a judge: when its verdicts take effect), or when the task can't be worked
// on, so that no order stays open forever.
func (f *flow) openOrder(t *TaskState) (orderRecord, bool) {
	r := f.Records.Of(t.TaskID)
	o := newestOf(r.Orders)
	if o.N == 0 || t.Status == StatusAbandoned {
		return orderRecord{}, false
	}
	for _, a := range r.Attempts {
		if a.Version == 0 && a.N > o.Attempts && a.Kind != AttemptLost {
			return orderRecord{}, false
		}
	}
	if t.Active > o.Versions {
		applies := t.Judges != nil && t.Verdict == Approved && !r.hasActed(t.Active)
		if t.Verdict != "" && !applies || f.checkStuck(t) {
			return orderRecord{}, false
		}
	}
	if t.Status.blocked() || t.Status != StatusInProgress && f.waitsForStuck(t, o.Mode) {
		return orderRecord{}, false
	}
	return o, true
}

// isStuck reports whether only an order or a person can set a task going again, or a task that it waits
// for.
func (f *flow) isStuck(t *TaskState) bool {
	switch t.Status {
	case StatusAbandoned, StatusWaitingInput, StatusWaitingExternal:
		return true
	case StatusReadyToCheck:
		return f.checkStuck(t)
	case StatusPending, StatusToBeModified:
		by := f.Tasks[f.splits[t.TaskID]]
		return t.holder != "" || by != nil && by.Status.blocked() || f.waitsForStuck(t, t.order.Mode)
	}
	return false
}

// waitsForStuck reports whether a task waits for one that is stuck.
func (f *flow) waitsForStuck(t *TaskState, mode string) bool {
	return slices.ContainsFunc(t.DependsOn, func(d TaskID) bool { return f.awaits(d, mode).stuck })
}

// checkStuck reports whether the CHECK of a task's newest version has used up its attempts.
func (f *flow) checkStuck(t *TaskState) bool {
	check := f.Tasks[f.shape.checks[t.TaskID]]
	if check == nil || t.Active == 0 || t.Verdict != "" {
		return false
	}
	_, isClaimed := f.claims[check.TaskID]
	ended, lost := f.Records.Of(t.TaskID).countAttempts(t.Active)
	return !isClaimed && (ended >= f.shape.limits.MaxAttempts || lost >= f.shape.limits.MaxLost)
}

// deriveDecider derives a task that decides: it waits while something that it has decided is open.
func (f *flow) deriveDecider(t *TaskState) {
	if t.Status != StatusDone && t.Status != StatusPending && t.Status != StatusToBeModified {
		return
	}
	r := f.Records.Of(t.TaskID)
	last := newestOf(r.Acts)
	rejected := t.Status == StatusToBeModified
	if t.Status == StatusDone && last.Kind == actFinish && len(f.unverified(t)) == 0 {
		return
	}
	if !rejected {
		t.Status, t.reason = StatusPending, ""
	}
	t.waits = f.waitsForOne(t, "")
	open := f.openWork(t)
	switch {
	case t.waits:
	case len(open) > 0:
		t.waits, t.open = true, open
	case rejected:
	case f.Decided(t.TaskID):
		t.Status, t.reason = StatusWaitingExternal, plain.Count(len(r.Acts), "decision")+" made, which is the limit"
	default:
		t.Status = StatusReady
	}
}

// openWork are the tasks that a deciding task waits for: those with an open order, tasks that change the plan, and, as
// long as nothing can be ordered, those that go on by themselves.
func (f *flow) openWork(by *TaskState) []TaskID {
	var open, others, stuck []TaskID
	can := len(f.unverified(by)) == 0
	for _, t := range f.order {
		if t.NodeType != Action || t == by || t.Status.Gone() || t.Status == StatusDone && !t.Planning() {
			continue
		}
		switch {
		case t.Planning():
			if !f.shape.grafted[t.TaskID] && !t.waits {
				open = append(open, t.TaskID)
			}
		case f.holderOf(t.Task) == by.TaskID && t.ordered:
			open = append(open, t.TaskID)
		case f.holderOf(t.Task) == by.TaskID && t.Status.blocked():
			stuck = append(stuck, t.TaskID)
			can = can || len(f.Records.Of(t.TaskID).OpenQuestions()) > 0 // it can answer
		case f.holderOf(t.Task) == by.TaskID:
			can = can || t.holder != "" && !f.waitsForOne(t, "")
		case !t.stuck && !t.waits:
			others = append(others, t.TaskID)
		}
	}
	switch {
	case len(open) > 0 || can:
		return open
	case len(others) == 0 && newestOf(f.Records.Of(by.TaskID).Acts).Kind == actAsk:
		return stuck // the user has been asked; there is nothing else to say
	}
	return others
}

// Verified reports whether a task is DONE and its approved version has an approving review of every task that
// judges it.
func (s *State) Verified(id TaskID) bool {
	t := s.Tasks[id]
	if t == nil || t.Status != StatusDone {
		return false
	}
	return s.Unjudged(id, t.Approved) == ""
}

// Unjudged is the first of the tasks that judge a task and have not approved a version of it, "" if all have.
func (s *State) Unjudged(id TaskID, version int) TaskID {
	for _, judge := range s.JudgesOf(id) {
		if s.verdictBy(id, version, judge) != Approved && !s.Accepted(id, version) {
			return judge
		}
	}
	return ""
}

// JudgesOf are the tasks that judge a task, in plan order.
func (s *State) JudgesOf(id TaskID) []TaskID { return s.judgedBy[id] }

// Judged are the ACTIONs that a task judges.
func (s *State) Judged(judge TaskID) []TaskID { return s.judging[judge] }

func (f *flow) judgedOf(j *Judges) []TaskID {
	var ids []TaskID
	seen := map[TaskID]bool{}
	for _, id := range j.Tasks {
		for _, leaf := range f.leavesOf(id) {
			in := f.Tasks[leaf]
			if in != nil && !seen[leaf] && !in.Status.Gone() && in.Judges == nil && in.Decides == nil {
				seen[leaf] = true
				ids = append(ids, leaf)
			}
		}
	}
	return ids
}

// verdictBy is the newest verdict of a judging task on a version, "" if it has none.
func (s *State) verdictBy(id TaskID, version int, judge TaskID) Verdict {
	var newest Verdict
	for _, r := range s.Records.Of(id).Reviews {
		if r.Version == version && r.Reviewer == string(judge) {
			newest = r.Verdict
		}
	}
	return newest
}

// unverified lists the tasks because of which a deciding task can't end: all others that are neither
// verified nor abandoned.
func (f *flow) unverified(by *TaskState) []TaskID {
	var open []TaskID
	for _, t := range f.order {
		isWork := t.NodeType == Action && t != by && !t.Status.Gone()
		if isWork && (t.Planning() && !f.shape.grafted[t.TaskID] || !t.Planning() && !f.Verified(t.TaskID)) {
			open = append(open, t.TaskID)
		}
	}
	return open
}

// ToApply are the tasks whose newest version is approved and has not taken effect, in plan order.
func (s *State) ToApply() []*TaskState {
	var due []*TaskState
	for _, t := range s.order {
		if t.NodeType == Action && (t.Judges != nil || t.Decides != nil) && t.Status == StatusReadyToCheck &&
			t.Verdict == Approved {
			due = append(due, t)
		}
	}
	return due
}
