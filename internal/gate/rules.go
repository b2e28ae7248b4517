package gate

import (
	"context"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// rules checks each item of a bundle against what the policy demands of the approvals that count: floors, and the
// root's own rules. The plan, or whoever wrote its refs, may have known a laxer policy or none, so the gate checks
// again. The snapshot has only the approvals that count.
func (c *bundleCase) rules(ctx context.Context, b *export.Bundle, snap *gitstore.Snapshot) error {
	p := c.gate.policy
	root, _ := p.RootOf(c.dir)
	minScore, quorum := max(p.Floors.MinScore, root.MinScore), max(p.Floors.Quorum, root.Quorum)
	if minScore == 0 && quorum == 0 && len(p.Floors.Reviewers) == 0 && len(root.Reviewers) == 0 && !p.FourEyes {
		return nil
	}
	approvals, err := c.approvals(ctx, b, snap)
	if err != nil {
		return err
	}
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		author := ""
		if p.FourEyes {
			a, err := export.ReadArtifact(ctx, c.gate.store, snap, item.TaskID, plan.VersionNumber(item.Version()))
			if err != nil {
				return err
			}
			author = a.Agent
		}
		names := map[string]bool{}
		for _, r := range approvals[item.TaskID] {
			allowed := len(p.Floors.Reviewers) == 0 || slices.Contains(p.Floors.Reviewers, r.Reviewer)
			own := p.FourEyes && (r.SelfReviewed || r.Reviewer == author)
			if allowed && !own && r.Score >= minScore {
				names[r.Reviewer] = true
			}
		}
		inRoot := len(root.Reviewers) == 0 || slices.ContainsFunc(root.Reviewers, func(n string) bool { return names[n] })
		if len(names) < max(quorum, 1) || !inRoot {
			why, mend, err := c.gate.lacking(ctx, c.planID(), b.Manifest.PlanCommit,
				"git wf review "+string(item.TaskID)+" --approve")
			if err != nil {
				return err
			}
			c.findItem("policy", item, mend,
				"%s %s lacks the approvals that the policy demands below %s/ (score at least %d, %d reviewers%s)%s",
				item.TaskID, item.Version(), root.Path, minScore, max(quorum, 1), fourEyes(p.FourEyes), why)
		}
	}
	return nil
}

func fourEyes(on bool) string {
	if on {
		return ", none of them its maker"
	}
	return ""
}

// approvals returns the reviews that count for each item: each reviewer's newest review of the version, if it approves.
// The reviewer is whoever made the commit that recorded the review, whatever the review says: nobody approves in
// another's name. If that commit is missing because a prune's archive is not here, the review does not count.
func (c *bundleCase) approvals(ctx context.Context, b *export.Bundle,
	snap *gitstore.Snapshot) (map[plan.TaskID][]plan.Review, error) {
	var newest []gitstore.ReviewRef
	for _, item := range b.Manifest.Items {
		of := map[string]plan.ReviewRecord{}
		for _, rec := range snap.Records.Of(item.TaskID).Reviews {
			if plan.VersionID(rec.Version) == item.Version() {
				of[rec.Reviewer] = rec
			}
		}
		for _, rec := range of {
			if rec.Verdict == plan.Approved {
				newest = append(newest, gitstore.ReviewRef{Task: item.TaskID, Review: rec})
			}
		}
	}
	recorded, err := c.gate.store.RecordedBy(ctx, snap, newest)
	if err != nil {
		return nil, err
	}
	reviews := map[plan.TaskID][]plan.Review{}
	for _, ref := range newest {
		r, err := export.ReadReview(ctx, c.gate.store, snap, ref.Task, ref.Review)
		if err != nil {
			return nil, err
		}
		by := recorded[ref]
		if len(by) == 0 {
			continue
		}
		if !by[0].Names(r.Reviewer) {
			r.Reviewer = by[0].Reviewer
		}
		reviews[ref.Task] = append(reviews[ref.Task], r)
	}
	return reviews, nil
}
