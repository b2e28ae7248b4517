package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
	"gitwf/internal/threeway"
	"gitwf/internal/workspace"
)

// changing is the checkout in which an attempt changes the repository.
type changing struct {
	checkout  *workspace.Workspace
	base      plan.Base // After is known when the attempt has ended
	conflicts []string  // of the approved changes that the task builds on: its first job
	refused   []string  // why its approved version did not land; that is its job then
}

// beginChange makes the directory in which an attempt works a checkout of what its change begins with.
func (e *Engine) beginChange(ctx context.Context, w *workDir) error {
	snap, t := w.snap, w.task
	batch := e.Store.NewBatch()
	defer batch.Discard()
	base, conflicts, err := e.baseOf(ctx, batch, snap, t.TaskID)
	if err != nil {
		return err
	}
	if err := e.greenBase(ctx, snap, base.Commit); err != nil {
		return err
	}
	w.change = &changing{base: base, conflicts: conflicts}
	if err := e.showRefused(ctx, w); err != nil {
		return err
	}
	commit, err := e.begin(ctx, batch, base)
	if err != nil {
		return err
	}
	if w.change.checkout, err = e.takeCheckout(string(snap.ID) + "/" + string(t.TaskID)); err != nil {
		return err
	}
	kept, err := e.kept(ctx, snap, w.dir)
	if err != nil {
		return err
	}
	if err = w.change.checkout.CheckOut(ctx, commit, true); err == nil && kept != "" {
		err = w.change.checkout.Restore(kept)
	}
	w.work = w.change.checkout.Dir
	w.source, w.out, w.checkout = base.Commit, w.work, true
	return err
}

// baseOf computes what a task's change begins with: the tip of the branch, with the approved changes that the task
// builds on and that have not landed.
func (e *Engine) baseOf(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot,
	id plan.TaskID) (plan.Base, []string, error) {
	return e.join(ctx, batch, snap, id, "", approved(snap, below(snap, id)))
}

// below are the tasks with approved changes that a task builds on. Changes that one judge joins build on each other: it
// begins with those before it that touch the same files, as far as they are there, so that it can't contradict them.
func below(snap *gitstore.Snapshot, id plan.TaskID) []plan.TaskID {
	state := snap.State()
	changes := state.Changes(id)
	if judges := state.JudgesOf(id); len(judges) > 0 && slices.Contains(changes, id) {
		all := state.Changes(judges[0])
		beside := slices.DeleteFunc(all[:slices.Index(all, id)+1], func(in plan.TaskID) bool {
			return !plandoc.SameFocus(state.Tasks[in].Task, state.Tasks[id].Task)
		})
		changes = state.Changes(beside...)
	}
	return slices.DeleteFunc(changes, func(in plan.TaskID) bool {
		return in == id || state.Tasks[in].Approved == 0
	})
}

// stacked is a version of a change below a task.
type stacked struct {
	task    plan.TaskID
	version int
}

// approved are the approved versions of tasks.
func approved(snap *gitstore.Snapshot, tasks []plan.TaskID) []stacked {
	list := each.Of(tasks, func(id plan.TaskID) stacked {
		return stacked{id, snap.State().Tasks[id].Approved}
	})
	return list
}

