package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

// joins reports whether a judge judges changes of the repository: its run lines run where all of them are.
func joins(s *plan.State, t *plan.Task) bool {
	return slices.ContainsFunc(s.Judged(t.TaskID), func(id plan.TaskID) bool { return s.Tasks[id].Changes() })
}

// lacks says what keeps the run lines of a task's criteria from running here.
func (e *Engine) lacks(s *plan.State, t *plan.Task) Wait {
	w := e.Trust.lacks(t)
	if w.Text == "" && t.Judges != nil && t.HasRun() && joins(s, t) && !e.Trust.Code() {
		return runsCode
	}
	return w
}

// checkJoined sets the run lines of a judge up to run in a checkout of what the approved changes that it depends on
// come to together, without those that its verdicts leave out: a test whose implementation is blocked is red.
func (e *Engine) checkJoined(ctx context.Context, setup *check.Setup, snap *gitstore.Snapshot,
	made plan.Artifact) (base plan.Base, leave func(), err error) {
	s, v := snap.State(), export.Verdicts{}
	if made.ArtifactID != "" {
		if v, err = export.ReadVerdicts(ctx, e.Store, snap, made); err != nil {
			return base, nil, err
		}
	}
	below := slices.DeleteFunc(s.Changes(made.TaskID), func(in plan.TaskID) bool {
		return s.Tasks[in].Approved == 0 || v.Excludes(in)
	})
	batch := e.Store.NewBatch()
	defer batch.Discard()
	if base, _, err = e.join(ctx, batch, snap, made.TaskID, "", approved(snap, below)); err != nil {
		return base, nil, err
	}
	commit, err := e.begin(ctx, batch, base)
	if err != nil {
		return base, nil, err
	}
	leave, err = e.runCode(ctx, setup, snap, func(context.Context, bool) (plan.OID, error) { return commit, nil })
	return base, leave, err
}

// rejectConflict rejects the approved change that contradicts those before it, in the order in which they are applied:
// no judge is shown such a tree. It reports whether there was one.
func (e *Engine) rejectConflict(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (bool, error) {
	s := snap.State()
	if t.Judges == nil || !joins(s, t.Task) {
		return false, nil
	}
	batch := e.Store.NewBatch()
	defer batch.Discard()
	id, conflicts, err := e.firstConflict(ctx, batch, snap, t.TaskID)
	if err != nil || id == "" {
		return false, err
	}
	subject, err := e.subject(ctx, snap, s, id, s.Tasks[id].Approved)
	if err != nil {
		return false, err
	}
	findings := []string{fmt.Sprintf("it conflicts with the approved changes of tasks beside it, which come first: %s",
		strings.Join(conflicts, "; "))}
	rev := check.OfAct(subject, plan.ReviewerChecks, nil, findings, e.Now())
	return true, e.recordReview(ctx, snap.ID, rev, subject, nil, findings)
}

// firstConflict is the first change below a task that does not apply to what those before it come to, and where.
func (e *Engine) firstConflict(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot,
	judge plan.TaskID) (plan.TaskID, []string, error) {
	all := below(snap, judge)
	for i, id := range all {
		if _, met, err := e.join(ctx, batch, snap, judge, "", approved(snap, all[:i+1])); err != nil || len(met) > 0 {
			return id, met, err
		}
	}
	return "", nil, nil
}

// showOutdated tells whoever makes a version again because its inputs have changed what is new about them, and gives
// the version that they begin with.
func (e *Engine) showOutdated(ctx context.Context, w *workDir) error {
	snap, t, s := w.snap, w.task, w.snap.State()
	if t.Verdict != plan.Approved {
		return nil
	}
	outdated := s.Outdated(t.TaskID, t.Active)
	for _, id := range s.Inputs(t.TaskID) {
		was, changed := outdated[id]
		before, ok := snap.Records.Of(id).Version(was)
		now, there := snap.Records.Of(id).Version(s.Tasks[id].Approved)
		if !changed || !ok || !there || was == now.Version {
			continue
		}
		diff, err := e.Store.Git(ctx, "diff-tree", "-p", "-M", "--no-ext-diff", "--no-textconv", "--no-color",
			"--end-of-options", string(before.Files), string(now.Files))
		if err != nil {
			return err
		}
		name := string(id) + ".diff"
		dir := filepath.Join(w.in, "changed")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(diff), 0o666); err != nil {
			return err
		}
		info := plan.FileInfo{Path: name, Mode: "100644", Size: int64(len(diff))}
		files, err := filesOf(dir, []plan.FileInfo{info}, "", prompt.MaxInputText)
		if err != nil {
			return err
		}
		w.told = append(w.told, prompt.Input{Name: "what changed of " + string(id), Dir: "changed", Files: files})
		w.outdated = append(w.outdated, fmt.Sprintf("%s: v%d was its input, v%d is approved now", id, was, now.Version))
	}
	if len(w.outdated) == 0 || t.Changes() {
		return nil
	}
	a, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Active)
	if err != nil {
		return err
	}
	dir := filepath.Join(w.in, string(t.TaskID))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := e.Store.Export(ctx, a.Tree, dir); err != nil {
		return err
	}
	files, err := filesOf(dir, a.Files, "", prompt.MaxInputText)
	w.told = append(w.told, prompt.Input{Name: string(t.TaskID), Version: t.Active, Dir: string(t.TaskID),
		Files: files})
	return err
}
