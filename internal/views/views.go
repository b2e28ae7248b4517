package views

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"gitwf/internal/act"
	"gitwf/internal/checkout"
	"gitwf/internal/engine"
	"gitwf/internal/exchange"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Dir is the directory of the views, below the top of a worktree (seed 1, "File Structure").
const Dir = ".workflow"

// Views are the files of one plan in one worktree.
type Views struct {
	Store *gitstore.Store
	ID    plan.ID
	Now   func() time.Time
	Warn  func(text string)
	Force func(name string, have []byte) bool // which edited files give way; nil: none

	known map[string]plandoc.Summary // by task, version, and number of reviews and of pruned versions
}

// placeOf is where the views of a worktree are.
func placeOf(store *gitstore.Store) checkout.Place {
	return checkout.Place{Top: store.WorkTree(), Dir: Dir, Record: filepath.Join(store.GitDir(), "wf", "checkout")}
}

// Update is what has become of the views. Paths start at the top of the worktree.
type Update struct {
	PlanID    plan.ID  `json:"plan_id"`
	Directory string   `json:"directory"`
	Written   []string `json:"written"`
	Removed   []string `json:"removed"`
	Edited    []Edited `json:"edited"`
	Kept      []Kept   `json:"kept"`
}

// Edited is a view that somebody edited, left as it is.
type Edited struct {
	Path   string   `json:"path"`
	Diff   string   `json:"diff,omitempty"`    // from what was written to what is there
	What   string   `json:"what,omitempty"`    // of what is no file to compare
	HandIn []string `json:"hand_in,omitempty"` // what can be done with it
}

// Kept is an edited view that was replaced, and its copy.
type Kept struct {
	Path string `json:"path"`
	Copy string `json:"copy"`
}

// Update brings the files up to date with the plan as it is now.
func (v *Views) Update(ctx context.Context) (Update, error) {
	unlock, err := v.Store.LockWorktree(ctx, "checkout")
	if err != nil {
		return Update{}, err
	}
	defer unlock()
	snap, err := v.Store.Snapshot(ctx, v.ID)
	if err != nil {
		return Update{}, err
	}
	s, files, err := v.files(ctx, snap)
	if err != nil {
		return Update{}, err
	}
	if err := v.keepOut(ctx); err != nil {
		return Update{}, err
	}
	o := checkout.Options{Force: v.Force}
	place := placeOf(v.Store)
	r, err := place.Sync(string(v.ID), files, o)
	if err == nil {
		err = v.dropMarkers(ctx, place, o, &r)
	}
	return v.outcome(ctx, s, r), err
}

// files are what the plan's views should be, and what they are made of.
func (v *Views) files(ctx context.Context, snap *gitstore.Snapshot) (exchange.Snapshot, map[string][]byte, error) {
	s, err := v.Snapshot(ctx, snap)
	if err != nil {
		return s, nil, err
	}
	files, err := exchange.CCW(s)
	if err == nil {
		err = v.decisions(ctx, snap, files)
	}
	return s, files, err
}

// decisions adds what a task that decides looks at, and what it has decided (seed 4): dev_plan.md and
// project_history.md.
func (v *Views) decisions(ctx context.Context, snap *gitstore.Snapshot, files map[string][]byte) error {
	s := snap.State()
	for _, t := range s.Plan.Tasks {
		if t.Decides == nil {
			continue
		}
		var history bytes.Buffer
		for _, version := range s.Acted(t.TaskID) {
			made, err := export.ReadArtifact(ctx, v.Store, snap, t.TaskID, version)
			if err != nil {
				return err
			}
			d, err := export.ReadDecided(ctx, v.Store, snap, made)
			if err != nil {
				return err
			}
			fmt.Fprintf(&history, "%s\n\n", plain.Text(d.HistoryAppend))
		}
		files[path.Join(string(v.ID), "dev_plan.md")] = []byte(act.DevPlan(s))
		files[path.Join(string(v.ID), "project_history.md")] = history.Bytes()
	}
	return nil
}

// dropMarkers removes the markers of other plans that are no longer active here.
func (v *Views) dropMarkers(ctx context.Context, place checkout.Place, o checkout.Options, r *checkout.Result) error {
	groups, err := place.Groups()
	if err != nil {
		return err
	}
	active, _ := v.Store.Active(ctx) // "" if there is none
	for _, group := range groups {
		if id := plan.ID(group); id != v.ID && id != active {
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

func (v *Views) outcome(ctx context.Context, s exchange.Snapshot, r checkout.Result) Update {
	done := Update{PlanID: v.ID, Directory: Dir + "/" + string(v.ID), Written: below(r.Written),
		Removed: below(r.Removed), Edited: []Edited{}, Kept: []Kept{}}
	for _, ed := range r.Edited {
		seen := Edited{Path: path.Join(Dir, ed.Name), What: ed.What, HandIn: waysIn(s, v.ID, ed)}
		if ed.Have != nil {
			seen.Diff = viewDiff(ctx, v.Store, ed)
		}
		done.Edited = append(done.Edited, seen)
	}
	for _, k := range r.Kept {
		done.Kept = append(done.Kept, Kept{path.Join(Dir, k.Name), path.Join(Dir, k.Copy)})
	}
	return done
}

func below(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = path.Join(Dir, name)
	}
	slices.Sort(out)
	return out
}

// Beat changes when the plan, its claims or the active plan change.
func (v *Views) Beat() [2]any {
	var head any
	if st, err := os.Stat(filepath.Join(v.Store.GitDir(), "WORKFLOW_HEAD")); err == nil {
		head = [2]int64{st.ModTime().UnixNano(), st.Size()}
	}
	return [2]any{v.Store.Pulse(v.ID), head}
}

// State is what the writers of JSON and CSV show of a plan.
func (v *Views) State(ctx context.Context, snap *gitstore.Snapshot) (exchange.Snapshot, error) {
	state, err := engine.StateNow(ctx, v.Store, snap, v.Now())
	if err != nil {
		return exchange.Snapshot{}, err
	}
	active, err := v.Store.Active(ctx)
	return exchange.Snapshot{State: state, Active: err == nil && active == snap.ID}, nil
}

// Snapshot is what the other writers show: the summaries of approved versions, too, each of which is two documents to
// read. Records are written once, so a version that was approved by the same review is not read again.
func (v *Views) Snapshot(ctx context.Context, snap *gitstore.Snapshot) (exchange.Snapshot, error) {
	out, err := v.State(ctx, snap)
	if err != nil {
		return out, err
	}
	if v.known == nil {
		v.known = map[string]plandoc.Summary{}
	}
	out.Summaries = map[plan.TaskID]plandoc.Summary{}
	for _, t := range snap.Plan.Tasks {
		ts := out.State.Tasks[t.TaskID]
		if t.NodeType != plan.Action || t.Planning() || ts.Approved == 0 {
			continue
		}
		r := snap.Records.Of(t.TaskID)
		reading := fmt.Sprintf("%s v%d %d %d", t.TaskID, ts.Approved, len(r.Reviews), len(r.Pruned))
		sum, ok := v.known[reading]
		if !ok {
			if sum, err = export.Summarize(ctx, v.Store, snap, t.TaskID, ts.Approved); err != nil {
				return out, err
			}
			v.known[reading] = sum
		}
		out.Summaries[t.TaskID] = sum
	}
	return out, nil
}
