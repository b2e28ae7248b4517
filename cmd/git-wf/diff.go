package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

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
	var remarks []export.Remark
	if c.Bool("remarks") {
		if remarks, err = export.RemarksOn(c.Context, store, snap, t.TaskID, versions[len(versions)-1]); err != nil {
			return err
		}
	}
	options := []string{"--no-color"}
	if e.colour && !c.Bool("remarks") {
		options[0] = "--color"
	}
	if c.Bool("stat") {
		options = append(options, "--stat")
	}
	return followDiff(c.Context, store, snap, t, versions, func(out *bufio.Reader) error {
		if !c.Bool("remarks") {
			_, err := io.Copy(e.stdout, out)
			return err
		}
		return e.diffWithRemarks(out, remarks)
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

// diffWithRemarks copies a patch and puts what was said of a line below it. A line of the new file is meant; in a file
// that is gone, one of the old.
func (p printer) diffWithRemarks(patch *bufio.Reader, remarks []export.Remark) error {
	w := bufio.NewWriter(p.stdout)
	var path string
	var gone bool
	var old, now int
	for {
		line, err := patch.ReadString('\n')
		w.WriteString(line)
		at := 0
		switch {
		case strings.HasPrefix(line, "diff --git "):
			path, gone, old, now = "", false, 0, 0
		case now == 0 && strings.HasPrefix(line, "--- a/"):
			path = strings.TrimRight(line[len("--- a/"):], "\t\n")
		case now == 0 && strings.HasPrefix(line, "+++ /dev/null"):
			gone = true
		case now == 0 && strings.HasPrefix(line, "+++ b/"):
			path = strings.TrimRight(line[len("+++ b/"):], "\t\n")
		case strings.HasPrefix(line, "@@ "):
			if _, scanErr := fmt.Sscanf(line, "@@ -%d", &old); scanErr != nil {
				return scanErr
			}
			if _, after, ok := strings.Cut(line, " +"); ok {
				fmt.Sscanf(after, "%d", &now)
			}
			now = max(now, 1)
		case now > 0 && strings.HasPrefix(line, "-"):
			if gone {
				at = old
			}
			old++
		case now > 0 && strings.HasPrefix(line, "+"):
			at = now
			now++
		case now > 0 && strings.HasPrefix(line, " "):
			at = now
			old, now = old+1, now+1
		}
		for _, r := range remarks {
			if at > 0 && r.Path == path && r.Line == at {
				fmt.Fprintf(w, "# %s %s: %s\n", r.ReviewID, plain.Line(r.Reviewer), r.Text)
			}
		}
		if errors.Is(err, io.EOF) {
			return w.Flush()
		}
		if err != nil {
			return err
		}
	}
}
