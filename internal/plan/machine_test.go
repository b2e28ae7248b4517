package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gitwf/internal/relpath"
)

// machineYAML has what the state machine is about: dependencies on tasks and goals, an input that somebody must hand
// in, and a last task that may assemble.
const machineYAML = `title: Machine
config: {max_attempts: 2, max_lost: 2, quorum: %d}
final_deliverable_spec: %s
tasks:
  - task_id: IMPL-1
    title: First
    estimated_person_days: 1
    deliverable_spec: {filename: a.md}
    acceptance_criteria:
      - {id: A1, statement: a.md has 3 lines, run: test -s a.md}
      - {id: A2, statement: a.md names 2 sources, severity: SHOULD}
  - task_id: IMPL-2
    title: Parts
    tasks:
      - task_id: IMPL-2.1
        title: Needs a file
        estimated_person_days: 1
        requires: [{name: my logo, count: 2}]
        deliverable_spec: {filename: b.md}
        acceptance_criteria: [{id: A1, statement: b.md has 3 lines}]
      - task_id: IMPL-2.2
        title: Second
        estimated_person_days: 1
        depends_on: [IMPL-1]
        deliverable_spec: {filename: c.md}
        acceptance_criteria: [{id: A1, statement: c.md has 3 lines}]
  - task_id: FINAL-1
    title: Whole
    estimated_person_days: 1
    depends_on: [IMPL-1, IMPL-2]
    deliverable_spec: {filename: d.md}
    acceptance_criteria: [{id: A1, statement: d.md has 3 lines}]
`

// fragmentYAML is what IMPL-1 can be split into.
const fragmentYAML = `title: Split
tasks:
  - task_id: IMPL-1.1
    title: Half
    estimated_person_days: 1
    deliverable_spec: {filename: half.md}
    acceptance_criteria: [{id: A1, statement: half.md has 3 lines}]
  - task_id: IMPL-1.2
    title: Other half
    estimated_person_days: 1
    depends_on: [IMPL-1.1]
    deliverable_spec: {filename: a.md}
    acceptance_criteria: [{id: A1, statement: a.md has 3 chapters}]
`

// machine is a plan's tree in memory, the claims beside it, and the clock.
type machine struct {
	plan   *Plan
	draft  *Plan
	parts  *Plan          // a fragment for IMPL-1
	tree   map[string]OID // every path, and the id of what is there
	claims Claims
	now    time.Time
	nextID int

	assembles bool
	before    Records // after the last step
	advanced  *State  // after the last step, made from the one before it
	last      string  // for messages
	log       []logged
}

// logged is an event that was accepted.
type logged struct {
	event Event
	wrote []string
}

func newMachine(t *rapid.T) *machine {
	quorum := rapid.IntRange(1, 2).Draw(t, "quorum")
	assembles := rapid.Bool().Draw(t, "assembles")
	final := "{mode: PASS_THROUGH}"
	if assembles {
		final = "{mode: ASSEMBLE, assemble_task_id: FINAL-1}"
	}
	draft, err := ParseValid("machine.yaml", fmt.Appendf(nil, machineYAML, quorum, final))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := Parse("fragment.yaml", []byte(fragmentYAML))
	if err != nil {
		t.Fatal(err)
	}
	m := &machine{
		plan: &Plan{PlanID: "WFS-machine"}, draft: draft, parts: parts, tree: map[string]OID{}, claims: Claims{},
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), assembles: assembles,
	}
	m.must(t, Begin{Plan: Bootstrap("WFS-machine", draft, Planner{Agent: AgentManual, File: "plan.yaml"}),
		Artifact: Artifact{TaskID: PlanTaskID, Tree: m.oid(), Agent: "ann"}})
	far := rapid.IntRange(0, 6).Draw(t, "how far")
	if far > 0 {
		m.must(t, m.review(m.state(), PlanTaskID, 1, ReviewerPlan, Approved, 100))
		m.must(t, GraftPlan{Task: PlanTaskID, Version: 1, Plan: draft})
	}
	if far > 4 {
		// A split or an amendment that has only to be grafted: chance alone would never come so far.
		m.must(t, Replan{Leaf: []TaskID{"IMPL-1", ""}[far-5], Planner: Planner{Agent: AgentManual, File: "plan.yaml"}})
		m.must(t, NewVersion{Artifact: Artifact{TaskID: "PLAN-2", Tree: m.oid(), Agent: "ann"}})
		m.must(t, m.review(m.state(), "PLAN-2", 1, ReviewerPlan, Approved, 100))
	}
	return m
}

