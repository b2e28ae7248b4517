package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/checkout"
	"gitwf/internal/exchange"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// viewDir is where session directories are, below the top of a working tree (seed 1, "File Structure").
const viewDir = ".workflow"

func (e *env) checkoutCommand() *cli.Command {
	return &cli.Command{
		Name:  "checkout",
		Usage: "write the plan as read-only files into .workflow, and keep them up to date",
		Description: "Writes .workflow/<plan id>/: workflow-session.json, IMPL_PLAN.md, TODO_LIST.md, .task/ and .summaries/, and the marker\n" +
			".active-<plan id> beside it. They are views, kept out of the index; the plan's history alone counts. A file that you\n" +
			"edited stays as it is: the difference is shown, with the command that hands it in, and the command exits with 1.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"},
				Usage: "go on until interrupted, and follow the plan whoever changes it"},
			&cli.BoolFlag{Name: "force", Usage: "replace edited files too; a copy of each is kept as NAME.orig"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"},
				Usage: "write them once below this `DIR` instead, for another system"},
			planFlag(), jsonFlag(),
		},
		Action: func(c *cli.Context) error {
			if err := wantArgs(c, 0, 0, "no arguments"); err != nil {
				return err
			}
			switch {
			case c.Bool("watch") && c.Bool("json"):
				return usage("--json prints one document, and --watch does not end; leave one of them out")
			case c.IsSet("output") && (c.Bool("watch") || c.Bool("force")):
				return usage("--output writes new files once; leave out --watch and --force")
			case c.IsSet("output"):
				return e.withPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
					return e.copyViews(c, store, snap)
				})
			}
			return e.withStore(c.Context, func(store *gitstore.Store) error {
				id, err := planID(c, store)
				if err != nil {
					return err
				}
				if store.WorkTree() == "" {
					return fmt.Errorf("write the views of %s: %w", id, gitstore.ErrBare)
				}
				v := &views{e: e, c: c, store: store, id: id, known: summaries{}}
				if c.Bool("force") {
					v.force = func(string, []byte) bool { return true }
				}
				if c.Bool("watch") {
					return v.watch()
				}
				return v.once()
			})
		},
	}
}

// views are those of one plan in one working tree.
type views struct {
	e     *env
	c     *cli.Context
	store *gitstore.Store
	id    plan.ID
	known summaries
	force func(name string, have []byte) bool // which edited files give way
	told  map[string]string                   // of a watch: the edits that were shown, by file
}

// placeOf is where the views of a working tree are.
func placeOf(store *gitstore.Store) checkout.Place {
	return checkout.Place{Top: store.WorkTree(), Dir: viewDir, Record: filepath.Join(store.GitDir(), "wf", "checkout")}
}

// checkedOut is what --json prints.
type checkedOut struct {
	PlanID    plan.ID      `json:"plan_id"`
	Directory string       `json:"directory"` // from the top of the working tree, as are the files
	Written   []string     `json:"written"`
	Removed   []string     `json:"removed"`
	Edited    []editedView `json:"edited"`
	Kept      []keptCopy   `json:"kept"`
}

type editedView struct {
	Path   string   `json:"path"`
	Diff   string   `json:"diff,omitempty"`    // from what was written to what is there
	What   string   `json:"what,omitempty"`    // of what is no file to compare
	HandIn []string `json:"hand_in,omitempty"` // what can be done with it
}

type keptCopy struct {
	Path string `json:"path"`
	Copy string `json:"copy"`
}

