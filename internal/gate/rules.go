package gate

import (
	"context"
	"fmt"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// rules checks each item of a bundle against what the policy demands of the approvals that count: floors, and the
// root's own rules. The plan, or whoever wrote its refs, may have known a laxer policy or none, so the gate checks
// again. The snapshot has only the approvals that count.
func (c *bundleCase) rules(ctx context.Context, b *export.Bundle, snap *gitstore.Snapshot) error {
	p := c.gate.policy
	root, _ := p.RootOf(c.dir)
	versions := make([]export.Version, len(b.Manifest.Items))
	for i, item := range b.Manifest.Items {
		versions[i] = export.Version{TaskID: item.TaskID, Number: plan.VersionNumber(item.Version())}
	}
	lacks, err := c.gate.lacks(ctx, snap, root, versions)
	if err != nil {
		return err
	}
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		if what := lacks[versions[i]]; what != "" {
			why, mend, err := c.gate.lacking(ctx, c.planID(), b.Manifest.PlanCommit,
				"git wf review "+string(item.TaskID)+" --approve")
			if err != nil {
				return err
			}
			c.findItem("policy", item, mend,
				"%s %s lacks the approvals that the policy demands below %s/ (%s)%s", item.TaskID, item.Version(), root.Path, what,
				why)
		}
	}
	return nil
}

// lacks says which versions lack approvals that the policy and a root demand, and what those are.
func (g *Gate) lacks(ctx context.Context, snap *gitstore.Snapshot, root policy.Root,
	versions []export.Version) (map[export.Version]string, error) {
	p := g.policy
	minScore, quorum := max(p.Floors.MinScore, root.MinScore), max(p.Floors.Quorum, root.Quorum)
	if minScore == 0 && quorum == 0 && len(p.Floors.Reviewers) == 0 && len(root.Reviewers) == 0 && !p.FourEyes {
		return accepted(p.Policy, snap, versions), nil
	}
	approvals, err := g.approvals(ctx, versions, snap)
	if err != nil {
		return nil, err
	}
	lacking := accepted(p.Policy, snap, versions)
	for _, v := range versions {
		author := ""
		if p.FourEyes {
			a, err := export.ReadArtifact(ctx, g.store, snap, v.TaskID, v.Number)
			if err != nil {
				return nil, err
			}
			author = a.Agent
		}
		names := map[string]bool{}
		for _, r := range approvals[v] {
			allowed := len(p.Floors.Reviewers) == 0 || slices.Contains(p.Floors.Reviewers, r.By())
			own := p.FourEyes && (r.SelfReviewed || r.By() == author)
			if allowed && !own && r.Score >= minScore && !r.Taken() {
				names[r.By()] = true
			}
		}
		inRoot := len(root.Reviewers) == 0 || slices.ContainsFunc(root.Reviewers, func(n string) bool { return names[n] })
		if len(names) < max(quorum, 1) || !inRoot {
			lacking[v] = fmt.Sprintf("score at least %d, %d reviewers%s", minScore, max(quorum, 1), fourEyes(p.FourEyes))
		}
	}
	return lacking, nil
}

// accepted are the versions that nobody approves, but whose rounds were used up, under a policy that waives nothing.
func accepted(p policy.Policy, snap *gitstore.Snapshot, versions []export.Version) map[export.Version]string {
	lacking := map[export.Version]string{}
	for _, v := range versions {
		if p.NoWaivers && snap.State().Accepted(v.TaskID, v.Number) {
			lacking[v] = "no_waivers: what is accepted with a warning does not count"
		}
	}
	return lacking
}

func fourEyes(on bool) string {
	if on {
		return ", none of them its maker"
	}
	return ""
}

// approvals returns the reviews that count for each version: each reviewer's newest review of the version, if it
// approves. Who approves is whoever made the commit that recorded the review, whatever the review says: nobody approves
// in another's name, and one who speaks in several seats is one. If that commit is missing because a prune's archive is not here, the review does not count.
func (g *Gate) approvals(ctx context.Context, versions []export.Version,
	snap *gitstore.Snapshot) (map[export.Version][]plan.Review, error) {
	var newest []gitstore.ReviewRef
	for _, v := range versions {
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
	recorded, err := g.store.RecordedBy(ctx, snap, newest)
	if err != nil {
		return nil, err
	}
	reviews := map[export.Version][]plan.Review{}
	for _, ref := range newest {
		r, err := export.ReadReview(ctx, g.store, snap, ref.Task, ref.Review)
		if err != nil {
			return nil, err
		}
		by := recorded[ref]
		if len(by) == 0 {
			continue
		}
		if !by[0].Names(r.By()) {
			r.Reviewer, r.Agent = by[0].Reviewer, ""
		}
		v := export.Version{TaskID: ref.Task, Number: ref.Review.Version}
		reviews[v] = append(reviews[v], r)
	}
	return reviews, nil
}
