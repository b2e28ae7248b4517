package plan

import "slices"

// oracle says the statuses of a plan of version 2 by the words of docs/format.md, section 8, and not by the code: each
// row is a question about a task, asked in the order of the table.
type oracle struct {
	plan   *Plan
	rec    Records
	claims Claims // that hold
	known  map[TaskID]Status
	tasks  map[TaskID]*Task
	checks map[TaskID]*Task
	limits Config
}

func newOracle(p *Plan, r Records, claims Claims) *oracle {
	o := &oracle{plan: p, rec: r, claims: claims, known: map[TaskID]Status{}, tasks: map[TaskID]*Task{},
		checks: map[TaskID]*Task{}, limits: p.Limits()}
	for _, t := range p.Tasks {
		o.tasks[t.TaskID] = t
		if t.NodeType == Check {
			o.checks[t.ReviewTargetTaskID] = t
		}
	}
	return o
}

func (o *oracle) task(id TaskID) *Task { return o.tasks[id] }

func (o *oracle) check(id TaskID) *Task { return o.checks[id] }

func (o *oracle) isJudge(reviewer string) bool {
	t := o.task(TaskID(reviewer))
	return t != nil && t.Judges != nil
}

// verdict of a version: of each reviewer the newest counts; who judges other tasks can only reject; what is accepted
// because its rounds are used up is approved, until somebody else rejects it after that.
func (o *oracle) verdict(id TaskID, version int) Verdict {
	newest := map[string]Verdict{}
	accepted := false
	for _, r := range o.rec.Of(id).Reviews {
		switch {
		case r.Version != version:
		case r.Reviewer == reviewerAccepted:
			accepted, newest = true, map[string]Verdict{}
		case accepted && o.isJudge(r.Reviewer):
		default:
			newest[r.Reviewer] = r.Verdict
		}
	}
	c := o.check(id)
	if c != nil && c.Agree != nil && !accepted {
		return o.agreed(id, version, *c.Agree, newest)
	}
	approvals := 0
	for name, v := range newest {
		if v == Rejected {
			return Rejected
		}
		if !o.isJudge(name) {
			approvals++
		}
	}
	if accepted || approvals >= max(1, c.Quorum) {
		return Approved
	}
	return ""
}

// agreed is the verdict of seats: "person" is that of the first who has none.
func (o *oracle) agreed(id TaskID, version int, a Agree, newest map[string]Verdict) Verdict {
	score, person, seated := map[string]int{}, "", map[string]bool{}
	for _, r := range o.rec.Of(id).Reviews {
		if r.Version != version {
			continue
		}
		score[r.Reviewer] = r.Score
		own := slices.Contains(o.check(id).Reviewers, r.Reviewer)
		if !own && !o.isJudge(r.Reviewer) && r.Reviewer != reviewerOvertook && person == "" {
			person = r.Reviewer
		}
	}
	approvals, sum, open, veto := 0, 0, false, false
	for _, seat := range o.check(id).Reviewers {
		if seat == ReviewerPerson {
			seat = person
		}
		seated[seat] = true
		open = open || newest[seat] == ""
		if newest[seat] == Approved {
			approvals++
		}
		sum += score[seat]
		veto = veto || score[seat] <= a.Veto && a.Veto > 0
	}
	for name, v := range newest {
		if v == Rejected && !seated[name] {
			return Rejected
		}
	}
	switch {
	case open:
		return ""
	case veto || approvals < a.Approvals || sum < a.Mean*len(seated):
		return Rejected
	}
	return Approved
}

// missing reports whether a task lacks what has to be handed in for it.
func (o *oracle) missing(id TaskID) bool {
	return slices.ContainsFunc(o.task(id).Requires, func(q Requirement) bool {
		return o.rec.Of(id).Inputs[EscapeName(q.Name)] < max(1, q.Count)
	})
}

func (o *oracle) newest(id TaskID) int {
	v := 0
	for _, a := range o.rec.Of(id).Artifacts {
		v = max(v, a.Version)
	}
	return v
}

func (o *oracle) approved(id TaskID) int {
	for v := o.newest(id); v > 0; v-- {
		if o.verdict(id, v) == Approved {
			return v
		}
	}
	return 0
}

func (o *oracle) abandoned(id TaskID) bool {
	marks := o.rec.Of(id).Marks
	return len(marks) > 0 && marks[len(marks)-1].Kind != eventRestored
}

func (o *oracle) dropped(id TaskID) bool {
	marks := o.rec.Of(id).Marks
	return len(marks) > 0 && marks[len(marks)-1].Kind == eventDropped
}

func (o *oracle) lastAct(id TaskID) (last actRecord) {
	for _, a := range o.rec.Of(id).Acts {
		if a.Version >= last.Version {
			last = a
		}
	}
	return last
}

