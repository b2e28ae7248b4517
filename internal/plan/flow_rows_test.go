package plan

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// rowsPlan has a task that decides, two that it orders, a judge of them, and one that nobody orders.
func rowsPlan(edit func(*Plan)) *Plan {
	action := func(id TaskID, role string, deps ...TaskID) *Task {
		return &Task{TaskID: id, NodeType: Action, ParentTaskID: "GOAL-1", Role: role, DependsOn: deps}
	}
	p := &Plan{RootTaskID: "GOAL-1", SchemaVersion: 2, Config: Config{MaxAttempts: 2, MaxLost: 2}, Tasks: []*Task{
		{TaskID: "GOAL-1", NodeType: Goal}, action("MAIN-1", ""), action("FREE-1", ""), action("DEV-1", "dev"),
		action("DEV-2", "dev", "DEV-1"), action("REVIEW-1", "review", "DEV-1", "DEV-2"),
	}}
	p.Task("MAIN-1").Decides = &Decides{Orders: []string{"dev", "review"}, Max: 2}
	p.Task("REVIEW-1").Judges = &Judges{Tasks: []TaskID{"DEV-1", "DEV-2"}}
	if edit != nil {
		edit(p)
	}
	for _, t := range p.Tasks {
		if t.NodeType == Action {
			p.Tasks = append(p.Tasks, &Task{TaskID: t.TaskID.CheckID(), NodeType: Check, ReviewTargetTaskID: t.TaskID})
		}
	}
	return p
}

// rowsRecords reads "TASK: name, name; TASK: ...". vN is a version, +N and -N one that is approved or rejected.
func rowsRecords(text string) Records {
	r := Records{Tasks: map[TaskID]*TaskRecords{}}
	for part := range strings.SplitSeq(text, "; ") {
		if part == "" {
			continue
		}
		id, list, _ := strings.Cut(part, ": ")
		var names []string
		for i, word := range strings.Split(list, ", ") {
			verdict := map[byte]Verdict{'+': Approved, '-': Rejected}[word[0]]
			if word[0] != 'v' && verdict == "" {
				names = append(names, word)
				continue
			}
			v := atoi(word[1:])
			names = append(names, fmt.Sprintf("artifacts/v%d/artifact.json", v), fmt.Sprintf("artifacts/v%d/files", v))
			if verdict != "" {
				rec := ReviewRecord{i + 1, v, 50, "ann", verdict}
				names = append(names, rec.Text(), rec.Path())
			}
		}
		t := ParseTaskRecords(namesOf(strings.Join(names, "\n")))
		for i := range t.Artifacts {
			t.Artifacts[i].Files = OID(fmt.Sprint(id, t.Artifacts[i].Version))
		}
		r.Tasks[TaskID(id)] = t
	}
	return r
}

func judgedBy(n, version int, v Verdict) string {
	rec := ReviewRecord{n, version, 50, "REVIEW-1", v}
	return rec.Text() + ", " + rec.Path()
}

// TestFlowRows has a case for every two rows of the table that can hold at once and follow each other; in its name are
// the rows, the first of which gives the status.
func TestFlowRows(t *testing.T) {
	const stale, failed = "artifacts/v1/from/DEV-1-v1", "attempts/a1-error.json, attempts/a2-error.json"
	used := func(kind string) string { return "MAIN-1: +1, +2, acts/v1-a0-order.json, acts/v2-a0-" + kind + ".json" }
	rows := table(t, "first that holds, of an ACTION of version 2")
	bothDone := "; DEV-1: +1, " + judgedBy(9, 1, Approved) + "; DEV-2: +1, " + judgedBy(9, 1, Approved) +
		"; FREE-1: +1; REVIEW-1: +1, acts/v1-a0-verdicts.json"
	for _, tt := range []struct {
		rows    [2]int
		task    TaskID
		records string
		edit    func(*Plan)
	}{
		{[2]int{0, 1}, "REVIEW-1", "DEV-1: +1, +2; DEV-2: +1; REVIEW-1: +1, " + stale, nil},
		{[2]int{1, 2}, "MAIN-1", "MAIN-1: +1, +2, acts/v1-a0-finish.json" + bothDone, nil},
		{[2]int{2, 4}, "MAIN-1", "MAIN-1: +1, acts/v1-a0-finish.json; OUT-1: marks/0001-abandoned.json" + bothDone, func(p *Plan) {
			p.Tasks = append(p.Tasks, &Task{TaskID: "OUT-1", NodeType: Action, ParentTaskID: "GOAL-1"})
			p.Task("MAIN-1").DependsOn = []TaskID{"OUT-1"}
		}},
		{[2]int{3, 10}, "DEV-1", "DEV-1: +1", nil},
		{[2]int{4, 5}, "MAIN-1", "DEV-1: orders/o1-d1-b0-a0.json", func(p *Plan) {
			p.Task("MAIN-1").DependsOn = []TaskID{"FREE-1"}
		}},
		{[2]int{5, 8}, "MAIN-1", used("order") + "; DEV-1: orders/o1-d2-b0-a0.json", nil},
		{[2]int{6, 8}, "MAIN-1", used("ask") + "; DEV-1: " + failed, nil},
		{[2]int{7, 8}, "MAIN-1", used("ask") + "; FREE-1: +1; DEV-1: " + failed, nil},
		{[2]int{8, 9}, "MAIN-1", used("ask"), nil},
		{[2]int{9, 12}, "MAIN-1", "", nil},
		{[2]int{10, 11}, "DEV-2", "", nil},
		{[2]int{11, 12}, "DEV-2", "FREE-1: v1", func(p *Plan) { p.Task("DEV-2").Role = "" }},
		{[2]int{12, 12}, "DEV-1", "DEV-1: orders/o1-d1-b0-a0.json", nil},
	} {
		first := tt.rows[0]
		t.Run(rows[first][0], func(t *testing.T) {
			s := Derive(rowsPlan(tt.edit), rowsRecords(tt.records), nil, noon)
			if got := s.Tasks[tt.task]; string(got.Status) != rows[first][1] {
				t.Errorf("%s is %s (%s), the document says %s", tt.task, got.Status, s.Reason(got), rows[first][1])
			}
		})
	}
}

