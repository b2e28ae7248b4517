package gitstore

import (
	"context"

	"gitwf/internal/plan"
)

// Tip returns the newest commit of a plan's history, or ErrNoPlan.
func (s *Store) Tip(ctx context.Context, id plan.ID) (plan.OID, error) {
	ref, err := planRef(id)
	if err != nil {
		return "", err
	}
	c, err := s.commit(ctx, ref)
	return c.oid, err
}

// RefName is the full name of a plan's ref, for git's own commands. The id must be valid.
func RefName(id plan.ID) string { return planRefs + string(id) }
