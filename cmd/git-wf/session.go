package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/templates"
)

// sessionSummary is what --json says of a plan as a whole.
type sessionSummary struct {
	SessionStatus plan.SessionStatus `json:"session_status"`
	Phase         plan.Phase         `json:"phase"`
	Complexity    plan.Complexity    `json:"complexity"`
	PlanType      string             `json:"plan_type,omitempty"`
}

func sessionOf(s *plan.State) sessionSummary {
	return sessionSummary{s.SessionStatus(), s.Phase(), s.Plan.AssessComplexity(), s.Plan.PlanType}
}

// printSession says of a plan as a whole what is not what a plan mostly is.
func (e *env) printSession(w io.Writer, s *plan.State) {
	var parts []string
	sum := sessionOf(s)
	switch sum.SessionStatus {
	case plan.SessionPaused:
		parts = append(parts, "paused (git wf resume)")
	case plan.SessionCompleted:
		parts = append(parts, "completed")
	}
	if n := len(s.Records.Newer); n > 0 {
		parts = append(parts, plan.Count(n, "record")+" by a newer git wf: read-only here")
	}
	if sum.PlanType != "" {
		parts = append(parts, "type "+plan.OneLine(sum.PlanType))
	}
	if sum.Complexity == plan.Complex || s.Plan.Complexity != "" {
		parts = append(parts, string(sum.Complexity))
	}
	if len(parts) > 0 {
		fmt.Fprintln(w, strings.Join(parts, ", "))
	}
}

// withNamedPlan opens the repository and the plan that the argument or --plan names, or the active one.
func (e *env) withNamedPlan(c *cli.Context, f func(*gitstore.Store, *gitstore.Snapshot) error) error {
	if err := wantArgs(c, 0, 1, "at most one plan"); err != nil {
		return err
	}
	if !c.Args().Present() {
		return e.withPlan(c, f)
	}
	if c.String("plan") != "" {
		return usage("the plan is named twice, as an argument and with --plan")
	}
	return e.withStore(c.Context, func(store *gitstore.Store) error {
		id, err := e.planNamed(c.Context, store, c.Args().First())
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

// decision is a person's, with the reason that the command was given.
func (e *env) decision(c *cli.Context, store *gitstore.Store) (plan.Decision, plan.Actor, error) {
	person, err := store.Person(c.Context)
	if err != nil {
		return plan.Decision{}, person, err
	}
	return plan.Decision{By: person.Name, CreatedAt: plan.Second(e.now()), Reason: strings.TrimSpace(c.String("message"))},
		person, nil
}

// sessionOutcome says how the session stands after a command.
func (e *env) sessionOutcome(c *cli.Context, done *gitstore.Appended) error {
	if c.Bool("json") {
		return e.printJSON(struct {
			PlanID plan.ID `json:"plan_id"`
			sessionSummary
			Commit plan.OID `json:"commit"`
		}{done.Snapshot.ID, sessionOf(done.Snapshot.State()), done.Commit})
	}
	fmt.Fprintf(e.stdout, "%s: %s\n", done.Snapshot.ID, plan.OneLine(strings.TrimPrefix(done.Change.Subject, "session: ")))
	return nil
}

func typeFlag() cli.Flag {
	return &cli.StringFlag{Name: "type", Usage: "what the plan begins with: a `TYPE` of " + templates.TypeNames() +
		", or one of your own"}
}

func complexityFlag() cli.Flag {
	return &cli.StringFlag{Name: "complexity", Usage: "the least complexity of the plan: simple, medium or complex"}
}

func checkTypeFlags(c *cli.Context, change bool) error {
	if change && (c.IsSet("type") || c.IsSet("complexity")) {
		return usage("a plan keeps the type that it began with; a higher complexity is said in the plan itself: git wf plan --edit, and complexity: complex at its top")
	}
	if level := plan.Complexity(c.String("complexity")); c.IsSet("complexity") && !level.Valid() {
		return usage("--complexity: expected simple, medium or complex, found %q", level)
	}
	return nil
}

// beginType gives a draft the type and the complexity that the command line names.
func beginType(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	if name := c.String("type"); name != "" {
		if d.Plan.PlanType != "" && d.Plan.PlanType != name {
			return usage("the plan says plan_type: %s, and the command line --type %s", plan.OneLine(d.Plan.PlanType),
				plan.OneLine(name))
		}
		d.Plan.PlanType = name
	}
	d.Plan.Complexity = plan.HigherComplexity(d.Plan.Complexity, plan.Complexity(c.String("complexity")))
	return eng.BeginType(d)
}
