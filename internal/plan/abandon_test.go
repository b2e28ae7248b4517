package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// abandonPlan: A-2 needs A-1, B-2 needs all of GOAL-2, A-1 alone covers R1.
func abandonPlan() *Plan {
	p := flatPlan(0)
	p.Tasks[0].RootAcceptanceCriteria = []RootCriterion{{ID: "R1", Statement: "first"}, {ID: "R2", Statement: "second"}}
	add := func(id, parent TaskID, kind NodeType, covers []string, deps ...TaskID) {
		p.Tasks = append(p.Tasks, &Task{TaskID: id, NodeType: kind, ParentTaskID: parent, DependsOn: deps, Covers: covers})
		if kind == Action {
			p.Tasks = append(p.Tasks, &Task{TaskID: id.CheckID(), NodeType: Check, ParentTaskID: parent, ReviewTargetTaskID: id})
		}
	}
	add("A-1", RootID, Action, []string{"R1"})
	add("A-2", RootID, Action, []string{"R2"}, "A-1")
	add("A-3", RootID, Action, []string{"R2"})
	add("GOAL-2", RootID, Goal, nil)
	add("B-1", "GOAL-2", Action, nil)
	add("B-2", RootID, Action, nil, "GOAL-2")
	return p
}

func TestAbandonNeeds(t *testing.T) {
	approved := &TaskRecords{Artifacts: []ArtifactRecord{{Version: 1}},
		Reviews: []ReviewRecord{{1, 1, 95, "ann", Approved}}}
	gone := &TaskRecords{Marks: []markRecord{{1, eventAbandoned}}}
	for _, tt := range []struct {
		name    string
		task    TaskID
		records map[TaskID]*TaskRecords
		change  func(*Plan)
		want    string // of the refusal; else the paths that are added
	}{
		{"needed and covering", "A-1", nil, nil,
			"A-2 depends on A-1\n  the root criterion R1 would be covered by nothing: first"},
		{"who needs it is gone", "A-1", map[TaskID]*TaskRecords{"A-2": gone}, func(p *Plan) {
			p.Task("A-3").Covers = []string{"R1"}
		}, "A-1"},
		{"another one covers it", "A-2", nil, nil, "A-2"},
		{"the other one is gone", "A-2", map[TaskID]*TaskRecords{"A-3": gone}, nil,
			"the root criterion R2 would be covered by nothing"},
		{"last of a goal that is needed", "B-1", nil, nil, "B-2 depends on GOAL-2, of which nothing would be left"},
		{"a goal that is needed", "GOAL-2", nil, nil, "B-2 depends on GOAL-2"},
		{"by an order that an import assumed", "GOAL-2", nil, func(p *Plan) {
			p.Task("B-2").Meta = map[string]any{"assumed": []any{"estimate", "order"}}
		}, "GOAL-2 B-1"},
		{"a goal", "GOAL-2", map[TaskID]*TaskRecords{"B-2": gone}, nil, "GOAL-2 B-1"},
		{"what is done stays", "GOAL-2", map[TaskID]*TaskRecords{"B-2": gone, "B-1": approved}, nil, "GOAL-2"},
		{"assembles", "B-2", nil, func(p *Plan) {
			p.Tasks[0].FinalDeliverableSpec = &FinalDeliverableSpec{Mode: Assemble, AssembleTaskID: "B-2"}
		}, "GOAL-1 is assembled by B-2"},
		{"delivered by name", "B-2", nil, func(p *Plan) {
			p.Tasks[0].FinalDeliverableSpec = &FinalDeliverableSpec{Mode: PassThrough, IncludeChildren: []TaskID{"B-2"}}
		}, "GOAL-1 delivers B-2"},
		{"the root", RootID, map[TaskID]*TaskRecords{"A-1": approved, PlanTaskID: approved}, nil,
			"GOAL-1 A-2 A-3 GOAL-2 B-1 B-2"},
		{"a planning task that is grafted", PlanTaskID, nil, nil, "has made the plan"},
		{"a check", "CHECK-A-1", nil, nil, "reviews A-1"},
		{"twice", "B-2", map[TaskID]*TaskRecords{"B-2": gone}, nil, "is abandoned already"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := abandonPlan()
			if tt.change != nil {
				tt.change(p)
			}
			s := Derive(p, Records{Tasks: tt.records}, nil, noon)
			c, err := Abandon{Task: tt.task, Decision: Decision{Reason: "why"}}.Apply(s)
			var needs *abandonError
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) {
					t.Errorf("refused with %v, want %q", err, tt.want)
				}
				if strings.Contains(tt.want, "depends") && !errors.As(err, &needs) {
					t.Errorf("%T", err)
				}
				return
			}
			var ids []string
			for _, e := range c.Add {
				ids = append(ids, strings.Split(e.Path, "/")[2])
			}
			if diff := cmp.Diff(tt.want, strings.Join(ids, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Decide(Abandon{Task: "B-2"}, Derive(abandonPlan(), Records{}, nil, noon)); err == nil {
		t.Error("abandoned without a reason")
	}
}

// Abandoning and restoring everything leaves the plan where it was.
func TestRestoreIsTheInverse(t *testing.T) {
	p := abandonPlan()
	before := Derive(p, Records{}, nil, noon)
	gone, err := Abandon{Task: RootID, Decision: Decision{Reason: "why"}}.Apply(before)
	if err != nil {
		t.Fatal(err)
	}
	then := Derive(p, recordsWith(gone), nil, noon)
	if then.Root().Status != StatusAbandoned || len(then.Leaves(RootID)) != 0 {
		t.Fatalf("root %s, leaves %v", then.Root().Status, then.Leaves(RootID))
	}
	if _, err := (Restore{Task: "A-2"}).Apply(then); err == nil || !strings.Contains(err.Error(), "stands below GOAL-1") {
		t.Errorf("a task below an abandoned goal is restored: %v", err)
	}
	back, err := Restore{Task: RootID}.Apply(then)
	if err != nil {
		t.Fatal(err)
	}
	after := Derive(p, recordsWith(gone, back), nil, noon)
	for _, task := range p.Tasks {
		if a, b := before.Tasks[task.TaskID].Status, after.Tasks[task.TaskID].Status; a != b && task.TaskID != PlanTaskID &&
			task.TaskID != PlanTaskID.CheckID() {
			t.Errorf("%s was %s and is %s", task.TaskID, a, b)
		}
	}
	one := Derive(p, recordsWith(Change{Add: []Entry{{Path: TaskID("A-1").Dir() + "/marks/0001-abandoned.json"},
		{Path: TaskID("A-2").Dir() + "/marks/0001-abandoned.json"}}}), nil, noon)
	if _, err := (Restore{Task: "A-2"}).Apply(one); err == nil ||
		!strings.Contains(err.Error(), "A-2 depends on A-1, which is abandoned too") {
		t.Errorf("a task is restored whose input is gone: %v", err)
	}
}

// recordsWith are the records that changes add.
func recordsWith(changes ...Change) Records {
	names := map[TaskID][]Name{}
	for _, c := range changes {
		for _, e := range c.Add {
			parts := strings.SplitN(e.Path, "/", 4)
			names[TaskID(parts[2])] = append(names[TaskID(parts[2])], Name{Path: parts[3]})
		}
	}
	r := Records{Tasks: map[TaskID]*TaskRecords{}}
	for id, list := range names {
		r.Tasks[id] = ParseTaskRecords(list)
	}
	return r
}

// What is dropped takes along what has nothing else to build on; the rest goes on without it.
func TestDropNeeds(t *testing.T) {
	rejected := &TaskRecords{Artifacts: []ArtifactRecord{{Version: 1}},
		Reviews: []ReviewRecord{{1, 1, 5, "ann", Rejected}}}
	for _, tt := range []struct {
		name   string
		task   TaskID
		change func(*Plan)
		want   string // of the refusal; else the paths that are added
		due    bool
	}{
		{"and what needs it alone", "B-1", func(p *Plan) {}, "B-1 GOAL-2 B-2", true},
		{"who has something else goes on", "B-1", func(p *Plan) {
			p.Task("B-2").DependsOn = []TaskID{"GOAL-2", "A-3"}
		}, "B-1 GOAL-2", true},
		{"who only comes after it goes on", "B-1", func(p *Plan) {
			p.Task("B-2").DependsOn, p.Task("B-2").OrderOnly = []TaskID{"B-1", "A-3"}, []TaskID{"B-1", "A-3"}
		}, "B-1 GOAL-2", true},
		{"a judge judges the others", "B-1", func(p *Plan) {
			p.Task("B-2").DependsOn, p.Task("B-2").Judges = []TaskID{"B-1", "A-3"}, &Judges{Tasks: []TaskID{"B-1", "A-3"}}
		}, "B-1 GOAL-2", true},
		{"a change that it alone builds on", "B-1", func(p *Plan) {
			p.Task("B-1").DependsOn, p.Task("A-3").DeliverableSpec = []TaskID{"A-3"}, &DeliverableSpec{Format: formatChange}
			p.Task("B-2").DependsOn = []TaskID{"GOAL-2", "A-2"}
		}, "B-1 A-3 GOAL-2", true},
		{"a change that others build on", "B-1", func(p *Plan) {
			p.Task("B-1").DependsOn, p.Task("A-3").DeliverableSpec = []TaskID{"A-3"}, &DeliverableSpec{Format: formatChange}
			p.Task("B-2").DependsOn = []TaskID{"GOAL-2", "A-3"}
		}, "B-1 GOAL-2", true},
		{"one of several that are delivered", "B-1", func(p *Plan) {
			p.Tasks[0].FinalDeliverableSpec = &FinalDeliverableSpec{Mode: PassThrough, IncludeChildren: []TaskID{"B-1", "A-3"}}
		}, "B-1 GOAL-2 B-2", true},
		{"the only one that is delivered", "B-1", func(p *Plan) {
			p.Tasks[0].FinalDeliverableSpec = &FinalDeliverableSpec{Mode: PassThrough, IncludeChildren: []TaskID{"B-1"}}
		}, "GOAL-1 delivers B-1", false},
		{"the last that covers a criterion at the top", "A-1", func(p *Plan) {}, "R1 would be covered by nothing", false},
		{"with a round left", "B-1", func(p *Plan) { p.Task("CHECK-B-1").MaxRounds = 2 }, "has rounds left", false},
		{"where a person is asked", "B-1", func(p *Plan) { p.Task("CHECK-B-1").OnExhausted = "ask" }, "is not to be dropped", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := abandonPlan()
			p.SchemaVersion = 2
			p.Task(tt.task.CheckID()).OnExhausted, p.Task(tt.task.CheckID()).MaxRounds = onExhaustedDrop, 1
			tt.change(p)
			s := Derive(p, Records{Tasks: map[TaskID]*TaskRecords{tt.task: rejected}}, nil, noon)
			c, err := Abandon{Task: tt.task, Drops: true, Decision: Decision{Reason: "why"}}.Apply(s)
			got := fmt.Sprint(err)
			if err == nil {
				var ids []string
				for _, a := range c.Add {
					ids = append(ids, strings.Split(a.Path, "/")[2])
				}
				got = strings.Join(ids, " ")
			}
			if (tt.due || err == nil) && got != tt.want || !strings.Contains(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if due := len(s.ToDrop()) > 0; due != tt.due {
				t.Errorf("a run drops it: %v", due)
			}
			reason := s.Reason(s.Tasks[tt.task])
			if strings.HasSuffix(reason, ", git wf run drops it") != tt.due {
				t.Errorf("a run drops it is %v, but the reason is %s", tt.due, reason)
			}
			if refused := new(abandonError); errors.As(err, &refused) &&
				!strings.HasSuffix(reason, "can't be dropped: "+strings.Join(refused.Needs, "; ")) {
				t.Errorf("the reason does not say what keeps it: %s", reason)
			}
		})
	}
}
