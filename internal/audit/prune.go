package audit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// A prune begins a history anew: its tree says which one it continues, and must be exactly what a prune of that makes.
// If that history is not here, a plan that is new here begins with the prune, and a ref does not move across it.

// continues reports whether a history continues, across one or several prunes, one that holds old.
func (a *auditor) continues(old, next plan.OID) (bool, error) {
	if whole, err := a.store.HasWhole(a.ctx, next); err != nil || !whole {
		return false, err
	}
	archives, err := a.store.Archives(a.ctx, next)
	if err != nil {
		return false, err
	}
	for _, archive := range slices.Backward(archives) {
		here, err := a.store.HasWhole(a.ctx, archive.Tip)
		if err != nil {
			return false, err
		}
		if !here {
			ref := gitstore.ArchiveRefName(a.id)
			a.report("no-archive", gitstore.RefName(a.id), fmt.Sprintf("git fetch <remote> %s:%s", ref, ref),
				"the history before the prune, up to %.12s, is not here, so nothing shows that it had "+
					"%.12s; fetch its archive from a repository that has it", archive.Tip, old)
			return false, nil
		}
		if grew, err := a.store.IsAncestor(a.ctx, old, archive.Tip); err != nil || grew {
			return grew, err
		}
	}
	return false, nil
}

// checkPrunes audits where the histories that were audited begin, and what was archived before. Old, if there is
// one, is a commit up to which all was legal.
func (a *auditor) checkPrunes(old plan.OID) error {
	for len(a.roots) > 0 {
		root := a.roots[0]
		a.roots = a.roots[1:] // an archived history adds where it begins itself
		if err := a.checkPrune(root, old); err != nil {
			return err
		}
	}
	return nil
}

// checkPrune audits the first commit of a history.
func (a *auditor) checkPrune(root, old plan.OID) error {
	archives, err := a.store.Archives(a.ctx, root)
	if err != nil {
		return err
	}
	place := fmt.Sprintf("%.12s: %s", root, plan.PrunedDir)
	if len(archives) == 0 {
		return nil
	}
	last := archives[len(archives)-1]
	doc, err := a.store.ReadPrune(a.ctx, root, last)
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return errors.Join(err, a.ctx.Err())
	}
	if err == nil && doc.PlanID != a.id {
		err = fmt.Errorf("it is a prune of %s", doc.PlanID)
	}
	if err != nil {
		a.report("bad-prune", place, "", "%v", err)
		return nil
	}
	here, err := a.store.HasWhole(a.ctx, last.Tip)
	if err != nil {
		return err
	}
	if !here {
		return nil
	}
	revs := []string{string(last.Tip)}
	if old != "" {
		revs = append(revs, "^"+string(old))
	}
	if err := a.history(revs...); err != nil {
		return err
	}
	return a.checkPruneTree(root, doc, place)
}

// checkPruneTree compares the tree of a prune with the one that its history yields.
func (a *auditor) checkPruneTree(root plan.OID, doc plan.PruneDocument, place string) error {
	tree, err := a.store.Git(a.ctx, "rev-parse", "--verify", "--end-of-options", string(root)+"^{tree}")
	if err != nil {
		return err
	}
	want, err := a.store.PruneTree(a.ctx, a.store.NewBatch(), doc)
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return errors.Join(err, a.ctx.Err())
	}
	switch {
	case err != nil:
		a.report("bad-prune", place, "", "%v", err)
	case string(want) != tree:
		a.report("bad-prune", place, "git diff "+string(doc.Archive)+" "+string(root),
			"it is not what a prune of %.12s that keeps %d versions makes", doc.Archive, doc.Keep)
	}
	return nil
}

// ofPrune reports whether only a prune writes a path: a stub, or what is below pruned/.
func ofPrune(name string) bool {
	if _, rest, ok := plan.SplitPath(name); ok {
		dir, base := path.Split(rest)
		return strings.HasPrefix(dir, "artifacts/") && strings.Count(dir, "/") == 2 &&
			strings.HasPrefix(base, plan.StubName(""))
	}
	return strings.HasPrefix(name, plan.PrunedDir+"/")
}

// PruneMove audits who pruned a plan in the move of its ref from an old commit, "" for none, to a new one.
func PruneMove(ctx context.Context, store *gitstore.Store, policy *gitstore.Policy, id plan.ID, old,
	next plan.OID) ([]Finding, error) {
	if len(policy.Prune.By) == 0 {
		return nil, nil
	}
	a := auditor{ctx: ctx, store: store, id: id}
	args := []string{"rev-list", "--max-parents=0", "--end-of-options", string(next)}
	if old != "" {
		args = append(args, "^"+string(old))
	}
	out, err := store.Git(ctx, args...)
	if err != nil {
		return nil, fmt.Errorf("find who pruned %s: %w", id, err)
	}
	for root := range strings.FieldsSeq(out) {
		archives, err := store.Archives(ctx, plan.OID(root))
		if err == nil && len(archives) > 0 {
			err = a.checkAllowed(plan.OID(root), policy, policy.MayPrune, "may-not-prune", "git wf policy show")
		}
		if err != nil {
			return nil, err
		}
	}
	return a.findings, nil
}
