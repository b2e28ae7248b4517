package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/views"
)

func (e *env) checkoutCommand() *cli.Command {
	return &cli.Command{
		Name:  "checkout",
		Usage: "write the plan as read-only files into .workflow, and keep them up to date",
		Description: "Writes .workflow/<plan id>/: workflow-session.json, IMPL_PLAN.md, TODO_LIST.md, .task/ and .summaries/, and the marker\n" +
			".active-<plan id> next to it. They are views, kept out of the index; only the plan's history counts. A file that you\n" +
			"edited stays: its diff is shown with the command that hands the edit in, and the exit code is 1.",
		Flags: []cli.Flag{
			boolFlag("watch,w", "follow the plan until interrupted, whoever changes it"),
			boolFlag("force", "replace edited files too; a copy of each is kept as NAME.orig"),
			textFlag("output,o", "write them once below this `DIR` instead, for another system", ""),
			planFlag(), jsonFlag(),
		},
		Action: e.onStore(e.checkout),
	}
}

func (e *env) checkout(c *cli.Context, store *gitstore.Store) error {
	switch {
	case c.Bool("watch") && c.Bool("json"):
		return usage("--json prints one document, and --watch does not end; leave one of them out")
	case c.IsSet("output") && (c.Bool("watch") || c.Bool("force")):
		return usage("--output writes new files once; leave out --watch and --force")
	}
	id, err := planID(c, store)
	switch {
	case err != nil:
		return err
	case c.IsSet("output"):
		return e.copyViews(c, store, id)
	case store.WorkTree() == "":
		return fmt.Errorf("write the views of %s: %w", id, gitstore.ErrBare)
	}
	v := e.views(store, id)
	if c.Bool("force") {
		v.Force = func(string, []byte) bool { return true }
	}
	if c.Bool("watch") {
		return e.watchViews(c.Context, v)
	}
	return e.updateViews(c, v)
}

func (e *env) views(store *gitstore.Store, id plan.ID) *views.Views {
	return &views.Views{Store: store, ID: id, Now: e.now,
		Warn: func(text string) { fmt.Fprintln(e.stderr, "warning: "+text) }}
}

// copyViews writes the views for another system.
func (e *env) copyViews(c *cli.Context, store *gitstore.Store, id plan.ID) error {
	name := c.String("output")
	if name == "" || name == "-" {
		return usage("--output: expected a directory, found %q", name)
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return err
	}
	full := e.absolute(name)
	names, err := e.views(store, snap.ID).Copy(c.Context, snap, name, full)
	if err != nil {
		return err
	}
	return e.say(c, exported{name, names}, "%s: %s", plain.Line(filepath.Join(full, string(snap.ID))),
		plain.Count(len(names), "file"))
}

func (p printer) updateViews(c *cli.Context, v *views.Views) error {
	done, err := v.Update(c.Context)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		err = p.printJSON(done)
	} else {
		for _, ed := range done.Edited {
			p.printEdit(ed)
		}
		p.printUpdate(done, true)
	}
	if err != nil || len(done.Edited) == 0 {
		return err
	}
	return fault.Refused("hand it in as said above; git wf checkout --force puts back what the plan says, and keeps a copy",
		"%s not what git wf checkout wrote, and stay%s as %s: the plan does not know of it",
		plural(len(done.Edited), "file is", "files are"), pick(len(done.Edited), "s", ""),
		pick(len(done.Edited), "it is", "they are"))
}

func plural(n int, one, many string) string { return fmt.Sprintf("%d %s", n, pick(n, one, many)) }

func pick(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (p printer) printUpdate(done views.Update, always bool) {
	for _, k := range done.Kept {
		fmt.Fprintf(p.stdout, "%s: what was there is now %s\n", plain.Line(k.Path), plain.Line(k.Copy))
	}
	switch {
	case len(done.Written)+len(done.Removed) > 0:
		fmt.Fprintf(p.stdout, "%s: %s written", done.Directory, plain.Count(len(done.Written), "file"))
		if n := len(done.Removed); n > 0 {
			fmt.Fprintf(p.stdout, ", %d removed", n)
		}
		fmt.Fprintln(p.stdout)
	case always && len(done.Edited) == 0:
		fmt.Fprintf(p.stdout, "%s is up to date\n", done.Directory)
	}
}

// watch keeps the files up to date until it is interrupted, which is how it is meant to end.
func (p printer) watchViews(ctx context.Context, v *views.Views) error {
	told := map[string]string{} // the edits that were shown, by file: each is shown once as long as it stays the same
	fmt.Fprintln(p.stderr, "following "+string(v.ID)+" until interrupted (Ctrl+C)")
	moved := gitstore.Changes(ctx, v.Beat)
	for first := true; ctx.Err() == nil; first = false {
		done, err := v.Update(ctx)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		p.printUpdate(done, first)
		last := told
		told = map[string]string{}
		for _, ed := range done.Edited {
			told[ed.Path] = ed.What + ed.Diff
			if before, shown := last[ed.Path]; !shown || before != told[ed.Path] {
				p.printEdit(ed)
			}
		}
		select {
		case <-ctx.Done():
		case <-moved:
		}
	}
	return nil
}

// printEdit shows an edited file, and what can be done with it.
func (p printer) printEdit(ed views.Edited) {
	for line := range strings.Lines(ed.Diff) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			line = p.paint("1", line)
		case strings.HasPrefix(line, "@@"):
			line = p.paint("36", line)
		case strings.HasPrefix(line, "-"):
			line = p.paint("31", line)
		case strings.HasPrefix(line, "+"):
			line = p.paint("32", line)
		}
		fmt.Fprintln(p.stdout, line)
	}
	what := "was edited, and stays as it is"
	if ed.What != "" {
		what = "is " + ed.What + ", and stays as it is"
	}
	fmt.Fprintf(p.stdout, "%s %s\n", plain.Line(ed.Path), what)
	for _, h := range ed.HandIn {
		fmt.Fprintf(p.stdout, "  %s\n", plain.Line(h))
	}
}