// usedUp reports whether attempts since the reset and the last act reach a limit; of the CHECK on a version, if that is
// not 0.
func (o *oracle) usedUp(id TaskID, version int) bool {
	r, ended, lost := o.rec.Of(id), 0, 0
	since := r.Reset().Attempt
	if version == 0 {
		since = max(since, o.lastAct(id).Attempt)
	}
	for _, a := range r.Attempts {
		if a.Version != version || a.N <= since {
			continue
		}
		lost++
		if a.Kind != AttemptLost {
			lost = 0
			if a.Kind != AttemptNeedsInput || version > 0 {
				ended++
			}
		}
	}
	return ended >= o.limits.MaxAttempts || lost >= o.limits.MaxLost
}

func (o *oracle) rejectedUp(id TaskID) bool {
	r, n := o.rec.Of(id), 0
	for _, a := range r.Artifacts {
		newer := false
		for _, v := range r.Reviews {
			if v.Version == a.Version {
				newer = v.N > r.Reset().Review
				if v.Reviewer == reviewerOvertook {
					newer = false
					break
				}
			}
		}
		past := o.task(id).Decides != nil && a.Version <= o.lastAct(id).Version
		if o.verdict(id, a.Version) == Rejected && newer && !past {
			n++
		}
	}
	limit := o.limits.MaxAttempts
	if c := o.check(id); c != nil && c.MaxRounds > 0 {
		limit = c.MaxRounds
	}
	return n >= limit
}

// below are the leaves of a GOAL, and of a task itself.
func (o *oracle) below(id TaskID) (leaves []TaskID) {
	t := o.task(id)
	if t == nil || t.NodeType == Action {
		return []TaskID{id}
	}
	for _, c := range o.plan.Tasks {
		if c.ParentTaskID == id && c.NodeType != Check && !c.Planning() && !o.abandoned(c.TaskID) {
			leaves = append(leaves, o.below(c.TaskID)...)
		}
	}
	return leaves
}

// filling are the tasks that have yet to fill a GOAL, or one below it.
func (o *oracle) filling(goal TaskID) (open []TaskID) {
	for _, t := range o.plan.Tasks {
		at := t.FillTargetTaskID
		for at != "" && at != goal {
			at = o.task(at).ParentTaskID
		}
		if t.FillTargetTaskID != "" && at == goal && !o.plan.Grafted(t.TaskID) && !o.abandoned(t.TaskID) {
			open = append(open, t.TaskID)
		}
	}
	return open
}

func (o *oracle) stale(id TaskID) bool {
	t := o.task(id)
	if t.Decides != nil || t.Fill != nil || t.Judges == nil && t.Follows != nil && !*t.Follows {
		return false
	}
	for _, l := range o.rec.Of(id).From {
		if l.Version != o.newest(id) || o.task(l.Task) == nil || o.abandoned(l.Task) && !o.dropped(l.Task) {
			continue
		}
		now := o.approved(l.Task)
		still := slices.ContainsFunc(o.rec.Of(id).Holds, func(h linkRecord) bool {
			return h.Version == l.Version && h.Task == l.Task && h.Of == now
		})
		then, _ := o.rec.Of(l.Task).Version(l.Of)
		newer, _ := o.rec.Of(l.Task).Version(now)
		still = still || t.Judges == nil && then.Files == newer.Files
		if o.status(l.Task) != StatusDone || now != l.Of && !still {
			return true
		}
	}
	return false
}

func (o *oracle) acted(id TaskID) bool {
	return slices.ContainsFunc(o.rec.Of(id).Acts, func(a actRecord) bool { return a.Version == o.newest(id) })
}

func (o *oracle) modeOf(id TaskID) string {
	for _, m := range o.rec.Of(id).Modes {
		if m.Version == o.newest(id) {
			return m.Mode
		}
	}
	return ""
}

// decider is the first task that decides, "" if there is none.
func (o *oracle) decider() TaskID {
	for _, t := range o.plan.Tasks {
		if t.NodeType == Action && t.Decides != nil && !o.abandoned(t.TaskID) {
			return t.TaskID
		}
	}
	return ""
}

// comesBefore reports whether a task depends on another, directly or not.
func (o *oracle) comesBefore(of TaskID, it TaskID) bool {
	for _, d := range o.task(of).DependsOn {
		for _, id := range append(o.below(d), o.filling(d)...) {
			if id == it || o.comesBefore(id, it) {
				return true
			}
		}
	}
	return false
}

