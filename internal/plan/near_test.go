package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// inMemory looks single tasks up in a plan that is read as a whole.
type inMemory struct {
	*Plan
	links []Links
	at    map[TaskID]int
	asked int // tasks
}

func newLookup(p *Plan) *inMemory {
	links, ok := p.Links()
	if !ok {
		panic("two tasks have one id")
	}
	m := &inMemory{Plan: p, links: links, at: map[TaskID]int{}}
	for i, t := range p.Tasks {
		m.at[t.TaskID] = i
	}
	return m
}

func (m *inMemory) Find(id TaskID) (int, bool) { i, ok := m.at[id]; return i, ok }
func (m *inMemory) Links(i int) Links          { return m.links[i] }
func (m *inMemory) Task(i int) *Task           { m.asked++; return m.Tasks[i] }

// The state of a task that Derive computes from the tasks near it is the one that it computes from the whole plan.
func TestNear(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		for _, task := range p.Tasks {
			if task.NodeType == Action && rapid.IntRange(0, 5).Draw(t, "splits") == 0 {
				split := TaskID("PLAN-1" + string(task.TaskID[1:]))
				p.Tasks = append(p.Tasks, &Task{TaskID: split, NodeType: Action, SplitTargetTaskID: task.TaskID,
					ParentTaskID: p.RootTaskID, DeliverableSpec: &DeliverableSpec{Format: FormatPlan}})
			}
		}
		r := Records{Tasks: map[TaskID]*TaskRecords{}}
		for range rapid.IntRange(0, 20).Draw(t, "steps") {
			id := rapid.SampledFrom(p.Tasks).Draw(t, "changed").TaskID
			r.Tasks[id] = step(t, p, r.Of(id))
		}
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		claims := Claims{}
		for range rapid.IntRange(0, 2).Draw(t, "claims") {
			id := rapid.SampledFrom(p.Tasks).Draw(t, "claim").TaskID
			claims[id] = Claim{Task: id, Agent: "bob", Expires: now.Add(time.Minute)}
		}
		whole := Derive(p, r, claims, now)
		for _, task := range p.Tasks {
			part := *p
			var ok bool
			if part.Tasks, ok = Near(newLookup(p), r, task.TaskID); ok != (task.NodeType != Goal) {
				t.Fatalf("%s: ok is %v", task.TaskID, ok)
			}
			if !ok {
				continue
			}
			s := Derive(&part, r, nil, now).Advance(r, nil, claims, now)
			if diff := cmp.Diff(around(whole, task.TaskID), around(s, task.TaskID), inside, anyPlace); diff != "" {
				t.Fatalf("%s: (-whole +near):\n%s", task.TaskID, diff)
			}
		}
	})
}

// anyPlace leaves out where the task is in the plan, which differs.
var anyPlace = cmpopts.IgnoreFields(TaskState{}, "place")

// around is what Near promises to be right.
func around(s *State, id TaskID) []any {
	t := s.Tasks[id]
	if target := s.Tasks[t.ReviewTargetTaskID]; target != nil {
		t = target
	}
	all := []any{seen{*t, s.Reason(t), s.WaitsFor(t)}, s.Dependents(t.TaskID), s.Lineage(t.Task),
		s.HandedIn(t.Task, "spec"), s.Quorum(t.TaskID), s.MinScore(t.TaskID), s.ClaimsEnded(t.TaskID)}
	if c := s.CheckOf(t.TaskID); c != nil {
		all = append(all, seen{*c, s.Reason(c), s.WaitsFor(c)}, s.ClaimsEnded(c.TaskID))
	}
	for _, in := range s.Inputs(t.TaskID) {
		got := s.Tasks[in]
		all = append(all, in, got.Approved, got.Active, got.Verdict, got.Status == StatusDone)
	}
	return all
}

// Where a task has few neighbours, Near reads few tasks, however long the plan is.
func TestNearReadsWhatItNeeds(t *testing.T) {
	p := shapes["chain"](3000)
	m := newLookup(p)
	if tasks, ok := Near(m, Records{}, leafID(1500)); !ok || len(tasks) > 10 || m.asked > 20 {
		t.Errorf("%d tasks, %d were read", len(tasks), m.asked)
	}
	tasks, ok := Near(m, Records{}, "IMPL-9999")
	if !ok || len(tasks) > 0 {
		t.Errorf("%d tasks are near one that is not there", len(tasks))
	}
}

func TestLinksOfAmbiguousPlan(t *testing.T) {
	p := shapes["chain"](3)
	p.Tasks = append(p.Tasks, p.Tasks[2])
	if _, ok := p.Links(); ok {
		t.Error("two tasks have one id, and it was not said")
	}
}
