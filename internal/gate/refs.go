package gate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/audit"
	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// A ref's name says what it may hold, and the gate checks that. It audits plans and the policy (planMove); a claim is
// one line of text, or what was handed in under it; every other ref holds commits, which are judged like a branch's.

func isPlanRef(ref string) bool { return strings.HasPrefix(ref, "refs/workflow/") }

// ours are the namespaces of git wf.
var ours = []string{"workflow", "workflow-claims", "workflow-archive", "workflow-remotes", "workflow-damaged"}

// refuseSpelling refuses a ref whose name some file system takes for one of ours: there refs/Workflow/policy is the
// policy's file, and a push would write it without the policy's checks.
func (r *Report) refuseSpelling(ref string) bool {
	_, rest, _ := strings.Cut(ref, "/")
	space, name, _ := strings.Cut(rest, "/")
	i := slices.IndexFunc(ours, func(own string) bool { return own == space })
	if i < 0 {
		i = slices.IndexFunc(ours, func(own string) bool { return hooks.AlikeName(own, space) })
	} else if _, valid := gitstore.IsArchiveRef(ref); valid || space != "workflow-archive" {
		return false // names below the others are checked against their own form
	}
	if i < 0 {
		return false
	}
	r.refuse("bad-ref", ref, "can't be told from refs/"+ours[i]+"/"+name+" on every file system",
		"git push <remote> refs/"+ours[i]+"/<plan id>")
	return true
}

// holdsCommits reports whether to judge the commits of a ref, and reports what such a ref can't hold. A tree can hold a
// protected root but has no history to judge: git archive serves it from a tag. A blob holds no directory, so a tag may
// name one, as tags of public keys do.
func (g *Gate) holdsCommits(ctx context.Context, ref string, oid plan.OID, server bool, r *Report) (bool, error) {
	switch {
	case gitstore.IsClaimRef(ref):
		why, err := audit.CheckClaim(ctx, g.store, ref, oid)
		if why != "" {
			r.refuse("no-claim", ref, "no claim: "+why, "")
		}
		return false, err
	case server && strings.HasPrefix(ref, "refs/replace/"):
		r.refuse("replaced", ref,
			"a server shows objects as they are: whoever fetched this would see other content than was judged", "")
		return false, nil
	case server && strings.HasPrefix(ref, "refs/workflow-remotes/"):
		r.refuse("remote-plan", ref, "what was fetched from others is a clone's own business, and proves nothing here",
			"git push <remote> refs/workflow/*")
		return false, nil
	}
	kind, err := g.store.Git(ctx, "cat-file", "-t", string(oid)+"^{}")
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err == nil && (kind == "commit" || kind == "blob" && strings.HasPrefix(ref, "refs/tags/")) {
		return kind == "commit", nil
	}
	r.refuseKind(ref, kind)
	return false, nil
}

// refuseKind refuses a ref to what is no commit; "" is a missing object.
func (r *Report) refuseKind(ref, kind string) {
	r.refuse("no-commit", ref,
		"stands for a "+cmp.Or(kind, "missing object")+", so nothing can be judged of what it holds", "")
}

// known returns the revisions that were judged before a move. On a server these are the branches and tags before the
// push; nobody promised to judge what other refs hold. A ref's own old value counts for that ref alone, and so does the
// plan's history for its archive. On a client one branch does not vouch for another.
func (g *Gate) known(ctx context.Context, m Move, server bool) ([]string, error) {
	switch {
	case !server && m.Old != "":
		return []string{string(m.Old)}, nil
	case !server:
		return []string{"--exclude=" + WorkBranches + "*", "--branches"}, nil
	}
	revs := []string{"--branches", "--tags"}
	if m.Old != "" {
		revs = append(revs, string(m.Old))
	}
	if id, ok := gitstore.IsArchiveRef(m.Ref); ok {
		tip, err := g.store.Tip(ctx, id)
		if errors.Is(err, gitstore.ErrNoPlan) {
			return revs, nil
		}
		return append(revs, string(tip)), err
	}
	return revs, nil
}

// setShared sets aside findings in commits that a remote-tracking branch has: they have landed for everybody, and to
// refuse them here would only cut this clone off. A push elsewhere, or a server, judges them all the same.
func (g *Gate) setShared(ctx context.Context, r *Report, revs ...string) error {
	if r.OK() {
		return nil
	}
	out, err := g.store.Git(ctx, slices.Concat([]string{"rev-list", "--not", "--remotes", "--not"}, revs)...)
	if err != nil {
		return err
	}
	own := each.Set(strings.Fields(out), func(oid string) plan.OID { return plan.OID(oid) })
	var refused []Finding
	for _, f := range r.Findings {
		if f.Commit == "" || own[f.Commit] {
			refused = append(refused, f)
		} else {
			r.Shared = append(r.Shared, f)
		}
	}
	r.Findings = refused
	return nil
}

// Merged judges what a merge or a pull brought.
func (g *Gate) Merged(ctx context.Context) (*Report, error) {
	const merged = "ORIG_HEAD..HEAD"
	r, err := g.Range(ctx, merged)
	if err != nil {
		return nil, err
	}
	return r, g.setShared(ctx, r, merged)
}

// SharedIn names a remote-tracking branch that has a commit; "" if none has.
func (g *Gate) SharedIn(ctx context.Context, commit plan.OID) (string, error) {
	out, err := g.store.Git(ctx, "for-each-ref", "--count=2", "--format=%(refname:lstrip=2)",
		"--contains="+string(commit), "refs/remotes")
	names := strings.Fields(out)
	if len(names) == 2 && strings.HasSuffix(names[0], "/HEAD") {
		return names[1], err // the branch that refs/remotes/<name>/HEAD most likely stands for
	}
	return strings.Join(names[:min(1, len(names))], ""), err
}
