package gate

import (
	"context"
	"fmt"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// A prune removes from a plan's history the commits that older manifests cite; its archive proves them. Where that
// is not here, nothing does, and the gate refuses such a bundle when a change touches it.

// What a Bundle says about its plan's archive.
const (
	archiveHere   = "here"
	archiveAbsent = "absent"
)

// archiveOf says whether all archives of a plan's history are here; "" if there are none.
func (g *Gate) archiveOf(ctx context.Context, commit plan.OID) (string, error) {
	archives, err := g.store.Archives(ctx, commit)
	if err != nil || len(archives) == 0 {
		return "", err
	}
	for _, a := range archives {
		if here, err := g.store.HasWhole(ctx, a.Tip); err != nil || !here {
			return archiveAbsent, err
		}
	}
	return archiveHere, nil
}

// archived looks for a commit in the archives of a plan's history; one that is not here may have it.
func (g *Gate) archived(ctx context.Context, id plan.ID, tips []plan.OID, commit plan.OID) (bool, error) {
	var absent plan.OID
	for _, tip := range tips {
		archives, err := g.store.Archives(ctx, tip)
		if err != nil {
			return false, err
		}
		for _, a := range slices.Backward(archives) {
			here, err := g.store.HasWhole(ctx, a.Tip)
			if err != nil {
				return false, err
			}
			if !here {
				absent = a.Tip
				continue
			}
			if in, err := g.contains(ctx, a.Tip, commit); err == nil && in { // missing commits are in no history
				return true, g.legal(ctx, id, tip)
			}
		}
	}
	if absent == "" {
		return false, ctx.Err()
	}
	return false, &refusal{
		code: "no-archive",
		message: fmt.Sprintf("%s was pruned, and the archive of its history up to %.12s is not here: nothing can "+
			"prove any more that plan commit %.12s was in it, nor what was approved there; where nobody has the "+
			"archive, git wf export makes the bundle anew from what the plan records now, and git wf policy "+
			"baseline exempts what has landed", id, absent, commit),
		hint: g.fetchArchive(ctx, id),
	}
}

func (g *Gate) fetchArchive(ctx context.Context, id plan.ID) string {
	ref := gitstore.ArchiveRefName(id)
	return fmt.Sprintf("git fetch %s %s:%s", g.remote(ctx), ref, ref)
}

// lacking handles an approval that the history of a plan commit does not have. If it may be in an archive that is not
// here, lacking says so and returns the command that fetches the archive; otherwise it returns the given hint.
func (g *Gate) lacking(ctx context.Context, id plan.ID, commit plan.OID, hint string) (why, mend string, err error) {
	if word, err := g.archiveOf(ctx, commit); err != nil || word != archiveAbsent {
		return "", hint, err
	}
	why = "; what was approved before the prune is in the plan's archive, which is not here"
	return why, g.fetchArchive(ctx, id), nil
}

// claimRefused refuses a manifest that calls an approval signed when nothing shows it.
func (g *Gate) claimRefused(ctx context.Context, id plan.ID, commit plan.OID, u export.Unproven) error {
	why, mend, err := g.lacking(ctx, id, commit, mendApproval(u.TaskID))
	if err != nil {
		return err
	}
	return &refusal{code: "unsigned", message: "the manifest says that its approvals are signed, but of " + u.String() +
		why, hint: mend}
}

// keepsArchives refuses, on a server, a prune without its archive, and the deletion of an archive.
func (g *Gate) keepsArchives(ctx context.Context, moves []Move, r *Report) error {
	next := map[string]plan.OID{}
	for _, m := range moves {
		next[m.Ref] = m.New
	}
	for _, m := range moves {
		id, isArchive := gitstore.IsArchiveRef(m.Ref)
		of := planOf(m.Ref)
		if m.Old == "" || !isArchive && (!of.Valid() || m.New == "") {
			continue
		}
		if kept, err := g.keeps(ctx, m.Old, m.New); err != nil || kept {
			if err != nil {
				return err
			}
			continue
		}
		if isArchive {
			r.Findings = append(r.Findings, Finding{
				Code: "archive-deleted", Path: m.Ref, PlanID: id,
				Message: "an archive only grows: what it holds proves what was recorded",
				Hint:    "whoever runs the server may give it up there: git update-ref -d " + m.Ref,
			})
			continue
		}
		ref := gitstore.ArchiveRefName(of)
		keeper, moved := next[ref]
		if !moved {
			var err error
			if keeper, err = g.store.Ref(ctx, ref); err != nil {
				return err
			}
		}
		if kept, err := g.keeps(ctx, m.Old, keeper); err != nil {
			return err
		} else if !kept {
			r.Findings = append(r.Findings, Finding{
				Code: "no-archive", Path: m.Ref, PlanID: of,
				Message: "the history before would be lost: its archive does not come with the prune",
				Hint:    fmt.Sprintf("git push --atomic <remote> +%s %s", gitstore.RefName(of), ref),
			})
		}
	}
	return nil
}

// keeps reports whether a history contains a commit; "" is an empty history.
func (g *Gate) keeps(ctx context.Context, commit, history plan.OID) (bool, error) {
	if history == "" {
		return false, nil
	}
	return g.store.IsAncestor(ctx, commit, history)
}

// planOf returns the plan whose history a ref holds; for any other ref the id is not valid.
func planOf(ref string) plan.ID {
	if !isPlanRef(ref) || ref == gitstore.PolicyRef {
		return ""
	}
	return plan.ID(ref[len("refs/workflow/"):])
}
