package gate

import (
	"context"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// rules holds each item of a bundle against what the policy demands of the approvals that count: floors, and the root's own
// rules. They are looked at again here because a plan, and whoever wrote its refs, may have known a laxer policy or none.
// The snapshot has only the approvals that count.
func (c *bundleCase) rules(ctx context.Context, b *export.Bundle, snap *gitstore.Snapshot) error {
	p := c.gate.policy
	root, _ := p.RootOf(c.dir)
	minScore, quorum := max(p.Floors.MinScore, root.MinScore), max(p.Floors.Quorum, root.Quorum)
	if minScore == 0 && quorum == 0 && len(p.Floors.Reviewers) == 0 && len(root.Reviewers) == 0 && !p.FourEyes {
		return nil
	}
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		approvals, err := c.approvals(ctx, snap, item)
		if err != nil {
			return err
		}
		author := ""
		if p.FourEyes {
			a, err := export.ReadArtifact(ctx, c.gate.store, snap, item.TaskID, plan.VersionNumber(item.Version()))
			if err != nil {
				return err
			}
			author = a.Agent
		}
		names := map[string]bool{}
		for _, r := range approvals {
			allowed := len(p.Floors.Reviewers) == 0 || slices.Contains(p.Floors.Reviewers, r.Reviewer)
			own := p.FourEyes && (r.SelfReviewed || r.Reviewer == author)
			if allowed && !own && r.Score >= minScore {
				names[r.Reviewer] = true
			}
		}
		inRoot := len(root.Reviewers) == 0 || slices.ContainsFunc(root.Reviewers, func(n string) bool { return names[n] })
		if len(names) < max(quorum, 1) || !inRoot {
			c.findItem("policy", item, "git wf review "+string(item.TaskID)+" --approve",
				"%s %s lacks the approvals that the policy demands below %s/ (score at least %d, %d reviewers%s)",
				item.TaskID, item.Version(), root.Path, minScore, max(quorum, 1), fourEyes(p.FourEyes))
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

// approvals are the reviews that count for an item: of each reviewer the newest of the version, if it approves.
func (c *bundleCase) approvals(ctx context.Context, snap *gitstore.Snapshot, item *export.Item) ([]plan.Review, error) {
	newest := map[string]plan.ReviewRecord{}
	for _, rec := range snap.Records.Of(item.TaskID).Reviews {
		if plan.VersionID(rec.Version) == item.Version() {
			newest[rec.Reviewer] = rec
		}
	}
	var reviews []plan.Review
	for _, rec := range newest {
		if rec.Verdict != plan.Approved {
			continue
		}
		r, err := export.ReadReview(ctx, c.gate.store, snap, item.TaskID, rec)
		if err != nil {
			return nil, err
		}
		reviews = append(reviews, r)
	}
	return reviews, nil
}