// The cases in which a run came to no end.
func TestFlowEnds(t *testing.T) {
	for _, tt := range []struct {
		name, records string
		edit          func(*Plan)
		task          TaskID
		want          Status
	}{
		{"what it depends on at a distance waits for no order", "", func(p *Plan) {
			p.Task("MAIN-1").DependsOn, p.Task("FREE-1").DependsOn = []TaskID{"FREE-1"}, []TaskID{"DEV-1"}
		}, "DEV-1", StatusReady},
		{"an order of what waits, behind another, for an order is closed",
			"REVIEW-1: orders/o1-d1-b0-a0.json; DEV-1: -1; FREE-1: +1, artifacts/v1/from/DEV-1-v1",
			func(p *Plan) {
				p.Task("FREE-1").DependsOn, p.Task("REVIEW-1").DependsOn = []TaskID{"DEV-1"}, []TaskID{"FREE-1"}
			}, "MAIN-1", StatusReady},
		{"so is one of a part", "REVIEW-1: orders/o1-d1-b0-a0-partial.json; DEV-1: -1", nil, "MAIN-1", StatusReady},
		{"a decision is made anew only when nothing is open", "MAIN-1: -1; DEV-1: orders/o1-d1-b0-a0.json", nil, "MAIN-1",
			StatusToBeModified},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Derive(rowsPlan(tt.edit), rowsRecords(tt.records), nil, noon)
			got := s.Tasks[tt.task]
			if got.Status != tt.want || got.Waits() != (tt.want == StatusToBeModified) {
				t.Errorf("%s is %s (%s), want %s", tt.task, got.Status, s.Reason(got), tt.want)
			}
		})
	}
}

// A version has the mode of an order only while that is open, and names no input that is not DONE.
func TestFlowMode(t *testing.T) {
	const order = "orders/o1-d1-b0-a0-investigate.json"
	const inputs = "DEV-1: +1, -2; DEV-2: +1; REVIEW-1: "
	for records, want := range map[string]string{
		order:                              "artifacts/v1/from/DEV-2-v1 artifacts/v1/mode-investigate",
		order + ", attempts/a1-error.json": "artifacts/v1/from/DEV-1-v1 artifacts/v1/from/DEV-2-v1",
	} {
		s := Derive(rowsPlan(nil), rowsRecords(inputs+records), nil, noon)
		var got []string
		a := Artifact{TaskID: "REVIEW-1", Inputs: []Input{{TaskID: "DEV-1", ArtifactID: "v1"}, {TaskID: "DEV-2", ArtifactID: "v1"}}}
		for _, e := range s.sourceEntries(s.Tasks["REVIEW-1"], a, 1, false) {
			got = append(got, strings.TrimPrefix(e.Path, TaskID("REVIEW-1").Dir()+"/"))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", records, got, want)
		}
	}
}

