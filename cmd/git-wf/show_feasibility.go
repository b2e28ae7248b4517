package main

import (
	"fmt"
	"io"
	"strings"

	"gitwf/internal/engine"
	"gitwf/internal/estimate"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// printFeasibility shows how large a task was judged: what counts, why, and what each source said. A planning task has
// a line for each leaf.
func (st style) printFeasibility(w io.Writer, id plan.TaskID, all []engine.Judgement) {
	if len(all) == 0 {
		return
	}
	st.heading(w, "Feasibility")
	for _, j := range all {
		if j.PlanTask == id {
			fmt.Fprintf(w, "  %s  %s: %s\n", j.TaskID, passWord(j), judgedWhy(j))
			continue
		}
		fmt.Fprintf(w, "  %s, when %s of %s was judged at %s: %s\n", passWord(j), j.ArtifactID, j.PlanTask, date(j.CreatedAt),
			judgedWhy(j))
		printSources(w, j)
		if c := j.Correction; c != nil && c.From != 0 {
			fmt.Fprintf(w, "      the plan's number was corrected from %g to %g\n", c.From, c.To)
		}
	}
	if len(all) > 0 && all[0].PlanTask == id {
		fmt.Fprintf(w, "  git wf show TASK has what the planner, the agent and the rule said of each\n")
	}
}

// passWord is the result of a judgement.
func passWord(j engine.Judgement) string {
	days := fmt.Sprintf("%g person-days count, at most %g pass", j.Days, j.Threshold)
	if j.OneShotPass {
		return "can be done in one go (" + days + ")"
	}
	return "too large for one go (" + days + ")"
}

func judgedWhy(j engine.Judgement) string { return clip(plain.Line(j.Why), 400) }

func printSources(w io.Writer, j engine.Judgement) {
	source := func(name, said string, lacking bool) {
		if lacking {
			said = "said nothing"
		}
		fmt.Fprintf(w, "      %s: %s\n", name, said)
	}
	source("planner", judgementText(j.Sources.Planner), j.Sources.Planner == nil)
	agent := "agent"
	if j.Agent != "" {
		agent += " " + plain.Line(j.Agent)
	}
	source(agent, judgementText(j.Sources.Agent), j.Sources.Agent == nil)
	source("rule", fmt.Sprintf("%g person-days: %s", j.Sources.Rule.Days,
		clip(plain.Line(strings.Join(j.Sources.Rule.Why, ", ")), 400)), false)
}

// judgementText is what one source said; j may be nil.
func judgementText(j *estimate.Judgement) string {
	if j == nil {
		return ""
	}
	text := fmt.Sprintf("%g person-days", j.Days)
	if j.OneShotPass != nil {
		text += map[bool]string{true: ", can be done in one go", false: ", can't be done in one go"}[*j.OneShotPass]
	}
	if j.Why != "" {
		text += ": " + clip(plain.Line(j.Why), 400)
	}
	return text
}
