package main

import (
	"bufio"
	"context"
	"io"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) diff(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
	t, err := findTask(snap.State(), c.Args().First())
	if err != nil {
		return err
	}
	if t.Active == 0 {
		return fault.Refused("git wf show "+string(t.TaskID), "%s: has no version yet", t.TaskID)
	}
	versions := []int{t.Active}
	for i, text := range c.Args().Tail() {
		n := plan.VersionNumber(text)
		if _, ok := snap.Records.Of(t.TaskID).Version(n); !ok {
			return fault.Usage("git wf show "+string(t.TaskID), "%s: has no version %s", t.TaskID, plain.Quote(text))
		}
		versions = append(versions[:i], n)
	}
	options := []string{"--no-color"}
	if e.colour {
		options[0] = "--color"
	}
	if c.Bool("stat") {
		options = append(options, "--stat")
	}
	return followDiff(c.Context, store, snap, t, versions, func(out *bufio.Reader) error {
		_, err := io.Copy(e.stdout, out)
		return err
	}, options...)
}

// followDiff runs git diff on what versions of a task change (export.Sides), and passes on what it prints.
func followDiff(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState, versions []int,
	read func(out *bufio.Reader) error, options ...string) error {
	from, to, err := export.Sides(ctx, store, snap, t, versions)
	if err != nil {
		return err
	}
	return store.Follow(ctx, nil, read, slices.Concat([]string{"diff", "-M", "--no-ext-diff", "--no-textconv"}, options,
		[]string{"--end-of-options", string(from), string(to)})...)
}
