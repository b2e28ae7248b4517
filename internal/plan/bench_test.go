package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// versions are what a plan is made into: each version of the format, and one in which a task orders the work of others.
var versions = map[string]func(p *Plan) *Plan{
	"version 1": func(p *Plan) *Plan { return p },
	"version 2": func(p *Plan) *Plan {
		p.SchemaVersion = 2
		return p
	},
	"with a decider": func(p *Plan) *Plan {
		p.SchemaVersion, p.Roles = 2, map[string]Role{"dev": {Text: "You develop."}}
		for _, t := range p.Tasks {
			if t.NodeType == Action {
				t.Role = "dev"
			}
		}
		p.Tasks = append(p.Tasks, &Task{TaskID: "MAIN-1", NodeType: Action, ParentTaskID: "GOAL-1",
			Decides: &Decides{Orders: []string{"dev"}, Max: 10}, DeliverableSpec: &DeliverableSpec{Format: FormatDecision}})
		return p
	},
}

// approved are the records of the first leaves, with one approved version each.
func approved(leaves int) Records {
	r := Records{Tasks: map[TaskID]*TaskRecords{}}
	for i := range leaves {
		r.Tasks[leafID(i)] = &TaskRecords{
			Artifacts: []ArtifactRecord{{Version: 1}}, Reviews: []ReviewRecord{{N: 1, Version: 1, Reviewer: "ann",
				Verdict: Approved}},
		}
	}
	return r
}

// made are approved, and the versions say what they were made from.
func made(p *Plan, leaves int) Records {
	r := approved(leaves)
	s := Derive(p, r, nil, noon)
	for id, t := range r.Tasks {
		for _, in := range s.Inputs(id) {
			t.From = append(t.From, linkRecord{1, in, 1})
		}
	}
	return r
}

// BenchmarkLinear does with plans of 1,000 and of 3,000 tasks what commands and runs do. What looks at all tasks for each
// task takes three times as long for each task of the larger plan; what is linear takes as long, but for caches.
func BenchmarkLinear(b *testing.B) {
	work := map[string]func(p *Plan) func(){
		"derive": func(p *Plan) func() {
			r := approved(len(p.Tasks) / 8)
			return func() { Derive(p, r, nil, noon) }
		},
		"an event": func(p *Plan) func() {
			n := len(p.Tasks) / 8
			s, r := Derive(p, approved(n), nil, noon), approved(n+1)
			return func() {
				for range 8 { // one alone is soon over
					s.Advance(r, []TaskID{leafID(n)}, nil, noon)
				}
			}
		},
		"each task's dependents, inputs that hold it back and reason": func(p *Plan) func() {
			s := Derive(p, approved(len(p.Tasks)/8), nil, noon)
			return func() {
				for _, task := range p.Tasks {
					ts := s.Tasks[task.TaskID]
					if users := s.Dependents(task.TaskID); len(users) > 0 && s.Tasks[users[0]] == nil {
						panic(users[0])
					}
					if ts.Waits() != (s.Reason(ts) != "" && len(s.WaitsFor(ts)) > 0) && ts.NodeType == Action && ts.Decides == nil {
						panic(ts.TaskID)
					}
				}
			}
		},
		"what an amendment loosens, and a graft of splits": func(p *Plan) func() {
			s := Derive(p, Records{}, nil, noon)
			var split []TaskID
			for i := range len(p.Tasks) / 4 {
				split = append(split, leafID(i))
			}
			return func() {
				p.Loosens(p)
				s.Open()
				grown := *p
				grown.addSplits(split, Planner{Agent: AgentManual})
			}
		},
	}
	for _, what := range slices.Sorted(maps.Keys(work)) {
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			for _, version := range slices.Sorted(maps.Keys(versions)) {
				for _, n := range []int{1000, 3000} {
					b.Run(fmt.Sprintf("%s/%s/%s/%d", what, name, version, n), func(b *testing.B) {
						do := work[what](versions[version](shapes[name](n)))
						for b.Loop() {
							do()
						}
						b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/task")
					})
				}
			}
		}
	}
}

// BenchmarkDerive derives a plan of 1,000 tasks whole, as a command does, and again after one event, as a run does. In
// each every task is approved, and names what it was made from.
func BenchmarkDerive(b *testing.B) {
	for _, name := range []string{"chain", "fan-in"} {
		p := shapes[name](1000)
		r := made(p, 1000)
		b.Run(name+"/whole", func(b *testing.B) {
			for b.Loop() {
				Derive(p, r, nil, noon)
			}
		})
		b.Run(name+"/an event", func(b *testing.B) {
			s, before := Derive(p, r, nil, noon), made(p, 999)
			for b.Loop() {
				s.Advance(before, []TaskID{leafID(999)}, nil, noon)
			}
		})
	}
}
