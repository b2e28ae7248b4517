package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/agent"
	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) split(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	return e.replan(c, eng, snap, t.TaskID)
}

// replan splits a leaf or, without one, amends the plan, with a person's file or by the planner.
func (e *env) replan(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, leaf plan.TaskID) error {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	r := engine.Replanning{Leaf: leaf, Agent: plan.AgentManual, Reason: c.String("message"), Person: person}
	command := amendFromFile
	if leaf != "" {
		command = "git wf split " + string(leaf) + " -f FILE"
	}
	if name := c.String("file"); name != "" {
		data, err := e.readInput(name, maxPlanFile)
		if err != nil {
			return unreadable(fileWord(name), err, command)
		}
		return mendFile(e.handInPlan(c, eng, snap.ID, r, fileWord(name), data, command),
			"mend "+fileWord(name)+", then "+command)
	}
	if c.Bool("dry-run") {
		return fault.Usage(command+" --dry-run", "--dry-run needs the file: an agent's plan exists only "+
			"once it is made")
	}
	if r.Agent, err = e.plannerOf(c, eng, command); err != nil {
		return err
	}
	if r.Agent == agent.NameOutline {
		return fault.Usage("--planner AGENT (git wf agents lists them), or -f FILE with what you make of it yourself",
			"outline makes new plans only, of Markdown; it can't split or amend one")
	}
	if _, err := eng.Replan(c.Context, snap.ID, r); err != nil {
		return err
	}
	return e.makePlan(c, eng.Store, eng, snap.ID)
}

// The commands that hand in a plan, and a changed one.
const (
	planFromFile  = "git wf plan -f FILE"
	amendFromFile = "git wf plan --amend -f FILE"
)

// handInPlan tries a person's file and records it as the next version of a planning task. again is the command that
// hands in a mended one.
func (e *env) handInPlan(c *cli.Context, eng *engine.Engine, id plan.ID, r engine.Replanning,
	name string, data []byte, again string) error {
	snap, err := eng.Store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	task, err := eng.HandedIn(c.Context, snap, r, data)
	if err != nil {
		return err
	}
	if task != "" && !c.Bool("dry-run") {
		return e.planOutcome(c, eng, snap.State(), task, again)
	}
	d, err := eng.DraftFor(c.Context, id, r, name, data)
	if err != nil {
		return err
	}
	if r.Leaf != "" {
		if fields := d.Plan.Ignored(); len(fields) > 0 {
			fmt.Fprintln(e.stderr, "warning: "+engine.Ignored(fields))
		}
	}
	if c.Bool("dry-run") {
		return e.dryRun(c, eng, d, again)
	}
	return e.handInDraft(c, eng, id, r, d, again)
}

// handInDraft records what DraftFor has read.
func (e *env) handInDraft(c *cli.Context, eng *engine.Engine, id plan.ID, r engine.Replanning,
	d engine.Draft, again string) error {
	if err := e.tryLines(c, eng, d); err != nil {
		return err
	}
	if !e.json {
		if err := e.render(e.stdout, "redo", d.Redo); err != nil {
			return err
		}
	}
	task, err := eng.Replan(c.Context, id, r)
	if err != nil {
		return err
	}
	s, err := eng.HandInPlan(c.Context, id, task, d)
	if err != nil {
		return err
	}
	return e.planOutcome(c, eng, s, task, again)
}