// make has an agent make a version, which is approved.
func (m *machine) make(t *rapid.T, id TaskID) {
	m.must(t, NewVersion{Artifact: m.version(m.state(), id, "exec")})
	for _, by := range []string{"ann", "bob"} {
		s := m.state()
		m.must(t, m.review(s, id, s.Tasks[id].Active, by, Approved, 100))
	}
}

// version is a version of a task, made from what is approved.
func (m *machine) version(s *State, id TaskID, by string) Artifact {
	a := Artifact{TaskID: id, Tree: m.oid(), Agent: by, CreatedAt: m.now}
	if ts := s.Tasks[id]; ts != nil && ts.NodeType == Action {
		for _, d := range s.Inputs(id) {
			if v, ok := s.Records.Of(d).Version(s.approvedOf(d)); ok {
				a.Inputs = append(a.Inputs, Input{d, VersionID(v.Version), v.Files})
			}
		}
	}
	return a
}

func (m *machine) oid() OID {
	m.nextID++
	return OID(fmt.Sprintf("%040x", m.nextID))
}

// records reads the tree as the store does.
func (m *machine) records() Records {
	names := map[TaskID][]Name{}
	for _, p := range slices.Sorted(maps.Keys(m.tree)) {
		parts := strings.SplitN(p, "/", 4)
		id := TaskID(parts[2])
		if id.Dir() != strings.Join(parts[:3], "/") {
			panic("misplaced: " + p)
		}
		names[id] = append(names[id], Name{parts[3], m.tree[p]})
	}
	r := Records{Tasks: map[TaskID]*TaskRecords{}}
	for id, list := range names {
		r.Tasks[id] = ParseTaskRecords(list)
	}
	return r
}

// state is what an event is decided on: the store looks at claims apart.
func (m *machine) state() *State { return Derive(m.plan, m.records(), nil, m.now) }

func (m *machine) put(path string) { m.tree[path] = m.oid() }

// apply appends an event as the store would and reports whether it was accepted.
func (m *machine) apply(t *rapid.T, e Event) bool {
	s := m.state()
	foreign := len(m.foreign())
	untouched := m.state()
	c, err := Decide(dated(e), s)
	m.last = fmt.Sprintf("%T: %v", e, err)
	if diff := cmp.Diff(untouched.Records, s.Records); diff != "" {
		t.Fatalf("%T changed the state that it was decided on: %s", e, diff)
	}
	if err != nil {
		if !isZeroChange(c) {
			t.Fatalf("%T was refused (%v) and changes %+v", e, err, c)
		}
		return false
	}
	m.checkChange(t, c)
	for _, a := range c.Add {
		if _, taken := m.tree[a.Path]; taken {
			t.Fatalf("%T writes %s a second time", e, a.Path)
		}
		if a.OID != "" {
			m.tree[a.Path] = a.OID
		} else {
			m.put(a.Path)
		}
	}
	var wrote []string
	for _, a := range c.Add {
		wrote = append(wrote, a.Path)
	}
	if c.Plan != nil {
		m.plan = c.Plan
		wrote = append(wrote, planJSON)
	}
	m.log = append(m.log, logged{e, wrote})
	if now := m.foreign(); len(now) != foreign {
		t.Fatalf("%T wrote what no reader knows: %v", e, now)
	}
	return true
}

func isZeroChange(c Change) bool {
	return c.Subject == "" && c.Body == "" && c.Trailers == nil && c.Add == nil && c.Plan == nil && c.Author == (Actor{})
}

