package web

import (
	"context"
	"fmt"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// signed is what the policy's keys prove about an event, or about the review that it recorded.
type signed struct {
	By   string // the owner of the key; "" if none proves it
	Why  string // why none does, or why an approval does not count anyway; "" under a policy without keys
	Lost bool   // an approval that does not count
}

// signEvents finds out who signed each of the events; known is false under a policy without keys, which proves nothing.
func (s *Server) signEvents(ctx context.Context, events []moment) (known bool, err error) {
	policy, err := s.Store.Policy(ctx)
	if err != nil || len(policy.Keys) == 0 {
		return false, err
	}
	commits := each.Of(events, func(e moment) plan.OID { return e.Commit })
	found, err := s.Store.Signatures(ctx, policy.Keys, commits)
	for i := range events {
		sig := found[events[i].Commit]
		events[i].Signed = signed{By: plain.Line(sig.Signer), Why: plain.Line(sig.Problem)}
	}
	return err == nil, err
}

// signReviews finds out who signed each review of a task. One commit that proves an approval is enough.
func (s *Server) signReviews(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, versions []version) error {
	policy, err := s.Store.Policy(ctx)
	if err != nil || len(policy.Keys) == 0 {
		return err
	}
	refs := each.Of(snap.Records.Of(id).Reviews, func(rec plan.ReviewRecord) gitstore.ReviewRef {
		return gitstore.ReviewRef{Task: id, Review: rec}
	})
	by := map[string]signed{}
	proofs, err := export.ProveReviews(ctx, s.Store, snap, refs, policy)
	for ref, p := range proofs {
		by[fmt.Sprintf("r%d", ref.Review.N)] = signed{By: plain.Line(p.Signer), Why: plain.Line(p.Why),
			Lost: !p.Counts && ref.Review.Verdict == plan.Approved}
	}
	for i := range versions {
		for j := range versions[i].Reviews {
			r := &versions[i].Reviews[j]
			r.Signed = by[r.ReviewID]
		}
	}
	return err
}
