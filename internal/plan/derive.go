package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/plain"
)

// Status is where a task stands. It is derived, never stored.
type Status string

// The statuses (docs/format.md has the table that says which holds when).
const (
	StatusPending         Status = "PENDING"
	StatusReady           Status = "READY"
	StatusInProgress      Status = "IN_PROGRESS"
	StatusReadyToCheck    Status = "READY_TO_CHECK"
	StatusToBeModified    Status = "TO_BE_MODIFY"
	StatusDone            Status = "DONE"
	StatusAbandoned       Status = "ABANDONED"
	StatusDoneElsewhere   Status = "DONE_ELSEWHERE" // in another plan, or before an import
	StatusWaitingInput    Status = "BLOCKED(WAITING_INPUT)"
	StatusWaitingExternal Status = "BLOCKED(WAITING_EXTERNAL)"
)

// String is the status as people read it. Records and JSON have the format's own name.
func (s Status) String() string {
	switch s {
	case StatusInProgress:
		return "in progress"
	case StatusReadyToCheck:
		return "awaiting review"
	case StatusToBeModified:
		return "to be made again"
	case StatusWaitingInput:
		return "waiting for input"
	case StatusWaitingExternal:
		return "blocked"
	case StatusDoneElsewhere:
		return "done elsewhere"
	}
	return strings.ToLower(string(s))
}

// Gone reports whether the task is no part of the plan's work: it was abandoned, or done elsewhere. Then it holds
// nothing back, and is no input.
func (s Status) Gone() bool { return s == StatusAbandoned || s == StatusDoneElsewhere }

// open reports whether the tasks that depend on one of the status wait for it.
func (s Status) open() bool { return s != StatusDone && !s.Gone() }

// blocked reports whether the task waits for somebody outside the engine.
func (s Status) blocked() bool {
	return s == StatusWaitingInput || s == StatusWaitingExternal
}

// State is a plan with what follows from its records.
type State struct {
	Plan    *Plan
	Records Records
	Tasks   map[TaskID]*TaskState
	Repeats map[TaskID]int // by the GOAL whose parts are rounds: how many it may have; nil unless it is Repeating

	order  []*TaskState      // in plan order
	shape  *shape            // shared with the states of the same plan
	below  map[TaskID]leaves // each GOAL
	over   [][]int           // by a leaf's place in the plan, those of the GOALs that count it
	splits map[TaskID]TaskID // by the leaf, the open task that splits it

	followers [][]int // by a task's place, those of the tasks whose newest version was made from one of its versions

	fills    map[TaskID]fills    // by the GOAL
	judging  map[TaskID][]TaskID // by the judge, whom it judges
	judgedBy map[TaskID][]TaskID // by the task, its judges
	claims   Claims              // that have not expired
}

// TaskState is one task and where it stands.
type TaskState struct {
	*Task
	Status   Status
	Active   int     // newest version (active_artifact_id), zero if none
	Approved int     // newest approved version (approved_artifact_id), zero if none
	Verdict  Verdict // of the newest version; "" while it awaits review
	Attempts int     // attempts without a result since the last reset; of a CHECK, its own on the newest version
	Lost     int     // attempts in a row whose worker did not come back, up to now
	Rejected int     // rejected rounds since the last reset

	waits   bool        // other tasks hold it back
	holder  TaskID      // whose order it waits for, "" for none
	order   orderRecord // that is open,
	ordered bool        // if there is one
	stuck   bool        // it goes on by an order or a person alone
	behind  bool        // it is blocked, or waits for one that is
	open    []TaskID    // of a task that decides: what it waits for
	reason  string      // of its own, for people: State.Reason adds the tasks that hold it back
	tally   tally       // of a GOAL
	place   int         // in the plan
}

// Waits reports whether other tasks hold the task back. State.WaitsFor names them.
func (t *TaskState) Waits() bool { return t.waits }

