package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawPlan makes a plan of goals, actions that depend on tasks before them, and their checks; one goal is assembled.
func drawPlan(t *rapid.T) *Plan {
	p := &Plan{PlanID: "WFS-x", SchemaVersion: rapid.IntRange(1, 2).Draw(t, "schema"), RootTaskID: "GOAL-1", Tasks: []*Task{{TaskID: "GOAL-1", NodeType: Goal}}}
	goals, all := []TaskID{"GOAL-1"}, []TaskID{}
	for i := range rapid.IntRange(2, 12).Draw(t, "tasks") {
		task := &Task{TaskID: TaskID(fmt.Sprintf("T-%d", i+1)), NodeType: Action,
			ParentTaskID: rapid.SampledFrom(goals).Draw(t, "parent")}
		if rapid.IntRange(0, 4).Draw(t, "kind") == 0 {
			task.NodeType = Goal
			goals = append(goals, task.TaskID)
		} else {
			if len(all) > 0 {
				task.DependsOn = rapid.SliceOfNDistinct(rapid.SampledFrom(all), 0, min(2, len(all)), rapid.ID[TaskID]).Draw(t,
					"needs")
			}
			if rapid.IntRange(0, 3).Draw(t, "requires") == 0 {
				task.Requires = []Requirement{{Name: "spec"}}
			}
			p.Tasks = append(p.Tasks, &Task{TaskID: "CHECK-" + task.TaskID, NodeType: Check, ReviewTargetTaskID: task.TaskID})
		}
		all = append(all, task.TaskID)
		p.Tasks = append(p.Tasks, task)
	}
	if last := p.Tasks[len(p.Tasks)-1]; last.NodeType == Action {
		p.Task(goals[len(goals)-1]).FinalDeliverableSpec = &FinalDeliverableSpec{Mode: Assemble, AssembleTaskID: last.TaskID}
	}
	return p
}

// seen is what can be seen of a task.
type seen struct {
	TaskState
	Reason   string
	WaitsFor []TaskID
}

// look is all that can be seen of a state.
func look(s *State) []seen {
	var all []seen
	see := func(t *TaskState) { all = append(all, seen{*t, s.Reason(t), s.WaitsFor(t)}) }
	for i, t := range s.order {
		if s.Tasks[t.TaskID] != t || s.Plan.Tasks[i] != t.Task {
			panic(t.TaskID + " has two states")
		}
		see(t)
		if c := s.CheckOf(t.TaskID); c != nil {
			see(c)
		}
		for _, id := range s.Leaves(t.TaskID) {
			see(s.Tasks[id])
		}
	}
	for _, t := range slices.Concat(s.Ready(), s.Ungrafted()) {
		see(t)
	}
	return all
}

// step changes the records of one task as an event would, whether it is legal or not: a version may say that it was
// made from whatever the plan has.
func step(t *rapid.T, p *Plan, r *TaskRecords) *TaskRecords {
	next := *r
	defer func() {
		link := func(list []linkRecord) []linkRecord {
			return append(list[:len(list):len(list)], linkRecord{next.Active(), rapid.SampledFrom(p.Tasks).Draw(t, "from").TaskID,
				rapid.IntRange(1, 3).Draw(t, "version")})
		}
		for range rapid.IntRange(0, 2).Draw(t, "links") * (next.Active() - r.Active()) {
			next.From = link(next.From)
		}
		if rapid.IntRange(0, 4).Draw(t, "holds") == 0 {
			next.Holds = link(next.Holds)
		}
	}()
	n := len(r.Artifacts) + len(r.Reviews) + len(r.Attempts) + 1
	version := ArtifactRecord{r.Active() + 1, rapid.SampledFrom([]OID{"a", "b"}).Draw(t, "files")}
	switch rapid.SampledFrom([]string{"version", "approve", "approve", "reject", "attempt", "ask", "answer", "hand in",
		"reset", "mark"}).Draw(t, "event") {
	case "version":
		next.Artifacts = append(r.Artifacts[:len(r.Artifacts):len(r.Artifacts)], version)
	case "approve":
		next.Artifacts = append(r.Artifacts[:len(r.Artifacts):len(r.Artifacts)], version)
		next.Reviews = append(r.Reviews[:len(r.Reviews):len(r.Reviews)],
			ReviewRecord{N: n, Version: next.Active(), Reviewer: "ann", Verdict: Approved})
	case "reject":
		next.Reviews = append(r.Reviews[:len(r.Reviews):len(r.Reviews)],
			ReviewRecord{N: n, Version: max(r.Active(), 1), Reviewer: "ann", Verdict: Rejected})
	case "attempt":
		next.Attempts = append(r.Attempts[:len(r.Attempts):len(r.Attempts)],
			AttemptRecord{N: n, Kind: AttemptError, Version: rapid.SampledFrom([]int{0, r.Active()}).Draw(t, "of")})
	case "ask":
		next.Questions = append(r.Questions[:len(r.Questions):len(r.Questions)], len(r.Questions)+1)
	case "answer":
		next.Answers = r.Questions
	case "hand in":
		next.Inputs = map[string]int{"spec": 1}
	case "reset":
		next.Resets = append(r.Resets[:len(r.Resets):len(r.Resets)], resetRecord{N: len(r.Resets) + 1, Attempt: n, Review: n})
	case "mark":
		next.Marks = append(r.Marks[:len(r.Marks):len(r.Marks)], markRecord{N: len(r.Marks) + 1,
			Kind: rapid.SampledFrom([]string{eventAbandoned, eventRestored}).Draw(t, "mark")})
	}
	return &next
}

var inside = cmp.AllowUnexported(TaskState{}, tally{})

// TestAdvance changes the records of a few tasks, and the claims, again and again: what Advance makes of that must be
// what Derive makes of everything, and must leave the state alone that it began with.
func TestAdvance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		state := Derive(p, Records{}, nil, now)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			r := Records{Tasks: maps.Clone(state.Records.Tasks)}
			if r.Tasks == nil {
				r.Tasks = map[TaskID]*TaskRecords{}
			}
			changed := rapid.SliceOfNDistinct(rapid.SampledFrom(p.Tasks), 1, 2, func(t *Task) TaskID {
				return t.TaskID
			}).Draw(t, "changed")
			var ids []TaskID
			for _, task := range changed {
				r.Tasks[task.TaskID] = step(t, p, r.Of(task.TaskID))
				ids = append(ids, task.TaskID)
			}
			claims := Claims{}
			if rapid.IntRange(0, 2).Draw(t, "claimed") == 0 {
				c := Claim{Task: rapid.SampledFrom(p.Tasks).Draw(t, "claim").TaskID, Agent: "bob", Expires: now.Add(time.Minute)}
				claims[c.Task] = c
			}
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 40 * time.Second}).Draw(t, "later"))
			kept := look(state)
			next := state.Advance(r, ids, claims, now)
			if diff := cmp.Diff(look(Derive(p, r, claims, now)), look(next), inside); diff != "" {
				t.Fatalf("after changes in %v: -Derive +Advance: %s", ids, diff)
			}
			if diff := cmp.Diff(kept, look(state), inside); diff != "" {
				t.Fatalf("Advance changed the state that it began with: %s", diff)
			}
			state = next
		}
	})
}
