package gitstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/plan"
)

// A prune begins a new history for a plan and keeps the old one below archiveRefs. Both refs move in one transaction,
// so every recorded event stays reachable at every moment. An archive only grows: the next prune joins its history and
// the archive with a commit that has both as parents.
const archiveRefs = "refs/workflow-archive/"

// ErrNothingToPrune: the history is a single commit, that of the last prune.
var ErrNothingToPrune = errors.New("there is nothing to prune")

// ErrNoArchive: this repository has no archive of the plan.
var ErrNoArchive = errors.New("nothing of the plan is archived here")

// ArchiveRefName is the full name of the ref that keeps a plan's archived histories. The id must be valid.
func ArchiveRefName(id plan.ID) string { return archiveRefs + string(id) }

// IsArchiveRef returns the plan whose archive a ref keeps.
func IsArchiveRef(ref string) (plan.ID, bool) {
	name, ok := strings.CutPrefix(ref, archiveRefs)
	return plan.ID(name), ok && plan.ID(name).Valid()
}

// Prune begins a new history that keeps the newest versions of each task whole, and archives the old one. Like an
// event, it decides on the newest state, and again if somebody else was faster. A shared plan is pruned where the
// remote takes that at once: nobody's history goes on from the one before.
func (s *Store) Prune(ctx context.Context, id plan.ID, keep int, now time.Time) (plan.PruneDocument, *Appended, error) {
	var done plan.PruneDocument
	fail := func(err error) (plan.PruneDocument, *Appended, error) {
		return plan.PruneDocument{}, nil, fmt.Errorf("prune %s: %w", id, err)
	}
	ref, err := planRef(id)
	if err != nil {
		return fail(err)
	}
	remote, _ := s.SharedWith(ctx, id)
	if remote != "" {
		if err := s.sayJoined(s.level(ctx, remote, id)); err != nil {
			return fail(err)
		}
	}
	a := &appending{s: s, id: id, ref: ref, now: now, view: s.wholePlan}
	a.decide = func(ctx context.Context) (commitInfo, plan.Change, error) {
		tip, err := s.commit(ctx, ref)
		if err != nil {
			return commitInfo{}, plan.Change{}, err
		}
		p, err := s.pruning(ctx, id, tip,
			plan.PruneDocument{Keep: keep, By: a.person.Name, CreatedAt: plan.Second(now)})
		if err != nil {
			return commitInfo{}, plan.Change{}, err
		}
		done, a.begins = p.doc, p.write
		a.also, err = a.archiveChanges(ctx, tip)
		return tip, p.doc.Change(), err
	}
	pruned, err := a.appended(ctx)
	if err == nil && remote != "" {
		var done Joined
		if done, err = s.pushPlan(ctx, remote, id); err == nil && done.Tip != pruned.Commit {
			err = fault.Refused("git wf prune", "others were faster: the plan goes on from what %s has", remote)
		}
	}
	if err != nil {
		return fail(err)
	}
	return done, pruned, nil
}

// PlanPrune returns what Prune would do now. It writes nothing.
func (s *Store) PlanPrune(ctx context.Context, id plan.ID, keep int) (plan.PruneDocument, error) {
	ref, err := planRef(id)
	if err != nil {
		return plan.PruneDocument{}, err
	}
	tip, err := s.commit(ctx, ref)
	if err == nil {
		var p *pruning
		if p, err = s.pruning(ctx, id, tip, plan.PruneDocument{Keep: keep}); err == nil {
			return p.doc, nil
		}
	}
	return plan.PruneDocument{}, fmt.Errorf("prune %s: %w", id, err)
}

// stillApplies returns errMoved if a ref that was to move with the event has moved already.
func (a *appending) stillApplies(ctx context.Context) error {
	for _, c := range a.also {
		now, err := a.s.commit(ctx, c.ref)
		if err != nil && !errors.Is(err, ErrNoPlan) {
			return err
		}
		if now.oid != c.old {
			return errMoved
		}
	}
	return nil
}

// buildTree returns the tree of the event's commit and its parent.
func (a *appending) buildTree(ctx context.Context, tip commitInfo, change plan.Change) (tree, parent plan.OID,
	err error) {
	if a.begins != nil {
		tree, err = a.begins(ctx, a.batch)
		return tree, "", err
	}
	if a.first != "" {
		return a.tree, a.first, nil
	}
	tree, err = a.s.writeChange(ctx, a.batch, tip.tree, change)
	return tree, tip.oid, err
}

