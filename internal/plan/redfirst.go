package plan

import (
	"fmt"
	"strings"
)

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
	wanted := map[TaskID]bool{}
	for _, t := range p.RedFirst() {
		wanted[t.TaskID] = true
	}
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
