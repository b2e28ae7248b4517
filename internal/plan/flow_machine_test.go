package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A team works on a random plan of version 2 through the real events: agents that are perfect, mixed or hostile, workers
// that are killed, one to eight jobs at once, persons who come in late. After each step the statuses are those of an
// oracle (flow_oracle_test.go). Once the persons are gone, the run must end within its bound: with everything done, or
// with somebody to wait for.

// flowRuns is how many plans are tried; WF_FLOW_RUNS and WF_FLOW_SEED set it, and the first of them.
const flowRuns = 300

type flowTeam struct {
	t      *testing.T
	seed   uint64
	rnd    *rand.Rand
	plan   *Plan
	tree   map[TaskID]map[string]OID
	read   map[TaskID]*TaskRecords
	claims Claims
	now    time.Time
	nextID int

	jobs    int
	faults  int // per cent of what agents do that is wrong
	crashes int // per cent of the work that is lost
	doing   []*flowWork
	said    map[flowVersion]any // what a version of a judge or of a deciding task says
	persons int                 // acts of persons that are left
	touched bool                // a person acted
	log     []string
	parts   int // tasks of a fragment
	answers int // questions that a person answers although persons are gone: what is asked then is answered first
}

type flowVersion struct {
	id TaskID
	v  int
}

// flowWork is something that an agent has begun.
type flowWork struct {
	id      TaskID // of the ACTION
	claim   TaskID // of the ACTION or its CHECK
	version int    // that is reviewed, 0 for making one
	inputs  []Input
	says    any
}

// flowVerdicts is what a version of a judge says, by task.
type flowVerdicts map[TaskID]struct {
	version int
	verdict Verdict
}

// flowDecision is what a version of a deciding task says.
type flowDecision struct {
	kind  string
	order TaskID
	mode  string
}

func (f *flowTeam) chance(percent int) bool { return f.rnd.IntN(100) < percent }

func (f *flowTeam) some(ids []TaskID) (list []TaskID) {
	for _, id := range ids {
		if f.chance(50) {
			list = append(list, id)
		}
	}
	return list
}

// newFlowTeam makes a random plan, and who carries it out.
func newFlowTeam(t *testing.T, seed uint64) *flowTeam {
	f := &flowTeam{
		t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), tree: map[TaskID]map[string]OID{},
		read: map[TaskID]*TaskRecords{}, claims: Claims{}, now: noon, said: map[flowVersion]any{},
	}
	f.jobs = []int{1, 2, 8}[f.rnd.IntN(3)]
	f.faults = []int{0, 20, 20, 60}[f.rnd.IntN(4)]
	f.crashes = []int{0, 0, 20}[f.rnd.IntN(3)]
	f.persons = []int{0, 0, 3, 12}[f.rnd.IntN(4)]
	f.answers = []int{0, 0, 5}[f.rnd.IntN(3)]
	f.plan = f.randomPlan()
	return f
}

