package gitstore

import (
	"context"

	"gitwf/internal/plan"
)

// AddTreeOf adds the nested trees of a flat list of files and returns the top tree's id. The blobs must exist or belong
// to the batch.
func (b *Batch) AddTreeOf(entries []TreeEntry) (plan.OID, error) { return b.addTreeOf(entries) }

// Keep rewrites objects of the batch that a gc deleted since the flush, and reports whether there were any: an
// operation that failed meanwhile may have failed for lack of them. Once something that a gc looks at, such as the
// index, names the objects, they stay.
func (b *Batch) Keep(ctx context.Context) (lost bool, err error) {
	if lost, err = b.restore(ctx); err != nil {
		return lost, err
	}
	return lost, b.s.awaitGC(ctx, b)
}