// join computes what versions below a task come to on a commit, and where they contradict each other.
// Without a commit it is on the tip of the task's branch.
func (e *Engine) join(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot, id plan.TaskID,
	on plan.OID, below []stacked) (base plan.Base, conflicts []string, err error) {
	first, err := e.firstBase(ctx, snap)
	if err == nil && on == "" {
		on, err = e.tipFor(ctx, snap, id)
	}
	if err != nil {
		return base, nil, err
	}
	base.Commit = on
	if base.Tree, err = e.Store.TreeOf(ctx, base.Commit); err != nil {
		return base, nil, err
	}
	if base.Tree == "" {
		return base, nil, &gitstore.AbsentError{Hint: "git fetch, when the clone that made it has pushed its branch",
			What: fmt.Sprintf("%s: its change begins with commit %.12s, which is not here", id, base.Commit)}
	}
	var there map[plan.TaskID]gitstore.LandedCommit
	if len(below) > 0 && first != on {
		if there, err = e.Store.LandedOn(ctx, snap, first, on); err != nil {
			return base, nil, err
		}
	}
	for _, in := range below {
		version, ok := snap.Records.Of(in.task).Version(in.version)
		landed, err := e.hasLanded(ctx, snap, in.task, in.version, on)
		if err != nil {
			return base, nil, err
		}
		if !ok || landed || there[in.task].Version == plan.VersionID(in.version) {
			continue
		}
		tree, met, err := batch.ApplyChange(ctx, version.Files, base.Tree)
		if err != nil {
			return base, nil, err
		}
		base.Tree = tree
		for _, c := range met {
			conflicts = append(conflicts, c.String())
		}
	}
	return base, conflicts, nil
}

// tipFor is the tip of the branch that a task changes: the one of its newest version's landing, else the plan's.
func (e *Engine) tipFor(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID) (tip plan.OID, err error) {
	if all := snap.Records.Of(id).Landings; len(all) > 0 {
		last, err := export.LastLanding(ctx, e.Store, snap, id, all[len(all)-1].Version)
		if err == nil {
			tip, err = e.Store.CommitOf(ctx, "refs/heads/"+last.Branch)
		}
		if err == nil && tip == "" {
			err = fault.Refused("git branch", "%s: its branch %s is not here", id, plain.Quote(last.Branch))
		}
		return tip, err
	}
	first, err := e.firstBase(ctx, snap)
	if err == nil {
		_, tip, err = e.Store.Trunk(ctx)
	}
	if err != nil {
		return "", err
	}
	if on, err := e.Store.IsAncestor(ctx, first, tip); err != nil || !on {
		return first, nil // the plan changes another branch, or it is not here
	}
	return tip, nil
}

// firstBase finds the commit with which the changes of a plan begin: the newest that all of them contain as recorded,
// or what was the tip of the branch here when the first one began.
func (e *Engine) firstBase(ctx context.Context, snap *gitstore.Snapshot) (commit plan.OID, err error) {
	var bases []plan.OID
	for _, t := range snap.Plan.Tasks {
		if list := snap.Records.Of(t.TaskID).Artifacts; t.Changes() && len(list) > 0 {
			a, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, list[0].Version)
			if err == nil && a.Base == nil {
				err = baseless(a)
			}
			if err != nil {
				return "", err
			}
			bases = each.Add(bases, a.Base.Commit)
		}
	}
	if len(bases) > 1 {
		if commit, err = e.Store.Fork(ctx, bases...); err == nil && commit != "" {
			return commit, nil
		}
	}
	if len(bases) > 0 {
		return bases[0], nil // or not all are here, which is said where one is needed
	}
	if commit, err = e.Store.BaseOf(ctx, snap.ID); err != nil || commit != "" {
		return commit, err
	}
	_, tip, err := e.Store.Trunk(ctx)
	if errors.Is(err, gitstore.ErrUnborn) {
		return "", fault.Refused("git commit --allow-empty -m 'First commit'",
			"a change of the repository begins with a commit, and it has none")
	}
	if err == nil {
		commit, err = e.Store.KeepBase(ctx, snap.ID, tip)
	}
	return commit, err
}

func baseless(a plan.Artifact) error {
	return fmt.Errorf("%s %s does not say what it is a change of", a.TaskID, a.ArtifactID)
}

// errNothingChanged is the end of an attempt that left the checkout as it was.
var errNothingChanged = errors.New("nothing was changed in the checkout of the repository")

