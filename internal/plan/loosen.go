package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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
		held := Task{MinScore: were.MinScore, Quorum: were.Quorum, MaxRounds: were.MaxAttempts}
		if old := before.Task(t.TaskID); old != nil {
			least := old.MinScore
			if old.Rubric != nil {
				least = max(least, old.Rubric.Pass)
			}
			held.MinScore = min(held.MinScore, cmp.Or(least, held.MinScore))
			held.Quorum = min(held.Quorum, cmp.Or(old.Quorum, held.Quorum))
			held.MaxRounds = max(held.MaxRounds, old.MaxRounds)
			held.OnExhausted, held.Agree, held.Rubric = old.OnExhausted, old.Agree, old.Rubric
			held.FinalDeliverableSpec = old.FinalDeliverableSpec
		}
		for _, f := range t.loosens(&held) {
			f.TaskID, f.Path = t.TaskID, fmt.Sprintf("tasks[%d].%s", i, f.Path)
			fs = append(fs, f)
		}
	}
	return fs
}

// ChecksAlone lists where p, other than base, has run lines alone judge what is not made by one. A person or a workflow may
// say so: a model's plan would let what models make pass unread.
func (p *Plan) ChecksAlone(base *Plan) (fs Findings) {
	alone := func(names []string, quorum int) bool {
		return slices.Contains(names, ReviewerChecks) && max(quorum, p.Limits().Quorum) < 2
	}
	unread := func(path string, id TaskID, names []string) {
		f := newly(path, "nobody named, or others", strings.Join(names, ", "))
		f.TaskID, f.Message = id, "an agent's plan can't have a deliverable pass by its run lines alone"
		fs = append(fs, f)
	}
	if is := p.Config; alone(is.Reviewers, 0) && !slices.Contains(base.Config.Reviewers, ReviewerChecks) {
		unread("config.reviewers", "", is.Reviewers)
	}
	before, tasks := base.Index(), p.Index()
	for i, c := range p.Tasks {
		of, old := tasks.Task(c.ReviewTargetTaskID), before.Task(c.TaskID)
		if c.NodeType != Check || of == nil || of.Run != "" || of.hasManual() || !alone(c.Reviewers, c.Quorum) ||
			old != nil && slices.Contains(old.Reviewers, ReviewerChecks) {
			continue
		}
		unread(fmt.Sprintf("tasks[%d].reviewers", i), c.TaskID, c.Reviewers)
	}
	return fs
}

// loosens lists where a task asks for less than held before it.
func (t *Task) loosens(held *Task) (fs Findings) {
	less := func(field string, is, was int) {
		if is < was {
			fs = append(fs, loosened(field, "at least", float64(is), float64(was)))
		}
	}
	if t.MinScore > 0 && t.Rubric == nil {
		less("min_score", t.MinScore, held.MinScore)
	}
	if t.Quorum > 0 {
		less("quorum", t.Quorum, held.Quorum)
	}
	if t.MaxRounds > held.MaxRounds {
		fs = append(fs, loosened("max_rounds", "at most", float64(t.MaxRounds), float64(held.MaxRounds)))
	}
	if t.TakesExhausted() && !held.TakesExhausted() {
		fs = append(fs, newly("on_exhausted", "ask", t.OnExhausted))
	}
	if f := t.FinalDeliverableSpec; f != nil && f.DeliverAccepted &&
		(held.FinalDeliverableSpec == nil || !held.FinalDeliverableSpec.DeliverAccepted) {
		fs = append(fs, newly("final_deliverable_spec.deliver_accepted", "false", "true"))
	}
	switch was := held.Agree; {
	case t.Agree != nil && was == nil:
		fs = append(fs, newly("agree", "none: one rejection rejects", "agree"))
	case t.Agree != nil:
		less("agree.approvals", t.Agree.Approvals, was.Approvals)
		less("agree.mean", t.Agree.Mean, was.Mean)
		less("agree.veto", t.Agree.Veto, was.Veto)
	case was != nil && t.Quorum < was.Approvals:
		fs = append(fs, newly("agree", "the one that held", "none"))
	}
	if t.Rubric != nil {
		less("rubric.pass", max(t.Rubric.Pass, t.MinScore), held.MinScore)
	}
	if held.Rubric != nil && t.Rubric == nil {
		fs = append(fs, newly("rubric", "the one that held", "none"))
	} else if held.Rubric != nil {
		less("rubric.veto", t.Rubric.Veto, held.Rubric.Veto)
	}
	return fs
}

func newly(path, expected, found string) Finding {
	return Finding{Code: "loosens", Path: path, Message: "an agent's plan can't ask for less than held", Expected: expected,
		Found: found}
}

func loosened(path, bound string, is, was float64) Finding {
	return Finding{
		Code: "loosens", Path: path, Message: "an agent's plan can't set this limit wider than it is",
		Expected: fmt.Sprintf("%s %v", bound, was), Found: fmt.Sprint(is),
	}
}