// archiveChanges moves the archive's ref to a commit that reaches the history up to the tip and the old archive. It
// moves first: git may be killed before the plan's ref moves, and nothing ever becomes unreachable.
func (a *appending) archiveChanges(ctx context.Context, tip commitInfo) ([]refChange, error) {
	ref := ArchiveRefName(a.id)
	before, err := a.s.commit(ctx, ref)
	switch {
	case errors.Is(err, ErrNoPlan):
		return []refChange{{ref: ref, new: tip.oid}}, nil
	case err != nil:
		return nil, err
	}
	if has, err := a.s.IsAncestor(ctx, tip.oid, before.oid); err != nil || has { // fetched, or a prune was killed
		return nil, err
	}
	if grew, err := a.s.IsAncestor(ctx, before.oid, tip.oid); err != nil || grew {
		return []refChange{{ref: ref, old: before.oid, new: tip.oid}}, err
	}
	who := ident(a.person) + " " + timeOf(a.now)
	text := fmt.Sprintf("tree %s\nparent %s\nparent %s\nauthor %s\ncommitter %s\n\narchive: one more history of %s\n",
		tip.tree, tip.oid, before.oid, who, who, a.id)
	return []refChange{{ref: ref, old: before.oid, new: a.add(text).oid}}, nil
}

// GiveUp deletes the plan's archive here and returns its newest commit: what happened before the prune can't be
// verified any more. It expires the plan's reflog, so the next gc frees what no other ref reaches.
func (s *Store) GiveUp(ctx context.Context, id plan.ID) (plan.OID, error) {
	ref, archive := RefName(id), ArchiveRefName(id)
	tip, err := s.Ref(ctx, archive)
	if err == nil && tip == "" {
		err = ErrNoArchive
	}
	if err == nil {
		_, err = s.Git(ctx, "-c", "core.hooksPath=/dev/null", "update-ref", "-d", archive, string(tip))
	}
	if _, none := s.Git(ctx, "reflog", "exists", ref); err == nil && none == nil {
		_, err = s.Git(ctx, "reflog", "expire", "--expire-unreachable=now", ref)
	}
	if err != nil {
		return "", fmt.Errorf("give up the archive of %s: %w", id, err)
	}
	return tip, nil
}

// pruneSigning says how to sign a prune under a policy that restricts who may prune.
func (a *appending) pruneSigning(ctx context.Context) (*signing, error) {
	p, err := a.s.demands(ctx)
	if err != nil || len(p.Prune.By) == 0 {
		return nil, err
	}
	if len(p.Keys) > 0 {
		return &signing{p.Keys, func(signer string) string { return p.MayPrune(a.person.Name, signer) }, ""}, nil
	}
	if why := p.MayPrune(a.person.Name, ""); why != "" {
		return nil, unproven(why, "git wf policy show")
	}
	return nil, nil
}

// pruning is a prune that has been decided.
type pruning struct {
	s   *Store
	tip commitInfo
	n   int // number of this prune
	doc plan.PruneDocument
}

// pruning decides what a prune of the history up to a commit does. It uses only the caller's choices from the document:
// the same history and choices produce the same tree, so anybody with the history can check it.
func (s *Store) pruning(ctx context.Context, id plan.ID, tip commitInfo, choice plan.PruneDocument) (*pruning, error) {
	if cut, err := s.Cut(ctx, string(tip.oid)); err != nil || len(cut) > 0 {
		if err == nil {
			err = &AbsentError{What: "this clone is shallow and has only the end of the plan's history",
				Hint: Unshallow}
		}
		return nil, err
	}
	count, err := s.Git(ctx, "rev-list", "--count", "--end-of-options", string(tip.oid))
	if err != nil {
		return nil, fmt.Errorf("count the events: %w", err)
	}
	events, err := strconv.Atoi(count)
	if err != nil {
		return nil, fmt.Errorf("count the events: %w", err)
	}
	if events < 2 {
		return nil, ErrNothingToPrune
	}
	k, err := s.readKnown(ctx, id, tip)
	if err != nil {
		return nil, err
	}
	snap, err := s.wholePlan(ctx, id, k)
	if err != nil {
		return nil, err
	}
	if err := snap.State().MayPrune(); err != nil {
		return nil, err
	}
	before, err := s.Archives(ctx, tip.oid)
	if err != nil {
		return nil, err
	}
	p := &pruning{s: s, tip: tip, n: 1}
	if len(before) > 0 {
		p.n = before[len(before)-1].N + 1
	}
	p.doc = plan.PruneDocument{
		PlanID: id, Archive: tip.oid, Keep: max(choice.Keep, 1), Events: events, By: choice.By,
		CreatedAt: choice.CreatedAt,
		Dropped:   snap.Records.Dropped(snap.Plan, choice.Keep),
	}
	return p, nil
}

// write adds the prune's tree to the batch.
func (p *pruning) write(ctx context.Context, b *Batch) (plan.OID, error) {
	top := &addition{}
	entries := []plan.Entry{{Path: p.doc.Dir(p.n) + "/" + plan.PruneFile, Data: plan.Document(p.doc)}}
	for _, d := range p.doc.Dropped {
		top.drop(d.Dir() + "/files")
		entries = append(entries, plan.Entry{Path: d.Dir() + "/" + plan.StubName(d.Tree)})
	}
	for i := range entries {
		if err := top.insert(&entries[i]); err != nil {
			return "", err
		}
	}
	return p.s.graft(ctx, b, p.tip.tree, "", top, nil)
}
