package plan

import (
	"cmp"
	"fmt"
)

// Loosens lists the limits that p sets wider than base did: how deep a plan may go, how large a task and the plan may
// be, how often a task is tried, and what it takes to approve one. A person may do that; an agent would otherwise
// decide how much it may spend, and how good its work has to be.
func (p *Plan) Loosens(base *Plan) Findings {
	is, were := p.Limits(), base.Limits()
	var fs Findings
	for _, l := range configLimits() {
		switch now, before := l.of(is), l.of(were); {
		case l.wider == "more" && now > before:
			fs = append(fs, loosened("config."+l.name, "at most", now, before))
		case l.wider == "less" && now < before:
			fs = append(fs, loosened("config."+l.name, "at least", now, before))
		}
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
