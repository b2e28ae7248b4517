package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// A prune removes from a plan's history the commits that older manifests cite. Two things can still prove them: the
// archived history, while it is here, and otherwise what the prune keeps of it: every record, and which records existed
// at each commit. Signatures cover commits and go with them, so under keys nothing is proven without the archive.

// What a Bundle says about its plan commit's archive.
const (
	archiveHere   = "here"
	archiveAbsent = "absent"
)

// archived looks for a commit in the archives of a plan's history.
func (g *Gate) archived(ctx context.Context, id plan.ID, tips []plan.OID, commit plan.OID) (bool, error) {
	for _, tip := range tips {
		archives, err := g.store.Archives(ctx, tip)
		if err != nil {
			return false, err
		}
		for _, a := range slices.Backward(archives) {
			word, err := g.inArchive(ctx, id, tip, commit, a)
			if err != nil {
				return false, err
			}
			if word != "" {
				if g.archives == nil {
					g.archives = map[plan.OID]string{}
				}
				g.archives[commit] = word
				return true, g.legal(ctx, id, tip)
			}
		}
	}
	return false, nil
}

// inArchive reports whether an archived history contains a commit and whether that archive is here; "" if it does not
// contain it.
func (g *Gate) inArchive(ctx context.Context, id plan.ID, tip, commit plan.OID, a gitstore.Archive) (string, error) {
	here, err := g.store.HasWhole(ctx, a.Tip)
	if err != nil {
		return "", err
	}
	if here {
		if in, err := g.contains(ctx, a.Tip, commit); err != nil || !in {
			return "", nil //nolint:nilerr // a commit that is not here is in no history
		}
		return archiveHere, nil
	}
	snap, err := g.store.SnapshotArchived(ctx, id, tip, commit)
	switch {
	case gitstore.IsAbsent(err) || ctx.Err() != nil:
		return "", errors.Join(err, ctx.Err())
	case err != nil:
		return "", nil //nolint:nilerr // what the prune does not know, or says in no form, is in no history
	}
	g.states[commit] = snap
	return archiveAbsent, nil
}

// withoutArchive explains why no approval can be signed at a plan commit whose archive is not here.
func (g *Gate) withoutArchive(commit plan.OID) string {
	if g.archives[commit] != archiveAbsent {
		return ""
	}
	return "; what was signed is in the archive of the plan's older history, which is not here"
}

// claimRefused refuses a manifest that calls an approval signed when nothing shows it. It adds how to fetch a missing
// archive.
func (g *Gate) claimRefused(ctx context.Context, id plan.ID, commit plan.OID, u export.Unproven) *refusal {
	r := claimRefused(u)
	if without := g.withoutArchive(commit); without != "" {
		ref := gitstore.ArchiveRefName(id)
		r.message += without
		r.hint = fmt.Sprintf("git fetch %s %s:%s", g.remote(ctx), ref, ref)
	}
	return r
}

// keepsArchives refuses, on a server, moves that would lose history: a prune without its archive, and the deletion of
// an archive that the plan does not record as deleted.
func (g *Gate) keepsArchives(ctx context.Context, moves []Move, r *Report) error {
	next := map[string]plan.OID{}
	for _, m := range moves {
		next[m.Ref] = m.New
	}
	for _, m := range moves {
		var f *Finding
		var err error
		if id, ok := gitstore.IsArchiveRef(m.Ref); ok {
			f, err = g.archiveMove(ctx, id, m)
		} else if id := planOf(m.Ref); id.Valid() && m.Old != "" && m.New != "" {
			f, err = g.archivedMove(ctx, id, m, next)
		}
		if err != nil {
			return err
		}
		if f != nil {
			r.Findings = append(r.Findings, *f)
		}
	}
	return nil
}

// archiveMove judges the move of an archive's ref: it may grow, and it may be deleted if the plan records that.
func (g *Gate) archiveMove(ctx context.Context, id plan.ID, m Move) (*Finding, error) {
	if m.Old == "" {
		return nil, nil
	}
	if m.New != "" {
		if grew, err := g.store.IsAncestor(ctx, m.Old, m.New); err != nil || grew {
			return nil, err
		}
	}
	deleted, err := g.saysDeleted(ctx, id)
	if err != nil || deleted {
		return nil, err
	}
	return &Finding{
		Code: "archive-deleted", Path: m.Ref, PlanID: id,
		Message: "the archive holds what was recorded, and the plan does not say that it was deleted by somebody who may",
		Hint:    fmt.Sprintf("git wf prune --plan %s --delete-archive, and push both refs", id),
	}, nil
}

// saysDeleted reports whether the plan records every archive as deleted, under a policy that lets anybody delete them.
func (g *Gate) saysDeleted(ctx context.Context, id plan.ID) (bool, error) {
	tips, err := g.tipsOf(ctx, id)
	if err != nil || len(g.policy.Keys) > 0 || len(g.policy.Prune.By) == 0 || len(tips) == 0 {
		return false, err
	}
	archives, err := g.store.Archives(ctx, tips[0])
	if err != nil {
		return false, err
	}
	kept := slices.ContainsFunc(archives, func(a gitstore.Archive) bool { return !a.Deleted })
	return len(archives) > 0 && !kept, nil
}

// archivedMove checks that the old history is archived when a plan's ref moves to a history that begins anew.
func (g *Gate) archivedMove(ctx context.Context, id plan.ID, m Move, next map[string]plan.OID) (*Finding, error) {
	if grew, err := g.store.IsAncestor(ctx, m.Old, m.New); err != nil || grew {
		return nil, err
	}
	if deleted, err := g.saysDeleted(ctx, id); err != nil || deleted {
		return nil, err
	}
	ref := gitstore.ArchiveRefName(id)
	keeper, moves := next[ref]
	if !moves {
		var err error
		if keeper, err = g.store.Ref(ctx, ref); err != nil {
			return nil, err
		}
	}
	if keeper != "" {
		if kept, err := g.store.IsAncestor(ctx, m.Old, keeper); err != nil || kept {
			return nil, err
		}
	}
	return &Finding{
		Code: "no-archive", Path: m.Ref, PlanID: id,
		Message: "the history before would be lost: its archive does not come with the prune",
		Hint:    fmt.Sprintf("git push --atomic <remote> +%s %s", gitstore.RefName(id), ref),
	}, nil
}

// planOf returns the plan whose history a ref holds; for any other ref the id is not valid.
func planOf(ref string) plan.ID {
	if !isPlanRef(ref) || ref == gitstore.PolicyRef {
		return ""
	}
	return plan.ID(ref[len("refs/workflow/"):])
}
