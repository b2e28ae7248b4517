package gitstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/plan"
)

// Freed measures the objects, and their size on disk here, that only an archived (or about to be archived) history
// reaches. It leaves out what branches and tags reach too. It counts what remote-tracking refs reach, although those
// must be fetched anew before a gc frees it.
func (s *Store) Freed(ctx context.Context, id plan.ID, doc plan.PruneDocument) (objects int, bytes int64, err error) {
	all, err := s.objectsOf(ctx, []string{string(doc.Archive)}, "--not", "--exclude=refs/workflow/"+string(id),
		"--exclude="+archiveRefs+string(id), "--exclude=refs/workflow-remotes/*/"+string(id), "--all")
	if err != nil {
		return 0, 0, err
	}
	kept, err := s.keptObjects(ctx, id, doc)
	if err != nil {
		return 0, 0, err
	}
	var ask []string
	for oid := range all {
		if !kept[oid] {
			ask = append(ask, oid)
		}
	}
	if len(ask) == 0 {
		return 0, 0, nil
	}
	out, err := s.GitIn(ctx, Invocation{Stdin: lines(ask), Args: []string{"cat-file", "--batch-check=%(objectsize:disk)",
		"--buffer"}})
	if err != nil {
		return 0, 0, fmt.Errorf("measure objects: %w", err)
	}
	for size := range strings.FieldsSeq(string(out)) {
		if n, err := strconv.ParseInt(size, 10, 64); err == nil {
			objects, bytes = objects+1, bytes+n
		}
	}
	return objects, bytes, nil
}

// keptObjects lists the objects of the new history: the old tree without the dropped files. Some of these may also be
// files of a version that stays.
func (s *Store) keptObjects(ctx context.Context, id plan.ID, doc plan.PruneDocument) (map[string]bool, error) {
	snap, err := s.SnapshotAt(ctx, id, doc.Archive)
	if err != nil {
		return nil, err
	}
	kept, err := s.objectsOf(ctx, []string{string(snap.Tree)})
	if err != nil || len(doc.Dropped) == 0 {
		return kept, err
	}
	var going, staying []string
	for _, d := range doc.Dropped {
		going = append(going, string(d.Tree))
	}
	for _, r := range snap.Records.Tasks {
		for _, a := range r.Artifacts {
			if here := string(a.Files); kept[here] && !slices.Contains(going, here) {
				staying = append(staying, here)
			}
		}
	}
	gone, err := s.objectsOf(ctx, going)
	if err != nil {
		return nil, err
	}
	stay := map[string]bool{}
	if len(staying) > 0 {
		if stay, err = s.objectsOf(ctx, staying); err != nil {
			return nil, err
		}
	}
	for oid := range gone {
		if !stay[oid] {
			delete(kept, oid)
		}
	}
	return kept, nil
}

// objectsOf lists the objects that the given names reach, less those that the options exclude.
func (s *Store) objectsOf(ctx context.Context, from []string, options ...string) (map[string]bool, error) {
	out, err := s.GitIn(ctx, Invocation{Stdin: lines(from), Args: append([]string{
		"rev-list", "--objects", "--no-object-names", "--missing=allow-any", "--stdin",
	}, options...)})
	if err != nil {
		return nil, fmt.Errorf("list objects: %w", err)
	}
	set := map[string]bool{}
	for oid := range strings.FieldsSeq(string(out)) {
		set[oid] = true
	}
	return set, nil
}
