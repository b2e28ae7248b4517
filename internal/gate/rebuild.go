package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/audit"
	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// refusal is why a manifest can't be proven. It concerns no single file.
type refusal struct{ code, message, hint string }

func (r *refusal) Error() string { return r.message }

// rebuild builds the bundle that a manifest describes. It trusts the manifest only for the commit and the options to
// build from; the result must be the same manifest, byte for byte.
func (g *Gate) rebuild(ctx context.Context, id plan.ID, entry gitstore.TreeEntry) (*export.Bundle, error) {
	if entry.Mode != "100644" {
		return nil, &refusal{code: "manifest", message: "manifest.json is not a plain file"}
	}
	if b := g.built[entry.OID]; b != nil && b.Manifest.PlanID == id {
		return b, nil
	}
	data, err := g.store.ReadBlob(ctx, entry.OID)
	if err != nil {
		return nil, err
	}
	// Its first fields suffice to build the bundle; the rest is read only to explain what is wrong with it.
	if m, err := export.ParseHead(data); err == nil {
		if b, err := g.remake(ctx, id, m, data); err == nil {
			g.built[entry.OID] = b
			return b, nil
		}
	}
	m, err := export.ParseManifest(data)
	if err != nil {
		return nil, &refusal{code: "manifest", message: err.Error()}
	}
	return g.remake(ctx, id, m, data)
}

// remake builds the bundle from the commit and options that its manifest names, and compares the manifests.
func (g *Gate) remake(ctx context.Context, id plan.ID, m export.Manifest, data []byte) (*export.Bundle, error) {
	if m.PlanID != id {
		return nil, &refusal{code: "manifest", message: fmt.Sprintf("the manifest is of plan %s", m.PlanID)}
	}
	if !m.PlanCommit.Valid() {
		return nil, &refusal{code: "manifest", message: fmt.Sprintf("plan_commit is no object id: %q", m.PlanCommit)}
	}
	if m.Options.IncludeCandidates {
		return nil, &refusal{code: "candidates",
			message: "the bundle was made with --include-candidates and may hold what nobody approved"}
	}
	if err := g.inHistory(ctx, id, m.PlanCommit); err != nil {
		return nil, err
	}
	snap, err := g.at(ctx, id, m.PlanCommit)
	if err != nil {
		return nil, err
	}
	evidence, err := g.claimed(ctx, snap, m)
	if err != nil {
		return nil, err
	}
	b, err := g.shelf.Build(ctx, evidence, m.Options)
	if unproven, ok := errors.AsType[*export.UnprovenError](err); ok {
		return nil, g.claimRefused(ctx, id, m.PlanCommit, unproven.Approvals[0])
	}
	if gitstore.IsAbsent(err) {
		return nil, err
	}
	if err != nil {
		return nil, &refusal{code: "manifest", message: fmt.Sprintf("plan commit %.12s yields no such bundle: %v",
			m.PlanCommit, err)}
	}
	if m.WaiversCommit != "" {
		if b, err = g.withWaivers(ctx, b, m.WaiversCommit); err != nil {
			return nil, err
		}
	}
	if !bytes.Equal(b.Data, data) {
		if lost := evidence.Lost(b.Manifest.Tasks()); len(lost) > 0 {
			return nil, g.claimRefused(ctx, id, m.PlanCommit, lost[0])
		}
		return nil, &refusal{code: "manifest-edited",
			message: fmt.Sprintf("manifest.json is not the one that plan commit %.12s yields", m.PlanCommit)}
	}
	return b, nil
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
		ok, err := g.contains(ctx, tip, commit)
		if gitstore.IsAbsent(err) {
			return err
		}
		if err == nil && ok { // a commit that is not here is in no history
			return g.legal(ctx, id, tip)
		}
	}
	if found, err := g.archived(ctx, id, tips, commit); found || err != nil {
		return err
	}
	for _, tip := range tips {
		cut, err := g.store.Cut(ctx, string(tip))
		if err != nil {
			return err
		}
		if len(cut) > 0 {
			return &refusal{
				code: "shallow",
				message: fmt.Sprintf("this clone is shallow and has the history of %s from %.12s on, "+
					"without plan commit %.12s", id, cut[0], commit),
				hint: gitstore.Unshallow,
			}
		}
	}
	return g.foreign(ctx, id, commit)
}

