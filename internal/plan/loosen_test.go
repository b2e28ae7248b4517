package plan

import (
	"slices"
	"testing"
)

func TestLoosens(t *testing.T) {
	base := &Plan{Config: Config{MinScore: 85, MaxAttempts: 4},
		Tasks: []*Task{{TaskID: "CHECK-A-1", MinScore: 70}, {TaskID: "A-1"}, {TaskID: "GOAL-2", Jobs: 2},
			{TaskID: "B-1", ParentTaskID: "GOAL-2", NodeType: Action}}}
	for _, tt := range []struct {
		name   string
		change func(*Plan)
		want   []string
	}{
		{"as it was", func(*Plan) {}, nil},
		{"stricter", func(p *Plan) { p.Config = Config{MinScore: 95, MaxAttempts: 1, Quorum: 2, MaxLeafTasks: 5} }, nil},
		{"by its defaults", func(p *Plan) { p.Config = Config{} }, nil},
		{"a low score", func(p *Plan) { p.Config.MinScore = 10 }, []string{"config.min_score"}},
		{"many attempts", func(p *Plan) { p.Config.MaxAttempts = 50 }, []string{"config.max_attempts"}},
		{"large tasks", func(p *Plan) {
			p.Config.OneShotThresholdPersonDays = 99
		}, []string{"config.one_shot_threshold_person_days"}},
		{"deep and long", func(p *Plan) { p.Config.MaxDecompositionDepth, p.Config.MaxLeafTasks = 9, 5000 },
			[]string{"config.max_decomposition_depth", "config.max_leaf_tasks"}},
		{"of a new check", func(p *Plan) {
			p.Tasks = append(p.Tasks, &Task{TaskID: "CHECK-B-1", MinScore: 84})
		}, []string{"tasks[4].min_score"}},
		{"a wider window", func(p *Plan) { p.Tasks[2] = &Task{TaskID: "GOAL-2", Jobs: 3} }, []string{"tasks[3]"}},
		{"no window", func(p *Plan) { p.Tasks[2] = &Task{TaskID: "GOAL-2"} }, []string{"tasks[3]"}},
		{"out of its window", func(p *Plan) { p.Tasks[3] = &Task{TaskID: "B-1", NodeType: Action} }, []string{"tasks[3]"}},
		{"a narrower window around it", func(p *Plan) {
			p.Tasks[2] = &Task{TaskID: "GOAL-2", ParentTaskID: "GOAL-3"}
			p.Tasks = append(p.Tasks, &Task{TaskID: "GOAL-3", Jobs: 1})
		}, nil},
		{"of a check that was lenient", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", MinScore: 60}
		}, []string{"tasks[0].min_score"}},
		{"of a check that was not", func(p *Plan) {
			p.Tasks[1] = &Task{TaskID: "A-1", MinScore: 80}
		}, []string{"tasks[1].min_score"}},
		{"many rounds", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", MinScore: 70, MaxRounds: 5}
		}, []string{"tasks[0].max_rounds"}},
		{"fewer rounds", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", MinScore: 70, MaxRounds: 4, OnExhausted: "ask"}
		}, nil},
		{"takes what there is", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", MinScore: 70, OnExhausted: "accept"}
		}, []string{"tasks[0].on_exhausted"}},
		{"delivers what was taken", func(p *Plan) {
			p.Tasks[1] = &Task{TaskID: "A-1", FinalDeliverableSpec: &FinalDeliverableSpec{DeliverAccepted: true}}
		}, []string{"tasks[1].final_deliverable_spec.deliver_accepted"}},
		{"asks more", func(p *Plan) {
			p.Tasks[1] = &Task{TaskID: "A-1", Consults: &consults{Roles: []string{"architect"}, Max: 1}}
		}, []string{"tasks[1].consults.max"}},
		{"a new task asks", func(p *Plan) {
			p.Tasks = append(p.Tasks, &Task{TaskID: "C-1", Consults: &consults{Roles: []string{"architect"}, Max: 20}})
		}, nil},
		{"some agree", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", MinScore: 70, Agree: &Agree{Approvals: 3}}
		}, []string{"tasks[0].agree"}},
		{"a rubric that passes less", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", Rubric: &Rubric{Pass: 69}}
		}, []string{"tasks[0].rubric.pass"}},
		{"a rubric that passes as much", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", Rubric: &Rubric{Pass: 70}}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := *base
			p.Tasks = slices.Clone(base.Tasks)
			tt.change(&p)
			var got []string
			for _, f := range p.Loosens(base) {
				got = append(got, f.Path)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %v, want %v", got, tt.want)
			}
		})
	}
}

// What a CHECK has of rounds, panel and rubric, an agent's plan keeps, or makes stricter.
func TestLoosensWhatHeld(t *testing.T) {
	held := Task{TaskID: "CHECK-A-1", MaxRounds: 5, OnExhausted: "accept", Agree: &Agree{Approvals: 2, Mean: 60, Veto: 40},
		Rubric: &Rubric{Pass: 50, Veto: 30}}
	base := &Plan{Tasks: []*Task{&held}}
	counts := func(points float64, limit int) *Rubric {
		return &Rubric{Deductions: map[string]float64{"high": points}, Limits: map[string]int{"high": limit}, Pass: 50}
	}
	for _, tt := range []struct {
		name   string
		change func(*Task)
		want   []string
	}{
		{"as it was", func(*Task) {}, nil},
		{"stricter", func(c *Task) {
			c.MaxRounds, c.OnExhausted = 1, ""
			c.Agree, c.Rubric = &Agree{Approvals: 3, Mean: 61, Veto: 41}, &Rubric{Pass: 51, Veto: 31}
		}, nil},
		{"more rounds", func(c *Task) { c.MaxRounds = 6 }, []string{"tasks[0].max_rounds"}},
		{"fewer approvals", func(c *Task) { c.Agree = &Agree{Approvals: 1, Mean: 60, Veto: 40} },
			[]string{"tasks[0].agree.approvals"}},
		{"a lower mean and veto", func(c *Task) { c.Agree = &Agree{Approvals: 2, Mean: 59, Veto: 39} },
			[]string{"tasks[0].agree.mean", "tasks[0].agree.veto"}},
		{"no panel", func(c *Task) { c.Agree = nil }, []string{"tasks[0].agree"}},
		{"a quorum in its place", func(c *Task) { c.Agree, c.Quorum = nil, 2 }, nil},
		{"a lower pass and veto", func(c *Task) { c.Rubric = &Rubric{Pass: 49} },
			[]string{"tasks[0].rubric.pass", "tasks[0].rubric.veto"}},
		{"no rubric", func(c *Task) { c.Rubric = nil }, []string{"tasks[0].rubric"}},
		{"counted as it was", func(c *Task) { held.Rubric, c.Rubric = counts(25, 0), counts(25, 0) }, nil},
		{"a finding costs less", func(c *Task) { c.Rubric = counts(24, 0) }, []string{"tasks[0].rubric"}},
		{"more findings", func(c *Task) { c.Rubric = counts(25, 1) }, []string{"tasks[0].rubric"}},
		{"rated instead of counted", func(c *Task) { c.Rubric = &Rubric{Scale: 5, Pass: 50} }, []string{"tasks[0].rubric"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := held
			tt.change(&c)
			var got []string
			for _, f := range (&Plan{Tasks: []*Task{&c}}).Loosens(base) {
				got = append(got, f.Path)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("found %v, want %v", got, tt.want)
			}
		})
	}
}
