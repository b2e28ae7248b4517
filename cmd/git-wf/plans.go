package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

func (e *env) plans(c *cli.Context, store *gitstore.Store) error {
	all, err := readmodel.List(c.Context, store, e.now())
	if err != nil {
		return err
	}
	open, completed := []readmodel.Entry{}, []readmodel.Entry{}
	for _, one := range all {
		if one.SessionStatus == plan.SessionCompleted {
			completed = append(completed, one)
		} else {
			open = append(open, one)
		}
	}
	shown := open
	if c.Bool("all") {
		shown = slices.Concat(open, completed)
	}
	return e.out(shown, func(w io.Writer) {
		for i, one := range shown {
			if i == len(open) {
				e.heading(w, "Completed")
			}
			e.printEntry(w, one)
		}
		if n := len(completed); n > 0 && !c.Bool("all") {
			fmt.Fprintf(w, "and %d completed: git wf plans --all\n", n)
		}
	})
}

func (st style) printEntry(w io.Writer, p readmodel.Entry) {
	mark, paused := " ", ""
	if p.Active {
		mark = "*"
	}
	if p.SessionStatus == plan.SessionPaused {
		paused = "paused  "
	}
	if p.Error != "" {
		fmt.Fprintf(w, "%s %s  unreadable: %s\n", mark, p.PlanID, plain.Line(p.Error))
		return
	}
	fmt.Fprintf(w, "%s %s  %s  %d of %d  %s%s\n", mark, p.PlanID, st.status(p.Status), p.Done, p.Total, paused,
		plain.Line(p.Title))
}

func (e *env) switchPlan(c *cli.Context, store *gitstore.Store) error {
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
	return e.say(map[string]plan.ID{"plan_id": id}, "switched to %s", id)
}