func (m *machine) checkChange(t *rapid.T, c Change) {
	if c.Subject == "" || strings.Contains(c.Subject, "\n") {
		t.Fatalf("subject %q", c.Subject)
	}
	if len(c.Trailers) < 2 || c.Trailers[0].Key != "Wf-Event" || c.Trailers[1].Key != "Wf-Task" {
		t.Fatalf("trailers %v", c.Trailers)
	}
	if len(c.Add) == 0 && c.Plan == nil {
		t.Fatalf("an event that adds nothing: %q", c.Subject)
	}
	for _, a := range c.Add {
		if err := relpath.Check(a.Path); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *machine) must(t *rapid.T, e Event) {
	if !m.apply(t, e) {
		t.Fatalf("refused: %s", m.last)
	}
}

func (m *machine) foreign() []string {
	var all []string
	for _, r := range m.records().Tasks {
		all = append(all, r.Foreign...)
	}
	return all
}

// review makes a review that says what it must of every criterion.
func (m *machine) review(s *State, id TaskID, version int, reviewer string, v Verdict, score int) AddReview {
	a, _ := s.Records.Of(id).Version(version)
	r := Review{TaskID: id, ReviewedArtifactID: VersionID(version), Tree: a.Files, Verdict: v, Score: score,
		Reviewer: reviewer}
	if t := s.Tasks[id]; t != nil {
		r.SpecHash = t.SpecHash()
		for _, c := range t.AcceptanceCriteria {
			result := ResultPass
			if v == Rejected {
				result = ResultFail
			}
			r.Criteria = append(r.Criteria, CriterionResult{ID: c.ID, Severity: c.Severity, Result: result})
		}
	}
	return AddReview{Review: r, Artifact: Artifact{Tree: a.Files}, Render: func(Review) []byte {
		return []byte("# Review\n")
	}}
}

func (m *machine) drawTask(t *rapid.T) TaskID {
	ids := []TaskID{"IMPL-9"}
	for _, task := range m.plan.Tasks {
		ids = append(ids, task.TaskID)
	}
	return rapid.SampledFrom(ids).Draw(t, "task")
}

// drawAction is an ACTION, nearly always one that can go on: else most programs would be refusals.
func (m *machine) drawAction(t *rapid.T) TaskID {
	var ids []TaskID
	s := m.state()
	for _, task := range m.plan.Tasks {
		if ts := s.Tasks[task.TaskID]; task.NodeType == Action && ts.Status != StatusPending && ts.Status != StatusAbandoned {
			ids = append(ids, task.TaskID)
		}
	}
	if len(ids) == 0 || rapid.IntRange(0, 9).Draw(t, "any task") == 0 {
		return m.drawTask(t)
	}
	return rapid.SampledFrom(ids).Draw(t, "task")
}

func (m *machine) addVersion(t *rapid.T) {
	id := m.drawAction(t)
	s := m.state()
	a := m.version(s, id, rapid.SampledFrom([]string{"exec", "ann"}).Draw(t, "agent"))
	if old := s.Records.Of(id).Artifacts; len(old) > 0 && rapid.IntRange(0, 3).Draw(t, "same files") == 0 {
		a.Tree = old[0].Files
	}
	staleInput := len(a.Inputs) > 0 && rapid.IntRange(0, 4).Draw(t, "stale") == 0
	if staleInput {
		a.Inputs[0].Tree = m.oid()
	}
	byPerson := rapid.Bool().Draw(t, "by a person")
	if !m.apply(t, NewVersion{Artifact: a, ByPerson: byPerson}) {
		return
	}
	was := s.Tasks[id]
	open := []Status{StatusReady, StatusReadyToCheck, StatusToBeModified}
	if byPerson {
		open = append(open, StatusWaitingExternal)
	}
	if !slices.Contains(open, was.Status) || was.Waits() || staleInput {
		t.Fatalf("a version of %s was accepted while it was %s, waiting for %v, stale input %v", id, was.Status,
			s.WaitsFor(was), staleInput)
	}
	if now := m.state().Tasks[id]; now.Active != was.Active+1 || now.Status != StatusReadyToCheck {
		t.Fatalf("after a version %s is %s with v%d", id, now.Status, now.Active)
	}
}

func (m *machine) addReview(t *rapid.T) {
	id := m.drawAction(t)
	s := m.state()
	version := rapid.IntRange(1, s.Records.Of(id).Active()+1).Draw(t, "version")
	verdict := rapid.SampledFrom([]Verdict{Approved, Approved, Rejected}).Draw(t, "verdict")
	e := m.review(s, id, version, rapid.SampledFrom([]string{"ann", "bob", ReviewerPlan}).Draw(t, "reviewer"), verdict, 95)
	flaw := rapid.SampledFrom([]string{"", "", "", "", "", "tree", "score", "must", "spec", "session", "verdict",
		"criteria"}).Draw(t, "flaw")
	switch flaw {
	case "tree":
		e.Review.Tree = m.oid()
	case "score":
		e.Review.Score = 89
	case "must":
		if len(e.Review.Criteria) > 0 {
			e.Review.Criteria[0].Result = ResultNotJudged
		}
	case "spec":
		e.Review.SpecHash = "of other criteria"
	case "session":
		e.Review.Session, e.Artifact.Session = "s", "s"
	case "verdict":
		e.Review.Verdict = "FINE"
	case "criteria":
		e.Review.Criteria = e.Review.Criteria[:max(len(e.Review.Criteria)-1, 0)]
	}
	if !m.apply(t, e) {
		return
	}
	onlyApprovals := flaw == "score" || flaw == "must"
	if flaw != "" && !(onlyApprovals && verdict == Rejected) {
		t.Fatalf("a review with a wrong %s was accepted", flaw)
	}
}

func (m *machine) addAttempt(t *rapid.T) {
	id := m.drawTask(t)
	s := m.state()
	e := AddAttempt{Attempt: Attempt{TaskID: id, Kind: rapid.SampledFrom([]string{AttemptError, AttemptLost,
		AttemptNeedsInput, AttemptNoop, "bored"}).Draw(t, "kind")}}
	if ts := s.Tasks[id]; ts != nil && ts.NodeType == Check {
		e.Version = ts.Active
	}
	if rapid.IntRange(0, 9).Draw(t, "wrong version") == 0 {
		e.Version = 4711
	}
	if rapid.Bool().Draw(t, "log") {
		e.Log = []byte("what it printed\n")
	}
	if !m.apply(t, e) {
		return
	}
	was, now := s.Tasks[id], m.state().Tasks[id]
	more, lost := 1, 0
	switch {
	case e.Attempt.Kind == AttemptLost:
		more, lost = 0, was.Lost+1
	case was.NodeType == Action && e.Attempt.Kind == AttemptNeedsInput:
		more = 0 // who asks has not failed
	}
	if now.Attempts != was.Attempts+more || now.Lost != lost {
		t.Fatalf("%s had %d attempts and %d lost, and has %d and %d after one more", id, was.Attempts, was.Lost, now.Attempts,
			now.Lost)
	}
}

func (m *machine) ask(t *rapid.T) {
	id := m.drawAction(t)
	e := Ask{Attempt: AddAttempt{Attempt: Attempt{TaskID: id}},
		Questions: []Question{{Name: "what", Question: "What?", Kind: AskText}}}
	if rapid.Bool().Draw(t, "in an attempt") {
		e.Attempt.Attempt.Kind = AttemptNeedsInput
	}
	if !m.apply(t, e) {
		return
	}
	if now := m.state().Tasks[id]; now.Status != StatusWaitingInput && now.Status != StatusAbandoned {
		t.Fatalf("%s has asked, and is %s", id, now.Status)
	}
}

func (m *machine) answer(t *rapid.T) {
	id := m.drawTask(t)
	s := m.state()
	n := rapid.IntRange(1, 3).Draw(t, "question")
	e := AnswerQuestion{Task: id, Number: n, Question: Question{Kind: AskText}, Answer: Answer{Text: "this"}}
	if rapid.Bool().Draw(t, "with a file") {
		e.Files = []InputDocument{{Name: "my logo", FileName: "logo.svg", Tree: m.oid()}}
	}
	if m.apply(t, e) && !slices.Contains(s.Records.Of(id).OpenQuestions(), n) {
		t.Fatalf("%s q%d was answered, and had not been open", id, n)
	}
}

func (m *machine) handIn(t *rapid.T) {
	id := m.drawTask(t)
	file := InputDocument{Name: "my logo", FileName: "logo.svg"}
	files := []InputDocument{file, file}
	for i := range files {
		files[i].Tree = m.oid()
	}
	before := m.records().Of(id).Inputs[EscapeName("my logo")]
	if m.apply(t, HandIn{Task: id, Files: files}) && m.records().Of(id).Inputs[EscapeName("my logo")] != before+2 {
		t.Fatalf("%s had %d files and got 2 more", id, before)
	}
}

func (m *machine) replan(t *rapid.T) {
	leaf := rapid.SampledFrom([]TaskID{"IMPL-1", "IMPL-1", "", PlanTaskID}).Draw(t, "leaf")
	s := m.state()
	if !m.apply(t, Replan{Leaf: leaf, Planner: Planner{Agent: AgentManual, File: "plan.yaml"}}) {
		return
	}
	if leaf == "" {
		return
	}
	if was := s.Tasks[leaf]; was.Approved > 0 || was.Planning() || was.NodeType != Action {
		t.Fatalf("%s is to be split, and is %s with v%d approved", leaf, was.Status, was.Approved)
	}
	if now := m.state().Tasks[leaf]; !now.Waits() && (now.Status == StatusReady || now.Status == StatusPending) {
		t.Fatalf("%s is %s while it is split", leaf, now.Status)
	}
}

func (m *machine) stillHolds(t *rapid.T) {
	id := m.drawAction(t)
	s := m.state()
	was := s.Tasks[id]
	e := StillHolds{Task: id, Decision: Decision{By: "ann", CreatedAt: m.now}, Version: m.version(s, id, "ann")}
	if was != nil {
		e.Version.ArtifactID = VersionID(was.Approved)
	}
	if m.apply(t, e) && (!m.stale(s, was) || m.stale(m.state(), m.state().Tasks[id])) {
		t.Fatalf("%s was %s (%s), and is %s after it is said to hold", id, was.Status, s.Reason(was), m.state().Tasks[id].Status)
	}
}

// stale reports by the words of the format whether a task's newest version is.
func (m *machine) stale(s *State, t *TaskState) bool {
	r := s.Records.Of(t.TaskID)
	return slices.ContainsFunc(r.From, func(l linkRecord) bool {
		in := s.Tasks[l.Task]
		if l.Version != t.Active || in == nil || in.Status == StatusAbandoned {
			return false
		}
		then, _ := s.Records.Of(l.Task).Version(l.Of)
		now, _ := s.Records.Of(l.Task).Version(in.Approved)
		held := slices.Contains(r.Holds, linkRecord{l.Version, l.Task, in.Approved})
		return in.Status != StatusDone || then.Files != now.Files && !held
	})
}

func (m *machine) retry(t *rapid.T) {
	id := m.drawTask(t)
	if !m.apply(t, Retry{Task: id, Decision: Decision{By: "ann", CreatedAt: m.now, Reason: "again"}}) {
		return
	}
	for _, ts := range []*TaskState{m.state().Tasks[id], m.state().CheckOf(id)} {
		if ts != nil && (ts.Attempts > 0 || ts.Rejected > 0 || ts.Status == StatusWaitingExternal) {
			t.Fatalf("after retry %s has %d attempts, %d rejected, and is %s", ts.TaskID, ts.Attempts, ts.Rejected, ts.Status)
		}
	}
}

func (m *machine) addCheck(t *rapid.T) {
	id := m.drawAction(t)
	version := rapid.IntRange(1, 3).Draw(t, "version")
	a, ok := m.records().Of(id).Version(version)
	accepted := m.apply(t, AddCheck{Checked: Checked{TaskID: id, ReviewedArtifactID: VersionID(version), Tree: a.Files}})
	if accepted && !ok {
		t.Fatalf("a check of %s v%d was accepted, which does not exist", id, version)
	}
}

func (m *machine) graft(t *rapid.T) {
	s := m.state()
	id := rapid.SampledFrom([]TaskID{PlanTaskID, PlanTaskID, "PLAN-2", "PLAN-3", "IMPL-1"}).Draw(t, "task")
	version := rapid.IntRange(1, 3).Draw(t, "version")
	e := GraftPlan{Task: id, Version: version, Plan: m.draft}
	if t := m.plan.Task(id); t != nil && t.SplitTargetTaskID != "" {
		e.Plan = m.parts
	}
	approved := map[TaskID]int{}
	for _, t := range s.Tasks {
		approved[t.TaskID] = t.Approved
	}
	if !m.apply(t, e) {
		return
	}
	for id, v := range approved {
		if now := m.state().Tasks[id]; v > 0 && (now == nil || now.Approved != v || now.NodeType == Goal) {
			t.Fatalf("%s had v%d approved, and the graft took it away", id, v)
		}
	}
	if was := s.Tasks[id]; !m.plan.Task(id).Planning() || was.Status != StatusDone || was.Approved != version ||
		s.Plan.Grafted(id) {
		t.Fatalf("%s v%d was grafted while it was %s with v%d approved", id, version, was.Status, was.Approved)
	}
	if fs := Validate(m.plan); len(fs) > 0 {
		t.Fatalf("the grafted plan breaks rules: %v", fs)
	}
}

// write puts a record of a kind that no event writes yet, but that Derive reads.
func (m *machine) write(t *rapid.T) {
	id := m.drawTask(t)
	r := m.records().Of(id)
	switch rapid.IntRange(0, 2).Draw(t, "kind") {
	case 0:
		kind := eventAbandoned
		if r.Abandoned() {
			kind = eventRestored
		}
		m.put(id.Dir() + "/" + markRecord{len(r.Marks) + 1, kind}.Path())
	case 1:
		m.put(id.Dir() + "/" + WaiverRecord{len(r.Waivers) + 1, 1, "A1"}.Path())
	case 2:
		junk := []string{"reviews", "artifacts/v4711/files", "artifacts/v4712/artifact.json", "artifacts/v1/notes.txt",
			"reviews/r4711-v1-100-eve/APPROVED.md", "reviews/r4712-v1-100-eve/review.json", "reviews/r08-v1-100-eve/review.json",
			"marks/1-abandoned.json", "x"}
		m.put(id.Dir() + "/" + rapid.SampledFrom(junk).Draw(t, "junk"))
	}
	m.last = "a record written"
}

func (m *machine) claim(t *rapid.T) {
	id := m.drawTask(t)
	old := m.claims[id]
	switch {
	case old.Task != "" && m.now.Before(old.Expires):
		delete(m.claims, id)
		return
	case old.Task != "":
		// Whoever takes over an expired claim first records the attempt as lost.
		e := AddAttempt{Attempt: Attempt{TaskID: id, Kind: AttemptLost, Agent: "exec"}}
		if ts := m.state().Tasks[id]; ts != nil && ts.NodeType == Check {
			e.Version = ts.Active
		}
		m.apply(t, e)
	}
	m.claims[id] = Claim{Task: id, Agent: "exec", Expires: m.now.Add(time.Minute), Number: old.Number + 1}
}

func TestMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		if m.plan.Grafted(PlanTaskID) && m.plan.PlanningOf("IMPL-1") == nil && rapid.Bool().Draw(t, "a version follows") {
			m.make(t, "IMPL-1")
			m.make(t, "IMPL-2.2")
			if rapid.Bool().Draw(t, "another") {
				m.must(t, m.review(m.state(), "IMPL-1", 1, "ann", Rejected, 50))
				m.make(t, "IMPL-1")
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"version": m.addVersion,
			"more":    m.addVersion,
			"review":  m.addReview,
			"again":   m.addReview,
			"attempt": m.addAttempt,
			"check":   m.addCheck,
			"retry":   m.retry,
			"holds":   m.stillHolds,
			"graft":   m.graft,
			"ask":     m.ask,
			"answer":  m.answer,
			"hand in": m.handIn,
			"replan":  m.replan,
			"write":   m.write,
			"claim":   m.claim,
			"wait":    func(t *rapid.T) { m.now = m.now.Add(40 * time.Second) },
			"":        m.invariants,
		})
	})
}

