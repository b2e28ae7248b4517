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

	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/process"
	"gitwf/internal/shell"
	"gitwf/internal/workspace"
)

// takeCheckout takes a checkout from the pool, for a task's attempt or, without one, for checks.
func (e *Engine) takeCheckout(task string) (*workspace.Workspace, error) {
	pool, err := workspace.OpenPool(e.Store)
	if err != nil {
		return nil, err
	}
	return pool.Take(task)
}

// Checkouts is where the repository's checkouts are, and how many bytes their files have.
func (e *Engine) Checkouts() (dir string, bytes int64) { return workspace.Held(e.Store) }

// checkChange sets the checks of a change up.
func (e *Engine) checkChange(ctx context.Context, setup *check.Setup, snap *gitstore.Snapshot, t *plan.Task,
	a plan.Artifact) (leave func(), err error) {
	if setup.Outside, err = e.outside(ctx, t, a); err != nil {
		return nil, err
	}
	setup.Again = true
	return e.runCode(ctx, setup, snap, func(ctx context.Context, before bool) (plan.OID, error) {
		if before {
			return e.commitBefore(ctx, snap, t, a)
		}
		return e.commitOfVersion(ctx, snap, a)
	})
}

// runCode sets checks up that run code which was just written: in one checkout, clean for each of them, with what
// wf.prepare made of landed code, and under the user's sandbox. leave gives it up.
func (e *Engine) runCode(ctx context.Context, setup *check.Setup, snap *gitstore.Snapshot,
	commitOf func(ctx context.Context, before bool) (plan.OID, error)) (leave func(), err error) {
	checkout, err := e.takeCheckout("")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			checkout.Close()
		}
	}()
	setup.Environ = append(setup.Environ, "WF_SCRATCH="+setup.Scratch)
	if setup.Wrap, err = e.sandbox(ctx, setup.Scratch, setup.Environ); err != nil {
		return nil, err
	}
	kept, err := e.kept(ctx, snap, setup.Scratch)
	if err != nil {
		return nil, err
	}
	setup.Checkout = func(ctx context.Context, before bool) (string, error) {
		commit, err := commitOf(ctx, before)
		if err == nil {
			err = checkout.CheckOut(ctx, commit, false)
		}
		if err == nil && kept != "" {
			err = checkout.Restore(kept)
		}
		return checkout.Dir, err
	}
	return checkout.Close, nil
}

// cleanRepo returns a clean checkout of HEAD for criteria whose run lines name WF_REPO, "" if none does. Before the
// first commit it is an empty directory below scratch.
func (e *Engine) cleanRepo(ctx context.Context, scratch string, criteria []plan.Criterion) (dir string, leave func(),
	err error) {
	if !slices.ContainsFunc(criteria, func(c plan.Criterion) bool { return strings.Contains(c.Run, "WF_REPO") }) {
		return "", func() {}, nil
	}
	head, err := e.Store.Head(ctx)
	if errors.Is(err, gitstore.ErrUnborn) {
		dir, err = os.MkdirTemp(scratch, "repo-")
		return dir, func() {}, err
	}
	if err != nil {
		return "", nil, err
	}
	checkout, err := e.takeCheckout("")
	if err != nil {
		return "", nil, err
	}
	if err = checkout.CheckOut(ctx, head, false); err == nil { // with the branches and tags, for who reads the history
		var refs string
		if refs, err = e.Store.Git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", "refs/heads",
			"refs/tags"); err == nil {
			err = os.WriteFile(filepath.Join(checkout.Dir, ".git", "packed-refs"), []byte(refs+"\n"), 0o666)
		}
	}
	if err != nil {
		checkout.Close()
		return "", nil, err
	}
	return checkout.Dir, checkout.Close, nil
}

// The settings of runs of code that was just written.
const (
	SandboxKey = "wf.sandbox" // a prefix of each
	prepareKey = "wf.prepare"
	keepKey    = "wf.keep"
)

