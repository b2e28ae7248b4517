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
	Command string    // pushes them; "" if the remote has all that is needed
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
	if len(missing) > 0 {
		l.Command = plain.Line("git push " + shell.Word(remote) + " " + strings.Join(missing, " "))
	}
	return l, nil
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
