package export

import (
	"context"
	"errors"
	"io/fs"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Summarize reads what is known about an approved version of a task: what its maker recorded, and the newest review
// that approved it. A pruned version has a Summary too, with only its name.
func Summarize(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID, version int) (plandoc.Summary,
	error) {
	a, err := ReadArtifact(ctx, store, snap, id, version)
	if errors.Is(err, fs.ErrNotExist) {
		return plandoc.Summary{Artifact: plan.Artifact{TaskID: id, ArtifactID: plan.VersionID(version)}}, nil
	}
	if err != nil {
		return plandoc.Summary{}, err
	}
	s := plandoc.Summary{Artifact: a}
	if rec, ok := newestApproval(snap, id, version); ok {
		r, err := ReadReview(ctx, store, snap, id, rec)
		if err != nil {
			return plandoc.Summary{}, err
		}
		s.Review = &r
	}
	return s, nil
}
