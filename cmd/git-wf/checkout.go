package main

import (
	"fmt"
	"os"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/views"
)

func (e *env) checkout(c *cli.Context, store *gitstore.Store) error {
	id, err := planID(c, store)
	if err != nil {
		return err
	}
	v, err := e.views(store)
	if err != nil {
		return err
	}
	v.Force = c.Bool("force")
	var done views.Update
	switch name := c.String("output"); {
	case c.IsSet("output") && (name == "" || name == "-"):
		return usage("--output: expected a directory, found %q", name)
	case c.IsSet("output"):
		if err := os.MkdirAll(e.absolute(name), 0o777); err != nil {
			return fault.Usage("--output DIR, where you may write", "write %s: %w", plain.Line(name), fault.Reason(err))
		}
		done, err = v.Output(c.Context, id, e.absolute(name))
	case store.WorkTree() == "":
		return fmt.Errorf("write the views of %s: %w", id, gitstore.ErrBare)
	default:
		done, err = v.Checkout(c.Context, id)
	}
	if err != nil {
		return err
	}
	err = e.print("checkout", done)
	if err != nil || len(done.Edited) == 0 {
		return err
	}
	return fault.Refused("git wf checkout --force writes them, and keeps what is there as NAME.orig",
		"%s left as it is, with content that git wf checkout did not write", plain.Count(len(done.Edited), "file"))
}

func (e *env) views(store *gitstore.Store) (*views.Views, error) {
	table, err := e.assignment(store)
	return &views.Views{
		Store: store, Now: e.now, Warn: func(text string) { fmt.Fprintln(e.stderr, "warning: "+text) },
		Agent: func(t *plan.Task) string { return table.Of(t, func(string) bool { return true }) },
	}, err
}