// sandbox returns how a command line becomes one that the user's sandbox runs; nil if there is none. It tries the
// sandbox: one that does not work says nothing about the code.
func (e *Engine) sandbox(ctx context.Context, dir string, environ []string) (func(line string) string, error) {
	prefix, set, err := e.Store.Config(ctx, SandboxKey)
	if err != nil || !set || prefix == "" {
		return nil, err
	}
	wrap := func(line string) string { return prefix + " /bin/sh -c " + shell.Quote(line) }
	res, err := process.Run(ctx, process.Command{
		Line: wrap("exit 42"), Dir: dir, Env: append(environ, "PWD="+dir), Timeout: time.Minute,
	})
	if err == nil && res.ExitCode != 42 && ctx.Err() == nil {
		err = fault.Refused("git config --show-origin "+SandboxKey, "%s runs no command: %s", SandboxKey,
			cmp.Or(firstLine(res.Tail), fmt.Sprintf("exit %d", res.ExitCode)))
	}
	return wrap, cmp.Or(err, ctx.Err())
}

// kept returns the directory with what wf.prepare made, of what wf.keep names, of the code that the plan's changes
// begin with; "" if there is none. It runs once for each such commit, in a clean checkout.
func (e *Engine) kept(ctx context.Context, snap *gitstore.Snapshot, scratch string) (string, error) {
	line, _, err := e.Store.Config(ctx, prepareKey)
	patterns, keepErr := e.keptPatterns(ctx)
	environ, envErr := e.commandEnv()
	if err = cmp.Or(err, keepErr, envErr); err != nil || line == "" || !e.Trust.Code() || len(patterns) == 0 {
		return "", err
	}
	environ = process.Environ(environ, "WF_REPO="+e.repo(), "WF_SCRATCH="+scratch)
	base, err := e.firstBase(ctx, snap)
	if err != nil {
		return "", err
	}
	pool, err := workspace.OpenPool(e.Store)
	if err != nil {
		return "", err
	}
	key := lineHash(strings.Join(append(patterns, line, string(base)), "\x00"))
	dir, there, filled, err := pool.Kept(ctx, key)
	if err != nil || there {
		return dir, err
	}
	run := process.Command{
		Line: line, Env: environ, Timeout: time.Duration(snap.Plan.Limits().TimeoutSeconds) * time.Second,
	}
	wrap, err := e.sandbox(ctx, scratch, environ)
	if wrap != nil {
		run.Line = wrap(line)
	}
	if err == nil {
		err = e.fillKept(ctx, base, run, patterns, dir)
	}
	return dir, errors.Join(err, filled(err == nil))
}

// keptPatterns are the values of wf.keep.
func (e *Engine) keptPatterns(ctx context.Context) (patterns []string, err error) {
	settings, err := e.Store.Settings(ctx, keepKey)
	for _, kv := range settings {
		if kv[0] == keepKey {
			patterns = append(patterns, kv[1])
		}
	}
	return patterns, err
}

// Equip gives a person's worktree what checkouts of attempts have, and of the ignored files here those that wf.keep
// names, such as .env.
func (e *Engine) Equip(ctx context.Context, id plan.ID, dir string) error {
	patterns, err := e.keptPatterns(ctx)
	if err != nil || len(patterns) == 0 {
		return err
	}
	scratch, release, err := e.Store.Scratch(ctx)
	if err != nil {
		return err
	}
	defer release()
	here, err := workspace.Here(ctx, e.Store, scratch, "")
	to, made := filepath.Join(scratch, "ignored"), &workspace.Workspace{Dir: dir}
	if err == nil {
		err = cmp.Or(os.MkdirAll(to, 0o700), here.Keep(ctx, patterns, to), made.Restore(to)) // through no link
	}
	if err != nil {
		return fault.Refused("git config --show-origin --get-all "+keepKey, "%s: %w", keepKey, err)
	}
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	kept, err := e.kept(ctx, snap, scratch)
	if err == nil && kept != "" {
		err = made.Restore(kept)
	}
	return err
}

// fillKept runs wf.prepare on a commit, and copies what wf.keep names to a directory.
func (e *Engine) fillKept(ctx context.Context, commit plan.OID, run process.Command, patterns []string,
	to string) error {
	checkout, err := e.takeCheckout("")
	if err != nil {
		return err
	}
	defer checkout.Close()
	if err := checkout.CheckOut(ctx, commit, false); err != nil {
		return err
	}
	run.Dir, run.Env = checkout.Dir, append(run.Env, "PWD="+checkout.Dir)
	defer e.Store.TellIfSlow(prepareKey + " is at work in " + checkout.Dir)()
	res, err := process.Run(ctx, run)
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	if res.Reason != process.Exited || res.ExitCode != 0 {
		return fault.Refused("git config --show-origin "+prepareKey, "%s failed on %.12s: %s", prepareKey, commit,
			plain.Text(cmp.Or(strings.TrimSpace(res.Tail), string(res.Reason))))
	}
	if err := checkout.Keep(ctx, patterns, to); err != nil {
		return fault.Refused("git config --show-origin --get-all "+keepKey, "%s: %w", keepKey, err)
	}
	return nil
}

