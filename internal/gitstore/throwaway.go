package gitstore

import (
	"context"
	"slices"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// ThrowawayKey is the setting that makes a repository one for trying things out.
const ThrowawayKey = "wf.throwaway"

// Throwaway reports whether anybody passes for a person in this repository: it was made to try things out. One with
// another kind of plan is none, whatever its settings say: who could set that would decide about the plan.
func (s *Store) Throwaway(ctx context.Context) (bool, error) {
	value, _, err := s.Config(ctx, ThrowawayKey)
	if err != nil || value != "true" {
		return false, err
	}
	plans, err := s.Plans(ctx)
	return err == nil && !slices.ContainsFunc(plans, func(p PlanRef) bool { return !p.ID.Throwaway() }), err
}

// Discounts says why nothing that the plan approves counts in this repository, nil if it does: a throwaway one made it.
func (s *Store) Discounts(ctx context.Context, id plan.ID) *fault.Error {
	if here, err := s.Throwaway(ctx); !id.Throwaway() || err == nil && here {
		return nil
	}
	return errThrowaway
}
