package plan

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"

	"gitwf/internal/each"
)

// Loosens lists the limits that p sets wider than base did: how deep a plan may go, how large the tasks
// and the plan may be, how often a task is tried, and what approves one. A person may widen them. An
// agent may not, or it would decide how much it may spend and how good its work must be.
func (p *Plan) Loosens(base *Plan) Findings {
	is, were := p.Limits(), base.Limits()
	var fs Findings
	for _, l := range configLimits() {
		switch now, before := l.valueIn(is), l.valueIn(were); {
		case l.wider == "more" && now > before:
			fs = append(fs, loosened("config."+l.name, "at most", now, before))
		case l.wider == "less" && now < before:
			fs = append(fs, loosened("config."+l.name, "at least", now, before))
		}
	}
	before, after := base.Index(), p.Index()
	for i, t := range p.Tasks {
		if was := before.window(t.TaskID); was > 0 && t.NodeType == Action {
			if now := after.window(t.TaskID); now == 0 || now > was {
				f := newly(fmt.Sprintf("tasks[%d]", i), fmt.Sprintf("jobs: %d, or less, above it", was),
					fmt.Sprintf("jobs: %d", now))
				f.TaskID = t.TaskID
				fs = append(fs, f)
			}
		}
		held := Task{MinScore: were.MinScore, Quorum: were.Quorum, MaxRounds: were.MaxAttempts,
			Consults: t.Consults}
		if old := before.Task(t.TaskID); old != nil {
			least := old.MinScore
			if old.Rubric != nil {
				least = max(least, old.Rubric.Pass)
			}
			held.MinScore = min(held.MinScore, cmp.Or(least, held.MinScore))
			held.Quorum = min(held.Quorum, cmp.Or(old.Quorum, held.Quorum))
			held.MaxRounds = max(held.MaxRounds, old.MaxRounds)
			held.OnExhausted, held.Agree, held.Rubric = old.OnExhausted, old.Agree, old.Rubric
			held.FinalDeliverableSpec, held.Consults = old.FinalDeliverableSpec, old.Consults
		}
		for _, f := range t.loosens(&held) {
			f.TaskID, f.Path = t.TaskID, fmt.Sprintf("tasks[%d].%s", i, f.Path)
			fs = append(fs, f)
		}
	}
	return fs
}

// ChecksAlone lists where p, unlike base, lets run lines alone judge what they did not make. A person
// or a workflow may choose that; a model's plan would let work of models pass unread.
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
	if c := t.Consults; c != nil && (held.Consults == nil || c.Max > held.Consults.Max) {
		fs = append(fs, newly("consults.max", "what held before, or none", fmt.Sprint(c.Max)))
	}
	if !t.AsksExhausted() && held.AsksExhausted() {
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
		if was := held.Rubric; was.Counts() && !(maps.Equal(t.Rubric.Deductions, was.Deductions) &&
			maps.Equal(t.Rubric.Limits, was.Limits)) {
			fs = append(fs, newly("rubric", "the deductions and limits that held", "others"))
		}
	}
	return fs
}

func newly(path, expected, found string) Finding {
	return Finding{Code: "loosens", Path: path, Message: "an agent's plan can't ask for less than held",
		Expected: expected, Found: found}
}

func loosened(path, bound string, is, was float64) Finding {
	return Finding{
		Code: "loosens", Path: path, Message: "an agent's plan can't set this limit wider than it is",
		Expected: fmt.Sprintf("%s %v", bound, was), Found: fmt.Sprint(is),
	}
}

// keepsDone refuses a plan that leaves out a task with an approved version or turns it into another
// kind of task, and one that changes a task whose versions have taken effect on other tasks or that is
// abandoned: nobody could make such a task again.
func (s *State) keepsDone(p *Plan) Findings {
	var fs Findings
	for t, now := range s.approvedIn(p) {
		gone := t.Status == StatusAbandoned
		fixed := gone || t.Judges != nil || t.Decides != nil
		expected := "the task as it is, or git wf abandon " + string(t.TaskID) + " -m WHY"
		if gone {
			expected = "the task as it is: abandoned, it counts no more; git wf retry " + string(t.TaskID) +
				" takes it back"
		}
		switch {
		case now == nil:
			fs = append(fs, Finding{
				Code: "amends-done", TaskID: t.TaskID, Message: "has an approved version and can't be left out",
				Expected: expected, Found: "nothing",
			})
		case now.NodeType != Action:
			fs = append(fs, t.amendedFinding("node_type", p))
		case fixed && t.changedField(now) != "":
			f := t.amendedFinding(t.changedField(now), p)
			f.Expected = expected
			fs = append(fs, f)
		}
	}
	return fs
}