func (m *machine) invariants(t *rapid.T) {
	r := m.records()
	s := Derive(m.plan, r, m.claims, m.now)
	if diff := cmp.Diff(m.records(), r); diff != "" {
		t.Fatalf("Derive changes the records: %s", diff)
	}
	if len(s.Tasks) != len(m.plan.Tasks) {
		t.Fatalf("%d tasks have a state, the plan has %d", len(s.Tasks), len(m.plan.Tasks))
	}
	m.grows(t, r)
	m.advances(t, s)
	for _, task := range m.plan.Tasks {
		ts := s.Tasks[task.TaskID]
		switch task.NodeType {
		case Action:
			m.actionHolds(t, s, ts)
		case Check:
			m.checkHolds(t, s, ts)
		case Goal:
			m.goalHolds(t, s, ts)
		}
		if t.Failed() {
			t.Fatalf("after %s: %s is %s (%s), active v%d, approved v%d, verdict %q, attempts %d, rejected %d", m.last,
				ts.TaskID,
				ts.Status, s.Reason(ts), ts.Active, ts.Approved, ts.Verdict, ts.Attempts, ts.Rejected)
		}
	}
	for _, ts := range s.Ready() {
		if ts.Waits() || ts.Status != StatusReady && ts.Status != StatusToBeModified {
			t.Fatalf("%s is ready to be worked on while it is %s and waits for %v", ts.TaskID, ts.Status, s.WaitsFor(ts))
		}
	}
	m.before = r
}

