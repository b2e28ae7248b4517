package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Under a policy with keys an approval counts only if it is signed (export.Prove). The gate asks two policies. Is the
// manifest what its plan commit yields? The policy that the manifest names answers, so a manifest stays provable when
// keys change. Are the items approved? The policy that judges answers: a key removed from it proves nothing any more.

type proofKey struct{ commit, policy plan.OID }

// proof finds the approvals of a plan at one commit that count under a policy.
func (g *Gate) proof(ctx context.Context, snap *gitstore.Snapshot, p *gitstore.Policy) (*export.Evidence, error) {
	key := proofKey{snap.Commit, p.Commit}
	if e := g.proofs[key]; e != nil && p.Commit != "" && e.Snapshot.ID == snap.ID {
		return e, nil
	}
	e, err := export.Prove(ctx, g.store, snap, p)
	if err == nil {
		g.proofs[key] = e
	}
	return e, err
}

// evidence returns what counts of the plan at a commit under the policy that judges.
func (c *bundleCase) evidence(ctx context.Context, commit plan.OID) (*export.Evidence, error) {
	snap, err := c.gate.at(ctx, c.planID(), commit)
	if err != nil {
		return nil, err
	}
	return c.gate.proof(ctx, snap, c.gate.policy)
}

// claimed returns what counts under the policy that a manifest names; if it names none, everything.
func (g *Gate) claimed(ctx context.Context, snap *gitstore.Snapshot, m export.Manifest) (*export.Evidence, error) {
	if m.PolicyCommit == "" {
		return g.proof(ctx, snap, &gitstore.Policy{})
	}
	if err := g.ofPolicy(ctx, m.PolicyCommit); err != nil {
		return nil, err
	}
	p, err := g.store.PolicyAt(ctx, string(m.PolicyCommit))
	if err != nil {
		return nil, &refusal{code: "manifest", message: fmt.Sprintf("policy_commit %.12s: %v", m.PolicyCommit, err)}
	}
	return g.proof(ctx, snap, p)
}

// ofPolicy checks that a commit is in the policy's history: here, as fetched, or as a push would make it.
func (g *Gate) ofPolicy(ctx context.Context, commit plan.OID) error {
	if !commit.Valid() {
		return &refusal{code: "manifest", message: fmt.Sprintf("policy_commit is no object id: %q", commit)}
	}
	out, err := g.store.Git(ctx, "for-each-ref", "--format=%(objectname)", "--", gitstore.PolicyRef,
		"refs/workflow-remotes/*/policy")
	if err != nil {
		return err
	}
	for _, tip := range slices.Concat(g.policies, gitstore.OIDs(out)) {
		if ok, err := g.contains(ctx, tip, commit); err == nil && ok {
			return nil // a commit that is not here is in no history
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &refusal{
		code: "no-policy",
		message: fmt.Sprintf("its approvals are signed under the policy %.12s, which is not in the policy's history "+
			"here, so nothing proves them", commit),
		hint: fmt.Sprintf("git fetch <remote> %s:%s", gitstore.PolicyRef, gitstore.PolicyRef),
	}
}

// unproven reports the items whose approvals do not count, or that have too few approvals that count.
func (c *bundleCase) unproven(ctx context.Context, b *export.Bundle, e *export.Evidence) error {
	if !e.Signed {
		return nil
	}
	now := e.Snapshot.State()
	for i := range b.Manifest.Items {
		item := &b.Manifest.Items[i]
		if now.VersionVerdict(item.TaskID, item.Version()) == plan.Approved {
			continue
		}
		why := "no approval of it counts"
		if missing := e.Missing(item.TaskID, item.Version()); len(missing) > 0 {
			why = strings.Join(each.Of(missing, func(u export.Unproven) string {
				return fmt.Sprintf("%s by %s does not count: %s", u.ReviewID, u.Reviewer, u.Why)
			}), "; ")
		}
		without, mend, err := c.gate.lacking(ctx, c.planID(), b.Manifest.PlanCommit, mendApproval(item.TaskID))
		if err != nil {
			return err
		}
		c.findItem("unsigned", item, mend,
			"%s %s lacks approvals that are signed with a key of the policy: %s", item.TaskID, item.Version(),
			why+without)
	}
	return nil
}

func mendApproval(task plan.TaskID) string {
	return "git wf review " + string(task) +
		" --approve, by somebody who signs with a key of git wf policy show; then git wf export"
}

// signers returns the names of the keys that prove a bundle's items.
func signers(b *export.Bundle, e *export.Evidence) []string {
	var names []string
	for _, item := range b.Manifest.Items {
		names = append(names, signersOf(e, item.TaskID, item.Version())...)
	}
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// signersOf returns the names of the keys that prove a version.
func signersOf(e *export.Evidence, task plan.TaskID, version string) []string {
	names := each.Of(e.ApprovalsOf(task, version), func(a export.Approval) string { return a.SignedBy })
	slices.Sort(names)
	return slices.Compact(names)
}
