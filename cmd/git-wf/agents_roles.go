package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) listRoles(_ *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	parts := eng.Parts(snap.State())
	return e.printAs("plan-roles", orEmpty(parts), struct {
		PlanID  plan.ID
		Parts   []engine.Part
		Crowded []string
	}{snap.ID, parts, eng.Crowded(snap.Plan)})
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
	return e.render(e.stdout, "roles", eng.Parts(snap.State()))
}
