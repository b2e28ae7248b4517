package gate

import (
	"context"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// Lacking are the plans that a push leaves behind.
type Lacking struct {
	Command string    // pushes them together with what is pushed; "" if the remote has all that is needed
	Unknown []plan.ID // of which the remote has a state that is not here
}

// Lacking says which plans, on which the bundles of a push rest, the remote lacks: nobody could prove the bundles
// there. git can't add a ref to a push that is under way. pushed is what git tells its pre-push hook.
func (g *Gate) Lacking(ctx context.Context, r *Report, remote, pushed string) (l Lacking, err error) {
	told := map[plan.ID]bool{}
	var missing []string
	rests := slices.Clone(r.Bundles)
	for _, c := range r.Changes {
		if told[c.PlanID] || strings.Contains(pushed, " "+gitstore.RefName(c.PlanID)+" ") {
			continue
		}
		told[c.PlanID] = true
		approved, err := g.ofCode().approval(ctx, c)
		if err != nil {
			return l, err
		}
		rests = append(rests, Bundle{PlanID: c.PlanID, PlanCommit: approved})
	}
	clear(told)
	for _, b := range rests {
		ref := gitstore.RefName(b.PlanID)
		if told[b.PlanID] || b.PlanCommit == "" || strings.Contains(pushed, " "+ref+" ") {
			continue
		}
		told[b.PlanID] = true
		has, err := g.store.RemoteHas(ctx, remote, b.PlanID, b.PlanCommit)
		if err != nil {
			return l, err
		}
		switch has {
		case gitstore.HasMore:
			l.Unknown = append(l.Unknown, b.PlanID)
		case gitstore.HasNot:
			from, err := g.planSource(ctx, b.PlanID)
			if err != nil {
				return l, err
			}
			missing = append(missing, from)
		}
	}
	if len(missing) == 0 {
		return l, nil
	}
	specs, err := g.refspecs(ctx, pushed)
	l.Command = plain.Line("git push --atomic " + shell.Word(remote) + " " +
		strings.Join(append(specs, missing...), " "))
	return l, err
}

// planSource is what to push to give a remote a plan: its ref here, or what was fetched of it from another one.
func (g *Gate) planSource(ctx context.Context, id plan.ID) (string, error) {
	ref := gitstore.RefName(id)
	fetched := "refs/workflow-remotes/*/" + string(id)
	out, err := g.store.Git(ctx, "for-each-ref", "--format=%(refname)", "--", ref, fetched)
	if err != nil {
		return "", err
	}
	refs := strings.Fields(out)
	if len(refs) == 0 || slices.Contains(refs, ref) {
		return shell.Word(ref), nil
	}
	return shell.Word(refs[0] + ":" + ref), nil
}

// refspecs are those of a push, as git tells them to its pre-push hook. It does not tell that a push is forced, but
// asks the hook only about moves that it would make: what is no fast-forward was forced.
func (g *Gate) refspecs(ctx context.Context, pushed string) ([]string, error) {
	var specs []string
	for line := range strings.Lines(pushed) {
		f := strings.Fields(line)
		if len(f) != 4 {
			continue
		}
		local, theirs, old := f[0], f[2], f[3]
		if local == "(delete)" {
			specs = append(specs, shell.Word(":"+theirs))
			continue
		}
		spec := strings.TrimPrefix(theirs, "refs/heads/")
		if local != theirs {
			spec = local + ":" + theirs
		}
		if strings.Trim(old, "0") != "" {
			forward, err := g.store.IsAncestor(ctx, plan.OID(old), plan.OID(f[1]))
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			// an old value that is not here is no ancestor
			if err != nil || !forward || strings.HasPrefix(theirs, "refs/tags/") {
				spec = "+" + spec
			}
		}
		specs = append(specs, shell.Word(spec))
	}
	return specs, nil
}
