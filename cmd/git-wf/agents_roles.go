package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/terminal"
)

func (e *env) listRoles(_ *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	parts := eng.Parts(snap.State())
	return e.out(orEmpty(parts), func(w io.Writer) {
		if len(parts) == 0 {
			fmt.Fprintf(w, "%s has no roles\n", snap.ID)
		}
		printParts(w, parts)
		for _, text := range eng.Crowded(snap.Plan) {
			fmt.Fprintf(w, "  %s\n", text)
		}
	})
}

// printRoles prints who takes the roles of the active plan, if there is one that has roles.
func (e *env) printRoles(c *cli.Context, store *gitstore.Store) error {
	id, err := store.Active(c.Context)
	if errors.Is(err, gitstore.ErrNoActive) {
		return nil
	}
	var snap *gitstore.Snapshot
	if err == nil {
		snap, err = store.Snapshot(c.Context, id)
	}
	if err != nil || len(snap.Plan.Roles) == 0 || e.json {
		return nil //nolint:nilerr // what agents there are does not depend on the plan
	}
	eng, err := e.engine(c, store)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "\nroles of %s\n", snap.ID)
	printParts(e.stdout, eng.Parts(snap.State()))
	return nil
}

func printParts(w io.Writer, parts []engine.Part) {
	width := 0
	for _, part := range parts {
		width = max(width, terminal.Cells(part.Role))
	}
	for _, part := range parts {
		does := "makes " + plan.JoinIDs(part.Makes)
		if len(part.Reviews) > 0 {
			does = "reviews " + plan.JoinIDs(part.Reviews)
		}
		who := plain.Line(part.Agent)
		if who == "" {
			who = "a person; " + part.Command
		}
		if part.Kind != "" && part.Agent != "" {
			who += ", " + part.Kind
			if part.Unheld != "" {
				who += " by its word alone: " + part.Unheld
			}
		}
		fmt.Fprintf(w, "%s  %s: %s\n", padded(plain.Line(part.Role), width), does, who)
	}
}

// printVacancies says who would take the seats that are open, and how those are filled that nobody would take.
func (st style) printVacancies(w io.Writer, seats []engine.Vacancy) {
	if len(seats) > 0 {
		st.heading(w, "Open seats")
	}
	printSome(w, seats, mostShown, "  and %d more\n", func(v engine.Vacancy) {
		who := plain.Line(v.Agent)
		if who == "" {
			who = strings.TrimSuffix("a person; "+v.Command, "; ")
		}
		fmt.Fprintf(w, "  %s: %s: %s\n", v.Task, plain.Line(v.Role), who)
	})
}