// ended reads what an attempt made of its checkout. A *changeError says what can't be a change.
func (c *changing) ended(ctx context.Context, batch *gitstore.Batch, limits plan.Config) (plan.OID, []plan.FileInfo,
	error) {
	after, err := treeAsIs(ctx, c.checkout)
	if err != nil {
		return "", nil, err
	}
	c.base.After = after
	tree, files, err := batch.AddChange(ctx, c.base.Tree, after)
	if err != nil {
		return "", nil, err
	}
	if tree == "" {
		return "", nil, errNothingChanged
	}
	if n := len(plandoc.ChangedFiles(files)); n > limits.MaxArtifactFiles {
		return "", nil, &changeError{fmt.Sprintf("are changed, and the plan's max_artifact_files is %d",
			limits.MaxArtifactFiles),
			[]string{plain.Count(n, "file")}}
	}
	if size := totalSize(files); size > limits.MaxArtifactBytes {
		return "", nil, &changeError{fmt.Sprintf("are changed, and the plan's max_artifact_bytes is %d",
			limits.MaxArtifactBytes),
			[]string{plain.Count(int(size), "byte")}}
	}
	return tree, files, nil
}

// treeAsIs is the tree of a checkout as it is. A *changeError says what can't be part of it.
func treeAsIs(ctx context.Context, w *workspace.Workspace) (plan.OID, error) {
	done, err := w.Candidate(ctx)
	switch {
	case err != nil:
		return "", err
	case len(done.Nested) > 0:
		return "", &changeError{"is a repository of its own, whose files can't be part of the change: move them " +
			"out of it, or delete its .git", done.Nested}
	case len(done.Vanished) > 0:
		return "", &changeError{"is the directory of a submodule and is gone: leave it, even empty", done.Vanished}
	}
	return done.Tree, nil
}

