package main

import (
	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
)

func (e *env) rerun(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	person, err := eng.Store.Person(c.Context)
	if err != nil {
		return err
	}
	tasks, err := findTasks(snap.State(), c.Args().Slice())
	if err != nil {
		return err
	}
	r, err := eng.Rerun(c.Context, snap, tasks, c.String("message"))
	if err != nil {
		return err
	}
	dry := c.Bool("dry-run")
	if !dry {
		if err := eng.MakeAgain(c.Context, snap.ID, r, person.Name); err != nil {
			return err
		}
	}
	if err := e.print("redo", r); err != nil || len(r.Again) == 0 || dry {
		return err
	}
	return e.printNextOf(c.Context, eng, snap.ID)
}
