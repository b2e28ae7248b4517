package gate

import (
	"context"
	"errors"
	"fmt"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// withWaivers lists the waivers as of a commit of the policy in the manifest. The list lets nothing pass.
func (g *Gate) withWaivers(ctx context.Context, b *export.Bundle, commit plan.OID) (*export.Bundle, error) {
	var r *refusal
	switch err := g.ofPolicy(ctx, commit); {
	case errors.As(err, &r):
		return nil, &refusal{code: r.code, hint: r.hint, message: fmt.Sprintf(
			"its waivers are listed as of the policy %.12s, which is not in the policy's history here", commit)}
	case err != nil:
		return nil, err
	}
	p, err := g.store.PolicyAt(ctx, string(commit))
	if gitstore.IsAbsent(err) || ctx.Err() != nil {
		return nil, err
	}
	if err != nil {
		return nil, &refusal{code: "manifest", message: fmt.Sprintf("waivers_commit %.12s: %v", commit, err)}
	}
	return export.WithWaivers(b, p, commit), nil
}

// waivedCriteria reports the criteria that failed and were waived in a bundle that may land.
func (c *bundleCase) waivedCriteria(b *export.Bundle) {
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		if item.Review == nil {
			continue
		}
		for _, w := range item.Review.Waived {
			c.report.Waived = append(c.report.Waived, Finding{
				Code: "waived-criterion", Commit: c.commit, Path: c.dir + "/" + item.Files[0].DestPath,
				PlanID: c.planID(), TaskID: item.TaskID, Version: item.Version(),
				Message: fmt.Sprintf("criterion %s of %s %s did not pass; waived by %s: %s", w.ID, item.TaskID,
					item.Version(), w.By, w.Reason),
			})
		}
	}
}