// ordersIt reports whether the task waits for orders, whether or not it has one.
func (o *oracle) ordersIt(id TaskID) bool {
	t, by := o.task(id), o.decider()
	return by != "" && by != id && t.Role != "" && !t.Planning() && t.Decides == nil &&
		slices.Contains(o.task(by).Decides.Orders, t.Role) && !o.comesBefore(by, id)
}

func (o *oracle) held(id TaskID) bool {
	_, open := o.order(id)
	return o.ordersIt(id) && !open
}

// order is the open order of a task.
func (o *oracle) order(id TaskID) (orderRecord, bool) {
	r := o.rec.Of(id)
	if len(r.Orders) == 0 || o.abandoned(id) {
		return orderRecord{}, false
	}
	last := r.Orders[len(r.Orders)-1]
	for _, a := range r.Attempts {
		if a.Version == 0 && a.N > last.Attempts && a.Kind != AttemptLost {
			return orderRecord{}, false
		}
	}
	v := o.newest(id)
	if v > last.Versions {
		verdict := o.verdict(id, v)
		switch {
		case verdict == Approved && o.task(id).Judges != nil && !o.acted(id):
		case verdict != "", o.reviewStuck(id):
			return orderRecord{}, false
		}
	}
	_, claimed := o.claims[id]
	if o.blocked(id) || !claimed && o.waitsForStuck(id, last.Mode) {
		return orderRecord{}, false
	}
	return last, true
}

// blocked, by the rows that need nothing but the task itself.
func (o *oracle) blocked(id TaskID) bool {
	_, claimed := o.claims[id]
	return !claimed && !o.abandoned(id) && (o.missing(id) || len(o.rec.Of(id).OpenQuestions()) > 0 || o.usedUp(id, 0) || o.rejectedUp(id))
}

func (o *oracle) reviewStuck(id TaskID) bool {
	v, c := o.newest(id), o.check(id)
	if c == nil || v == 0 || o.verdict(id, v) != "" {
		return false
	}
	_, claimed := o.claims[c.TaskID]
	return !claimed && o.usedUp(id, v)
}

// holdsBack reports whether a dependency of a task is open, as far as a mode has it wait.
func (o *oracle) holdsBack(d TaskID, mode string) bool {
	return len(o.filling(d)) > 0 ||
		slices.ContainsFunc(o.below(d), func(id TaskID) bool { return o.awaited(id, mode) })
}

func (o *oracle) awaited(id TaskID, mode string) bool {
	switch {
	case o.task(id) == nil:
		return true
	case mode == modeInvestigate, mode == modePartial && o.behind(id):
		return false
	}
	return o.status(id) != StatusDone && !o.abandoned(id)
}

// behind reports whether a task is blocked, or waits for one that is.
func (o *oracle) behind(id TaskID) bool {
	s := o.status(id)
	return s.blocked() || (s == StatusPending || s == StatusToBeModified) &&
		slices.ContainsFunc(o.task(id).DependsOn, func(d TaskID) bool {
			return slices.ContainsFunc(o.below(d), func(leaf TaskID) bool {
				return o.task(leaf) != nil && o.awaited(leaf, "") && o.behind(leaf)
			})
		})
}

func (o *oracle) waits(id TaskID, mode string) bool {
	return slices.ContainsFunc(o.task(id).DependsOn, func(d TaskID) bool { return o.holdsBack(d, mode) })
}

// stuck: only an order or a person lets it go on.
func (o *oracle) stuck(id TaskID) bool {
	s := o.status(id)
	switch {
	case s == StatusAbandoned || s.blocked():
		return true
	case s == StatusReadyToCheck:
		return o.reviewStuck(id)
	case s != StatusPending && s != StatusToBeModified:
		return false
	}
	open, _ := o.order(id)
	return o.held(id) || o.waitsForStuck(id, open.Mode)
}

func (o *oracle) waitsForStuck(id TaskID, mode string) bool {
	for _, d := range o.task(id).DependsOn {
		for _, f := range o.filling(d) {
			if o.stuck(f) {
				return true
			}
		}
		for _, leaf := range o.below(d) {
			if o.awaited(leaf, mode) && (o.task(leaf) == nil || o.stuck(leaf)) {
				return true
			}
		}
	}
	return false
}

func (o *oracle) verified(id TaskID) bool {
	if o.status(id) != StatusDone {
		return false
	}
	v := o.approved(id)
	for _, j := range o.plan.Tasks {
		if j.NodeType != Action || j.Judges == nil || o.abandoned(j.TaskID) {
			continue
		}
		judges := slices.ContainsFunc(j.Judges.Tasks, func(d TaskID) bool { return slices.Contains(o.below(d), id) })
		var said Verdict
		accepted := false
		for _, r := range o.rec.Of(id).Reviews {
			if r.Version == v && r.Reviewer == string(j.TaskID) {
				said = r.Verdict
			}
			accepted = accepted || r.Version == v && r.Reviewer == reviewerAccepted
		}
		if judges && o.task(id).Judges == nil && o.task(id).Decides == nil && said != Approved && !accepted {
			return false
		}
	}
	return true
}