// Behind reports whether the task is blocked, or waits for one that is.
func (t *TaskState) Behind() bool { return t.behind }

// tally counts the leaves of a GOAL by where they stand.
type tally struct{ leaves, done, blocked, begun int }

func (n *tally) count(leaf *TaskState, by int) {
	if leaf.Status == StatusDone {
		n.done += by
	}
	if leaf.Status.blocked() {
		n.blocked += by
	}
	if leaf.Active > 0 || leaf.Attempts > 0 || leaf.Lost > 0 || leaf.Status == StatusInProgress {
		n.begun += by
	}
}

func (n tally) open() bool { return n.done < n.leaves }

// Derive computes the state of a plan from its records, the claims on its tasks, and the time at which claims are
// judged. Same input, same output.
func Derive(p *Plan, r Records, claims Claims, now time.Time) *State {
	s := &State{
		Plan: p, Records: r, Tasks: make(map[TaskID]*TaskState, len(p.Tasks)), order: make([]*TaskState, len(p.Tasks)),
		shape: shapeOf(p), below: map[TaskID]leaves{}, splits: map[TaskID]TaskID{}, over: make([][]int, len(p.Tasks)),
		followers: make([][]int, len(p.Tasks)), fills: map[TaskID]fills{}, claims: unexpired(claims, now),
	}
	states := make([]TaskState, len(p.Tasks))
	for i, t := range p.Tasks {
		states[i].Task, states[i].place = t, i
		s.order[i], s.Tasks[t.TaskID] = &states[i], &states[i]
		if t.SplitTargetTaskID != "" && !s.shape.grafted[t.TaskID] && !r.Of(t.TaskID).Abandoned() {
			s.splits[t.SplitTargetTaskID] = t.TaskID
		}
	}
	// What a task has to show comes first: dependants look at it.
	for _, t := range s.order {
		if t.NodeType == Action {
			s.deriveAction(t)
		}
	}
	for _, t := range s.order {
		if t.NodeType == Goal {
			s.collectLeaves(t)
		}
	}
	for _, id := range s.shape.planning {
		if t := s.Tasks[id]; t.FillTargetTaskID != "" {
			s.noteFill(t.Task)
		}
	}
	for _, t := range s.order {
		s.addFollower(t, func(list []int, place int) []int { return append(list, place) })
	}
	s.demoteUndone(s.order)
	s.deriveWaiting()
	for _, t := range s.order {
		switch t.NodeType {
		case Check:
			s.deriveCheck(t)
		case Goal:
			for _, i := range s.below[t.TaskID].at {
				t.tally.count(s.order[i], 1)
			}
			s.deriveGoal(t)
		}
	}
	return s
}

// collectLeaves notes the leaves of a GOAL.
func (s *State) collectLeaves(goal *TaskState) {
	list := leaves{ids: s.leaves(goal.TaskID, false, nil, map[TaskID]bool{})}
	list.at = make([]int, len(list.ids))
	for n, id := range list.ids {
		at := s.Tasks[id].place
		list.at[n], s.over[at] = at, append(s.over[at], goal.place)
	}
	goal.tally.leaves = len(list.ids)
	s.below[goal.TaskID] = list
}

// unexpired leaves out the claims that have expired.
func unexpired(claims Claims, now time.Time) Claims {
	var live Claims
	for id, c := range claims {
		if now.Before(c.Expires) {
			if live == nil {
				live = Claims{}
			}
			live[id] = c
		}
	}
	return live
}

// countVersions fills in the pointers and counters that need nothing but the task's own records.
func (s *State) countVersions(t *TaskState) {
	r := s.Records.Of(t.TaskID)
	reset := r.Reset()
	decides := t.Decides != nil // then what was rejected before its last act is of the past
	t.Active = r.Active()
	for _, a := range r.Artifacts {
		v, newest := s.verdict(t.TaskID, r, a.Version)
		switch v {
		case Approved:
			t.Approved = a.Version
		case Rejected:
			if newest > reset.Review && !(decides && a.Version <= newestOf(r.Acts).Version) && !r.Overtaken(a.Version) {
				t.Rejected++
			}
		}
		if a.Version == t.Active {
			t.Verdict = v
		}
	}
	t.Attempts, t.Lost = r.countAttempts(0)
}

