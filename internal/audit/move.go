package audit

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Move audits the move of one ref below refs/workflow/ from an old commit, "" for a new ref, to a new one: the history
// may only grow, by legal events. What was legal before the move is not looked at again, nor are other histories that
// were audited.
func Move(ctx context.Context, store *gitstore.Store, ref string, old, next plan.OID,
	audited ...plan.OID) ([]Finding, error) {
	name := strings.TrimPrefix(ref, "refs/workflow/")
	a := auditor{ctx: ctx, store: store, id: plan.ID(name)}
	if old != "" {
		grew, err := store.IsAncestor(ctx, old, next)
		if err != nil {
			return nil, err
		}
		if !grew && ref != gitstore.PolicyRef {
			if grew, err = a.continues(old, next); err != nil {
				return nil, err
			}
		}
		if !grew && len(a.findings) == 0 {
			a.report("moved-back", ref, "git wf sync, if another clone has gone on from where they part",
				"%.12s does not have %.12s in its history: what was recorded would be gone", next, old)
		}
		if !grew {
			return a.findings, nil
		}
	}
	revs := []string{string(next)}
	for _, known := range slices.Concat([]plan.OID{old}, audited) {
		if known != "" {
			revs = append(revs, "^"+string(known))
		}
	}
	if err := a.history(revs...); err != nil {
		return nil, err
	}
	if ref == gitstore.PolicyRef {
		if _, err := store.PolicyAt(ctx, string(next)); gitstore.IsAbsent(err) {
			return nil, err
		} else if err != nil {
			a.report("bad-policy", "policy.json", "", "%v", err)
		}
		return a.findings, nil
	}
	if !a.id.Valid() {
		a.report("bad-id", ref, "", "%q is no plan id", name)
		return a.findings, nil
	}
	a.reportThrowaway()
	if err := a.checkPrunes(old); err != nil {
		return nil, err
	}
	snap, err := store.SnapshotAt(ctx, a.id, next)
	if gitstore.IsAbsent(err) {
		return nil, err
	}
	if a.newerPlan(err) {
		return a.findings, nil
	}
	if err != nil {
		a.report("unreadable", fmt.Sprintf("%.12s", next), "", "%v", err)
		return a.findings, nil
	}
	a.snap = snap
	entries, err := a.entries(old, next)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(entries, func(e gitstore.TreeEntry) bool { return e.Path == planFile }) {
		a.bindings()
	}
	err = a.records(entries)
	return a.findings, err
}

// UnsoundError says why a plan's history can't be trusted.
type UnsoundError struct{ Finding Finding }

func (e *UnsoundError) Error() string {
	return fmt.Sprintf("plan %s has no legal history: %s: %s", e.Finding.PlanID, e.Finding.Place, e.Finding.Message)
}

// Is makes an *UnsoundError match gitstore.ErrUnsound.
func (e *UnsoundError) Is(target error) bool { return target == gitstore.ErrUnsound }

// Exit has the command that shows the repair.
func (e *UnsoundError) Exit() (int, string) {
	return fault.ExitRefused, "git wf doctor"
}

// soundTips are the commits up to which a plan's history was found sound, by rules that have a name.
type soundTips struct {
	Rules string
	Tips  []plan.OID
}

// Sound audits the part of a plan's history up to a commit that nobody has audited here before. It fails with an
// *UnsoundError for all that Move finds, but for what a newer program wrote, which has no effect.
func Sound(ctx context.Context, store *gitstore.Store, id plan.ID, tip plan.OID) error {
	const most = 8 // a plan has few tips: here, and as fetched
	rules := plan.Setting{}.Rules()
	var known soundTips
	if !store.ReadCache(string(id)+".audited", &known) || known.Rules != rules {
		known = soundTips{Rules: rules}
	}
	if slices.Contains(known.Tips, tip) {
		return nil
	}
	known.Tips = slices.DeleteFunc(known.Tips, func(k plan.OID) bool {
		tree, err := store.TreeOf(ctx, k)
		return err != nil || tree == "" // it is gone
	})
	from, whole, err := soundUpTo(ctx, store, tip, known.Tips)
	if err != nil || whole {
		return err
	}
	findings, err := Move(ctx, store, gitstore.RefName(id), from, tip, known.Tips...)
	findings = ExceptNewer(findings)
	if err != nil {
		return err
	}
	if len(findings) > 0 {
		return &UnsoundError{findings[0]}
	}
	known.Tips = append(slices.DeleteFunc(known.Tips, func(k plan.OID) bool { return k == from }), tip)
	known.Tips = known.Tips[max(0, len(known.Tips)-most):]
	store.WriteCache(string(id)+".audited", known)
	return nil
}

// soundUpTo returns the newest commit along first parents of a tip whose records were audited, "" for none. whole says
// that the tip is part of what was audited.
func soundUpTo(ctx context.Context, store *gitstore.Store, tip plan.OID, audited []plan.OID) (from plan.OID, whole bool,
	err error) {
	if tree, err := store.TreeOf(ctx, tip); err != nil || tree == "" || len(audited) == 0 {
		return "", false, ctx.Err() // Move says what is wrong
	}
	if from, whole, err = firstKnown(ctx, store, tip, audited...); err != nil || from == "" {
		return "", whole, err
	}
	for _, k := range slices.Backward(audited) {
		at, _, err := firstKnown(ctx, store, k, from)
		if err != nil || at == from || k == from {
			return from, false, err
		}
	}
	return "", false, nil // it is part of the second history of a join, of which that took what it wanted
}

// firstKnown returns the first commit along first parents of a tip that other histories have; all says it is the tip.
func firstKnown(ctx context.Context, store *gitstore.Store, tip plan.OID, others ...plan.OID) (known plan.OID, all bool,
	err error) {
	args := []string{"rev-list", "--first-parent", "--boundary", string(tip)}
	for _, o := range others {
		args = append(args, "^"+string(o))
	}
	out, err := store.Git(ctx, args...)
	if oid, ok := strings.CutPrefix(out[strings.LastIndexByte(out, '\n')+1:], "-"); ok {
		known = plan.OID(oid)
	}
	return known, out == "", err
}

// ExceptNewer leaves out what a newer program wrote. A clone keeps it: it has no effect and makes the plan read-only. A
// server refuses it, since it can't judge it.
func ExceptNewer(findings []Finding) []Finding {
	return slices.DeleteFunc(findings, func(f Finding) bool { return f.Code == Newer })
}

// entries are what a tree has that another, "" for none, has not or has otherwise.
func (a *auditor) entries(old, next plan.OID) (entries []gitstore.TreeEntry, err error) {
	if old == "" {
		return a.store.ListTree(a.ctx, next)
	}
	changed, err := a.store.Changed(a.ctx, old, next)
	for _, c := range changed {
		if c.How == 'M' && path.Base(c.Path) == "artifact.json" { // its files may be the same
			return a.store.ListTree(a.ctx, next)
		}
		if c.How != 'D' {
			entries = append(entries, gitstore.TreeEntry{Path: c.Path, Mode: c.Mode, OID: c.OID})
		}
	}
	return entries, err
}
