package plan

import (
	"slices"
	"testing"
)

func TestLoosens(t *testing.T) {
	base := &Plan{Config: Config{MinScore: 85, MaxAttempts: 4},
		Tasks: []*Task{{TaskID: "CHECK-A-1", MinScore: 70}, {TaskID: "A-1"}}}
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
		}, []string{"tasks[2].min_score"}},
		{"of a check that was lenient", func(p *Plan) {
			p.Tasks[0] = &Task{TaskID: "CHECK-A-1", MinScore: 60}
		}, []string{"tasks[0].min_score"}},
		{"of a check that was not", func(p *Plan) {
			p.Tasks[1] = &Task{TaskID: "A-1", MinScore: 80}
		}, []string{"tasks[1].min_score"}},
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
