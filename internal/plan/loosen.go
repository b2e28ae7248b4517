package plan

import "fmt"

// Loosens lists the limits of planning that p sets wider than they were: how deep a plan may go, how large one task and
// how large the plan may be. A person may do that; an agent would otherwise decide how much it may spend.
func (p *Plan) Loosens(were Config) Findings {
	is := p.Limits()
	var fs Findings
	for _, l := range []struct {
		field   string
		is, was float64
	}{
		{"max_decomposition_depth", float64(is.MaxDecompositionDepth), float64(were.MaxDecompositionDepth)},
		{"one_shot_threshold_person_days", is.OneShotThresholdPersonDays, were.OneShotThresholdPersonDays},
		{"max_leaf_tasks", float64(is.MaxLeafTasks), float64(were.MaxLeafTasks)},
	} {
		if l.is > l.was {
			fs = append(fs, Finding{
				Code: "loosens", Path: "config." + l.field, Message: "an agent's plan can't set this limit wider than it is",
				Expected: fmt.Sprintf("at most %v", l.was), Found: fmt.Sprint(l.is),
			})
		}
	}
	return fs
}
