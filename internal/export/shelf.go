package export

import (
	"context"
	"encoding/json"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Version is one version of one task's deliverable.
type Version struct {
	TaskID plan.TaskID
	Number int
}

// library is what bundles are built from.
type library interface {
	reader
	ReadDocuments(ctx context.Context, snap *gitstore.Snapshot, oids []plan.OID,
		fn func(oid plan.OID, data []byte)) error
	ListTree(ctx context.Context, treeish plan.OID) ([]gitstore.TreeEntry, error)
	ListTrees(ctx context.Context, trees []plan.OID) (map[plan.OID][]gitstore.TreeEntry, error)
}

// Shelf builds bundles and caches their objects by id: the bundles of a plan at several commits share most objects. It
// is for one goroutine. What the shelf lacks is read from the plan's tree, one object at a time, with its own error.
type Shelf struct {
	store     library
	artifacts map[plan.OID]plan.Artifact
	reviews   map[plan.OID]plan.Review
	trees     map[plan.OID][]gitstore.TreeEntry // of deliverables
}

// NewShelf returns an empty shelf.
func NewShelf(store library) *Shelf {
	return &Shelf{
		store: store, artifacts: map[plan.OID]plan.Artifact{}, reviews: map[plan.OID]plan.Review{},
		trees: map[plan.OID][]gitstore.TreeEntry{},
	}
}

// fill reads the versions' missing documents, approvals and files in few requests.
func (s *Shelf) fill(ctx context.Context, snap *gitstore.Snapshot, versions []Version) error {
	var artifacts, reviews, trees []plan.OID
	for _, v := range versions {
		oid := snap.Document(v.TaskID, plan.ArtifactRecord{Version: v.Number}.Path())
		if oid != "" && !onShelf(s.artifacts, oid) {
			artifacts = append(artifacts, oid)
		}
		if rec, ok := newestApproval(snap, v.TaskID, v.Number); ok {
			if oid := snap.Document(v.TaskID, rec.Path()); oid != "" && !onShelf(s.reviews, oid) {
				reviews = append(reviews, oid)
			}
		}
		if rec, ok := snap.Records.Of(v.TaskID).Version(v.Number); ok && !onShelf(s.trees, rec.Files) {
			trees = append(trees, rec.Files)
		}
	}
	if err := s.store.ReadDocuments(ctx, snap, artifacts, shelveParsed(s.artifacts)); err != nil {
		return err
	}
	if err := s.store.ReadDocuments(ctx, snap, reviews, shelveParsed(s.reviews)); err != nil {
		return err
	}
	lists, err := s.store.ListTrees(ctx, trees)
	if gitstore.IsAbsent(err) || ctx.Err() != nil {
		return err
	}
	for oid, list := range lists { // empty if one of them is no tree: files says which
		s.trees[oid] = list
	}
	return nil
}

func onShelf[V any](shelf map[plan.OID]V, oid plan.OID) bool {
	_, ok := shelf[oid]
	return ok
}

// shelveParsed returns a function that puts a document on the shelf if it parses.
func shelveParsed[V any](shelf map[plan.OID]V) func(plan.OID, []byte) {
	return func(oid plan.OID, data []byte) {
		var v V
		if json.Unmarshal(data, &v) == nil {
			shelf[oid] = v
		}
	}
}

func (s *Shelf) artifact(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, version int) (plan.Artifact,
	error) {
	if a, ok := s.artifacts[snap.Document(id, plan.ArtifactRecord{Version: version}.Path())]; ok {
		return a, checkRecord(snap, id, plan.ArtifactRecord{Version: version}.Path(), &a)
	}
	return ReadArtifact(ctx, s.store, snap, id, version)
}

func (s *Shelf) approval(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, version int) (plan.Review,
	error) {
	if rec, ok := newestApproval(snap, id, version); ok {
		if r, ok := s.reviews[snap.Document(id, rec.Path())]; ok {
			return r, checkRecord(snap, id, rec.Path(), &r)
		}
	}
	return ApprovedBy(ctx, s.store, snap, id, version)
}

func (s *Shelf) files(ctx context.Context, tree plan.OID) ([]gitstore.TreeEntry, error) {
	if list, ok := s.trees[tree]; ok {
		return list, nil
	}
	return s.store.ListTree(ctx, tree)
}