// countAttempts counts the attempts since the last reset: those that ended without a result, and those lost in a
// row since then. A worker that was killed says little about its task, so lost attempts have a limit of their own,
// and one that ended in any way starts their count anew. The attempts are those of the task, or of its CHECK on a
// version.
func (r *TaskRecords) countAttempts(version int) (ended, lost int) {
	past := r.Reset().Attempt
	if version == 0 {
		past = max(past, newestOf(r.Acts).Attempt)
	}
	for _, a := range r.Attempts {
		switch {
		case a.Version != version || a.N <= past:
		case a.Kind == AttemptLost:
			lost++
		case a.Kind == AttemptNeedsInput && version == 0:
			// Who asks has not failed: the answers bound such attempts, a person's or those that roles may give.
			lost = 0
		default:
			ended, lost = ended+1, 0
		}
	}
	return ended, lost
}

// Quorum is how many reviewers must approve a version of the task.
func (s *State) Quorum(id TaskID) int {
	if c := s.CheckOf(id); c != nil && c.Quorum > 0 {
		return c.Quorum
	}
	return s.shape.limits.Quorum
}

// deriveAction walks the table of docs/format.md: the first row that holds gives the status. PENDING and READY are told
// apart in deriveWait, once the status of what it depends on is known.
func (s *State) deriveAction(t *TaskState) {
	s.countVersions(t)
	r := s.Records.Of(t.TaskID)
	limit := s.shape.limits.MaxAttempts
	switch c, isClaimed := s.claims[t.TaskID]; {
	case r.Abandoned():
		if t.Status = StatusAbandoned; r.dropped() {
			t.reason = "dropped: no round was left"
		}
	case t.DoneElsewhere != "":
		t.Status, t.reason = StatusDoneElsewhere, "was "+plain.Quote(t.DoneElsewhere)+" where the plan is from"
	case r.closed():
		t.Status, t.reason = StatusDoneElsewhere, "another plan has done it"
	case isClaimed:
		t.Status, t.reason = StatusInProgress, "in work: "+c.Agent
	case s.missingInput(t.Task, r) != "":
		t.Status, t.reason = StatusWaitingInput, s.missingInput(t.Task, r)
	case t.Attempts >= limit:
		t.Status, t.reason = StatusWaitingExternal, plain.Count(t.Attempts, "attempt")+" without a result"
	case t.Lost >= s.shape.limits.MaxLost:
		t.Status, t.reason = StatusWaitingExternal, lostReason(t.Lost)
	case t.Rejected >= s.maxRounds(t.TaskID):
		t.Status, t.reason = StatusWaitingExternal, s.exhausted(t)
	case t.Active > 0 && t.Verdict == "":
		t.Status, t.reason = StatusReadyToCheck, VersionID(t.Active)+" awaits review"
	case t.Verdict == Rejected:
		t.Status, t.reason = StatusToBeModified, VersionID(t.Active)+" was rejected"
		if r.Overtaken(t.Active) && t.redoable() {
			t.reason = VersionID(t.Active) + " is to be made again"
		}
	case t.Verdict == Approved && r.NeedsNewBase():
		t.Status, t.reason = StatusToBeModified, "run moves it onto the branch"
	case t.Verdict == Approved:
		t.Status = StatusDone
	default:
		t.Status = StatusPending
	}
}

// missingInput says which answer or file the task waits for, "" for none. What was handed in for a task above it,
// before that was split, counts for it too.
func (s *State) missingInput(t *Task, r *TaskRecords) string {
	if open := r.OpenQuestions(); len(open) > 0 {
		return fmt.Sprintf("question q%d is not answered", open[0])
	}
	if lacks := s.Lacking(t); len(lacks) > 0 {
		return lacks[0].Lack(s.HandedIn(t, lacks[0].Name))
	}
	return ""
}

