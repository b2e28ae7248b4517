package gate

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/pattern"
	"gitwf/internal/plan"
)

// Range judges every selected commit that touches a protected root, not only the last one: anybody can check out what
// is in the history. Revisions are those of git rev-list. Range fails if a range has no base.
func (g *Gate) Range(ctx context.Context, revs ...string) (*Report, error) {
	return g.rangeFrom(ctx, "", revs...)
}

// rangeMoved judges the commits that the move of a ref brings, and what a branch gets by it.
func (g *Gate) rangeMoved(ctx context.Context, ref string, before, next plan.OID, revs []string) (*Report, error) {
	r, err := g.rangeFrom(ctx, before, revs...)
	if err == nil && strings.HasPrefix(ref, "refs/heads/") {
		err = g.moveForce(ctx, before, next, r)
	}
	return r, err
}

// rangeFrom is Range for a branch that was at a commit before; "" if it was nowhere, or where the range begins.
func (g *Gate) rangeFrom(ctx context.Context, before plan.OID, revs ...string) (*Report, error) {
	revs, start, note, err := g.based(ctx, revs)
	if err != nil {
		return nil, err
	}
	g.before = cmp.Or(before, start)
	r := newReport()
	r.Empty = true
	if revs != nil {
		r, err = g.walk(ctx, revs...)
	}
	if err != nil {
		return nil, err
	}
	r.Note = cmp.Or(note, r.Note)
	return r, nil
}

var (
	noCommit = pattern.Compile(`^0{40,64}$`)
	fullID   = pattern.Compile(`^[0-9a-fA-F]{40}$`)
	rangeOf  = pattern.Compile(`^(.*?)\.\.(\.?)(.*)$`)
)

// based resolves a range that a CI service passes to a job after a push. The base of a new branch is all zeros; after a
// force push the base is often gone. based then selects the whole history of the end, up to the policy's baseline, and
// note says so. An end of zeros is a deleted branch and selects nothing. start is where a range A..B begins.
func (g *Gate) based(ctx context.Context, revs []string) (out []string, start plan.OID, note string, err error) {
	for _, rev := range revs {
		m := rangeOf.Get().FindStringSubmatch(rev)
		if m == nil || strings.HasPrefix(rev, "-") {
			out = append(out, rev)
			continue
		}
		base, end := m[1], m[3]
		here, err := g.store.CommitOf(ctx, base)
		if err != nil {
			return nil, "", "", err
		}
		if start == "" && note == "" && m[2] == "" {
			start = here
		}
		why := ""
		switch {
		case base == "":
			// git reads "..HEAD" as "HEAD..HEAD": a job with an unset variable would pass whatever the branch holds.
			return nil, "", "", fault.Usage("",
				"%q has no base, so it selects nothing: is a variable of the job not set?", rev)
		case noCommit.Get().MatchString(end):
			return nil, start, "the branch was deleted: there is nothing to judge", nil
		case noCommit.Get().MatchString(base):
			why = "the branch is new"
		case here == "" && fullID.Get().MatchString(base):
			why = fmt.Sprintf("its base %.12s is not here", base)
		}
		if why == "" {
			out = append(out, rev)
			continue
		}
		if end == "" {
			end = "HEAD"
		}
		out = append(out, end)
		note = fmt.Sprintf("%s: all of %s is judged that no baseline of the policy exempts", why, end)
	}
	return out, start, note, ctx.Err()
}
