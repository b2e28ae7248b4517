package export

import (
	"context"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Lacks says which versions lack approvals that a policy demands of them and of what is below a root, and which those
// are. The plan, or whoever wrote its refs, may have known a laxer policy or none. The snapshot has only the approvals
// that count (Prove).
func Lacks(ctx context.Context, store signer, snap *gitstore.Snapshot, p *gitstore.Policy, root policy.Root,
	versions []Version) (map[Version]string, error) {
	lacking := map[Version]string{}
	for _, v := range versions {
		if p.NoWaivers && snap.State().Accepted(v.TaskID, v.Number) {
			lacking[v] = "no_waivers: what is accepted with a warning does not count"
		}
	}
	if p.Lacks(root, nil) == "" {
		return lacking, nil
	}
	given, err := approvalsOf(ctx, store, snap, p, versions)
	if err != nil {
		return nil, err
	}
	for _, v := range versions {
		if what := p.Lacks(root, given[v]); what != "" {
			lacking[v] = what
		}
	}
	return lacking, nil
}

// approvalsOf returns the approvals that count for each version: each reviewer's newest review of the version, if it
// approves. Who approves is whoever made the commit that recorded the review, whatever the review says: nobody approves
// in another's name, and one who speaks in several seats is one. If that commit is missing because a prune's archive is
// not here, the review does not count.
func approvalsOf(ctx context.Context, store signer, snap *gitstore.Snapshot, p *gitstore.Policy,
	versions []Version) (map[Version][]policy.Approval, error) {
	var newest []gitstore.ReviewRef
	makers := map[Version]string{}
	for _, v := range versions {
		if p.FourEyes {
			a, err := ReadArtifact(ctx, store, snap, v.TaskID, v.Number)
			if err != nil {
				return nil, err
			}
			makers[v] = a.Agent
		}
		of := map[string]plan.ReviewRecord{}
		for _, rec := range snap.Records.Of(v.TaskID).Reviews {
			if rec.Version == v.Number {
				of[rec.Reviewer] = rec
			}
		}
		for _, rec := range of {
			if rec.Verdict == plan.Approved {
				newest = append(newest, gitstore.ReviewRef{Task: v.TaskID, Review: rec})
			}
		}
	}
	recorded, signatures, err := recordedBy(ctx, store, snap, newest, p.Keys)
	if err != nil {
		return nil, err
	}
	given := map[Version][]policy.Approval{}
	for _, ref := range newest {
		r, err := ReadReview(ctx, store, snap, ref.Task, ref.Review)
		if err != nil {
			return nil, err
		}
		if len(recorded[ref]) == 0 || r.Taken() {
			continue
		}
		by := recorded[ref][0]
		for _, other := range recorded[ref] {
			if p.Vouches(signatures[other.Commit].Signer, r.By(), other.Author) {
				by = other // it is the one that counts
			}
		}
		a := policy.Approval{By: r.By(), Score: r.Score, Whole: len(r.AsAWhole()) > 0}
		if !by.Names(a.By) {
			a.By = by.Reviewer
		}
		switch {
		case by.Author.IsAgent() || a.By == plan.ReviewerChecks:
		case len(p.Keys) > 0:
			a.Person = signatures[by.Commit].Signer
		default:
			a.Person = a.By
		}
		v := Version{ref.Task, ref.Review.Version}
		a.Self = r.SelfReviewed || a.By == makers[v] || a.Person != "" && a.Person == makers[v]
		given[v] = append(given[v], a)
	}
	return given, nil
}