// Lacking are the requirements of a task that too few files were handed in for.
func (s *State) Lacking(t *Task) []Requirement {
	return slices.DeleteFunc(slices.Clone(t.Requires), func(r Requirement) bool {
		return s.HandedIn(t, r.Name) >= max(r.Count, 1)
	})
}

// HandedIn is the number of files that were handed in under a name for the task or for a GOAL above it.
func (s *State) HandedIn(t *Task, name string) int {
	n := 0
	for _, id := range s.Lineage(t) {
		n += s.Records.Of(id).Inputs[EscapeName(name)]
	}
	return n
}

// Lineage is the task and the GOALs above it.
func (s *State) Lineage(t *Task) []TaskID {
	ids := []TaskID{t.TaskID}
	for above := s.Tasks[t.ParentTaskID]; above != nil && len(ids) <= MaxDepth; above = s.Tasks[above.ParentTaskID] {
		ids = append(ids, above.TaskID)
	}
	return ids
}

func (s *State) deriveCheck(t *TaskState) {
	target := s.Tasks[t.ReviewTargetTaskID]
	if target == nil {
		t.Status, t.reason = StatusPending, "its target "+string(t.ReviewTargetTaskID)+" is missing"
		return
	}
	r := s.Records.Of(target.TaskID)
	if target.Active > 0 {
		t.Attempts, t.Lost = r.countAttempts(target.Active)
	}
	t.Active, t.Approved, t.Verdict = target.Active, target.Approved, target.Verdict
	switch c, isClaimed := s.claims[t.TaskID]; {
	case target.Status.Gone():
		t.Status = target.Status
	case isClaimed:
		t.Status, t.reason = StatusInProgress, "in work: "+c.Agent
	case target.Active > 0 && target.Verdict != "":
		t.Status = StatusDone
	case target.Status != StatusReadyToCheck:
		t.Status, t.waits = StatusPending, true
	case t.Attempts >= s.shape.limits.MaxAttempts:
		t.Status, t.reason = StatusWaitingExternal,
			fmt.Sprintf("%s to review %s failed", plain.Count(t.Attempts, "attempt"),
				VersionID(target.Active))
	case t.Lost >= s.shape.limits.MaxLost:
		t.Status, t.reason = StatusWaitingExternal, lostReason(t.Lost)
	default:
		t.Status = StatusReady
	}
}

func lostReason(n int) string { return plain.Count(n, "worker") + " in a row did not come back" }

// deriveGoal derives a GOAL from its leaves. One that is assembled is not done before its assembling task is.
func (s *State) deriveGoal(t *TaskState) {
	if s.Records.Of(t.TaskID).Abandoned() {
		t.Status = StatusAbandoned
		return
	}
	fill := s.fillOf(t.TaskID)
	isDone := (t.tally.leaves > 0 || s.filled(t.TaskID)) && !t.tally.open() && fill == ""
	if f := t.FinalDeliverableSpec; f != nil && f.Mode == Assemble {
		last := s.Tasks[f.AssembleTaskID]
		isDone = isDone && last != nil && last.Status == StatusDone
	}
	switch {
	case isDone:
		if t.Status = StatusDone; t.tally.leaves == 0 {
			t.reason = "without a task"
		}
		return
	case t.tally.leaves == 0 && fill == "" && s.shape.elsewhere[t.TaskID]:
		t.Status = StatusDoneElsewhere
		return
	case t.tally.leaves == 0:
		t.Status, t.reason = StatusPending, "no task below it yet"
		if fill != "" {
			t.reason, t.waits = "filled by "+string(fill), true
		}
		return
	case t.tally.begun > 0:
		t.Status = StatusInProgress
	default:
		t.Status = StatusPending
	}
	t.waits = t.tally.open() || fill != ""
	t.reason = fmt.Sprintf("%d of %d done", t.tally.done, t.tally.leaves)
	if fill != "" {
		t.reason += ", more to come from " + string(fill)
	}
	if t.tally.blocked > 0 {
		t.reason += fmt.Sprintf(", %d blocked", t.tally.blocked)
	}
}

