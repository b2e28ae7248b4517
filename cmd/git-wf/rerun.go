package main

import (
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
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
	if err := e.out(r, func(w io.Writer) { printRedo(w, r) }); err != nil || len(r.Again) == 0 || dry {
		return err
	}
	return e.printNextOf(c.Context, eng, snap.ID)
}

// printRedo lists what is made again.
func printRedo(w io.Writer, r engine.Redo) {
	for _, a := range r.Again {
		fmt.Fprintf(w, "%s is made again: %s\n", a.TaskID, plain.Line(a.Reason))
	}
	for _, id := range r.Follow {
		fmt.Fprintf(w, "%s follows\n", id)
	}
	for _, id := range r.Asks {
		fmt.Fprintf(w, "%s stays: a person made it; git wf rerun %[1]s has it made again\n", id)
	}
	for _, id := range r.Kept {
		fmt.Fprintf(w, "%s stays: what it is judged by is the same; git wf rerun %[1]s has it made again\n", id)
	}
	for _, id := range r.Landed {
		fmt.Fprintf(w, "%s stays: it has landed; git wf rerun %[1]s changes it again, git wf undo %[1]s "+
			"takes it back\n", id)
	}
}