// advances checks that a state made from the one before is what Derive makes of everything, and leaves that one alone.
func (m *machine) advances(t *rapid.T, want *State) {
	old := m.advanced
	if old == nil || old.Plan != m.plan {
		m.advanced = want
		return
	}
	var changed []TaskID
	for _, task := range m.plan.Tasks {
		if !cmp.Equal(old.Records.Of(task.TaskID), want.Records.Of(task.TaskID)) {
			changed = append(changed, task.TaskID)
		}
	}
	kept := look(old)
	m.advanced = old.Advance(want.Records, changed, m.claims, m.now)
	if diff := cmp.Diff(look(want), look(m.advanced), inside); diff != "" {
		t.Fatalf("after %s, with changes in %v, Advance makes something else than Derive: %s", m.last, changed, diff)
	}
	if diff := cmp.Diff(kept, look(old), inside); diff != "" {
		t.Fatalf("after %s: Advance changed the state that it began with: %s", m.last, diff)
	}
}

// grows checks that nothing that counted has stopped to count.
func (m *machine) grows(t *rapid.T, now Records) {
	for id, old := range m.before.Tasks {
		r := now.Of(id)
		for _, a := range old.Artifacts {
			if got, ok := r.Version(a.Version); !ok || got != a {
				t.Fatalf("%s: %v has become %v", id, a, got)
			}
		}
		lost := !contains(r.Reviews, old.Reviews) || !contains(r.Attempts, old.Attempts) || !contains(r.Resets, old.Resets) ||
			!contains(r.Checks, old.Checks) || !contains(r.Marks, old.Marks) || !contains(r.Questions, old.Questions) ||
			!contains(r.Answers, old.Answers) || !contains(r.Waivers, old.Waivers)
		for name, n := range old.Inputs {
			lost = lost || r.Inputs[name] < n
		}
		if lost {
			t.Fatalf("%s: records are lost: %s", id, cmp.Diff(old, r))
		}
	}
}

