package gitstore

import (
	"context"
	"strings"

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

// Tips returns the newest commits that are known of a plan: its own ref's and what was last fetched of it from each
// remote. It is empty where the plan is not known at all.
func (s *Store) Tips(ctx context.Context, id plan.ID) ([]plan.OID, error) {
	ref, err := planRef(id)
	if err != nil {
		return nil, err
	}
	out, err := s.Git(ctx, "for-each-ref", "--format=%(objectname)", "--", ref, "refs/workflow-remotes/*/"+string(id))
	if err != nil {
		return nil, err
	}
	var tips []plan.OID
	for _, oid := range strings.Fields(out) {
		tips = append(tips, plan.OID(oid))
	}
	return tips, nil
}

// RefName is the full name of a plan's ref, for git's own commands. The id must be valid.
func RefName(id plan.ID) string { return planRefs + string(id) }