// derivePending makes a PENDING ACTION READY if nothing holds it back. It looks at rejected ones, too:
// they are made again only while their inputs are approved.
func (s *State) derivePending(t *TaskState) {
	if t.NodeType != Action || t.Status != StatusPending && t.Status != StatusToBeModified {
		return
	}
	_, t.waits = s.splits[t.TaskID]
	t.waits = t.waits || slices.ContainsFunc(t.DependsOn, s.holdsBack)
	if t.Status == StatusPending && !t.waits {
		t.Status = StatusReady
	}
}

// holdsBack reports whether a task that depends on this one has to wait: for a GOAL, until all of its leaves are DONE.
func (s *State) holdsBack(id TaskID) bool {
	t := s.Tasks[id]
	if t != nil && t.NodeType == Goal {
		return t.tally.open() || s.fillOf(id) != ""
	}
	return t == nil || t.Status.open()
}

// WaitsFor lists the tasks that hold a task back: of an ACTION the open ones among its dependencies, as the plan names
// them, and the task that splits it; of a CHECK its target; of a GOAL its open leaves. It is derived on demand, because
// thousands of tasks may wait for the same thousands.
func (s *State) WaitsFor(t *TaskState) []TaskID {
	if !t.waits {
		return nil
	}
	var ids []TaskID
	switch t.NodeType {
	case Check:
		ids = append(ids, t.ReviewTargetTaskID)
	case Goal:
		for _, i := range s.below[t.TaskID].at {
			if s.order[i].Status != StatusDone {
				ids = append(ids, s.order[i].TaskID)
			}
		}
		ids = append(ids, s.fills[t.TaskID].open...)
	case Action:
		if by, ok := s.splits[t.TaskID]; ok {
			ids = append(ids, by)
		}
		if t.holder != "" {
			ids = append(ids, t.holder)
		}
		ids = append(ids, t.open...)
		for _, d := range t.DependsOn {
			if s.holdsBack(d) {
				ids = append(ids, d)
			}
		}
	}
	return ids
}

// Reason says for people why a task is not DONE; "" when nothing needs saying.
func (s *State) Reason(t *TaskState) string {
	switch {
	case t.Status == StatusReady && t.reason == "":
		return s.Crowded(t.TaskID, s.claims)
	case t.Status == StatusWaitingExternal && s.exhaustedTo(t, onExhaustedDrop):
		if needs := s.neededFor(t, s.dropsWith(t), true); len(needs) > 0 {
			return t.reason + ", and can't be dropped: " + strings.Join(needs, "; ")
		}
		return t.reason + ", git wf run drops it"
	case !t.waits || t.NodeType == Goal:
		return t.reason
	case t.NodeType == Check:
		return "waits for a version of " + string(t.ReviewTargetTaskID)
	case t.holder != "":
		return strings.TrimPrefix(t.reason+", waits for an order of "+string(t.holder), ", ")
	case t.reason != "":
		return t.reason + ", waits for " + JoinIDs(s.WaitsFor(t))
	}
	return "waits for " + JoinIDs(s.WaitsFor(t))
}

// JoinIDs lists ids for people: the first five, and how many more there are.
func JoinIDs(ids []TaskID) string {
	return strings.Join(plain.Some(ids, 5, func(id TaskID) string { return string(id) }), ", ")
}