func contains[T comparable](all, some []T) bool {
	for _, x := range some {
		if !slices.Contains(all, x) {
			return false
		}
	}
	return true
}

// judged is the verdict of a version by the words of the format, computed another way than Derive does: for each
// reviewer, from the last review backwards.
func judged(r *TaskRecords, version, quorum int) Verdict {
	seen := map[string]bool{}
	approvals := 0
	for _, rev := range slices.Backward(r.Reviews) {
		if rev.Version != version || seen[rev.Reviewer] {
			continue
		}
		seen[rev.Reviewer] = true
		if rev.Verdict == Rejected {
			return Rejected
		}
		approvals++
	}
	if approvals >= quorum {
		return Approved
	}
	return ""
}

// lostInARow counts lost attempts by the words of the format, from the last attempt backwards.
func lostInARow(r *TaskRecords, version int) int {
	n := 0
	for _, a := range slices.Backward(r.Attempts) {
		if a.Version != version {
			continue
		}
		if a.N <= r.Reset().Attempt || a.Kind != AttemptLost {
			break
		}
		n++
	}
	return n
}

func (m *machine) actionHolds(t *rapid.T, s *State, ts *TaskState) {
	r := s.Records.Of(ts.TaskID)
	quorum, limit := s.Quorum(ts.TaskID), 2
	approved, rejected, attempts := 0, 0, 0
	reset := r.Reset()
	for v := 1; v <= len(r.Artifacts); v++ {
		switch judged(r, v, quorum) {
		case Approved:
			approved = v
		case Rejected:
			if slices.ContainsFunc(r.Reviews, func(x ReviewRecord) bool { return x.Version == v && x.N > reset.Review }) {
				rejected++
			}
		}
	}
	for _, a := range r.Attempts {
		if a.Version == 0 && a.N > reset.Attempt && a.Kind != AttemptNeedsInput && a.Kind != AttemptLost {
			attempts++
		}
	}
	lost := lostInARow(r, 0)
	if ts.Lost != lost {
		t.Errorf("want %d lost", lost)
	}
	if ts.Active != len(r.Artifacts) || ts.Approved != approved || ts.Attempts != attempts || ts.Rejected != rejected {
		t.Errorf("want active v%d, approved v%d, %d attempts, %d rejected", len(r.Artifacts), approved, attempts, rejected)
	}
	verdict := Verdict("")
	if ts.Active > 0 {
		verdict = judged(r, ts.Active, quorum)
	}
	if ts.Verdict != verdict {
		t.Errorf("want verdict %q", verdict)
	}
	c, claimed := m.claims[ts.TaskID]
	claimed = claimed && c.Expires.After(m.now)
	undisturbed := !r.Abandoned() && !claimed && s.missingInput(ts.Task, r) == "" && attempts < limit && lost < limit &&
		rejected < limit
	waits := m.plan.PlanningOf(ts.TaskID) != nil && !r.Abandoned() &&
		!s.Records.Of(m.plan.PlanningOf(ts.TaskID).TaskID).Abandoned() ||
		slices.ContainsFunc(s.Inputs(ts.TaskID), func(d TaskID) bool {
			return s.Tasks[d] == nil || s.Tasks[d].Status != StatusDone
		})
	holds := map[Status]bool{
		StatusAbandoned:    r.Abandoned(),
		StatusInProgress:   claimed && !r.Abandoned(),
		StatusWaitingInput: s.missingInput(ts.Task, r) != "" && !claimed && !r.Abandoned(),
		StatusWaitingExternal: (attempts >= limit || lost >= limit || rejected >= limit) &&
			s.missingInput(ts.Task, r) == "" && !claimed && !r.Abandoned(),
		StatusReadyToCheck: undisturbed && ts.Active > 0 && verdict == "",
		StatusToBeModified: undisturbed && (verdict == Rejected || verdict == Approved && m.stale(s, ts)),
		StatusDone:         undisturbed && verdict == Approved && approved == ts.Active && !m.stale(s, ts),
		StatusPending:      undisturbed && ts.Active == 0 && waits,
		StatusReady:        undisturbed && ts.Active == 0 && !waits,
	}
	for status, want := range holds {
		if want != (ts.Status == status) {
			t.Errorf("want %s", status)
		}
	}
	for _, rev := range r.Reviews {
		if _, ok := r.Version(rev.Version); !ok {
			t.Errorf("review r%d is of v%d, which does not exist", rev.N, rev.Version)
		}
	}
	if why := s.Reason(ts); why == "" && (ts.Status.blocked() || ts.Status == StatusPending) {
		t.Errorf("waits without a reason")
	}
}

