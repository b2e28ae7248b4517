package estimate

import (
	"fmt"
	"time"

	"gitwf/internal/plan"
)

// Judgement is what somebody says of a task's size: the planner by its own number, or an agent that was asked.
type Judgement struct {
	Days        float64 `json:"estimated_person_days"`
	OneShotPass *bool   `json:"one_shot_pass,omitempty"` // nil if not said
	Why         string  `json:"why,omitempty"`
}

// usable reports whether the judgement has a number that can be compared.
func (j *Judgement) usable() bool { return j != nil && j.Days > 0 }

// Sources are all that a result was made from.
type Sources struct {
	Planner *Judgement `json:"planner,omitempty"`
	Agent   *Judgement `json:"agent,omitempty"` // none if the agent left the task out
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

// Combine takes the larger of the agent's judgement and the rule. A task that the agent left out keeps the planner's
// number as its judgement. The task passes if that is at most the threshold, unless the agent says that it does not:
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
		reason += ": " + clip(plan.OneLine(why))
	}
	r.Days = judged
	if rule.Days > judged {
		r.Days = rule.Days
		reason = fmt.Sprintf("the rule says %s", number(rule.Days))
		if who != "" {
			reason += fmt.Sprintf(", %s %s", who, number(judged))
		}
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
			r.Why += ": " + clip(plan.OneLine(agent.Why))
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

// clip cuts a reason to a length that a line can bear.
func clip(s string) string {
	const most = 300
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Record is the document of a feasibility check: what was said of every leaf of one version of a plan, by whom, and
// what counts.
type Record struct {
	TaskID     plan.TaskID  `json:"task_id"`     // the planning task
	ArtifactID string       `json:"artifact_id"` // its version
	Tree       plan.OID     `json:"tree"`        // what that version is
	Threshold  float64      `json:"one_shot_threshold_person_days"`
	Agent      string       `json:"agent,omitempty"` // who judged; "" if the rule alone did
	Usage      *plan.Usage  `json:"usage,omitempty"` // what the agent's judgement took
	CreatedAt  time.Time    `json:"created_at"`
	Pass       bool         `json:"pass"` // every leaf can be done in one piece
	Tasks      []TaskResult `json:"estimates"`
}

// TaskResult is the result of one leaf.
type TaskResult struct {
	TaskID plan.TaskID `json:"task_id"`
	Result
}

// Judge fills in the estimates of a record: every leaf of the plan by the planner's own number, by what the agent said
// of it, and by the rule.
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

// TooLarge are the leaves that have to be split, in plan order.
func (r *Record) TooLarge() []plan.TaskID {
	var ids []plan.TaskID
	for _, t := range r.Tasks {
		if !t.OneShotPass {
			ids = append(ids, t.TaskID)
		}
	}
	return ids
}
