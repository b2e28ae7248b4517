package gitstore

import (
	"context"

	"gitwf/internal/plan"
)

// AddTreeOf adds the nested trees of a flat list of files and returns the top tree's id. The blobs must exist, or belong to
// the batch.
func (b *Batch) AddTreeOf(entries []TreeEntry) (plan.OID, error) { return b.addTreeOf(entries) }

// Keep writes those objects of the batch again that a gc has taken since the flush, and reports whether there were any:
// what failed meanwhile may have failed for want of them. When something that a gc looks at, such as the index, names the
// objects by now, they stay from here on.
func (b *Batch) Keep(ctx context.Context) (lost bool, err error) {
	if lost, err = b.restore(ctx); err != nil {
		return lost, err
	}
	return lost, b.s.survive(ctx, b)
}