// here is the tree of the user's working tree as it is, beside the tree of its HEAD.
func (e *Engine) here(ctx context.Context, head plan.OID) (plan.OID, error) {
	dir, release, err := e.Store.Scratch(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	w, err := workspace.Here(ctx, e.Store, dir, head)
	if err != nil {
		return "", err
	}
	return treeAsIs(ctx, w)
}

// changeError says what can't be part of a change.
type changeError struct {
	rule  string
	paths []string
}

func (e *changeError) Error() string {
	return strings.Join(plain.Some(e.paths, 10, plain.Line), ", ") + ": " + e.rule
}

// deliverChange records what an attempt made of its checkout as a version, or why there is none.
func (e *Engine) deliverChange(ctx context.Context, h *hold, w *workDir, res agent.Result) error {
	batch := e.Store.NewBatch()
	defer batch.Discard()
	tree, files, err := w.change.ended(context.WithoutCancel(ctx), batch, h.snap.Plan.Limits())
	switch {
	case errors.Is(err, errNothingChanged):
		res.Kind, res.Message = agent.Noop, err.Error()
		if h.snap.Records.Of(h.task.TaskID).Landed(h.task.Active) {
			res.Message += fmt.Sprintf(", which has %s: git wf undo %s takes that back first",
				plan.VersionID(h.task.Active), h.task.TaskID)
		}
		return e.fail(ctx, h, res)
	case errors.As(err, new(*changeError)):
		res.Kind, res.Message = agent.Error, err.Error()
		return e.fail(ctx, h, res)
	case err != nil:
		return err
	}
	return e.recordVersion(ctx, h, w, batch, tree, files, res)
}

// submittedChange computes the change that a person hands in: what a commit's tree is beside what it began with.
func (e *Engine) submittedChange(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot, t *plan.TaskState,
	sub Submission) (*plan.Base, plan.OID, []plan.FileInfo, error) {
	hint := fmt.Sprintf("git wf submit %s --commit HEAD", t.TaskID)
	if len(sub.Paths) > 0 || sub.Worktree == (sub.Commit != "") {
		return nil, "", nil, fault.Usage(hint, "%s changes the repository: hand in a commit, or the worktree as it is",
			t.TaskID)
	}
	snap, err := e.Store.Snapshot(ctx, snap.ID) // all that the task builds on, not only what is near
	if err != nil {
		return nil, "", nil, err
	}
	if t = snap.State().Tasks[t.TaskID]; t.Status == plan.StatusPending {
		return nil, "", nil, &plan.RefusedError{Task: t.TaskID, Reason: snap.State().Reason(t), Hint: "git wf status"}
	}
	revision := cmp.Or(sub.Commit, "HEAD")
	commit, err := e.Store.CommitOf(ctx, revision)
	if err == nil && commit == "" {
		err = fmt.Errorf("%s is no commit", plain.Quote(revision))
	}
	if err != nil {
		return nil, "", nil, err
	}
	var base plan.Base
	var before plan.OID
	if sub.On == "" {
		base, before, err = e.baseIn(ctx, batch, snap, t.TaskID, commit)
	} else if before, err = e.Store.TreeOf(ctx, sub.On); err == nil {
		base = plan.Base{Commit: sub.On, Tree: before}
	}
	if err != nil {
		return nil, "", nil, err
	}
	after, err := e.Store.TreeOf(ctx, commit)
	if err == nil && sub.Worktree {
		after, err = e.here(ctx, after)
	}
	if err != nil {
		return nil, "", nil, err
	}
	tree, files, err := batch.AddChange(ctx, before, after)
	if err == nil && tree == "" {
		err = fault.Refused("", "%s: %s changes nothing", t.TaskID, cmp.Or(sub.Commit, "the worktree"))
	}
	if err != nil {
		return nil, "", nil, err
	}
	var conflicts []threeway.Conflict
	if base.After, conflicts, err = batch.ApplyChange(ctx, tree, base.Tree); err == nil && len(conflicts) > 0 {
		err = fault.Refused(fmt.Sprintf("git rebase %.12s", base.Commit),
			"%s: what is handed in conflicts with what the task begins with: %s", t.TaskID, conflicts[0])
	}
	return &base, tree, files, err
}

// baseIn computes what a person's change begins with: the newest commit of the branch that their commit contains, with
// the approved changes that the task builds on. Before is the tree that they have changed: that commit's, with the
// changes with which git wf start began.
func (e *Engine) baseIn(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot, id plan.TaskID,
	commit plan.OID) (base plan.Base, before plan.OID, err error) {
	tip, err := e.tipFor(ctx, snap, id)
	if err != nil {
		return base, "", err
	}
	on, err := e.Store.Fork(ctx, tip, commit)
	if err == nil && on == "" {
		err = fmt.Errorf("%.12s has no history in common with %.12s, which the change is for", commit, tip)
	}
	if err == nil {
		base, _, err = e.join(ctx, batch, snap, id, on, approved(snap, below(snap, id)))
	}
	if err == nil {
		before, err = e.Store.TreeOf(ctx, on)
	}
	if err != nil {
		return base, "", err
	}
	begun, its, err := e.Store.BegunWith(ctx, on, commit, startSubject)
	if err != nil || begun == its {
		return base, before, err
	}
	change, _, err := batch.AddChange(ctx, its, begun)
	if err == nil {
		before, _, err = batch.ApplyChange(ctx, change, before)
	}
	return base, before, err
}

// Start makes the commit with which a person begins a task that changes the repository, and says which of the approved
// changes that it builds on contradict each other. One of them may be a candidate that is not approved yet: what comes
// of it can be handed in when that is. No ref names the commit yet.
func (e *Engine) Start(ctx context.Context, id plan.ID, task, on plan.TaskID) (plan.OID, []string, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return "", nil, err
	}
	if snap.Plan.Register {
		return "", nil, registerError(id)
	}
	s := snap.State()
	t, hint, stacks := s.Tasks[task], "git wf status", false
	if waits := s.WaitsFor(t); len(waits) == 1 {
		if o := s.Tasks[waits[0]]; o.Changes() && o.Active > 0 && o.Verdict == "" {
			hint, stacks = fmt.Sprintf("git wf start %s --on %s begins with its candidate", task, o.TaskID),
				on == o.TaskID
		}
	}
	switch {
	case stacks:
		s.Tasks[on].Approved = s.Tasks[on].Active // for what follows here
	case t.Status == plan.StatusPending || t.Waits():
		return "", nil, &plan.RefusedError{Task: task, Reason: s.Reason(t), Hint: hint}
	case on != "" && !slices.Contains(below(snap, task), on):
		return "", nil, fault.Refused("git wf start "+string(task), "%s: does not build on %s", task,
			plain.Quote(string(on)))
	}
	batch := e.Store.NewBatch()
	defer batch.Discard()
	base, conflicts, err := e.baseOf(ctx, batch, snap, task)
	if err != nil {
		return "", nil, err
	}
	commit, err := e.begin(ctx, batch, base)
	return commit, conflicts, err
}