// Amended finds the tasks with an approved version that a plan changes, with the field that differs. An
// approval is for the task as it was. So an agent's plan may change no such task, and a person's plan
// has these versions made again first.
func (s *State) Amended(p *Plan) Findings {
	var fs Findings
	for t, now := range s.approvedIn(p) {
		if now != nil {
			if field := t.changedField(now); field != "" {
				fs = append(fs, t.amendedFinding(field, p))
			}
		}
	}
	return fs
}

// approvedIn gives the tasks with an approved version, and what a plan makes of each; nil if it leaves the task out.
func (s *State) approvedIn(p *Plan) iter.Seq2[*TaskState, *Task] {
	tasks := p.Index()
	return func(yield func(*TaskState, *Task) bool) {
		for _, t := range s.order {
			if t.NodeType == Action && !t.Planning() && t.Approved > 0 && !yield(t, tasks.Task(t.TaskID)) {
				return
			}
		}
	}
}

func (t *TaskState) amendedFinding(field string, p *Plan) Finding {
	at := slices.IndexFunc(p.Tasks, func(o *Task) bool { return o.TaskID == t.TaskID })
	return Finding{
		Code: "amends-done", Path: fmt.Sprintf("tasks[%d].%s", at, field), TaskID: t.TaskID,
		Message: "has an approved version and can't be changed", Expected: "the task as it is",
	}
}

// changedField returns the first field in which the tasks differ, among those that a deliverable rests on; "" for none.
func (t *Task) changedField(o *Task) string {
	switch {
	case t.NodeType != o.NodeType:
		return "node_type"
	case !reflect.DeepEqual(t.DeliverableSpec, o.DeliverableSpec):
		return "deliverable_spec"
	case len(t.AcceptanceCriteria)+len(o.AcceptanceCriteria) > 0 &&
		!reflect.DeepEqual(t.AcceptanceCriteria, o.AcceptanceCriteria):
		return "acceptance_criteria"
	case t.Title != o.Title:
		return "title"
	case t.DoneElsewhere != o.DoneElsewhere:
		return "done_elsewhere"
	}
	return ""
}

// RedFirst lists the ACTIONs whose criteria must be tried on an empty candidate before the plan is accepted: those
// that only run lines judge. Where a person judges too, that person sees an empty candidate. A change has none: without
// work it is the repository as it is, whose tests may well pass.
func (p *Plan) RedFirst() []*Task {
	var tasks []*Task
	for _, t := range p.Tasks {
		if t.NodeType == Action && !t.Planning() && !t.Changes() && len(t.AcceptanceCriteria) > 0 && !t.hasManual() {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// GreenBeforeWork finds the ACTIONs of RedFirst none of whose MUST criteria failed on an empty candidate: they prove
// nothing. passed has, for each task and criterion that was run, whether it passed; a criterion that is missing there
// was not run and counts as passed, so that a run that did not happen never stands for a failure.
func (p *Plan) GreenBeforeWork(passed map[TaskID]map[string]bool) Findings {
	wanted := each.Set(p.RedFirst(), func(t *Task) TaskID { return t.TaskID })
	var fs Findings
	for i, t := range p.Tasks {
		if !wanted[t.TaskID] {
			continue
		}
		red := false
		var green []string
		for _, c := range t.AcceptanceCriteria {
			if c.Severity != Must {
				continue
			}
			ok, ran := passed[t.TaskID][c.ID]
			red = red || ran && !ok
			green = append(green, c.ID)
		}
		if red {
			continue
		}
		fs = append(fs, Finding{
			Code: "green-before-work", Path: fmt.Sprintf("tasks[%d].acceptance_criteria", i), TaskID: t.TaskID,
			Message:  "no MUST criterion fails on an empty candidate, so they prove nothing",
			Expected: "a MUST criterion that fails until the work is done",
			Found:    "passed without any work: " + strings.Join(green, ", "),
			Example:  "run: test -s report.md",
		})
	}
	return fs.Capped()
}
