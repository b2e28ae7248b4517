package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) diffCommand() *cli.Command {
	return &cli.Command{
		Name:  "diff",
		Usage: "show what a version changes, or what changed between two versions",
		Description: "Without a version, the newest. Of a task that changes the repository, one version is that change, and of two versions\n" +
			"the files that they lead to are compared. Of another task, one version is compared with the one before it.",
		ArgsUsage: "TASK [VERSION] [VERSION]",
		Flags:     []cli.Flag{planFlag(), boolFlag("stat", "list the files, and how much of each is changed")},
		Action:    e.onReadable(nearTask, e.diff),
	}
}

func (p printer) diff(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot) error {
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
			return fault.Usage("git wf show "+string(t.TaskID), "%s: has no version %s", t.TaskID, plan.Quote(text))
		}
		versions = append(versions[:i], n)
	}
	from, to, err := p.sides(c, store, snap, t, versions)
	if err != nil {
		return err
	}
	options := []string{"diff", "-M", "--no-ext-diff", "--no-textconv", "--no-color"}
	if p.colour {
		options[len(options)-1] = "--color"
	}
	if c.Bool("stat") {
		options = append(options, "--stat")
	}
	return store.Follow(c.Context, nil, func(out *bufio.Reader) error {
		_, err := io.Copy(p.stdout, out)
		return err
	}, append(options, "--end-of-options", string(from), string(to))...)
}

// sides are the trees to compare.
func (p printer) sides(c *cli.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState,
	versions []int) (from, to plan.OID, err error) {
	last := versions[len(versions)-1]
	first := last - 1
	if len(versions) > 1 {
		first = versions[0]
	}
	now, _ := snap.Records.Of(t.TaskID).Version(last)
	before, _ := snap.Records.Of(t.TaskID).Version(first) // none before the first one
	switch {
	case t.Changes() && len(versions) == 1:
		return store.ChangeSides(c.Context, now.Files)
	case t.Changes():
		var after [2]plan.OID
		for i, v := range versions {
			a, err := export.ReadArtifact(c.Context, store, snap, t.TaskID, v)
			if err == nil && a.Base == nil {
				err = fmt.Errorf("%s %s does not say what it is a change of", t.TaskID, a.ArtifactID)
			}
			if err != nil {
				return "", "", err
			}
			after[i] = a.Base.After
		}
		return after[0], after[1], nil
	case first == 0:
		return gitstore.EmptyTree, now.Files, nil
	}
	return before.Files, now.Files, nil
}