// A plan of version 1 has the statuses that it has, by whichever of the two ways they are derived: also what is stale.
func TestFlowOfVersion1(tt *testing.T) {
	rnd := rand.New(rand.NewPCG(15, 15))
	names := []string{"v1", "+1", "-1", "+2", "-2", "attempts/a1-error.json", "attempts/a2-lost.json", "attempts/a3-error.json",
		"questions/q1.json", "answers/q1.json", "resets/s1-a1-r1.json", "marks/0001-abandoned.json"}
	stale := 0
	for range 3000 {
		p := rowsPlan(func(p *Plan) {
			p.Tasks[1].Decides, p.Tasks[5].Judges = nil, nil
			for _, t := range p.Tasks {
				t.Role = ""
			}
			p.Tasks = append(p.Tasks, &Task{TaskID: "GOAL-2", NodeType: Goal, ParentTaskID: "GOAL-1"})
			p.Tasks[4].ParentTaskID, p.Tasks[2].DependsOn = "GOAL-2", []TaskID{"GOAL-2"}
		})
		var parts []string
		for _, t := range p.Tasks[1:6] {
			var list []string
			for _, n := range names {
				if rnd.IntN(4) == 0 {
					list = append(list, n)
				}
			}
			for _, d := range t.DependsOn {
				d = TaskID(strings.Replace(string(d), "GOAL-2", "DEV-2", 1))
				if v := 1 + rnd.IntN(2); rnd.IntN(2) == 0 {
					list = append(list, fmt.Sprintf("artifacts/v%d/from/%s-v%d", v, d, 1+rnd.IntN(2)))
					if rnd.IntN(3) == 0 {
						list = append(list, fmt.Sprintf("holds/h1-v%d-%s-v%d.json", v, d, 1+rnd.IntN(2)))
					}
				}
			}
			if list != nil {
				parts = append(parts, string(t.TaskID)+": "+strings.Join(list, ", "))
			}
		}
		if parts == nil {
			continue
		}
		text := strings.Join(parts, "; ")
		two := Derive(p, rowsRecords(text), nil, noon)
		old := *p
		old.SchemaVersion = 1
		one := Derive(&old, rowsRecords(text), nil, noon)
		for _, t := range p.Tasks {
			a, b := one.Tasks[t.TaskID], two.Tasks[t.TaskID]
			if a.Status != b.Status || a.Waits() != b.Waits() || one.Reason(a) != two.Reason(b) {
				tt.Fatalf("%s is %s (%s), and by the rows of version 2 %s (%s); %s", t.TaskID, a.Status, one.Reason(a), b.Status,
					two.Reason(b), text)
			}
			if strings.Contains(a.reason, "is stale: made from") {
				stale++
			}
		}
	}
	if stale < 100 {
		tt.Errorf("%d tasks were stale", stale)
	}
}

// Which work takes a place in a window: that on tasks below it and their reviews, each task once.
func TestCrowded(t *testing.T) {
	p := rowsPlan(func(p *Plan) {
		p.Tasks = append(p.Tasks, &Task{TaskID: "GOAL-2", NodeType: Goal, ParentTaskID: "GOAL-1", Jobs: 2},
			&Task{TaskID: "PLAN-2", NodeType: Action, ParentTaskID: "GOAL-2", FillTargetTaskID: "GOAL-2", Fill: &Fill{},
				DeliverableSpec: &DeliverableSpec{Format: FormatPlan}})
		for _, id := range []TaskID{"DEV-1", "DEV-2", "REVIEW-1"} {
			p.Task(id).ParentTaskID = "GOAL-2"
		}
	})
	for _, tt := range []struct {
		claims, id, want string
	}{
		{"", "DEV-1", ""},
		{"DEV-1 DEV-2", "REVIEW-1", "waits for a place below GOAL-2, where 2 of 2 are in work: DEV-1, DEV-2"},
		{"DEV-1 CHECK-DEV-2", "CHECK-REVIEW-1", "waits for a place below GOAL-2, where 2 of 2 are in work: DEV-1, DEV-2"},
		{"DEV-1 CHECK-DEV-1", "DEV-2", ""},
		{"DEV-1 CHECK-DEV-2", "DEV-2", ""},
		{"DEV-1 FREE-1 PLAN-2", "DEV-2", ""},
		{"DEV-1 DEV-2", "PLAN-2", ""},
		{"DEV-1 DEV-2", "FREE-1", ""},
		{"DEV-1 CHECK-DEV-2:person", "REVIEW-1", ""},
		{"DEV-1 GONE-1", "REVIEW-1", ""},
	} {
		claims := Claims{}
		for claim := range strings.FieldsSeq(tt.claims) {
			id, by, _ := strings.Cut(claim, ":")
			claims[TaskID(id)] = Claim{Task: TaskID(id), Agent: by}
		}
		if got := Derive(p, rowsRecords(""), nil, noon).Crowded(TaskID(tt.id), claims); got != tt.want {
			t.Errorf("%s beside %s: %q", tt.id, tt.claims, got)
		}
	}
}