func (f *flowTeam) randomPlan() *Plan {
	p := &Plan{PlanID: "WFS-flow", RootTaskID: "GOAL-1", SchemaVersion: 2, Config: Config{MaxAttempts: 2 + f.rnd.IntN(2),
		MaxLost: 3}, Roles: map[string]Role{"dev": {Text: "d"}, "review": {Text: "r"}}}
	p.Tasks = []*Task{{TaskID: "GOAL-1", NodeType: Goal}, {TaskID: "GOAL-2", NodeType: Goal, ParentTaskID: "GOAL-1"},
		{TaskID: "GOAL-3", NodeType: Goal, ParentTaskID: "GOAL-1"}}
	var works, all []TaskID
	for i := range 2 + f.rnd.IntN(5) {
		id := TaskID(fmt.Sprintf("IMPL-%d", i+1))
		if len(works) > 0 && f.chance(30) {
			id = TaskID(fmt.Sprintf("REVIEW-%d", i+1))
		}
		a := f.action(id, "GOAL-1", all)
		if strings.HasPrefix(string(id), "REVIEW") {
			judged := f.some(works)
			if len(judged) == 0 {
				judged = works[len(works)-1:]
			}
			a.Judges = &Judges{Tasks: judged}
			if f.chance(15) && slices.Contains(all, "GOAL-2") {
				a.Judges.Tasks = []TaskID{"GOAL-2"}
			}
			for _, j := range a.Judges.Tasks {
				if !slices.Contains(a.DependsOn, j) {
					a.DependsOn = append(a.DependsOn, j)
				}
			}
			a.OrderOnly, a.Role = nil, []string{"", "review"}[f.rnd.IntN(2)]
			a.Requires, a.DeliverableSpec = nil, &DeliverableSpec{Format: FormatVerdicts}
			if f.chance(60) {
				a.Judges.Partial = &struct {
					BlockedRounds int `json:"blocked_rounds"`
					Done          int `json:"done"`
				}{f.rnd.IntN(4), f.rnd.IntN(3)}
			}
		} else {
			works = append(works, id)
		}
		p.Tasks = append(p.Tasks, a, f.check(id))
		all = append(all, id)
		if i == 1 && f.chance(40) {
			in := f.action("IMPL-90", "GOAL-2", f.some(all))
			p.Tasks = append(p.Tasks, in, f.check("IMPL-90"))
			all, works = append(all, "GOAL-2"), append(works, "IMPL-90")
		}
		if i == 2 && f.chance(30) {
			p.Tasks = append(p.Tasks, &Task{TaskID: "PLAN-2", NodeType: Action, ParentTaskID: "GOAL-3", DependsOn: []TaskID{all[0]},
				Agent: AgentWorkflow, FillTargetTaskID: "GOAL-3", Fill: &Fill{Section: "/tasks/1"},
				DeliverableSpec: &DeliverableSpec{Format: FormatPlan}}, f.check("PLAN-2"))
			all = append(all, "GOAL-3")
			f.parts = f.rnd.IntN(3)
		}
	}
	for _, goal := range p.Tasks[:3] {
		goal.Jobs = []int{0, 0, 1, 2}[f.rnd.IntN(4)]
	}
	p.Tasks = slices.DeleteFunc(p.Tasks, func(t *Task) bool { // no GOAL is empty
		return t.NodeType == Goal && t.ParentTaskID != "" && !slices.Contains(all, t.TaskID)
	})
	if f.chance(50) {
		main := f.action("MAIN-1", "GOAL-1", nil)
		main.Requires, main.DeliverableSpec = nil, &DeliverableSpec{Format: FormatDecision}
		main.Decides, main.Role = &Decides{Orders: [][]string{{"dev", "review"}, {"dev"}, {"review"}}[f.rnd.IntN(3)],
			Max: 1 + f.rnd.IntN(12)}, ""
		if f.faults == 0 && f.crashes == 0 {
			main.Decides.Max = 200
		}
		if f.chance(30) {
			main.DependsOn = []TaskID{all[f.rnd.IntN(len(all))]}
		}
		p.Tasks = slices.Insert(p.Tasks, 1+2*f.rnd.IntN(2), main, f.check("MAIN-1"))
	}
	return p
}

// action is one that makes something, or judges.
func (f *flowTeam) action(id, parent TaskID, before []TaskID) *Task {
	a := &Task{TaskID: id, NodeType: Action, ParentTaskID: parent, DeliverableSpec: &DeliverableSpec{Filename: "a.md"},
		Role: []string{"", "dev"}[f.rnd.IntN(2)]}
	for _, d := range before {
		if f.chance(40) {
			a.DependsOn = append(a.DependsOn, d)
		}
	}
	a.OrderOnly = nil
	if f.chance(15) {
		a.OrderOnly = f.some(a.DependsOn)
	}
	if no := false; f.chance(15) {
		a.Follows = &no
	}
	if f.faults > 0 && f.chance(8) {
		a.Requires = []Requirement{{Name: "a logo", Count: 1 + f.rnd.IntN(2)}}
	}
	return a
}

func (f *flowTeam) check(id TaskID) *Task {
	c := &Task{TaskID: id.CheckID(), NodeType: Check, ReviewTargetTaskID: id, Reviewers: []string{"ann"}}
	if f.chance(50) {
		c.MaxRounds = 1 + f.rnd.IntN(3)
	}
	if f.chance(25) && !strings.HasPrefix(string(id), "REVIEW") {
		c.OnExhausted = []string{onExhaustedAccept, onExhaustedDrop}[f.rnd.IntN(2)]
	}
	switch f.rnd.IntN(6) {
	case 0: // more must approve
		c.Reviewers = []string{"ann", "bob", "cid"}
		c.Quorum = 2 + f.rnd.IntN(2)
	case 1: // seats, one of them a role
		c.Reviewers = [][]string{{"ann", "bob"}, {"ann", "review", "bob"}, {ReviewerPerson, "bob"}}[f.rnd.IntN(3)]
		c.Agree = &Agree{Approvals: 1 + f.rnd.IntN(2), Mean: []int{0, 60, 75}[f.rnd.IntN(3)], Veto: []int{0, 10}[f.rnd.IntN(2)]}
	}
	return c
}

