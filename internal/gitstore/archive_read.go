package gitstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"

	"gitwf/internal/plan"
)

// Archive is one history that a prune archived.
type Archive struct {
	N   int
	Tip plan.OID // its newest commit, which may be missing here
	Dir string   // directory in the plan's tree that describes the archive
}

// Archives lists what the prunes of a plan archived, oldest first, from the tree of one of its commits.
func (s *Store) Archives(ctx context.Context, commit plan.OID) ([]Archive, error) {
	oid, err := s.Resolve(ctx, string(commit)+"^{tree}:"+plan.PrunedDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	dirs, err := s.tree(ctx, oid)
	if err != nil {
		return nil, nil //nolint:nilerr // a file in place of the directory, which only a forger makes, is no archive
	}
	var list []Archive
	for _, d := range dirs {
		n, tip, ok := plan.ParsePruneDir(d.name)
		if ok && d.isTree() {
			list = append(list, Archive{n, tip, plan.PrunedDir + "/" + d.name})
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].N < list[j].N })
	return list, nil
}

// HasWhole reports whether a commit and its whole history are here.
func (s *Store) HasWhole(ctx context.Context, commit plan.OID) (bool, error) {
	if _, err := s.commit(ctx, string(commit)); errors.Is(err, ErrNoPlan) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	cut, err := s.Cut(ctx, string(commit))
	return err == nil && len(cut) == 0, err
}

// ReadPrune reads the prune.json of an archive, at a commit of the plan.
func (s *Store) ReadPrune(ctx context.Context, commit plan.OID, a Archive) (plan.PruneDocument, error) {
	data, err := s.ReadFile(ctx, commit, a.Dir+"/"+plan.PruneFile)
	if err != nil {
		return plan.PruneDocument{}, err
	}
	var d plan.PruneDocument
	if err = d.Decode(data); err == nil && d.Archive != a.Tip {
		err = fmt.Errorf("%s/%s speaks of %s", a.Dir, plan.PruneFile, d.Archive)
	}
	return d, err
}

// PruneTree computes the tree that a prune of the history up to doc.Archive makes with the choices in the document, and
// leaves its new objects in a batch. That commit must be here. PruneTree moves no ref.
func (s *Store) PruneTree(ctx context.Context, b *Batch, doc plan.PruneDocument) (plan.OID, error) {
	tip, err := s.commit(ctx, string(doc.Archive))
	if err != nil {
		return "", err
	}
	p, err := s.pruning(ctx, doc.PlanID, tip, doc)
	if err != nil {
		return "", err
	}
	return p.write(ctx, b)
}

// histories names the newest commits of a history and of the archives before it, as far as they are here.
func (s *Store) histories(ctx context.Context, commit plan.OID) ([]string, error) {
	archives, err := s.Archives(ctx, commit)
	if err != nil {
		return nil, err
	}
	tips := []string{string(commit)}
	for _, a := range archives {
		if here, err := s.HasWhole(ctx, a.Tip); err != nil {
			return nil, err
		} else if here {
			tips = append(tips, string(a.Tip))
		}
	}
	return tips, nil
}
