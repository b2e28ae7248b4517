package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSessionNames(t *testing.T) {
	for name, want := range map[string]string{
		"0001-paused.json": "1 paused", "0012-resumed.json": "12 resumed", "10000-completed.json": "10000 completed",
		"1-paused.json": "", "0001-abandoned.json": "", "0001-paused.md": "", "0001-.json": "", "0001paused.json": "",
		"0001-paused.json.json": "", "": "", "99999999999-paused.json": "",
	} {
		got := ""
		for _, rec := range (Records{}).WithSession([]string{name}, nil).Session {
			got = fmt.Sprintf("%d %s", rec.N, rec.Kind)
			if rec.path() != SessionDir+"/"+name {
				t.Errorf("%q is written %q", name, rec.path())
			}
		}
		if got != want {
			t.Errorf("%q is read as %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]bool{
		"0001-learnings.md": true, "0001-Learnings.md": false, "0001-a b.md": false, "1-issues.md": false, "0001-.md": false,
		"0001-x.json": false,
	} {
		notes := Records{}.WithSession(nil, []string{name}).Notes
		if ok := len(notes) > 0; ok != want || ok && notes[0].Path() != NotesDir+"/"+name {
			t.Errorf("%q is read as %v", name, notes)
		}
	}
}

func TestSessionStatus(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  SessionStatus
	}{
		{nil, SessionActive},
		{[]string{"0001-paused.json"}, SessionPaused},
		{[]string{"0002-resumed.json", "0001-paused.json"}, SessionActive},
		{[]string{"0001-paused.json", "0002-resumed.json", "0003-completed.json"}, SessionCompleted},
		{[]string{"0001-completed.json", "0001-resumed.json"}, SessionActive},
		{[]string{"0001-completed.json", "0001-paused.json"}, SessionPaused},
		{[]string{"0001-paused.json", "0009-nonsense.json", "x"}, SessionPaused},
	} {
		s := Derive(statusPlan(false), Records{}.WithSession(tt.names, nil), nil, noon)
		if got := s.SessionStatus(); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.names, got, tt.want)
		}
	}
}

// flatPlan has n ACTIONs below the root, and its first plan grafted.
func flatPlan(n int) *Plan {
	p := Bootstrap("WFS-x", &Plan{Title: "x"}, Planner{Agent: AgentManual, File: "plan.yaml"})
	for i := range n {
		p.Tasks = append(p.Tasks, &Task{TaskID: TaskID(fmt.Sprintf("IMPL-%d", i+1)), NodeType: Action, ParentTaskID: RootID})
	}
	p.Grafts = []Graft{{PlanTaskID, "v1"}}
	return p
}

func TestComplexity(t *testing.T) {
	for n, want := range map[int]Complexity{0: simple, 1: simple, 4: simple, 5: medium, 15: medium, 16: highest,
		100: highest} {
		if got := flatPlan(n).AssessComplexity(); got != want {
			t.Errorf("%d tasks: %s, want %s", n, got, want)
		}
	}
	deep := flatPlan(2)
	deep.Tasks = append(deep.Tasks, &Task{TaskID: "GOAL-2", NodeType: Goal, ParentTaskID: RootID})
	deep.Task("IMPL-1").ParentTaskID = "GOAL-2"
	if got := deep.AssessComplexity(); got != medium {
		t.Errorf("two levels: %s", got)
	}
	higher := flatPlan(1)
	higher.Complexity = highest
	if got := higher.AssessComplexity(); got != highest {
		t.Errorf("set to complex: %s", got)
	}
	higher = flatPlan(16)
	higher.Complexity = simple
	if got := higher.AssessComplexity(); got != highest {
		t.Errorf("set lower than it is: %s", got)
	}
}

// However a plan is amended, it never becomes simpler, and what follows from its tasks is not written down.
func TestComplexityNeverFalls(t *testing.T) {
	for before := range 20 {
		for after := 1; after < 20; after++ {
			base, candidate := flatPlan(before), flatPlan(after)
			p, err := base.Merged(PlanTaskID, &Plan{RootTaskID: RootID,
				Tasks: append([]*Task{candidate.Tasks[0]}, candidate.Tasks[3:]...)}, 2)
			if err != nil {
				t.Fatal(err)
			}
			want := base.AssessComplexity().Higher(candidate.AssessComplexity())
			if got := p.AssessComplexity(); got != want {
				t.Errorf("from %d to %d tasks: %s, want %s", before, after, got, want)
			}
			if written := p.Complexity != ""; written != (want.rank() > candidate.AssessComplexity().rank()) {
				t.Errorf("from %d to %d tasks: written down: %q", before, after, p.Complexity)
			}
		}
	}
}

