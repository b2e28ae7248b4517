package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) plansCommand() *cli.Command {
	return &cli.Command{
		Name:        "plans",
		Usage:       "list the plans of this repository",
		Description: "The active plan of this worktree has a *. The list leaves out completed plans.",
		Flags: []cli.Flag{
			jsonFlag(),
			boolFlag("all,a", "list the completed plans too, apart"),
		},
		Action: e.onStore(e.plans),
	}
}

// planSummary is one element of what plans --json prints.
type planSummary struct {
	PlanID plan.ID     `json:"plan_id"`
	Title  string      `json:"title"`
	Status plan.Status `json:"status"`
	sessionSummary
	Done   int      `json:"done"`
	Total  int      `json:"total"`
	Active bool     `json:"active"`
	Commit plan.OID `json:"commit"`
	Error  string   `json:"error,omitempty"` // why it can't be read
}

func (e *env) plans(c *cli.Context, store *gitstore.Store) error {
	refs, err := store.Plans(c.Context)
	if err != nil {
		return err
	}
	active, err := store.Active(c.Context)
	if err != nil && !errors.Is(err, gitstore.ErrNoActive) {
		return err
	}
	open, completed := []planSummary{}, []planSummary{}
	for _, ref := range refs {
		sum := planSummary{PlanID: ref.ID, Active: ref.ID == active, Commit: ref.Tip}
		if snap, err := store.Snapshot(c.Context, ref.ID); err != nil {
			sum.Error = err.Error()
		} else if s, err := e.state(c.Context, store, snap); err != nil {
			sum.Error = err.Error()
		} else {
			sum.Title, sum.Status, sum.sessionSummary = snap.Plan.Title, s.Root().Status, sessionOf(s)
			sum.Done, sum.Total = s.Progress()
		}
		if sum.SessionStatus == plan.SessionCompleted {
			completed = append(completed, sum)
		} else {
			open = append(open, sum)
		}
	}
	switch all := c.Bool("all"); {
	case c.Bool("json") && all:
		return e.printJSON(append(open, completed...))
	case c.Bool("json"):
		return e.printJSON(open)
	case len(completed) == 0:
		e.printPlans(open)
	case all:
		e.printPlans(open)
		e.heading(e.stdout, "Completed")
		e.printPlans(completed)
	default:
		e.printPlans(open)
		fmt.Fprintf(e.stdout, "and %d completed: git wf plans --all\n", len(completed))
	}
	return nil
}

func (p printer) printPlans(list []planSummary) {
	for _, sum := range list {
		mark := " "
		if sum.Active {
			mark = "*"
		}
		if sum.Error != "" {
			fmt.Fprintf(p.stdout, "%s %s  unreadable: %s\n", mark, sum.PlanID, plain.Line(sum.Error))
			continue
		}
		paused := ""
		if sum.SessionStatus == plan.SessionPaused {
			paused = "paused  "
		}
		fmt.Fprintf(p.stdout, "%s %s  %s  %d of %d  %s%s\n", mark, sum.PlanID, p.status(sum.Status), sum.Done, sum.Total,
			paused,
			plain.Line(sum.Title))
	}
}

func (e *env) switchCommand() *cli.Command {
	return &cli.Command{
		Name:      "switch",
		Usage:     "make another plan the active one of this worktree",
		ArgsUsage: "PLAN",
		Flags:     []cli.Flag{jsonFlag()},
		Action:    e.onStore(e.switchPlan),
	}
}

func (p printer) switchPlan(c *cli.Context, store *gitstore.Store) error {
	id, err := planNamed(c.Context, store, c.Args().First())
	if err != nil {
		return err
	}
	if _, err := store.Tip(c.Context, id); err != nil {
		return fmt.Errorf("switch to %s: %w", id, err)
	}
	if err := store.SetActive(c.Context, id); err != nil {
		return err
	}
	return p.say(c, map[string]plan.ID{"plan_id": id}, "switched to %s", id)
}
