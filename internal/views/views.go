package views

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"gitwf/internal/act"
	"gitwf/internal/engine"
	"gitwf/internal/exchange"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Dir is the directory of the views, below the top of a worktree.
const Dir = ".workflow"

// Views write the files of plans.
type Views struct {
	Store *gitstore.Store
	Now   func() time.Time
	Warn  func(text string)
	Agent func(*plan.Task) string // who does a task that names nobody
	Force bool                    // move edited and foreign files aside, instead of leaving them
}

// Update is what became of the files. Paths start at the top of the worktree.
type Update struct {
	PlanID    plan.ID  `json:"plan_id"`
	Directory string   `json:"directory"`
	Written   []string `json:"written"`
	Removed   []string `json:"removed"`
	Edited    []Edited `json:"edited"`
	Kept      []Kept   `json:"kept"`
}

// Edited is a file with content that was not written here, left as it is.
type Edited struct {
	Path string `json:"path"`
}

// Kept is such a file that was replaced, and the name that it has now.
type Kept struct {
	Path string `json:"path"`
	Copy string `json:"copy"`
}

// Checkout brings the files of a plan in this worktree up to date with the plan as it is now. Of other plans that are
// checked out here, it does so with what says which session is active.
func (v *Views) Checkout(ctx context.Context, id plan.ID) (Update, error) {
	unlock, err := v.Store.LockWorktree(ctx, "checkout")
	if err != nil {
		return Update{}, err
	}
	defer unlock()
	if err := v.keepOut(ctx, id); err != nil {
		return Update{}, err
	}
	done, err := v.update(ctx, id, v.session)
	if err != nil {
		return done, err
	}
	others, err := os.ReadDir(filepath.Join(v.Store.WorkTree(), Dir))
	for _, dir := range others {
		other := plan.ID(dir.Name())
		if _, err := os.Stat(v.recordFile(other)); other == id || err != nil {
			continue
		}
		more, err := v.update(ctx, other, v.sessionFiles)
		if err != nil {
			v.Warn(fmt.Sprintf("%s/%s: %s; see git wf doctor", Dir, other, plain.Line(err.Error())))
		}
		done.Written, done.Removed = append(done.Written, more.Written...), append(done.Removed, more.Removed...)
		done.Edited, done.Kept = append(done.Edited, more.Edited...), append(done.Kept, more.Kept...)
	}
	return done, err
}

// Adopt takes over the files of a session that a plan was imported from where it lies: Checkout writes those that are
// still as they are now. Their content is in the plan.
func (v *Views) Adopt(ctx context.Context, id plan.ID) error {
	files, err := v.files(ctx, id)
	if err != nil {
		return err
	}
	f, err := openFolder(v.Store.WorkTree(), Dir, v.recordFile(id), false)
	if err != nil {
		return err
	}
	defer f.Close()
	now := written{}
	for name := range files {
		if have, there, err := f.read(name); err != nil {
			return err
		} else if there && have != nil {
			now[name] = []string{hashOf(have)}
		}
	}
	return now.save(f.record)
}

// Output writes the files of a plan below another directory, which exists.
func (v *Views) Output(ctx context.Context, id plan.ID, dir string) (Update, error) {
	files, err := v.files(ctx, id)
	if err != nil {
		return Update{}, err
	}
	return v.write(dir, ".", "", id, files)
}

// update brings the files of a plan in this worktree up to date that compute returns.
func (v *Views) update(ctx context.Context, id plan.ID, compute func(context.Context, plan.ID) (files, error)) (Update,
	error) {
	computed, err := compute(ctx, id)
	if err != nil {
		return Update{}, err
	}
	return v.write(v.Store.WorkTree(), Dir, v.recordFile(id), id, computed)
}

// write writes files of a plan. The directory of its tasks exists even if it has none.
func (v *Views) write(top, dir, record string, id plan.ID, files files) (Update, error) {
	f, err := openFolder(top, dir, record, v.Force)
	if err != nil {
		return Update{}, err
	}
	defer f.Close()
	u, err := f.sync(files)
	if err == nil && files[path.Join(string(id), "workflow-session.json")] != nil {
		err = f.MkdirAll(filepath.Join(string(id), ".task"), 0o777)
	}
	u.PlanID, u.Directory = id, path.Join(dir, string(id))
	return u, err
}

func (v *Views) recordFile(id plan.ID) string {
	return filepath.Join(v.Store.GitDir(), "wf", "checkout", string(id)+".json")
}

// files are what each file has, by its path below Dir; nil of those that should not be there.
type files map[string][]byte

// session are the files of a plan as it is now, and nil for those that were written for an earlier state.
func (v *Views) session(ctx context.Context, id plan.ID) (files, error) {
	was, err := readRecord(v.recordFile(id))
	if err != nil {
		return nil, err
	}
	out, err := v.files(ctx, id)
	for name := range was {
		if out[name] == nil && err == nil {
			out[name] = nil
		}
	}
	return out, err
}

// files are those of a plan as it is now.
func (v *Views) files(ctx context.Context, id plan.ID) (files, error) {
	snap, err := v.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := v.Snapshot(ctx, snap)
	if err != nil {
		return nil, err
	}
	out := exchange.CCW(s)
	return out, v.decisions(ctx, snap, out)
}

// sessionFiles are those that say whether the session of a plan is active.
func (v *Views) sessionFiles(ctx context.Context, id plan.ID) (files, error) {
	snap, err := v.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	s, err := v.State(ctx, snap)
	if err != nil {
		return nil, err
	}
	return exchange.Session(s), nil
}

// decisions adds what a task that decides looks at (dev_plan.md) and has decided (project_history.md).
func (v *Views) decisions(ctx context.Context, snap *gitstore.Snapshot, files files) error {
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
		files[path.Join(string(snap.ID), "dev_plan.md")] = []byte(act.DevPlan(s))
		files[path.Join(string(snap.ID), "project_history.md")] = history.Bytes()
	}
	return nil
}

// State is what the writers of JSON and CSV show of a plan.
func (v *Views) State(ctx context.Context, snap *gitstore.Snapshot) (exchange.Snapshot, error) {
	state, err := engine.StateNow(ctx, v.Store, snap, v.Now())
	if err != nil {
		return exchange.Snapshot{}, err
	}
	active, err := v.Store.Active(ctx)
	return exchange.Snapshot{State: state, Active: err == nil && active == snap.ID, Agent: v.Agent}, nil
}

// Snapshot is what the other writers show: the summaries of approved versions, too, each of which is two documents to
// read.
func (v *Views) Snapshot(ctx context.Context, snap *gitstore.Snapshot) (exchange.Snapshot, error) {
	out, err := v.State(ctx, snap)
	if err != nil {
		return out, err
	}
	out.Summaries = map[plan.TaskID]plandoc.Summary{}
	for _, t := range snap.Plan.Tasks {
		if ts := out.State.Tasks[t.TaskID]; t.NodeType == plan.Action && !t.Planning() && ts.Approved > 0 {
			if out.Summaries[t.TaskID], err = export.Summarize(ctx, v.Store, snap, t.TaskID, ts.Approved); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}
