package engine

import (
	"cmp"
	"fmt"
	"slices"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// A plan may say which of the user's agents works on it, and agents differ in cost and in what they may do. So an agent
// that the user has not given the job waits to be trusted, as a command line does. Names that nobody can ask here wait
// for nothing: they do no harm.

// What an agent is chosen for, as people are told.
const (
	jobMake   = "done"
	jobReview = "reviewed"
)

// mayChoose reports whether an agent may have a job in plans: it is one of those that the user has given it, or
// trusted.
func (e *Engine) mayChoose(job, name string, usual ...string) bool {
	return !e.Agents.Knows(name) || slices.Contains(usual, name) || e.Trust.hasEntry(agentEntry(job, name))
}

// mayMake reports whether the agent that makes a task's versions may: one that only the plan names must be trusted.
func (e *Engine) mayMake(t *plan.Task, name string) bool {
	if t.Planning() {
		return e.mayChoose(jobMake, name, e.Agents.Planner())
	}
	return e.mayChoose(jobMake, name, e.Agents.Executor(), e.byTable(t), e.Agents.ForRole(t.Role))
}

// mayJudge is the same for a reviewer of what a CHECK reviews. Who reviews plans is the policy's choice.
func (e *Engine) mayJudge(c *plan.Task, who speaker) bool {
	usual := []string{e.Agents.Reviewer(), e.byTable(c), e.Agents.ForRole(who.seat)}
	if c.ReviewTargetTaskID.MakesPlans() {
		usual = append(usual, e.Policy.PlanReviewers...)
	}
	return e.mayChoose(jobReview, who.agent, usual...)
}

// Untrusted lists what a plan would run here and nobody has trusted yet: command lines, also those that come later, and
// agents that it chooses.
func (e *Engine) Untrusted(p *plan.Plan, later ...plandoc.CommandLine) []plandoc.CommandLine {
	return append(e.Trust.newLines(p, later...), e.choices(p, false)...)
}

// UntrustedIn is Untrusted of what a person hands in.
func (e *Engine) UntrustedIn(d Draft) []plandoc.CommandLine {
	lines := e.Trust.newLines(d.Plan, d.Later...)
	return append(lines, e.choices(cmp.Or(d.Whole, d.Plan), false)...)
}

// TrustDraft trusts what a person hands in: also agents that have the job anyway, or that nobody has set up yet.
func (e *Engine) TrustDraft(d Draft) error {
	return e.Trust.Add(append(e.Trust.newLines(d.Plan, d.Later...), e.choices(cmp.Or(d.Whole, d.Plan), true)...))
}

// CountUntrusted counts them in words: "2 command lines and 1 agent".
func CountUntrusted(lines []plandoc.CommandLine) string {
	agents := 0
	for _, l := range lines {
		if l.Agent != "" {
			agents++
		}
	}
	switch rest := len(lines) - agents; {
	case agents == 0:
		return plain.Count(rest, "command line")
	case rest == 0:
		return plain.Count(agents, "agent")
	default:
		return plain.Count(rest, "command line") + " and " + plain.Count(agents, "agent")
	}
}

// namedMakers are the agents that a plan itself names for a task: they count where they are set up.
func namedMakers(p *plan.Plan, t *plan.Task) []string {
	names := []string{t.Agent}
	if t.Agent == "" && t.Run == "" {
		names = []string{p.Roles[t.Role].Agent, t.MetaAgent()}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// choices lists the agents that a plan chooses, each once for each job: all of them, or those that nobody has trusted.
func (e *Engine) choices(p *plan.Plan, all bool) (list []plandoc.CommandLine) {
	type choice struct{ job, name string }
	at := map[choice]int{}
	tasks := map[choice][]plan.TaskID{}
	add := func(c choice, id plan.TaskID, path string) {
		if _, ok := at[c]; !ok {
			at[c] = len(list)
			list = append(list, plandoc.CommandLine{TaskID: id, Path: path, Agent: c.name, Job: c.job})
		}
		tasks[c] = append(tasks[c], id)
		word := "task " + plan.JoinIDs(tasks[c]) + " is"
		if len(tasks[c]) > 1 {
			word = "tasks " + plan.JoinIDs(tasks[c]) + " are"
		}
		list[at[c]].Line = fmt.Sprintf("%s to be %s by agent %s", word, c.job, plain.Line(c.name))
	}
	for i, t := range p.Tasks {
		switch t.NodeType {
		case plan.Action:
			for _, name := range namedMakers(p, t) {
				if all || !e.mayMake(t, name) {
					add(choice{jobMake, name}, t.TaskID, fmt.Sprintf("tasks[%d].agent", i))
				}
			}
		case plan.Check:
			names := t.Reviewers
			if len(names) == 0 {
				names = p.Config.Reviewers
			}
			for _, name := range names {
				who := speaker{agent: name}
				if p.HasRole(name) {
					who = speaker{p.Roles[name].Agent, name}
				}
				if who.agent != "" && (all || !e.mayJudge(t, who)) {
					add(choice{jobReview, who.agent}, t.ReviewTargetTaskID, fmt.Sprintf("tasks[%d].reviewers", i))
				}
			}
		}
	}
	return list
}

// untrustedAgent is the wait for leave to have an agent do a job that only the plan gives it.
func untrustedAgent(job, name string) Wait {
	return Wait{Text: fmt.Sprintf("the plan has it %s by agent %s, which is not trusted here", job, plain.Line(name)),
		Command: "git wf trust"}
}
