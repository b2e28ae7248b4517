package export

import (
	"context"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Sides returns the trees to compare for what a version changes or, of two versions, for what changed between them. Of
// a change of the repository they hold the files at their own paths, without a and b; of two such versions they are
// what the versions lead to or, where that is not here, the changed files alone.
func Sides(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState,
	versions []int) (from, to plan.OID, err error) {
	last := versions[len(versions)-1]
	first := last - 1
	if len(versions) > 1 {
		first = versions[0]
	}
	now, _ := snap.Records.Of(t.TaskID).Version(last)
	before, _ := snap.Records.Of(t.TaskID).Version(first) // none before the first one
	switch {
	case t.Changes() && len(versions) == 1:
		return store.ChangeSides(ctx, now.Files)
	case t.Changes():
		return results(ctx, store, snap, t, before, now)
	case first == 0:
		return gitstore.EmptyTree, now.Files, nil
	}
	return before.Files, now.Files, nil
}

// results are the trees that two versions of a change lead to.
func results(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState,
	versions ...plan.ArtifactRecord) (plan.OID, plan.OID, error) {
	var after, own [2]plan.OID
	here := true
	for i, v := range versions {
		a, err := ReadArtifact(ctx, store, snap, t.TaskID, v.Version)
		if err != nil {
			return "", "", err
		}
		if _, own[i], err = store.ChangeSides(ctx, v.Files); err != nil {
			return "", "", err
		}
		if a.Base != nil {
			if after[i], err = store.TreeOf(ctx, a.Base.After); err != nil {
				return "", "", err
			}
		}
		here = here && after[i] != ""
	}
	if !here {
		return own[0], own[1], nil
	}
	return after[0], after[1], nil
}