// Windows are the GOALs above an ACTION, or a CHECK's, that say how many tasks below them may be in work at once. What
// is done, and tasks that make plans, are in none.
func (s *State) Windows(id TaskID) (goals []*TaskState) {
	if t := s.Subject(id); t != nil && !t.Planning() && t.Status != StatusDone {
		for _, above := range s.Lineage(t.Task) {
			if goal := s.Tasks[above]; goal.Jobs > 0 {
				goals = append(goals, goal)
			}
		}
	}
	return goals
}

// Crowded says which window keeps an ACTION, or a CHECK's, from being worked on beside those under claims; "" if none
// does. Persons who review take no place.
func (s *State) Crowded(id TaskID, claims Claims) string {
	for _, goal := range s.Windows(id) {
		busy := map[TaskID]bool{}
		for on, c := range claims {
			if c.Agent != ReviewerPerson && slices.Contains(s.Windows(on), goal) {
				busy[s.Subject(on).TaskID] = true
			}
		}
		delete(busy, s.Subject(id).TaskID)
		if len(busy) >= goal.Jobs {
			return fmt.Sprintf("waits for a place below %s, where %d of %d are in work: %s", goal.TaskID, len(busy),
				goal.Jobs, JoinIDs(slices.Sorted(maps.Keys(busy))))
		}
	}
	return ""
}

// CheckOf returns the CHECK bound to an ACTION, nil if there is none.
func (s *State) CheckOf(action TaskID) *TaskState {
	if id, ok := s.shape.checks[action]; ok {
		return s.Tasks[id]
	}
	return nil
}

// Subject is the task that another one is about: of a CHECK its target, else itself; nil if there is no such task.
func (s *State) Subject(id TaskID) *TaskState {
	t := s.Tasks[id]
	if t == nil || t.NodeType != Check || s.Tasks[t.ReviewTargetTaskID] == nil {
		return t
	}
	return s.Tasks[t.ReviewTargetTaskID]
}

// Root returns the root GOAL. A plan of a foreign ref may lack it: then it is pending, and has nothing in it.
func (s *State) Root() *TaskState {
	if root := s.Tasks[s.Plan.RootTaskID]; root != nil {
		return root
	}
	return &TaskState{Task: &Task{TaskID: s.Plan.RootTaskID, NodeType: Goal}, Status: StatusPending}
}

// Children returns the tasks directly below id, CHECKs apart, in plan order.
func (s *State) Children(id TaskID) []TaskID { return s.shape.children[id] }

// Leaves returns the ACTIONs at or below id that make deliverables, in plan order, without abandoned
// ones and planning tasks.
func (s *State) Leaves(id TaskID) []TaskID {
	if list, ok := s.below[id]; ok {
		return slices.Clip(list.ids)
	}
	return s.leaves(id, false, nil, map[TaskID]bool{})
}

// leaves visits each GOAL once: in a plan that nobody has validated, parents may form a cycle. With gone it finds the
// abandoned ones, too.
func (s *State) leaves(id TaskID, gone bool, found []TaskID, seen map[TaskID]bool) []TaskID {
	t := s.Tasks[id]
	switch {
	case t == nil:
		return found
	case t.NodeType == Action && (t.Planning() || t.Status.Gone() && !gone):
		return found
	case t.NodeType == Action:
		return append(found, id)
	case seen[id]:
		return found
	}
	seen[id] = true
	for _, c := range s.shape.children[id] {
		found = s.leaves(c, gone, found, seen)
	}
	return found
}

// Inputs returns the ACTIONs whose approved versions the task gets: its dependencies, a GOAL standing for all of its
// leaves. Those that only come first are none.
func (s *State) Inputs(id TaskID) []TaskID {
	t := s.Tasks[id]
	if len(t.OrderOnly) == 0 {
		return s.resolveGoals(t.DependsOn)
	}
	return s.resolveGoals(slices.DeleteFunc(slices.Clone(t.DependsOn), func(d TaskID) bool {
		return slices.Contains(t.OrderOnly, d)
	}))
}

