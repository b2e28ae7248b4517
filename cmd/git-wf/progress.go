package main

import (
	"context"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/progress"
)

// metered is the command's context, and on a terminal one under which long work on files is shown, in one line as git's
// own commands have it; end takes the line away. It must be called before anything else is printed.
func (e *env) metered(c *cli.Context) (ctx context.Context, end func()) {
	m := e.meter(c)
	if m == nil {
		return c.Context, func() {}
	}
	return gitstore.WithProgress(c.Context, m.Step), m.End
}

// meter is the line of progress of a command, nil where nobody would see it.
func (e *env) meter(c *cli.Context) *progress.Meter {
	size := e.screen()
	if size == nil || c.Bool("quiet") || e.json {
		return nil
	}
	return progress.NewMeter(e.stderr, size, e.getenv("GIT_PROGRESS_DELAY"))
}