func (f *flowTeam) oid() OID {
	f.nextID++
	return OID(fmt.Sprintf("%040x", f.nextID))
}

func (f *flowTeam) records() Records {
	for _, t := range f.plan.Tasks {
		if f.read[t.TaskID] == nil {
			var names []Name
			for _, p := range slices.Sorted(maps.Keys(f.tree[t.TaskID])) { // as git lists them
				names = append(names, Name{p, f.tree[t.TaskID][p]})
			}
			f.read[t.TaskID] = ParseTaskRecords(names)
			if foreign := f.read[t.TaskID].Foreign; len(foreign) > 0 {
				f.fail("foreign names: %v", foreign)
			}
		}
	}
	return Records{Tasks: maps.Clone(f.read)}
}

func (f *flowTeam) put(id TaskID, path string, oid OID) {
	if f.tree[id] == nil {
		f.tree[id] = map[string]OID{}
	}
	if _, taken := f.tree[id][path]; taken {
		f.fail("%s %s is written twice", id, path)
	}
	f.tree[id][path] = oid
	delete(f.read, id)
}

// state is what an event is decided on; without claims, as the store does.
func (f *flowTeam) state() *State { return Derive(f.plan, f.records(), nil, f.now) }

func (f *flowTeam) claimed() *State { return Derive(f.plan, f.records(), f.claims, f.now) }

func (f *flowTeam) apply(e Event) bool {
	c, err := Decide(dated(e), f.state())
	text := fmt.Sprintf("%T: %s", e, c.Subject)
	if err != nil {
		text = fmt.Sprintf("%T refused: %v", e, err)
	}
	f.log = append(f.log, text)
	if err != nil {
		return false
	}
	for _, a := range c.Add {
		parts := strings.SplitN(a.Path, "/", 4)
		if parts[0] != "tasks" {
			continue
		}
		oid := a.OID
		if oid == "" {
			oid = f.oid()
		}
		f.put(TaskID(parts[2]), parts[3], oid)
	}
	if c.Plan != nil {
		f.plan = c.Plan
	}
	return true
}

func (f *flowTeam) fail(format string, args ...any) {
	f.t.Helper()
	var b strings.Builder
	s := f.claimed()
	for _, t := range f.plan.Tasks {
		if t.NodeType == Check {
			continue
		}
		ts := s.Tasks[t.TaskID]
		fmt.Fprintf(&b, "\n  %s needs %v only first %v role %q", t.TaskID, t.DependsOn, t.OrderOnly, t.Role)
		if t.Judges != nil {
			fmt.Fprintf(&b, " judges %v", t.Judges.Tasks)
		}
		if t.Decides != nil {
			fmt.Fprintf(&b, " decides %+v", *t.Decides)
		}
		fmt.Fprintf(&b, ": %s v%d (v%d) %q %q", ts.Status, ts.Active, ts.Approved, ts.Verdict, s.Reason(ts))
		if c := s.CheckOf(t.TaskID); c != nil && c.Status != StatusPending && c.Status != StatusDone {
			fmt.Fprintf(&b, ", CHECK %s %s", c.Status, c.OnExhausted)
		}
	}
	f.t.Fatalf("seed %d (jobs %d, faults %d%%, crashes %d%%): "+format+"\n%s\n  %s", append([]any{f.seed, f.jobs, f.faults,
		f.crashes}, append(args, b.String(), strings.Join(f.log[max(0, len(f.log)-40):], "\n  "))...)...)
}

// compare holds the state against the oracle and the invariants.
func (f *flowTeam) compare() {
	s := f.claimed()
	o := newOracle(f.plan, s.Records, f.claims)
	for _, t := range f.plan.Tasks {
		if t.NodeType != Action {
			continue
		}
		ts, want := s.Tasks[t.TaskID], o.status(t.TaskID)
		if ts.Status != want {
			f.fail("%s is %s, by the document %s", t.TaskID, ts.Status, want)
		}
		if works := slices.Contains(s.Ready(), ts); ts.Status == StatusToBeModified && works != o.canWork(t.TaskID) {
			f.fail("%s is to be modified, and can be worked on: %v", t.TaskID, works)
		}
		if s.Verified(t.TaskID) != o.verified(t.TaskID) {
			f.fail("%s is verified: %v", t.TaskID, s.Verified(t.TaskID))
		}
		if t.Decides == nil && ts.Status == StatusDone && t.Fill == nil && len(s.Outdated(t.TaskID, ts.Approved)) > 0 {
			f.fail("%s is DONE and stale", t.TaskID)
		}
		if t.Decides != nil && ts.Status == StatusDone {
			f.finished(s, ts)
		}
		f.reviewsHold(s, ts)
		acts := s.Records.Of(t.TaskID).Acts
		for i, a := range acts {
			if i > 0 && acts[i-1].Version == a.Version {
				f.fail("%s v%d is applied twice", t.TaskID, a.Version)
			}
		}
	}
}