// foreign refuses a commit that is not in the plan's history; the hint brings one that has it.
func (g *Gate) foreign(ctx context.Context, id plan.ID, commit plan.OID) error {
	r := &refusal{code: "foreign-commit", message: fmt.Sprintf("plan commit %.12s is not in the history of %s", commit,
		id)}
	ahead, err := g.aheadOf(ctx, id)
	if err != nil {
		return err
	}
	for _, tip := range ahead {
		if ok, err := g.contains(ctx, tip, commit); err == nil && ok {
			r.message, r.hint = r.message+" as it is here", "git wf sync"
			break
		}
	}
	return r
}

// contains reports whether a commit is the tip or in its history. It lists the newest commits once, for all bundles of
// the plan, and asks git about each older one.
func (g *Gate) contains(ctx context.Context, tip, commit plan.OID) (bool, error) {
	if tip == commit {
		return true, nil
	}
	const newest = 1000
	if g.histories[tip] == nil {
		out, err := g.store.Git(ctx, "rev-list", fmt.Sprintf("--max-count=%d", newest), "--end-of-options", string(tip))
		if err != nil {
			return false, err
		}
		in := each.Set(strings.Fields(out), func(oid string) plan.OID { return plan.OID(oid) })
		g.histories[tip] = in
	}
	switch in := g.histories[tip]; {
	case in[commit]:
		return true, nil
	case len(in) < newest:
		return false, nil
	}
	return g.store.IsAncestor(ctx, commit, tip)
}

type planTip struct {
	id  plan.ID
	tip plan.OID
}

// legal audits a plan's history before it proves anything, as far as nobody has here before.
func (g *Gate) legal(ctx context.Context, id plan.ID, tip plan.OID) error {
	if g.audited[planTip{id, tip}] {
		return nil
	}
	err := audit.Sound(ctx, g.store, id, tip)
	if unsound, ok := errors.AsType[*audit.UnsoundError](err); ok {
		_, hint := unsound.Exit()
		return &refusal{code: "illegal-plan", message: unsound.Error(), hint: hint}
	}
	if err != nil {
		return err
	}
	g.audited[planTip{id, tip}] = true
	return nil
}

// remote names the remote that most likely has a missing plan, for a hint.
func (g *Gate) remote(ctx context.Context) string {
	if name, err := g.store.MainRemote(ctx); err == nil && name != "" {
		return name
	}
	return "<remote>"
}

// allRefs returns the refs that hold plans, as they were when the gate first asked.
func (g *Gate) allRefs(ctx context.Context) (_ map[plan.ID]gitstore.PlanRefs, err error) {
	if g.refs == nil {
		g.refs, err = g.store.AllPlanRefs(ctx)
	}
	return g.refs, err
}

// tipsOf returns the newest commits of a plan: here, as last fetched, or as a push would make them.
func (g *Gate) tipsOf(ctx context.Context, id plan.ID) ([]plan.OID, error) {
	if tips, ok := g.tips[id]; ok {
		return tips, nil
	}
	refs, err := g.allRefs(ctx)
	return refs[id].Tips(), err
}

// aheadOf returns the fetched commits that continue a plan from its tip here.
func (g *Gate) aheadOf(ctx context.Context, id plan.ID) ([]plan.OID, error) {
	if tips, ok := g.ahead[id]; ok {
		return tips, nil
	}
	refs, err := g.allRefs(ctx)
	if err != nil {
		return nil, err
	}
	g.ahead[id], err = g.store.Ahead(ctx, refs[id])
	return g.ahead[id], err
}

// at reads the plan at one of its commits.
func (g *Gate) at(ctx context.Context, id plan.ID, commit plan.OID) (*gitstore.Snapshot, error) {
	if s := g.states[commit]; s != nil && s.ID == id {
		return s, nil
	}
	if f := g.store.Discounts(ctx, id); f != nil {
		return nil, &refusal{"throwaway", "the plan was " + f.Error(), f.Hint}
	}
	s, err := g.store.SnapshotAt(ctx, id, commit)
	if err != nil {
		return nil, err
	}
	if s.Plan.PlanID != id {
		return nil, &refusal{code: "wrong-plan", message: fmt.Sprintf("what the ref of %s holds is the plan %s", id,
			s.Plan.PlanID)}
	}
	g.states[commit] = s
	return s, nil
}