// begin returns the commit that has a base's tree: the branch's own, or a new one on top of it.
func (e *Engine) begin(ctx context.Context, batch *gitstore.Batch, base plan.Base) (plan.OID, error) {
	own, err := e.Store.TreeOf(ctx, base.Commit)
	if err != nil || own == base.Tree {
		return base.Commit, err
	}
	commit := e.startOf(batch, base)
	return commit, batch.Flush(ctx)
}

// startOf is the commit that a task's change begins with: the branch's, or one with the approved changes on top of it.
func (e *Engine) startOf(batch *gitstore.Batch, base plan.Base) plan.OID {
	return batch.AddCommit(base.Tree, base.Commit, startSubject, time.Unix(0, 0))
}

const startSubject = "What the task begins with"

// outside lists what a version changes outside of the paths that its task declares.
func (e *Engine) outside(ctx context.Context, t *plan.Task, a plan.Artifact) ([]string, error) {
	entries, err := e.Store.ListTree(ctx, a.Tree)
	if err != nil {
		return nil, err
	}
	files := make([]plan.FileInfo, len(entries))
	for i, f := range entries {
		files[i].Path = f.Path
	}
	outside := each.Pick(plandoc.ChangedFiles(files), func(f plandoc.ChangedFile) (string, bool) {
		return f.Path, !plandoc.Covers(t.DeliverableSpec.Paths, f.Path)
	})
	return outside, nil
}

// showChange gives a reviewer a checkout of the repository with a version, and the change as a patch.
func (e *Engine) showChange(ctx context.Context, snap *gitstore.Snapshot, c *prompt.Candidate,
	a plan.Artifact) error {
	commit, err := e.commitOfVersion(ctx, snap, a)
	if err != nil {
		return err
	}
	if _, err := workspace.Make(ctx, e.Store, c.Dir, commit); err != nil {
		return err
	}
	patch, err := e.Store.ChangeDiff(ctx, a.Tree)
	c.Change = prompt.Text(patch)
	return err
}

// keepBase keeps the objects that a version names from git gc; they are not part of the plan. It comes before the
// version is recorded: what is recorded stays whole, whenever the program is killed.
func (e *Engine) keepBase(ctx context.Context, batch *gitstore.Batch, id plan.ID, a plan.Artifact) error {
	base := e.startOf(batch, *a.Base)
	after := batch.AddCommit(a.Base.After, base, "With the change", time.Unix(0, 0))
	if err := batch.Flush(ctx); err != nil {
		return err
	}
	return e.Store.KeepRef(ctx, id, a.TaskID, a.Tree, after)
}

// patch writes an input that is a change as a patch, for those who read it, and describes the file.
func (e *Engine) patch(ctx context.Context, a plan.Artifact, dir string) ([]plan.FileInfo, error) {
	out, err := e.Store.ChangeDiff(ctx, a.Tree)
	if err != nil {
		return nil, err
	}
	const name = "change.patch"
	file := plan.FileInfo{Path: name, Mode: "100644", Size: int64(len(out)), SHA256: lineHash(string(out))}
	return []plan.FileInfo{file}, os.WriteFile(filepath.Join(dir, name), out, 0o666)
}
