package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// refusal is a reason that has nothing to do with a single file: the manifest can't be proven.
type refusal struct{ code, message, hint string }

func (r *refusal) Error() string { return r.message }

// rebuild makes the bundle again that a manifest claims to describe. The manifest itself is believed in nothing but
// which commit and options to build from; the result must be the same manifest, byte for byte.
func (g *Gate) rebuild(ctx context.Context, id plan.ID, entry gitstore.TreeEntry) (*export.Bundle, export.Manifest, error) {
	if b := g.built[entry.OID]; b != nil && b.Manifest.PlanID == id {
		return b, b.Manifest, nil
	}
	if entry.Mode != "100644" {
		return nil, export.Manifest{}, &refusal{code: "manifest", message: "manifest.json is not a plain file"}
	}
	data, err := g.store.ReadBlob(ctx, entry.OID)
	if err != nil {
		return nil, export.Manifest{}, err
	}
	m, err := export.ParseManifest(data)
	if err != nil {
		return nil, m, &refusal{code: "manifest", message: err.Error()}
	}
	if m.PlanID != id {
		return nil, m, &refusal{code: "manifest", message: fmt.Sprintf("the manifest is of plan %s", m.PlanID)}
	}
	if !isCommitID(m.PlanCommit) {
		return nil, m, &refusal{code: "manifest", message: fmt.Sprintf("plan_commit is no object id: %q", m.PlanCommit)}
	}
	if m.Options.IncludeCandidates {
		return nil, m, &refusal{code: "candidates", message: "the bundle was made with --include-candidates and may hold what nobody approved"}
	}
	if err := g.inHistory(ctx, id, m.PlanCommit); err != nil {
		return nil, m, err
	}
	snap, err := g.at(ctx, id, m.PlanCommit)
	if err != nil {
		return nil, m, err
	}
	evidence, err := g.claimed(ctx, snap, m)
	if err != nil {
		return nil, m, err
	}
	b, err := export.BuildProven(ctx, g.store, evidence, m.Options)
	var unproven *export.UnprovenError
	if errors.As(err, &unproven) {
		return nil, m, claimRefused(unproven.Approvals[0])
	}
	if gitstore.IsAbsent(err) {
		return nil, m, err
	}
	if err != nil {
		return nil, m, &refusal{code: "manifest", message: fmt.Sprintf("plan commit %.12s yields no such bundle: %v", m.PlanCommit, err)}
	}
	if !bytes.Equal(b.Data, data) {
		if lost := evidence.Lost(b.Manifest.Tasks()); len(lost) > 0 {
			return nil, m, claimRefused(lost[0])
		}
		return nil, m, &refusal{code: "manifest-edited", message: fmt.Sprintf("manifest.json is not the one that plan commit %.12s yields", m.PlanCommit)}
	}
	g.built[entry.OID] = b
	return b, m, nil
}

// inHistory checks that the commit belongs to the plan's own history: here, or as last fetched.
func (g *Gate) inHistory(ctx context.Context, id plan.ID, commit plan.OID) error {
	tips, err := g.tipsOf(ctx, id)
	if err != nil {
		return err
	}
	if len(tips) == 0 {
		return &refusal{
			code:    "no-plan",
			message: fmt.Sprintf("plan %s is not in this repository, so nothing proves the bundle", id),
			hint:    fmt.Sprintf("git fetch %s refs/workflow/%s:refs/workflow/%s", g.remote(ctx), id, id),
		}
	}
	for _, tip := range tips {
		ok, err := g.store.IsAncestor(ctx, commit, tip)
		if gitstore.IsAbsent(err) {
			return err
		}
		if err == nil && ok {
			return nil // a commit that is not here is in no history
		}
	}
	for _, tip := range tips {
		cut, err := g.store.Cut(ctx, string(tip))
		if err != nil {
			return err
		}
		if len(cut) > 0 {
			return &refusal{
				code:    "shallow",
				message: fmt.Sprintf("this clone is shallow and has the history of %s from %.12s on, without plan commit %.12s", id, cut[0], commit),
				hint:    gitstore.Unshallow,
			}
		}
	}
	return &refusal{
		code:    "foreign-commit",
		message: fmt.Sprintf("plan commit %.12s is not in the history of %s", commit, id),
	}
}

// remote is the name of the remote that a missing plan is most likely at, for a hint.
func (g *Gate) remote(ctx context.Context) string {
	out, err := g.store.Git(ctx, "remote")
	names := strings.Fields(out)
	switch {
	case err == nil && len(names) == 1:
		return names[0]
	case err == nil && slices.Contains(names, "origin"):
		return "origin"
	}
	return "<remote>"
}

// tipsOf are the newest commits of a plan: here, as last fetched, or as a push would make them.
func (g *Gate) tipsOf(ctx context.Context, id plan.ID) ([]plan.OID, error) {
	if tips, ok := g.tips[id]; ok {
		return tips, nil
	}
	tips, err := g.store.Tips(ctx, id)
	if err == nil {
		g.tips[id] = tips
	}
	return tips, err
}

// at reads the plan at one of its commits.
func (g *Gate) at(ctx context.Context, id plan.ID, commit plan.OID) (*gitstore.Snapshot, error) {
	if s := g.states[commit]; s != nil && s.ID == id {
		return s, nil
	}
	s, err := g.store.SnapshotAt(ctx, id, commit)
	if err == nil {
		g.states[commit] = s
	}
	return s, err
}

// overturned finds the versions of the bundle that the plan has rejected since, as far as anybody here knows, and
// reports whether the plan has approved anything newer.
func (c *bundleCase) overturned(ctx context.Context, b *export.Bundle, m export.Manifest) (older bool, err error) {
	tips, err := c.gate.tipsOf(ctx, c.planID())
	if err != nil {
		return false, err
	}
	for _, tip := range tips {
		if tip == m.PlanCommit {
			continue
		}
		snap, err := c.gate.at(ctx, c.planID(), tip)
		if err != nil {
			return false, err
		}
		evidence, err := c.gate.proof(ctx, snap, c.gate.policy)
		if err != nil {
			return false, err
		}
		snap = evidence.Snapshot
		now := snap.State()
		for i, item := range b.Manifest.Items {
			if now.VersionVerdict(item.TaskID, item.Version()) == plan.Rejected {
				c.find("overturned", item.Files[0].DestPath, &b.Manifest.Items[i], "git wf show "+string(item.TaskID),
					"%s %s was approved, but a later review rejected it", item.TaskID, item.Version())
			}
		}
		newest, err := export.Build(ctx, c.gate.store, snap, export.Options{Partial: true, AllowStale: true, FinalOnly: m.Options.FinalOnly})
		if err != nil {
			return false, err
		}
		older = older || !slices.EqualFunc(b.Manifest.Items, newest.Manifest.Items, func(a, b export.Item) bool {
			return a.TaskID == b.TaskID && a.Version() == b.Version()
		})
	}
	return older, nil
}