// finished checks that nothing is open when a deciding task is DONE.
func (f *flowTeam) finished(s *State, by *TaskState) {
	for _, t := range s.order {
		switch {
		case t.NodeType != Action || t == by || t.Status == StatusAbandoned || t.Planning() && s.shape.grafted[t.TaskID]:
		case t.Status != StatusDone || !t.Planning() && !s.Verified(t.TaskID):
			f.fail("%s is DONE, and %s is %s, verified %v", by.TaskID, t.TaskID, t.Status, s.Verified(t.TaskID))
		}
	}
}

// reviewsHold checks that a judge approves nothing that the task's own reviewer rejects.
func (f *flowTeam) reviewsHold(s *State, t *TaskState) {
	for _, a := range s.Records.Of(t.TaskID).Artifacts {
		verdict := s.VersionVerdict(t.TaskID, VersionID(a.Version))
		spoke, rejects, accepted := map[string]Verdict{}, false, false
		for _, r := range s.Records.Of(t.TaskID).Reviews {
			switch {
			case r.Version != a.Version:
			case r.Reviewer == reviewerAccepted:
				accepted = true
			case r.Reviewer != reviewerOvertook && !f.plan.Judges(r.Reviewer):
				spoke[r.Reviewer] = r.Verdict
			default:
				rejects = rejects || r.Verdict == Rejected && !f.plan.Judges(r.Reviewer)
			}
		}
		approvals, check := 0, s.CheckOf(t.TaskID)
		for _, v := range spoke {
			if v == Approved {
				approvals++
			}
		}
		least, unanimous := max(1, check.Quorum), check.Agree == nil
		if !unanimous {
			least = max(least, check.Agree.Approvals)
		}
		if verdict == Approved && !accepted && (approvals < least || unanimous && approvals < len(spoke)) {
			f.fail("%s v%d is approved, and its reviewers say %v", t.TaskID, a.Version, spoke)
		}
	}
}

// step does one thing that a run would do, and reports whether there was any.
func (f *flowTeam) step() bool {
	s := f.claimed()
	var can []func()
	for _, t := range s.order {
		if t.NodeType == Action && t.Planning() && t.Status == StatusDone && !f.plan.Grafted(t.TaskID) {
			can = append(can, func() { f.graft(t.TaskID, t.Approved) })
		}
	}
	for _, t := range s.ToApply() {
		switch {
		case t.Decides != nil:
			can = append(can, func() { f.decide(t.TaskID, t.Active) })
		case len(s.Together(t.TaskID)) > 0 && s.Together(t.TaskID)[0] == t.TaskID:
			can = append(can, func() { f.judge(s.Together(t.TaskID)) })
		}
	}
	for _, t := range s.ToAccept() {
		can = append(can, func() { f.review(t.TaskID, t.Active, reviewerAccepted, Approved) })
	}
	for _, t := range s.ToDrop() {
		can = append(can, func() { f.drop(t.TaskID) })
	}
	if len(f.doing) < f.jobs {
		for _, t := range s.Ready() {
			if why := s.Crowded(t.TaskID, f.claims); why != "" {
				if len(f.doing) == 0 {
					f.fail("%s %s, and nothing is", t.TaskID, why)
				}
				continue
			}
			can = append(can, func() { f.begin(s, t) })
			if f.jobs == 1 {
				break
			}
		}
	}
	for i := range f.doing {
		can = append(can, func() { f.end(i) })
	}
	if len(can) == 0 {
		return false
	}
	can[f.rnd.IntN(len(can))]()
	return true
}