func (m *machine) checkHolds(t *rapid.T, s *State, ts *TaskState) {
	target := s.Tasks[ts.ReviewTargetTaskID]
	c, claimed := m.claims[ts.TaskID]
	claimed = claimed && c.Expires.After(m.now)
	want := StatusPending
	switch {
	case target.Status == StatusAbandoned:
		want = StatusAbandoned
	case claimed:
		want = StatusInProgress
	case target.Verdict != "":
		want = StatusDone
	case target.Status == StatusReadyToCheck && (ts.Attempts >= 2 ||
		lostInARow(s.Records.Of(target.TaskID), target.Active) >= 2):
		want = StatusWaitingExternal
	case target.Status == StatusReadyToCheck:
		want = StatusReady // though the target is not DONE: to wait for that would be a deadlock
	}
	if ts.Status != want {
		t.Errorf("want %s while %s is %s", want, target.TaskID, target.Status)
	}
}

func (m *machine) goalHolds(t *rapid.T, s *State, ts *TaskState) {
	if s.Records.Of(ts.TaskID).Abandoned() {
		if ts.Status != StatusAbandoned {
			t.Errorf("want %s", StatusAbandoned)
		}
		return
	}
	var leaves []*TaskState
	for _, task := range m.plan.Tasks {
		below := task.ParentTaskID == ts.TaskID || ts.TaskID == m.plan.RootTaskID
		if task.NodeType == Action && !task.Planning() && below && !s.Records.Of(task.TaskID).Abandoned() {
			leaves = append(leaves, s.Tasks[task.TaskID])
		}
	}
	done := len(leaves) > 0 && !slices.ContainsFunc(leaves, func(l *TaskState) bool { return l.Status != StatusDone })
	if ts.FinalDeliverableSpec != nil && m.assembles {
		done = done && s.Tasks["FINAL-1"].Status == StatusDone // an assembling task that is abandoned, too, holds it back
	}
	if done != (ts.Status == StatusDone) {
		t.Errorf("want DONE: %v", done)
	}
	if ts.Status != StatusDone && ts.Status != StatusPending && ts.Status != StatusInProgress {
		t.Errorf("no status of a GOAL")
	}
}

