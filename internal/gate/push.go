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

// Lacking returns the command that pushes, with what is pushed, the plans on which its bundles and changes rest and
// which the remote lacks: nobody could prove them there. It is "" if the remote has them, or a state of them that is
// not here. git can't add a ref to a push that is under way. pushed is what git tells its pre-push hook.
func (g *Gate) Lacking(ctx context.Context, r *Report, remote, pushed string) (command string, err error) {
	asked := map[plan.ID]bool{}
	var missing []string
	ask := func(id plan.ID, commit plan.OID) error {
		if asked[id] || commit == "" || strings.Contains(pushed, " "+gitstore.RefName(id)+" ") {
			return nil
		}
		asked[id] = true
		has, err := g.store.RemoteHas(ctx, remote, id, commit)
		if err != nil || has {
			return err
		}
		from, err := g.planSource(ctx, id)
		missing = append(missing, from)
		return err
	}
	for _, b := range r.Bundles {
		if err := ask(b.PlanID, b.PlanCommit); err != nil {
			return "", err
		}
	}
	for _, c := range r.Changes {
		approved, err := g.codeJudge().approval(ctx, c)
		if err == nil {
			err = ask(c.PlanID, approved)
		}
		if err != nil {
			return "", err
		}
	}
	if len(missing) == 0 {
		return "", nil
	}
	command = "git push --atomic " + shell.Word(remote)
	for line := range strings.Lines(pushed) {
		if f := strings.Fields(line); len(f) == 4 && f[0] != "(delete)" {
			if command += " " + shell.Word(f[0]); f[0] != f[2] {
				command += ":" + shell.Word(f[2])
			}
		}
	}
	return plain.Line(command + " " + strings.Join(missing, " ")), nil
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