// drop takes a task out of the plan. What was worked on stays claimed until its worker ends.
func (f *flowTeam) drop(id TaskID) {
	before := f.state()
	if !f.apply(Abandon{Task: id, Drops: true, Decision: Decision{By: AgentWorkflow, CreatedAt: f.now, Reason: "no round is left"}}) {
		f.fail("%s is not dropped", id)
	}
	s := f.state()
	for _, t := range s.order {
		if t.NodeType != Action || before.Tasks[t.TaskID].Status == t.Status || t.TaskID == id || t.Status != StatusAbandoned {
			continue
		}
		left := s.Inputs(t.TaskID)
		if t.Judges != nil {
			left = s.Judged(t.TaskID)
		}
		if len(left) > 0 {
			f.fail("%s went with %s, and has %v to build on", t.TaskID, id, left)
		}
	}
}

// begin claims a task and locks what it works from.
func (f *flowTeam) begin(s *State, t *TaskState) {
	w := &flowWork{id: t.TaskID, claim: t.TaskID}
	if t.NodeType == Check {
		w.id, w.version = t.ReviewTargetTaskID, t.Active
	} else {
		w.inputs = f.inputs(s, t.TaskID)
		w.says = f.speak(s, t)
	}
	f.claims[w.claim] = Claim{Task: w.claim, Agent: "exec", Expires: f.now.Add(time.Hour)}
	f.doing = append(f.doing, w)
	f.log = append(f.log, "begin "+string(t.TaskID))
	for _, goal := range f.plan.Tasks {
		busy := map[TaskID]bool{}
		for _, w := range f.doing {
			if s.Tasks[w.id].Status == StatusDone {
				continue // somebody else reviewed it meanwhile
			}
			for at := f.plan.Task(w.id); at != nil && !f.plan.Task(w.id).Planning(); at = f.plan.Task(at.ParentTaskID) {
				if at == goal {
					busy[w.id] = true
				}
			}
		}
		if goal.Jobs > 0 && len(busy) > goal.Jobs {
			f.fail("%d in work below %s", len(busy), goal.TaskID)
		}
	}
}

func (f *flowTeam) inputs(s *State, id TaskID) (inputs []Input) {
	for _, d := range s.Inputs(id) {
		if v, ok := s.Records.Of(d).Version(s.approvedOf(d)); ok {
			inputs = append(inputs, Input{d, VersionID(v.Version), v.Files})
		}
	}
	return inputs
}

// end records how work ends.
func (f *flowTeam) end(i int) {
	w := f.doing[i]
	f.doing = slices.Delete(f.doing, i, i+1)
	delete(f.claims, w.claim)
	attempt := AddAttempt{Attempt: Attempt{TaskID: w.claim, Agent: "exec"}, Version: w.version}
	switch {
	case f.chance(f.crashes):
		attempt.Attempt.Kind = AttemptLost
		f.apply(attempt)
	case f.chance(f.faults / 3):
		attempt.Attempt.Kind = []string{AttemptError, AttemptNoop}[f.rnd.IntN(2)]
		f.apply(attempt)
	case w.version == 0 && f.faults > 0 && f.chance(3):
		attempt.Attempt.Kind = AttemptNeedsInput
		f.apply(Ask{Attempt: attempt, Questions: []Question{{Name: "what", Question: "What?", Kind: AskText}}})
	case w.version > 0:
		v := Approved
		if f.chance(f.faults) || !f.stands(w.id, w.version) {
			v = Rejected
		}
		if by := f.next(w.id, w.version); by != "" { // else a person was faster
			f.review(w.id, w.version, by, v)
		}
	default:
		if f.apply(NewVersion{Artifact: Artifact{TaskID: w.id, Tree: f.oid(), Agent: "exec", Inputs: w.inputs}}) {
			f.said[flowVersion{w.id, f.state().Tasks[w.id].Active}] = w.says
		}
	}
}

// next is whom a run asks for a review: the first of the reviewers who has not spoken.
func (f *flowTeam) next(id TaskID, version int) string {
	s := f.state()
	for _, name := range s.Reviewers(id) {
		if name == ReviewerPerson {
			name = "eve"
		}
		if !s.Records.Of(id).reviewed(version, name) {
			return name
		}
	}
	if s.VersionVerdict(id, VersionID(version)) == "" {
		f.fail("%s v%d awaits review, and everybody has spoken", id, version)
	}
	return ""
}

func (f *flowTeam) review(id TaskID, version int, by string, v Verdict) {
	s := f.state()
	a, _ := s.Records.Of(id).Version(version)
	r := Review{TaskID: id, ReviewedArtifactID: VersionID(version), Tree: a.Files, Verdict: v, Score: 95, Reviewer: by,
		SpecHash: s.Tasks[id].SpecHash()}
	if v == Rejected {
		r.Score = []int{5, 50}[f.rnd.IntN(2)]
	}
	if said := s.Records.Of(id).reviewsOf(version); by == reviewerAccepted {
		r.Score = said[len(said)-1].Score
	}
	if s.isSeat(id, by) {
		r.Agent = "zoe"
	}
	e := AddReview{Review: r, Artifact: Artifact{Tree: a.Files}, Render: func(Review) []byte { return nil },
		Author: Actor{by, by + agentDomain}}
	f.apply(e)
}