// A review is of the version that was locked when it began, whatever came after.
func TestReviewOfOlderVersion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		if !m.plan.Grafted(PlanTaskID) || m.plan.Limits().Quorum > 1 || m.plan.PlanningOf("IMPL-1") != nil {
			t.Skip("no task to try it on")
		}
		version := func() NewVersion {
			return NewVersion{Artifact: Artifact{TaskID: "IMPL-1", Tree: m.oid(), Agent: "exec"}}
		}
		m.must(t, version())
		begun := m.review(m.state(), "IMPL-1", 1, "bob", Approved, 100)
		m.must(t, version())
		m.must(t, begun)
		if ts := m.state().Tasks["IMPL-1"]; ts.Status != StatusReadyToCheck || ts.Approved != 1 || ts.Active != 2 {
			t.Fatalf("v1 approved while v2 exists: %s, approved v%d, active v%d", ts.Status, ts.Approved, ts.Active)
		}
		m.must(t, m.review(m.state(), "IMPL-1", 2, "bob", Approved, 100))
		if ts := m.state().Tasks["IMPL-1"]; ts.Status != StatusDone || ts.Approved != 2 {
			t.Fatalf("v2 approved: %s, approved v%d", ts.Status, ts.Approved)
		}
		err := version().refusal(m.state())
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.Reason != "is done with v2" {
			t.Fatalf("another version of a DONE task: %v", err)
		}
	})
}

// refusal is why the event does not apply.
func (e NewVersion) refusal(s *State) error {
	_, err := Decide(dated(e), s)
	return err
}
