package export

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// ReadArtifact reads the artifact.json of a version at the snapshot. It fails if the document speaks of another
// version than the tree holds.
func ReadArtifact(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID, version int) (plan.Artifact, error) {
	var a plan.Artifact
	path := fmt.Sprintf("%s/artifacts/%s/artifact.json", id.Dir(), plan.VersionID(version))
	if err := readJSON(ctx, store, snap.Commit, path, &a); err != nil {
		return plan.Artifact{}, err
	}
	rec, ok := snap.Records.Of(id).Version(version)
	if !ok || rec.Files != a.Tree || a.TaskID != id || a.ArtifactID != plan.VersionID(version) {
		return plan.Artifact{}, fmt.Errorf("%s speaks of %s %s %s, not of what lies beside it", path, a.TaskID, a.ArtifactID, a.Tree)
	}
	return a, nil
}

// ReadReview reads the review.json of a review at the snapshot.
func ReadReview(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID, rec plan.ReviewRecord) (plan.Review, error) {
	var r plan.Review
	path := fmt.Sprintf("%s/reviews/%s/review.json", id.Dir(), rec.Dir())
	if err := readJSON(ctx, store, snap.Commit, path, &r); err != nil {
		return plan.Review{}, err
	}
	v, ok := snap.Records.Of(id).Version(rec.Version)
	if !ok || v.Files != r.Tree || r.TaskID != id || r.Verdict != rec.Verdict || r.Score != rec.Score ||
		r.ReviewedArtifactID != plan.VersionID(rec.Version) || plan.EscapeName(r.Reviewer) != rec.Reviewer {
		return plan.Review{}, fmt.Errorf("%s does not say what its name says", path)
	}
	return r, nil
}

func readJSON(ctx context.Context, store reader, commit plan.OID, path string, v any) error {
	data, err := store.ReadFile(ctx, commit, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// approval is the newest review that approved the version.
func approval(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID, version int) (plan.Review, error) {
	reviews := snap.Records.Of(id).Reviews
	for _, rec := range slices.Backward(reviews) {
		if rec.Version == version && rec.Verdict == plan.Approved {
			return ReadReview(ctx, store, snap, id, rec)
		}
	}
	return plan.Review{}, fmt.Errorf("%s %s counts as approved without an approval", id, plan.VersionID(version))
}
