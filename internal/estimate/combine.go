package estimate

import (
	"fmt"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

// Judgement is somebody's estimate of a task's size: the planner's own number, or an agent's answer.
type Judgement struct {
	Days        float64 `json:"estimated_person_days"`
	OneShotPass *bool   `json:"one_shot_pass,omitempty"` // nil if not stated
	Why         string  `json:"why,omitempty"`
}

// usable reports whether the judgement has a number to compare.
func (j *Judgement) usable() bool { return j != nil && j.Days > 0 }

// Sources are the inputs of a result.
type Sources struct {
	Planner *Judgement `json:"planner,omitempty"`
	Agent   *Judgement `json:"agent,omitempty"` // nil if the agent left the task out
	Rule    Estimate   `json:"rule"`
}

// Correction says that the planner's number was replaced, and why.
type Correction struct {
	From   float64 `json:"from"` // 0 if the planner gave none
	To     float64 `json:"to"`
	Reason string  `json:"reason"`
}

// Result is the size of one task that counts from now on.
type Result struct {
	Days        float64     `json:"estimated_person_days"`
	OneShotPass bool        `json:"one_shot_pass"` // can be done in one piece
	Why         string      `json:"why"`
	Sources     Sources     `json:"sources"`
	Correction  *Correction `json:"correction,omitempty"` // nil if the planner's number stays
}

// Combine returns the agent's judgement or, if the agent left the task out, the planner's; the rule's number counts
// only where there is no other. The task passes if the result is at most the threshold and the agent does not object:
// an agent's no counts, its yes does not make a task smaller.
func Combine(planner, agent *Judgement, rule Estimate, threshold float64) Result {
	r := Result{Sources: Sources{Planner: planner, Agent: agent, Rule: rule}}
	judged, who, why := 0.0, "", ""
	switch {
	case agent.usable():
		judged, who, why = min(agent.Days, Most), "the agent", agent.Why
	case planner.usable():
		judged, who, why = min(planner.Days, Most), "the planner", planner.Why
	}
	reason := fmt.Sprintf("%s says %s", who, number(judged))
	if why != "" {
		reason += ": " + terminal.Clip(plain.Line(why), mostWhy)
	}
	r.Days = judged
	switch {
	case who == "":
		r.Days, reason = rule.Days, fmt.Sprintf("the rule says %s", number(rule.Days))
	case rule.Days > judged && FarApart(judged, rule.Days):
		reason += fmt.Sprintf("; the rule says %s, which is far apart", number(rule.Days))
	}
	refused := agent != nil && agent.OneShotPass != nil && !*agent.OneShotPass
	r.OneShotPass = r.Days <= threshold && !refused
	r.Why = reason
	switch {
	case r.Days > threshold:
		r.Why += fmt.Sprintf("; more than the threshold of %s", number(threshold))
	case refused:
		r.Why += "; the agent says that it can't be done in one piece"
		if told := agent.usable() && r.Days == judged; agent.Why != "" && !told {
			r.Why += ": " + terminal.Clip(plain.Line(agent.Why), mostWhy)
		}
	}
	if planner == nil || planner.Days != r.Days {
		r.Correction = &Correction{To: r.Days, Reason: reason}
		if planner != nil {
			r.Correction.From = planner.Days
		}
	}
	return r
}

// mostWhy is how much of a reason fits on a line, in columns.
const mostWhy = 300

// FarApart reports whether a person should look why two estimates differ.
func FarApart(a, b float64) bool {
	const factor, least = 4, 1 // differences between small estimates don't matter
	return max(a, b) > least && max(a, b) >= factor*min(a, b)
}

// Record is the document of a feasibility check: who judged each leaf of one version of a plan, how, and what counts.
type Record struct {
	TaskID     plan.TaskID  `json:"task_id"`     // the planning task
	ArtifactID string       `json:"artifact_id"` // its version
	Tree       plan.OID     `json:"tree"`        // the tree of that version
	Threshold  float64      `json:"one_shot_threshold_person_days"`
	Agent      string       `json:"agent,omitempty"` // who judged; "" if the rule alone did
	Usage      *plan.Usage  `json:"usage,omitempty"` // cost of the agent's judgement
	CreatedAt  time.Time    `json:"created_at"`
	Pass       bool         `json:"pass"` // every leaf can be done in one piece
	Tasks      []TaskResult `json:"estimates"`
}

// TaskResult is the result of one leaf.
type TaskResult struct {
	TaskID plan.TaskID `json:"task_id"`
	Result
}

// Judge fills in a record's estimates of every leaf: the planner's own, the agent's, and the rule's.
func (r *Record) Judge(leaves []*plan.Task, agent map[plan.TaskID]Judgement, w Weights) {
	r.Pass, r.Tasks = true, make([]TaskResult, 0, len(leaves))
	for _, t := range leaves {
		var planner, said *Judgement
		if t.EstimatedPersonDays != 0 {
			planner = &Judgement{Days: t.EstimatedPersonDays}
		}
		if j, ok := agent[t.TaskID]; ok {
			said = &j
		}
		res := Combine(planner, said, w.Estimate(t), r.Threshold)
		r.Pass = r.Pass && res.OneShotPass
		r.Tasks = append(r.Tasks, TaskResult{t.TaskID, res})
	}
}

// TooLarge returns the leaves that must be split, in plan order.
func (r *Record) TooLarge() []plan.TaskID {
	return each.Pick(r.Tasks, func(t TaskResult) (plan.TaskID, bool) {
		return t.TaskID, !t.OneShotPass
	})
}