// resolveGoals replaces each GOAL of a list by its leaves.
func (s *State) resolveGoals(list []TaskID) []TaskID {
	var inputs []TaskID
	seen := map[TaskID]bool{}
	for _, d := range list {
		leaves := []TaskID{d}
		switch dep := s.Tasks[d]; {
		case dep == nil:
			continue // in a plan that no rule has checked
		case dep.NodeType != Goal && dep.Status.Gone(): // it has made nothing that counts here
			continue
		case dep.NodeType == Goal:
			leaves = s.Leaves(d)
		}
		for _, l := range leaves {
			if !seen[l] {
				seen[l] = true
				inputs = append(inputs, l)
			}
		}
	}
	return inputs
}

// Changes returns the tasks that change the repository, in the order in which their changes are
// applied: each after those that it builds on, otherwise in plan order. With arguments it returns only
// these tasks and those that they build on.
func (s *State) Changes(of ...TaskID) []TaskID {
	var list []TaskID
	visited := map[TaskID]bool{}
	var visit func(id TaskID, found func(TaskID))
	visit = func(id TaskID, found func(TaskID)) {
		if visited[id] || s.Tasks[id] == nil {
			return
		}
		visited[id] = true
		var inputs []TaskID // through what is abandoned to what that builds on
		seen := map[TaskID]bool{}
		for _, d := range s.Tasks[id].DependsOn {
			inputs = s.leaves(d, true, inputs, seen)
		}
		slices.SortFunc(inputs, func(a, b TaskID) int { return s.Place(a) - s.Place(b) })
		for _, in := range inputs {
			visit(in, found)
		}
		found(id)
	}
	for _, id := range of {
		visit(id, func(TaskID) {})
	}
	wanted := visited
	visited = map[TaskID]bool{}
	for _, t := range s.Plan.Tasks {
		visit(t.TaskID, func(id TaskID) {
			t, among := s.Tasks[id], wanted[id] && s.Tasks[id].Status != StatusAbandoned
			if t.NodeType == Action && t.Changes() && (len(of) == 0 || among) {
				list = append(list, id)
			}
		})
	}
	return list
}

// Place is where a task is in the plan, -1 if it is in none.
func (s *State) Place(id TaskID) int {
	if t := s.Tasks[id]; t != nil {
		return t.place
	}
	return -1
}

// Dependents returns the ACTIONs that build on a task, in plan order: those that depend on it, or on a GOAL above it.
func (s *State) Dependents(id TaskID) []TaskID {
	t := s.Tasks[id]
	if t == nil {
		return nil
	}
	var users []TaskID
	for _, above := range s.Lineage(t.Task) {
		switch direct := s.shape.dependants[above]; {
		case len(users) == 0:
			users = slices.Clip(direct) // thousands of leaves may share them
		case len(direct) > 0:
			users = append(users, direct...)
			slices.SortFunc(users, func(a, b TaskID) int { return s.Tasks[a].place - s.Tasks[b].place })
			users = slices.Compact(users)
		}
	}
	return users
}

// Ready returns the ACTIONs that can be worked on now and the CHECKs that can be run now, in plan order.
func (s *State) Ready() []*TaskState {
	return each.If(s.order, func(t *TaskState) bool {
		return t.Status == StatusReady || t.Status == StatusToBeModified && !t.waits
	})
}

// Planning reports whether the task makes a plan rather than something to export. Its id says so too: such ids belong
// to the program, and no format that somebody writes down turns another task into one whose deliverable replaces the
// plan.
//
//go:noinline // in all of its calls it weighs 45 KB
func (t *Task) Planning() bool {
	return t.TaskID.Reserved() && t.DeliverableSpec != nil && t.DeliverableSpec.Format == FormatPlan
}

// VersionVerdict is the verdict of one version of a task, "" while it awaits review.
func (s *State) VersionVerdict(id TaskID, artifactID string) Verdict {
	v, _ := s.verdict(id, s.Records.Of(id), VersionNumber(artifactID))
	return v
}
