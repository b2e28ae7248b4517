package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

func (e *env) prompt(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	p, err := eng.Prompt(c.Context, snap, t.TaskID)
	if err != nil {
		return err
	}
	e.printDropped(p)
	_, err = fmt.Fprint(e.stdout, p.Text)
	return err
}

// printDropped lists what the prompt has no room for.
func (p printer) printDropped(text prompt.Prompt) {
	for _, d := range text.Dropped {
		fmt.Fprintf(p.stderr, "left out: %s, %d bytes: %s\n", plain.Line(d.What), d.Bytes, d.Why)
	}
}