// ended reports whether nothing is left that keeps a deciding task from its end.
func (o *oracle) ended(by TaskID) bool {
	return !slices.ContainsFunc(o.plan.Tasks, func(t *Task) bool {
		if t.NodeType != Action || t.TaskID == by || o.abandoned(t.TaskID) {
			return false
		}
		return t.Planning() && !o.plan.Grafted(t.TaskID) || !t.Planning() && !o.verified(t.TaskID)
	})
}

// busy reports whether a deciding task waits for what it decided, or for others while it can do nothing.
func (o *oracle) busy(by TaskID) bool {
	can, others, decided, blocked := o.ended(by), false, false, false
	for _, t := range o.plan.Tasks {
		id := t.TaskID
		if t.NodeType != Action || id == by || o.abandoned(id) {
			continue
		}
		s := o.status(id)
		_, open := o.order(id)
		ordered, waits := o.ordersIt(id) && open, o.waits(id, "")
		workable := s == StatusPending || s == StatusToBeModified
		switch {
		case t.Planning():
			decided = decided || !o.plan.Grafted(id) && !(workable && waits)
		case s == StatusDone:
		case o.ordersIt(id):
			decided = decided || ordered
			can = can || !ordered && workable && !waits || len(o.rec.Of(id).OpenQuestions()) > 0 && s.blocked()
			blocked = blocked || s.blocked()
		default:
			others = others || !o.stuck(id) && !(workable && waits)
		}
	}
	return decided || !can && (others || blocked && o.lastAct(by).Kind == actAsk)
}

func (o *oracle) status(id TaskID) Status {
	if s, ok := o.known[id]; ok {
		return s
	}
	s := o.row(id)
	o.known[id] = s
	return s
}

func (o *oracle) row(id TaskID) Status {
	t, v := o.task(id), o.newest(id)
	_, claimed := o.claims[id]
	verdict := Verdict("")
	if v > 0 {
		verdict = o.verdict(id, v)
	}
	mine := verdict == Approved && t.Decides != nil
	open, _ := o.order(id)
	for _, row := range []struct {
		holds  func() bool
		status Status
	}{
		{func() bool { return o.abandoned(id) }, StatusAbandoned},
		{func() bool { return claimed }, StatusInProgress},
		{func() bool { return len(o.rec.Of(id).OpenQuestions()) > 0 || o.missing(id) }, StatusWaitingInput},
		{func() bool { return o.blocked(id) }, StatusWaitingExternal},
		{func() bool { return v > 0 && verdict == "" }, StatusReadyToCheck},
		{func() bool { return verdict == Rejected }, StatusToBeModified},
		{func() bool { return verdict == Approved && o.stale(id) }, StatusToBeModified},
		{func() bool { return verdict == Approved && (t.Judges != nil || t.Decides != nil) && !o.acted(id) }, StatusReadyToCheck},
		{func() bool { return mine && o.lastAct(id).Kind == actFinish && o.ended(id) }, StatusDone},
		{func() bool { return verdict == Approved && t.Decides == nil && (t.Judges == nil || o.modeOf(id) == "") }, StatusDone},
		{func() bool { return t.Decides != nil && (o.waits(id, "") || o.busy(id)) }, StatusPending},
		{func() bool { return t.Decides != nil && o.actsSinceReset(id) >= t.Decides.Max }, StatusWaitingExternal},
		{func() bool { return t.Decides != nil }, StatusReady},
		{func() bool { return o.held(id) }, StatusPending},
		{func() bool { return o.waits(id, open.Mode) }, StatusPending},
	} {
		if row.holds() {
			return row.status
		}
	}
	return StatusReady
}

// canWork reports whether a task that has to be modified can be.
func (o *oracle) canWork(id TaskID) bool {
	open, _ := o.order(id)
	if o.task(id).Decides != nil {
		return !o.waits(id, "") && !o.busy(id)
	}
	return !o.held(id) && !o.waits(id, open.Mode)
}

// actsSinceReset counts the acts of versions of which a review is newer than the newest reset.
func (o *oracle) actsSinceReset(id TaskID) int {
	r, newest, n := o.rec.Of(id), map[int]int{}, 0
	for _, v := range r.Reviews {
		newest[v.Version] = max(newest[v.Version], v.N)
	}
	since := 0
	for _, reset := range r.Resets {
		since = reset.Review
	}
	for _, a := range r.Acts {
		if newest[a.Version] > since {
			n++
		}
	}
	return n
}