// wayOut says how a version that was rejected later may still land: by a baseline, for a commit made while it was
// approved; by another approval, for the newest version.
func (c *bundleCase) wayOut(now *plan.State, item export.Item) string {
	if c.commit == "" {
		return "git wf show " + string(item.TaskID)
	}
	hint := fmt.Sprintf("git wf policy baseline %.12s exempts what landed up to that commit", c.commit)
	if t := now.Tasks[item.TaskID]; t != nil && plan.VersionID(t.Active) == item.Version() {
		hint += fmt.Sprintf("; git wf review %s --approve approves the version again", item.TaskID)
	}
	return hint
}

// overturned finds the bundle's versions that any history known here has rejected since, and reports whether the plan
// has approved anything newer. A commit is judged by what was approved when it was made: an overturned version is
// refused where a tip that lands still has it, and in between only reported.
func (c *bundleCase) overturned(ctx context.Context, b *export.Bundle) (older bool, err error) {
	tips, err := c.gate.tipsOf(ctx, c.planID())
	if err != nil {
		return false, err
	}
	ahead, err := c.gate.aheadOf(ctx, c.planID()) // proves nothing, but may have revoked an approval
	if err != nil {
		return false, err
	}
	for _, tip := range slices.Concat(tips, ahead) {
		if tip == b.Manifest.PlanCommit {
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
		joined, err := c.gate.contains(ctx, tip, b.Manifest.PlanCommit)
		if err != nil {
			return false, err
		}
		for i, item := range b.Manifest.Items {
			rec, _ := snap.Records.Of(item.TaskID).Version(plan.VersionNumber(item.Version()))
			why := "a later review rejected it"
			if joined && rec.Files != item.Tree {
				why = "a join of two clones has set it aside"
			} else if now.LastingVerdict(item.TaskID, item.Version()) != plan.Rejected {
				continue
			}
			held, err := c.held(ctx, item)
			if err != nil {
				return false, err
			}
			if name := string(item.TaskID) + " " + item.Version(); !held && !slices.Contains(c.past, name) {
				c.past = append(c.past, name)
			} else if held {
				c.findItem("overturned", &b.Manifest.Items[i], c.wayOut(now, item),
					"%s %s was approved, but %s", item.TaskID, item.Version(), why)
			}
		}
		newest := export.Approved(snap, b.Manifest.Options.FinalOnly)
		older = older || !slices.EqualFunc(b.Manifest.Items, newest, func(a export.Item, b export.Version) bool {
			return a.TaskID == b.TaskID && a.Version() == plan.VersionID(b.Number)
		})
	}
	return older, nil
}

// held reports whether a tip brings a version of the bundle that the branch did not have.
func (c *bundleCase) held(ctx context.Context, item export.Item) (bool, error) {
	if g := c.gate; g.before != "" {
		tops, err := g.topsOf(ctx, string(g.before))
		if err != nil {
			return false, err
		}
		if had, err := c.has(ctx, tops[0], item); had == yes || err != nil {
			return false, err
		}
	}
	if c.tips == nil {
		return true, nil
	}
	for _, tip := range c.tips() {
		if has, err := c.has(ctx, tip, item); has != no || err != nil {
			return true, err
		}
	}
	return false, nil
}

// answer is what a commit says about a version. Its manifest may prove nothing.
type answer int

const (
	no answer = iota
	yes
	unclear
)

// has reports whether a commit has a version in the bundle's place.
func (c *bundleCase) has(ctx context.Context, top *node, item export.Item) (answer, error) {
	m, err := c.gate.find(ctx, top, path.Join(c.dir, export.ManifestName))
	switch {
	case errors.As(err, new(*flawError)):
		return unclear, nil
	case err != nil || m.OID == "":
		return no, err
	}
	b, err := c.gate.rebuild(ctx, c.planID(), gitstore.TreeEntry{Mode: m.Mode, OID: m.OID})
	switch {
	case errors.As(err, new(*refusal)):
		return unclear, nil
	case err != nil:
		return no, err
	case slices.ContainsFunc(b.Manifest.Items, func(i export.Item) bool {
		return i.TaskID == item.TaskID && i.Version() == item.Version()
	}):
		return yes, nil
	}
	return no, nil
}
