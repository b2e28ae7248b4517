package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// The name of a ref says what it may hold, and that is checked. Plans and the policy are audited (planMove), a claim is
// one line of text, and every other ref holds commits, which are judged as a branch's are.

func isPlanRef(ref string) bool { return strings.HasPrefix(ref, "refs/workflow/") }

// ours are the namespaces of git wf.
var ours = []string{"workflow", "workflow-claims", "workflow-archive", "workflow-remotes", "workflow-damaged"}

// otherSpelling finds a ref that some file system takes for one of ours though it is called otherwise: there refs/Workflow/policy is the
// file of the policy, and would be written without being judged as one.
func otherSpelling(ref string) *Finding {
	_, rest, _ := strings.Cut(ref, "/")
	space, name, _ := strings.Cut(rest, "/")
	i := slices.IndexFunc(ours, func(own string) bool { return own == space })
	if i < 0 {
		i = slices.IndexFunc(ours, func(own string) bool { return hooks.AlikeName(own, space) })
	} else if _, valid := gitstore.IsArchiveRef(ref); valid || space != "workflow-archive" {
		return nil // what is below the others is held against the form of their names elsewhere
	}
	if i < 0 {
		return nil
	}
	return &Finding{
		Code: "bad-ref", Path: ref, Message: "can't be told from refs/" + ours[i] + "/" + name + " on every file system",
		Hint: "git push <remote> refs/" + ours[i] + "/<plan id>",
	}
}

// holdsCommits reports whether the commits of a ref are to be judged, and finds what such a ref can't hold. A tree can
// hold a protected root and has no history that could be judged: git archive serves it from a tag. A blob is no
// directory of anything, so a tag may name one, as tags of public keys do.
func (g *Gate) holdsCommits(ctx context.Context, ref string, oid plan.OID, server bool, r *Report) (bool, error) {
	switch {
	case gitstore.IsClaimRef(ref):
		why, err := g.store.CheckClaim(ctx, ref, oid)
		if why != "" {
			r.Findings = append(r.Findings, Finding{Code: "no-claim", Path: ref, Message: "no claim: " + why})
		}
		return false, err
	case server && strings.HasPrefix(ref, "refs/replace/"):
		r.Findings = append(r.Findings, Finding{
			Code: "replaced", Path: ref, Message: "a server shows objects as they are: whoever fetched this would see other content than what was judged",
		})
		return false, nil
	case server && strings.HasPrefix(ref, "refs/workflow-remotes/"):
		r.Findings = append(r.Findings, Finding{
			Code: "remote-plan", Path: ref, Message: "what was fetched from others is a clone's own business, and proves nothing here",
			Hint: "git push <remote> refs/workflow/*",
		})
		return false, nil
	}
	kind, err := g.store.Git(ctx, "cat-file", "-t", string(oid)+"^{}")
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err == nil && (kind == "commit" || kind == "blob" && strings.HasPrefix(ref, "refs/tags/")) {
		return kind == "commit", nil
	}
	r.Findings = append(r.Findings, noCommits(ref, kind))
	return false, nil
}

func noCommits(ref, kind string) Finding {
	if kind == "" {
		kind = "missing object"
	}
	return Finding{Code: "no-commit", Path: ref, Message: fmt.Sprintf("stands for a %s, so nothing can be judged of what it holds", kind)}
}

// known are the revisions that were judged before a move. On a server these are the branches and tags, as they were
// before the push: other refs hold what nobody promised to have judged. What a ref itself had before, and of a plan's archive
// the plan's own history, count for that ref alone. On a client one branch does not vouch for another.
func (g *Gate) known(ctx context.Context, m Move, server bool) ([]string, error) {
	switch {
	case !server && m.Old != "":
		return []string{string(m.Old)}, nil
	case !server:
		return []string{"--branches"}, nil
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

// setShared sets aside what is wrong with commits that a remote-tracking branch has, of those that the revisions select:
// they have landed for everybody, and refusing them here would only keep this clone from what all others have (design.md,
// section 6). What pushes to another place, or takes a push, judges them all the same.
func (g *Gate) setShared(ctx context.Context, r *Report, revs ...string) error {
	if r.OK() {
		return nil
	}
	out, err := g.store.Git(ctx, slices.Concat([]string{"rev-list", "--not", "--remotes", "--not"}, revs)...)
	if err != nil {
		return err
	}
	own := map[plan.OID]bool{}
	for oid := range strings.FieldsSeq(out) {
		own[plan.OID(oid)] = true
	}
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

// Merged judges what a merge or a pull has brought.
func (g *Gate) Merged(ctx context.Context) (*Report, error) {
	const merged = "ORIG_HEAD..HEAD"
	r, err := g.Range(ctx, merged)
	if err != nil {
		return nil, err
	}
	return r, g.setShared(ctx, r, merged)
}

// sharedSides reports whether all that is merged is in remote-tracking branches.
func (g *Gate) sharedSides(ctx context.Context, merged []plan.OID) (bool, error) {
	for _, side := range merged {
		if ref, err := g.SharedIn(ctx, side); err != nil || ref == "" {
			return false, err
		}
	}
	return len(merged) > 0, nil
}

// SharedIn names a remote-tracking branch that has a commit; "" if none has.
func (g *Gate) SharedIn(ctx context.Context, commit plan.OID) (string, error) {
	out, err := g.store.Git(ctx, "for-each-ref", "--count=2", "--format=%(refname:lstrip=2)", "--contains="+string(commit), "refs/remotes")
	names := strings.Fields(out)
	if len(names) == 2 && strings.HasSuffix(names[0], "/HEAD") {
		return names[1], err // which it most likely stands for
	}
	return strings.Join(names[:min(1, len(names))], ""), err
}
