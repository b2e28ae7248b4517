package engine

import (
	"context"
	"fmt"

	"gitwf/internal/check"
	"gitwf/internal/fault"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
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

// checkChange sets the checks of a change up: they run in one checkout, which is clean for each of them. leave gives it
// up.
func (e *Engine) checkChange(ctx context.Context, setup *check.Setup, t *plan.Task,
	a plan.Artifact) (leave func(), err error) {
	if setup.Outside, err = e.outside(ctx, t, a); err != nil {
		return nil, err
	}
	checkout, err := e.takeCheckout("")
	if err != nil {
		return nil, err
	}
	setup.Checkout = func(ctx context.Context, before bool) (string, error) {
		commitOf := e.commitOfVersion
		if before {
			commitOf = func(ctx context.Context, a plan.Artifact) (plan.OID, error) { return e.commitBefore(ctx, t, a) }
		}
		commit, err := commitOf(ctx, a)
		if err != nil {
			return "", err
		}
		err = checkout.CheckOut(ctx, commit, false)
		return checkout.Dir, err
	}
	return checkout.Close, nil
}

// commitOfVersion returns a commit of the repository with a version of a change. Where its trees are not here, they are
// made again.
func (e *Engine) commitOfVersion(ctx context.Context, a plan.Artifact) (plan.OID, error) {
	batch := e.Store.NewBatch()
	defer batch.Discard()
	base, err := e.baseTree(ctx, a)
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

// baseTree is the tree that a version changes.
func (e *Engine) baseTree(ctx context.Context, a plan.Artifact) (plan.OID, error) {
	if a.Base == nil {
		return "", baseless(a)
	}
	base, err := e.Store.TreeOf(ctx, a.Base.Tree)
	if err == nil && base == "" {
		err = fault.Refused("git fetch", "%s %s changes the tree %.12s, which is not here", a.TaskID, a.ArtifactID,
			a.Base.Tree)
	}
	return base, err
}

// commitBefore returns a commit of what a change begins with, with the candidate's tests laid over it.
func (e *Engine) commitBefore(ctx context.Context, t *plan.Task, a plan.Artifact) (plan.OID, error) {
	batch := e.Store.NewBatch()
	defer batch.Discard()
	base, err := e.baseTree(ctx, a)
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
