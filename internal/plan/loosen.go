package plan

import (
	"cmp"
	"fmt"
)

// Loosens lists the limits that p sets wider than base did: how deep a plan may go, how large a task and the plan may be, how often
// a task is tried, and what it takes to approve one. A person may do that; an agent would otherwise decide how much it may
// spend, and how good its work has to be.
func (p *Plan) Loosens(base *Plan) Findings {
	is, were := p.Limits(), base.Limits()
	var fs Findings
	most := func(field string, is, was float64) {
		if is > was {
			fs = append(fs, loosened("config."+field, "at most", is, was))
		}
	}
	most("max_decomposition_depth", float64(is.MaxDecompositionDepth), float64(were.MaxDecompositionDepth))
	most("one_shot_threshold_person_days", is.OneShotThresholdPersonDays, were.OneShotThresholdPersonDays)
	most("max_leaf_tasks", float64(is.MaxLeafTasks), float64(were.MaxLeafTasks))
	most("max_attempts", float64(is.MaxAttempts), float64(were.MaxAttempts))
	most("max_lost", float64(is.MaxLost), float64(were.MaxLost))
	if is.MinScore < were.MinScore {
		fs = append(fs, loosened("config.min_score", "at least", float64(is.MinScore), float64(were.MinScore)))
	}
	if is.Quorum < were.Quorum {
		fs = append(fs, loosened("config.quorum", "at least", float64(is.Quorum), float64(were.Quorum)))
	}
	before := base.Index()
	for i, t := range p.Tasks {
		minScore, quorum := were.MinScore, were.Quorum
		if old := before.Task(t.TaskID); old != nil {
			minScore, quorum = min(minScore, cmp.Or(old.MinScore, minScore)), min(quorum, cmp.Or(old.Quorum, quorum))
		}
		for _, l := range []struct {
			field   string
			is, was int
		}{{"min_score", t.MinScore, minScore}, {"quorum", t.Quorum, quorum}} {
			if l.is > 0 && l.is < l.was {
				f := loosened(fmt.Sprintf("tasks[%d].%s", i, l.field), "at least", float64(l.is), float64(l.was))
				f.TaskID = t.TaskID
				fs = append(fs, f)
			}
		}
	}
	return fs
}

func loosened(path, bound string, is, was float64) Finding {
	return Finding{
		Code: "loosens", Path: path, Message: "an agent's plan can't set this limit wider than it is",
		Expected: fmt.Sprintf("%s %v", bound, was), Found: fmt.Sprint(is),
	}
}
