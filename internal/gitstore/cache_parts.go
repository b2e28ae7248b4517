package gitstore

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"gitwf/internal/plan"
)

// cachedParts is a document that says something of each of many tasks, in a form from which single parts can be read.
type cachedParts struct {
	OID   plan.OID
	Head  string
	IDs   segments // the tasks' ids, sorted
	Parts segments // what it says of each of these
}

func (s *Store) partsFile(oid plan.OID) string {
	return filepath.Join(s.commonDir, "wf", "cache", string(oid)+".parts")
}

// Split cuts a document into its head and what it says of each task; ok is false for one that it can't cut.
type Split func(data []byte) (head string, parts map[plan.TaskID]string, ok bool)

// Part returns the head of a document of the plan, and what it says of one task, "" for nothing. Git takes longer to
// deliver a large one than everything else that a command about one task does, so Part caches the pieces.
func (s *Store) Part(ctx context.Context, snap *Snapshot, oid plan.OID, task plan.TaskID, split Split) (
	head, part string, ok bool, err error) {
	c := &cachedParts{}
	if !isOID(oid) {
		return "", "", false, nil
	}
	if readCacheFile(s.partsFile(oid), c) && c.OID == oid {
		if place, ok := c.IDs.find(string(task)); ok {
			part = c.Parts.at(place)
		}
		return c.Head, part, true, nil
	}
	if err := s.prefetchDocuments(ctx, snap.Commit); err != nil {
		return "", "", false, err
	}
	data, err := s.ReadBlob(ctx, oid)
	if err != nil {
		return "", "", false, err
	}
	head, parts, ok := split(data)
	if ok && len(data) >= cachePlanBytes {
		s.background.Go(func() { _ = writeCacheFile(s.partsFile(oid), cacheParts(oid, head, parts)) })
	}
	return head, parts[task], ok, nil
}

func cacheParts(oid plan.OID, head string, parts map[plan.TaskID]string) cachedParts {
	var ids, all []string
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		ids, all = append(ids, string(id)), append(all, parts[id])
	}
	return cachedParts{oid, head, joined(ids), joined(all)}
}
