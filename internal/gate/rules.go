package gate

import (
	"context"

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
	versions := make([]export.Version, len(b.Manifest.Items))
	for i, item := range b.Manifest.Items {
		versions[i] = export.Version{TaskID: item.TaskID, Number: plan.VersionNumber(item.Version())}
	}
	lacks, err := export.Lacks(ctx, c.gate.store, snap, p, root, versions)
	if err != nil {
		return err
	}
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		if what := lacks[versions[i]]; what != "" {
			ask := snap.State().AskPerson(item.TaskID)
			why, mend, err := c.gate.lacking(ctx, c.planID(), b.Manifest.PlanCommit, ask)
			if err != nil {
				return err
			}
			c.findItem("policy", item, mend,
				"%s %s lacks the approvals that the policy demands below %s/ (%s)%s", item.TaskID, item.Version(),
				root.Path, what, why)
		}
	}
	return nil
}