func TestPhase(t *testing.T) {
	p := flatPlan(2)
	made := func(ids ...TaskID) Records {
		r := Records{Tasks: map[TaskID]*TaskRecords{}}
		for _, id := range ids {
			r.Tasks[id] = &TaskRecords{Artifacts: []ArtifactRecord{{Version: 1}}}
		}
		return r
	}
	bare := *p
	bare.Grafts = nil
	for _, tt := range []struct {
		name string
		s    *State
		want string
	}{
		{"no plan yet", Derive(&bare, Records{}, nil, noon), "PLAN []"},
		{"nothing made", Derive(p, Records{}, nil, noon), "IMPLEMENT [PLAN]"},
		{"one made", Derive(p, made("IMPL-1"), nil, noon), "IMPLEMENT [PLAN]"},
		{"all made", Derive(p, made("IMPL-1", "IMPL-2"), nil, noon), "REVIEW [PLAN IMPLEMENT]"},
		{"completed", Derive(p, made("IMPL-1", "IMPL-2").WithSession([]string{"0001-completed.json"}, nil), nil, noon),
			"REVIEW [PLAN IMPLEMENT REVIEW]"},
	} {
		if got := fmt.Sprint(tt.s.Phase(), " ", tt.s.CompletedPhases()); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// What each kind of event needs of the session.
func TestSessionAdmits(t *testing.T) {
	p := flatPlan(1)
	why := Decision{By: "ann", CreatedAt: noon, Reason: "why"}
	events := map[string]Event{
		"pause": Pause{Decision: why}, "resume": Resume{Decision: why}, "resume without a reason": Resume{},
		"complete": Complete{},
		"review":   AddReview{}, "version": NewVersion{}, "replan": Replan{},
		"doctor":  Mend{Mended: []Mended{{}}},
		"abandon": Abandon{Task: RootID, Decision: why},
	}
	want := map[SessionStatus]map[string]string{
		SessionActive: {"resume": "is active", "resume without a reason": "is active"},
		SessionPaused: {"pause": "is paused already", "replan": "no work begins"},
		SessionCompleted: {
			"pause": "is completed already", "resume without a reason": "needs a reason", "complete": "is completed already",
			"review":  "nothing is added",
			"version": "nothing is added", "replan": "nothing is added", "abandon": "nothing is added",
		},
	}
	for status, names := range map[SessionStatus][]string{SessionActive: nil, SessionPaused: {"0001-paused.json"},
		SessionCompleted: {"0001-completed.json"}} {
		s := Derive(p, Records{}.WithSession(names, nil), nil, noon)
		for name, ev := range events {
			err := s.Admits(ev)
			if _, ofSession := ev.(interface{ Apply(*State) (Change, error) }); err == nil && ofSession {
				switch ev.(type) {
				case Pause, Resume, Complete, Mend:
					_, err = ev.Apply(s)
				}
			}
			var open *OpenError
			switch w := want[status][name]; {
			case w == "" && err != nil && !errors.As(err, &open):
				t.Errorf("%s, %s: %v", status, name, err)
			case w != "" && (err == nil || !strings.Contains(err.Error(), w)):
				t.Errorf("%s, %s: %v, want %q", status, name, err, w)
			}
		}
	}
}

func TestCompleteRefusesOldRecords(t *testing.T) {
	p := flatPlan(1)
	gone := map[TaskID]*TaskRecords{"IMPL-1": {Marks: []markRecord{{1, eventAbandoned}}},
		PlanTaskID: {Marks: []markRecord{{1, eventAbandoned}}}}
	s := Derive(p, Records{Tasks: gone}.WithSession([]string{"0001-paused.json", "0002-resumed.json"},
		[]string{"0004-issues.md"}), nil, noon)
	var moved *RefusedError
	if _, err := (Complete{Seen: 4}).Apply(s); !errors.As(err, &moved) {
		t.Errorf("metrics of older records are taken: %v", err)
	}
	c, err := Complete{Seen: s.Records.Count(), Learnings: []byte("x")}.Apply(s)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, e := range c.Add {
		paths = append(paths, e.Path)
	}
	if diff := cmp.Diff([]string{"session/0003-completed.json", "notes/0005-learnings.md"}, paths); diff != "" {
		t.Error(diff)
	}
}

// Each record of a task counts: what is added while the metrics are collected is noticed.
func TestCountHasEveryRecord(t *testing.T) {
	records := &TaskRecords{
		Artifacts: make([]ArtifactRecord, 1), Reviews: make([]ReviewRecord, 1), Landings: make([]landingRecord, 1),
		Acts: make([]actRecord, 1), Orders: make([]orderRecord, 1), Holds: make([]linkRecord, 1), From: make([]linkRecord, 1),
	}
	if n := (Records{Tasks: map[TaskID]*TaskRecords{"A-1": records}}).Count(); n != 7 {
		t.Errorf("%d records, want 7", n)
	}
}