// commitOfVersion returns a commit of the repository with a version of a change. It makes missing trees again.
func (e *Engine) commitOfVersion(ctx context.Context, snap *gitstore.Snapshot, a plan.Artifact) (plan.OID, error) {
	batch := e.Store.NewBatch()
	defer batch.Discard()
	base, err := e.baseTree(ctx, batch, snap, a)
	if err != nil {
		return "", err
	}
	after, conflicts, err := batch.ApplyChange(ctx, a.Tree, base)
	if err == nil && (len(conflicts) > 0 || after != a.Base.After) {
		err = fmt.Errorf("%s %s does not lead to the tree %.12s that it names", a.TaskID, a.ArtifactID, a.Base.After)
	}
	if err != nil {
		return "", err
	}
	return e.begin(ctx, batch, plan.Base{Commit: a.Base.Commit, Tree: after})
}

// baseTree is the tree that a version changes. Where it is not here it is made again, from the commit
// that the version names and the versions that it builds on.
func (e *Engine) baseTree(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot,
	a plan.Artifact) (plan.OID, error) {
	if a.Base == nil {
		return "", baseless(a)
	}
	tree, err := e.Store.TreeOf(ctx, a.Base.Tree)
	if err != nil || tree != "" {
		return tree, err
	}
	versions, err := e.madeOf(ctx, snap, a)
	if err != nil {
		return "", err
	}
	var base plan.Base
	for _, beside := range [][]plan.TaskID{nil, below(snap, a.TaskID)} { // of one judge, it began with those, too
		for _, in := range beside {
			versions[in] = cmp.Or(versions[in], snap.State().Tasks[in].Approved)
		}
		var list []stacked
		for _, in := range snap.State().Changes(slices.Concat(beside, []plan.TaskID{a.TaskID})...) {
			if versions[in] > 0 && in != a.TaskID {
				list = append(list, stacked{in, versions[in]})
			}
		}
		base, _, err = e.join(ctx, batch, snap, a.TaskID, a.Base.Commit, list)
		if err != nil || base.Tree == a.Base.Tree {
			return base.Tree, err
		}
	}
	return "", &gitstore.AbsentError{Hint: "git wf rerun " + string(a.TaskID), What: fmt.Sprintf(
		"%s %s changes the tree %.12s, which is not here and does not follow from what it builds on", a.TaskID,
		a.ArtifactID, a.Base.Tree)}
}

// madeOf are the versions that a version was made of, and those that these were made of.
func (e *Engine) madeOf(ctx context.Context, snap *gitstore.Snapshot,
	a plan.Artifact) (map[plan.TaskID]int, error) {
	versions := map[plan.TaskID]int{}
	for list := a.Inputs; len(list) > 0; list = list[1:] {
		in, n := list[0].TaskID, plan.VersionNumber(list[0].ArtifactID)
		if versions[in] > 0 {
			continue
		}
		versions[in] = n
		made, err := export.ReadArtifact(ctx, e.Store, snap, in, n)
		if err != nil {
			return nil, err
		}
		list = append(slices.Clip(list), made.Inputs...)
	}
	return versions, nil
}

// commitBefore returns a commit of what a change begins with, with the candidate's tests laid over it.
func (e *Engine) commitBefore(ctx context.Context, snap *gitstore.Snapshot, t *plan.Task,
	a plan.Artifact) (plan.OID, error) {
	batch := e.Store.NewBatch()
	defer batch.Discard()
	base, err := e.baseTree(ctx, batch, snap, a)
	if err != nil {
		return "", err
	}
	isTest := func(path string) bool { return plandoc.Covers(t.DeliverableSpec.Tests, path) }
	tests, err := batch.PartOfChange(ctx, a.Tree, isTest)
	if err != nil {
		return "", err
	}
	tree, _, err := batch.ApplyChange(ctx, tests, base)
	if err != nil {
		return "", err
	}
	return e.begin(ctx, batch, plan.Base{Commit: a.Base.Commit, Tree: tree})
}