// speak makes the document of a judge or of a deciding task; a bad one says what it can't.
func (f *flowTeam) speak(s *State, t *TaskState) any {
	switch {
	case t.Judges != nil:
		v := flowVerdicts{}
		mode := s.Tasks[t.TaskID].order.Mode
		for _, id := range s.Judged(t.TaskID) {
			in := s.Tasks[id]
			if in.Approved == 0 || mode != "" && (in.Status != StatusDone || f.chance(20)) {
				continue
			}
			said := v[id]
			said.version, said.verdict = in.Approved, Approved
			if f.chance(f.faults) {
				said.verdict = Rejected
			}
			v[id] = said
		}
		return v
	case t.Decides != nil:
		return f.decision(s, t)
	}
	return nil
}

// orderable are the tasks that can be ordered in a mode.
func (f *flowTeam) orderable(s *State, by TaskID, mode string) (ids []TaskID) {
	for _, id := range s.Held(by) {
		if s.Orderable(by, id, mode, nil) == "" && (mode == "" || s.Tasks[id].Judges != nil && f.allows(s, by, id, mode)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// allows is when a judge may be ordered in a mode (D3 of docs/workflows.md).
func (f *flowTeam) allows(s *State, by, judge TaskID, mode string) bool {
	p := s.Tasks[judge].Judges.Partial
	if s.ModeAgain(judge, mode) || mode == modePartial && p == nil {
		return false
	}
	if mode == modeInvestigate {
		return true
	}
	done, blocked := 0, 0
	for _, id := range s.Judged(judge) {
		switch t := s.Tasks[id]; {
		case t.Status == StatusDone:
			done++
		case t.Behind() && !t.Status.blocked():
		case !t.Status.blocked() || s.DecisionsSince(by, id) < p.BlockedRounds:
			return false
		default:
			blocked++
		}
	}
	return blocked > 0 && done >= p.Done
}

func (f *flowTeam) decision(s *State, t *TaskState) flowDecision {
	modes := []string{""}
	if f.chance(max(f.faults, f.crashes)) {
		modes = []string{modePartial, modeInvestigate, ""}
	}
	if f.chance(f.faults / 2) { // whatever
		ids := []TaskID{"", "IMPL-1", "IMPL-2", "REVIEW-2"}
		return flowDecision{[]string{actOrder, actAsk, actFinish}[f.rnd.IntN(3)], ids[f.rnd.IntN(4)], modes[f.rnd.IntN(len(modes))]}
	}
	if len(s.Unfinished(t.TaskID)) == 0 {
		return flowDecision{kind: actFinish}
	}
	for _, mode := range modes {
		if ids := f.orderable(s, t.TaskID, mode); len(ids) > 0 {
			return flowDecision{actOrder, ids[f.rnd.IntN(len(ids))], mode}
		}
	}
	return flowDecision{kind: actAsk}
}

// stands reports whether what a version says can take effect now: what the built-in reviews look at.
func (f *flowTeam) stands(id TaskID, version int) bool {
	s := f.state()
	switch d := f.said[flowVersion{id, version}].(type) {
	case flowVerdicts:
		for _, judged := range s.Judged(id) {
			if _, ok := d[judged]; !ok && s.Mode(id, version) == "" {
				return false
			}
		}
		for judged, said := range d {
			if s.Tasks[judged].Approved != said.version || !slices.Contains(s.Judged(id), judged) {
				return false
			}
		}
	case flowDecision:
		switch d.kind {
		case actFinish:
			return len(s.Unfinished(id)) == 0
		case actOrder:
			return len(s.Ordered(id)) == 0 && slices.Contains(f.orderable(s, id, d.mode), d.order)
		}
	}
	return true
}

// judge lets verdicts take effect, or says that they can't any more.
func (f *flowTeam) judge(group []TaskID) {
	s := f.state()
	var reviews []Review
	for _, id := range group {
		version := s.Tasks[id].Active
		if !f.stands(id, version) {
			f.review(id, version, reviewerOvertook, Rejected)
			return
		}
		said, _ := f.said[flowVersion{id, version}].(flowVerdicts)
		for _, judged := range slices.Sorted(maps.Keys(said)) {
			a, _ := s.Records.Of(judged).Version(said[judged].version)
			if v := s.VersionVerdict(judged, VersionID(a.Version)); v != Approved {
				f.fail("%s judges %s v%d, which is %q", id, judged, a.Version, v)
			}
			r := Review{TaskID: judged, ReviewedArtifactID: VersionID(a.Version), Tree: a.Files, Verdict: said[judged].verdict,
				Score: 95, Reviewer: string(id), SpecHash: s.Tasks[judged].SpecHash()}
			r.Judged(id, version)
			reviews = append(reviews, r)
		}
	}
	if !f.apply(ApplyVerdicts{Judges: group, Render: func(Review) []byte { return nil },
		Make: func(*State) ([]Review, []Question, error) { return dateAll(reviews), nil, nil }}) {
		f.fail("verdicts of %v are refused", group)
	}
}

// decide lets a decision take effect, or says that it can't any more.
func (f *flowTeam) decide(id TaskID, version int) {
	if !f.stands(id, version) {
		f.review(id, version, reviewerOvertook, Rejected)
		return
	}
	e := ApplyDecision{Task: id, Agent: "exec", Time: f.now, Holds: func(*State) error { return nil }}
	switch d, _ := f.said[flowVersion{id, version}].(flowDecision); d.kind {
	case actOrder:
		e.Order = Order{TaskID: d.order, Mode: d.mode, Text: "go"}
	case actFinish:
	default:
		e.Ask = &Question{Name: "what", Question: "What?", Kind: AskText}
	}
	if !f.apply(e) {
		f.fail("a decision is refused")
	}
}

func (f *flowTeam) graft(id TaskID, version int) {
	fragment := &Plan{RootTaskID: "GOAL-3", Tasks: []*Task{{TaskID: "GOAL-3", NodeType: Goal}}}
	for i := range f.parts {
		part := TaskID(fmt.Sprintf("PART-%d", i+1))
		a := f.action(part, "GOAL-3", nil)
		a.DependsOn = slices.Clone(f.plan.Task(id).DependsOn)
		fragment.Tasks = append(fragment.Tasks, a, f.check(part))
	}
	if !f.apply(GraftPlan{Task: id, Version: version, Plan: fragment}) {
		f.fail("the graft of %s is refused", id)
	}
}

// person does something late, whatever is going on.
func (f *flowTeam) person() {
	s := f.claimed()
	t := s.order[f.rnd.IntN(len(s.order))]
	d := Decision{By: "ann", CreatedAt: f.now, Reason: "so"}
	switch f.rnd.IntN(8) {
	case 7:
		for _, t := range s.order {
			if t.Status == StatusWaitingInput && s.missingInput(t.Task, &TaskRecords{}) != "" {
				f.apply(HandIn{Task: t.TaskID, Files: []InputDocument{{Name: t.Requires[0].Name, Tree: f.oid()}}})
			}
		}
	case 0, 1:
		if t.NodeType == Action && !t.Planning() {
			if f.apply(NewVersion{Artifact: Artifact{TaskID: t.TaskID, Tree: f.oid(), Agent: "bob", Inputs: f.inputs(s, t.TaskID)},
				ByPerson: true}) {
				f.said[flowVersion{t.TaskID, f.state().Tasks[t.TaskID].Active}] = f.speak(s, t)
			}
		}
	case 2:
		for _, t := range s.order {
			if t.Status != StatusWaitingExternal {
				continue
			}
			f.apply(Retry{Task: t.TaskID, Decision: d})
		}
	case 3:
		if t.NodeType == Action && f.chance(30) {
			f.apply(Abandon{Task: t.TaskID, Decision: d})
		}
	case 4:
		f.answer()
	case 5:
		if t.NodeType == Action && t.Active > 0 && !t.Planning() && t.Decides == nil {
			names := s.Reviewers(t.TaskID)
			by := strings.Replace(names[f.rnd.IntN(len(names))], ReviewerPerson, "eve", 1)
			f.review(t.TaskID, 1+f.rnd.IntN(t.Active), by, []Verdict{Approved, Rejected}[f.rnd.IntN(2)])
		}
	case 6: // says that a version still holds
		for _, l := range s.Records.Of(t.TaskID).From {
			if in := s.Tasks[l.Task]; in.Approved > l.Of && f.chance(50) {
				n := 1
				path := func() string { return fmt.Sprintf("holds/h%d-v%d-%s-v%d.json", n, l.Version, l.Task, in.Approved) }
				for f.tree[t.TaskID][path()] != "" {
					n++
				}
				f.put(t.TaskID, path(), f.oid())
			}
		}
	}
}

func (f *flowTeam) answer() (given int) {
	s := f.state()
	for _, t := range s.order {
		for _, n := range s.Records.Of(t.TaskID).OpenQuestions() {
			if f.apply(AnswerQuestion{Task: t.TaskID, Number: n, Question: Question{Kind: AskText}, Answer: Answer{Text: "this"}}) {
				given++
			}
		}
	}
	return given
}

// answered answers what is asked once nothing else goes on, and reports whether the run goes on with that.
func (f *flowTeam) answered() bool {
	if f.answers == 0 || f.answer() == 0 {
		return false
	}
	f.answers--
	return true
}

// run carries the plan out to where a run would stop.
func (f *flowTeam) run() (steps int) {
	const most = 6000
	for f.persons > 0 {
		f.step()
		if f.chance(10) {
			f.person()
			f.persons--
			f.touched = true
		}
		f.compare()
	}
	for f.step() || f.answered() {
		if steps++; steps > most {
			f.fail("does not end")
		}
		f.compare()
	}
	f.compare()
	return steps
}

// ends checks that a run that has ended is done, or waits for somebody whom it names.
func (f *flowTeam) ends() (done bool) {
	s := f.claimed()
	done = true
	for _, t := range s.order {
		if t.NodeType == Check || t.Status == StatusAbandoned || t.Status == StatusDone {
			continue
		}
		done = false
		if t.NodeType == Action && !f.named(s, t.TaskID, map[TaskID]bool{}) {
			f.fail("deadlock: %s waits for nobody", t.TaskID)
		}
		if s.Reason(t) == "" {
			f.fail("%s is %s without a reason", t.TaskID, t.Status)
		}
	}
	return done
}

// named reports whether what a task waits for leads to somebody.
func (f *flowTeam) named(s *State, id TaskID, seen map[TaskID]bool) bool {
	t := s.Tasks[id]
	if seen[id] || t == nil {
		return false
	}
	seen[id] = true
	check := s.CheckOf(id)
	if t.Status.blocked() || check != nil && check.Status.blocked() || s.Root().Status == StatusAbandoned {
		return true
	}
	list := s.WaitsFor(t)
	if t.Judges != nil && t.Status == StatusReadyToCheck {
		for _, judged := range s.Judged(id) {
			list = append(list, s.JudgesOf(judged)...)
		}
	}
	return slices.ContainsFunc(list, func(id TaskID) bool { return f.named(s, id, seen) })
}

// bounded checks the number of versions of a run without persons.
func (f *flowTeam) bounded() {
	s := f.state()
	rounds := func(id TaskID) int { return s.maxRounds(id) }
	for _, t := range s.order {
		if t.NodeType != Action || t.Decides != nil {
			continue
		}
		most, seen := rounds(t.TaskID), map[TaskID]bool{} // and what is dropped is one more change of its inputs
		var above func(id TaskID)
		above = func(id TaskID) {
			for _, other := range s.order { // also what is abandoned by now
				in := other.TaskID
				on := func(d TaskID) bool { return slices.Contains(s.Lineage(other.Task), d) }
				if other.NodeType == Action && !other.Planning() && !seen[in] && slices.ContainsFunc(s.Tasks[id].DependsOn, on) {
					seen[in] = true
					most += rounds(in) - 1
					if s.onExhausted(in) == onExhaustedDrop || s.Tasks[in].Status == StatusAbandoned {
						most++
					}
					above(in)
				}
			}
		}
		above(t.TaskID)
		if r := s.Records.Of(t.TaskID); len(r.Artifacts) > most+len(r.Modes) {
			f.fail("%s has v%d, the bound is %d", t.TaskID, t.Active, most)
		}
	}
}

func flowEnv(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func TestFlowMachine(t *testing.T) {
	first := flowEnv("WF_FLOW_SEED", 1)
	done, steps := 0, 0
	runs := flowEnv("WF_FLOW_RUNS", flowRuns)
	for i := range runs {
		f := newFlowTeam(t, uint64(first+i))
		n := f.run()
		steps += n
		isDone := f.ends()
		if isDone {
			done++
		}
		if !f.touched {
			f.bounded()
			if f.faults == 0 && f.crashes == 0 && !isDone {
				f.fail("a perfect team does not end")
			}
		}
	}
	t.Logf("%d runs from seed %d, %d done, %d steps", runs, first, done, steps)
}