func (v *views) once() error {
	done, err := v.update()
	if err != nil {
		return err
	}
	if v.c.Bool("json") {
		err = v.e.printJSON(done)
	} else {
		for _, ed := range done.Edited {
			v.e.printEdit(v.e.stdout, ed)
		}
		v.printDone(done, true)
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

func (v *views) printDone(done checkedOut, always bool) {
	for _, k := range done.Kept {
		fmt.Fprintf(v.e.stdout, "%s: what was there is now %s\n", plan.OneLine(k.Path), plan.OneLine(k.Copy))
	}
	switch {
	case len(done.Written)+len(done.Removed) > 0:
		fmt.Fprintf(v.e.stdout, "%s: %s written", done.Directory, plan.Count(len(done.Written), "file"))
		if n := len(done.Removed); n > 0 {
			fmt.Fprintf(v.e.stdout, ", %d removed", n)
		}
		fmt.Fprintln(v.e.stdout)
	case always && len(done.Edited) == 0:
		fmt.Fprintf(v.e.stdout, "%s is up to date\n", done.Directory)
	}
}

// update brings the files up to date with the plan as it is now.
func (v *views) update() (checkedOut, error) {
	ctx := v.c.Context
	unlock, err := v.store.LockWorktree(ctx, "checkout")
	if err != nil {
		return checkedOut{}, err
	}
	defer unlock()
	snap, err := v.store.Snapshot(ctx, v.id)
	if err != nil {
		return checkedOut{}, err
	}
	s, files, err := v.files(snap)
	if err != nil {
		return checkedOut{}, err
	}
	if err := v.keepOut(ctx); err != nil {
		return checkedOut{}, err
	}
	o := checkout.Options{Now: v.e.now(), Force: v.force}
	place := placeOf(v.store)
	r, err := place.Sync(string(v.id), files, o)
	if err == nil {
		err = v.dropMarkers(ctx, place, o, &r)
	}
	return v.outcome(s, r), err
}

// files are what the plan's views should be.
func (v *views) files(snap *gitstore.Snapshot) (exchange.Snapshot, map[string][]byte, error) {
	s, err := v.e.exchangeSnapshot(v.c, v.store, snap, v.known)
	if err != nil {
		return s, nil, err
	}
	files, err := exchange.CCW(s)
	return s, files, err
}

// dropMarkers removes the markers of other plans that were active here when they were written, and are not any more.
func (v *views) dropMarkers(ctx context.Context, place checkout.Place, o checkout.Options, r *checkout.Result) error {
	groups, err := place.Groups()
	if err != nil {
		return err
	}
	active, _ := v.store.Active(ctx) // "" if there is none
	for _, group := range groups {
		if id := plan.ID(group); id != v.id && id != active {
			marker := exchange.Marker(id)
			removed, err := place.Drop(group, marker, o)
			if err != nil {
				return err
			}
			if removed {
				r.Removed = append(r.Removed, marker)
			}
		}
	}
	return nil
}

func (v *views) outcome(s exchange.Snapshot, r checkout.Result) checkedOut {
	done := checkedOut{PlanID: v.id, Directory: viewDir + "/" + string(v.id), Written: below(r.Written),
		Removed: below(r.Removed), Edited: []editedView{}, Kept: []keptCopy{}}
	for _, ed := range r.Edited {
		seen := editedView{Path: path.Join(viewDir, ed.Name), What: ed.What, HandIn: waysIn(s, v.id, ed)}
		if ed.Have != nil {
			seen.Diff = viewDiff(v.c.Context, v.store, ed)
		}
		done.Edited = append(done.Edited, seen)
	}
	for _, k := range r.Kept {
		done.Kept = append(done.Kept, keptCopy{path.Join(viewDir, k.Name), path.Join(viewDir, k.Copy)})
	}
	return done
}

func below(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = path.Join(viewDir, name)
	}
	slices.Sort(out)
	return out
}

// watch keeps the files up to date until it is interrupted, which is how it is meant to end.
func (v *views) watch() error {
	ctx := v.c.Context
	v.told = map[string]string{}
	fmt.Fprintln(v.e.stderr, "following "+string(v.id)+" until interrupted (Ctrl+C)")
	moved := changes(ctx, v.beat)
	for first := true; ctx.Err() == nil; first = false {
		done, err := v.update()
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return err
		}
		v.printDone(done, first)
		v.tellEdits(done.Edited)
		select {
		case <-ctx.Done():
		case <-moved:
		}
	}
	return nil
}

// beat is what changes when the plan, its claims or the active plan do.
func (v *views) beat() [2]any {
	var head any
	if st, err := os.Stat(filepath.Join(v.store.GitDir(), "WORKFLOW_HEAD")); err == nil {
		head = [2]int64{st.ModTime().UnixNano(), st.Size()}
	}
	return [2]any{v.store.Pulse(v.id), head}
}

// tellEdits shows each edit once for as long as it stays the same.
func (v *views) tellEdits(edits []editedView) {
	told := map[string]string{}
	for _, ed := range edits {
		told[ed.Path] = ed.What + ed.Diff
		if last, ok := v.told[ed.Path]; !ok || last != told[ed.Path] {
			v.e.printEdit(v.e.stdout, ed)
		}
	}
	v.told = told
}

// printEdit shows an edited file, and what can be done with it.
func (st style) printEdit(w io.Writer, ed editedView) {
	st.printDiff(w, ed.Diff)
	what := "was edited, and stays as it is"
	if ed.What != "" {
		what = "is " + ed.What + ", and stays as it is"
	}
	fmt.Fprintf(w, "%s %s\n", plan.OneLine(ed.Path), what)
	for _, h := range ed.HandIn {
		fmt.Fprintf(w, "  %s\n", plan.OneLine(h))
	}
}
