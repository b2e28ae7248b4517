package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
	"gitwf/templates"
)

func (e *env) pauseCommand() *cli.Command {
	return &cli.Command{
		Name:      "pause",
		Usage:     "start no work in a plan until it is resumed",
		ArgsUsage: "[PLAN]",
		Flags:     []cli.Flag{planFlag(), jsonFlag(), messageFlag("why")},
		Action: e.onSession(func(d plan.Decision, by plan.Actor) plan.Event {
			return plan.Pause{Decision: d, Author: by}
		}, false),
	}
}

func (e *env) resumeCommand() *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "continue a paused plan, or reopen a completed one",
		ArgsUsage: "[PLAN]",
		Flags:     []cli.Flag{planFlag(), jsonFlag(), messageFlag("why; needed for a completed plan")},
		Action: e.onSession(func(d plan.Decision, by plan.Actor) plan.Event {
			return plan.Resume{Decision: d, Author: by}
		}, true),
	}
}

// printSession prints what is unusual about a plan as a whole.
func printSession(w io.Writer, s *plan.State) {
	var parts []string
	sum := readmodel.HeadOf(s)
	switch sum.SessionStatus {
	case plan.SessionPaused:
		parts = append(parts, "paused (git wf resume)")
	case plan.SessionCompleted:
		parts = append(parts, "completed")
	}
	if n := len(s.Records.Newer); n > 0 {
		parts = append(parts, plain.Count(n, "record")+" by a newer git wf: read-only here")
	}
	if sum.Notes > 0 && sum.SessionStatus != plan.SessionCompleted {
		parts = append(parts, plain.Count(sum.Notes, "note")+" (git wf notes)")
	}
	if sum.PlanType != "" {
		parts = append(parts, "type "+plain.Line(sum.PlanType))
	}
	if sum.Complexity.Highest() || s.Plan.Complexity != "" {
		parts = append(parts, string(sum.Complexity))
	}
	if len(parts) > 0 {
		fmt.Fprintln(w, strings.Join(parts, ", "))
	}
}

// withNamedPlan opens the repository and the plan that the argument or --plan names, or the active one.
func (e *env) withNamedPlan(c *cli.Context, f func(*gitstore.Store, *gitstore.Snapshot) error) error {
	if !c.Args().Present() {
		return e.withPlan(c, f)
	}
	if c.String("plan") != "" {
		return usage("the plan is named twice, as an argument and with --plan")
	}
	return e.withStore(c.Context, func(store *gitstore.Store) error {
		id, err := planNamed(c.Context, store, c.Args().First())
		if err != nil {
			return err
		}
		snap, err := store.Snapshot(c.Context, id)
		if err != nil {
			return err
		}
		return f(store, snap)
	})
}

// onSession is the action of a command that records an event of a plan as a whole, and, if activate is set, makes it
// the active plan of this worktree.
func (e *env) onSession(event func(plan.Decision, plan.Actor) plan.Event, activate bool) cli.ActionFunc {
	return func(c *cli.Context) error {
		return e.withNamedPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
			d, person, err := e.decision(c, store)
			if err != nil {
				return err
			}
			done, err := store.Append(c.Context, snap.ID, event(d, person), gitstore.AppendOptions{Now: e.now()})
			if err != nil {
				return err
			}
			if activate {
				if err := store.SetActive(c.Context, snap.ID); err != nil {
					return err
				}
			}
			return e.say(struct {
				readmodel.Head
				Commit plan.OID `json:"commit"`
			}{readmodel.HeadOf(done.Snapshot.State()), done.Commit},
				"%s: %s", snap.ID, plain.Line(strings.TrimPrefix(done.Change.Subject, "session: ")))
		})
	}
}

func typeFlag() cli.Flag {
	return textFlag("type",
		"what the plan begins with: "+templates.TypeNames()+", or a `TYPE` of your own, types/TYPE.yaml among your "+
			"templates; the plan keeps its rules, and prompts have its words", "")
}

func complexityFlag() cli.Flag {
	return textFlag("complexity",
		"the least complexity `LEVEL`: simple, medium or complex; it rises with the number of tasks and "+
			"never falls", "")
}

func checkTypeFlags(c *cli.Context, change bool) error {
	if change && (c.IsSet("type") || c.IsSet("complexity")) {
		return usage("a plan keeps the type that it began with; a higher complexity is said in the plan itself: " +
			"git wf plan --edit, and complexity: complex at its top")
	}
	if level := plan.Complexity(c.String("complexity")); c.IsSet("complexity") && !level.Valid() {
		return usage("--complexity: expected simple, medium or complex, found %q", level)
	}
	return nil
}

// beginType gives a draft the type and the complexity of the command line.
func beginType(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	if name := c.String("type"); name != "" {
		if d.Plan.PlanType != "" && d.Plan.PlanType != name {
			return usage("the plan says plan_type: %s, and the command line --type %s", plain.Line(d.Plan.PlanType),
				plain.Line(name))
		}
		d.Plan.PlanType = name
	}
	d.Plan.Complexity = d.Plan.Complexity.Higher(plan.Complexity(c.String("complexity")))
	return eng.BeginType(d)
}
