package gate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// logged is a commit with what it changes below the protected roots, against each of its parents from which it differs
// there; against the empty tree if it has none.
type logged struct {
	commit  plan.OID
	parents int
	diffs   [][]Change
}

// log lists commits as git log selects them: by the arguments, and by touching a protected root. It says the same
// whatever the user's settings are for a log to look at.
func (g *Gate) log(ctx context.Context, args ...string) ([]logged, error) {
	out, err := g.store.GitIn(ctx, gitstore.Invocation{Args: slices.Concat([]string{
		magic, "-c", "log.follow=false", "-c", "log.showSignature=false", "log", "--full-history", "--diff-merges=separate", "--root",
		"--format=%H %P", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-relative", "-O/dev/null", "--no-ext-diff",
		"--ignore-submodules=none", "--no-color", "--no-decorate", "--no-mailmap", "--no-notes",
	}, args, g.walkspecs())})
	if err != nil {
		return nil, err
	}
	return parseLog(string(out))
}

// parseLog reads fields that end in a NUL: "<commit> <parents>", once for each parent from which the commit differs, and
// behind that two for each path, as parseRaw reads them.
func parseLog(out string) ([]logged, error) {
	var all []logged
	fields := strings.Split(out, "\x00")
	for i := 0; i < len(fields); i++ {
		field := strings.TrimPrefix(fields[i], "\n")
		ids := strings.Fields(field)
		switch {
		case field == "":
		case field[0] == ':' && len(all) > 0 && i+1 < len(fields):
			i++
			change, err := parseRaw(field, fields[i])
			if err != nil {
				return nil, err
			}
			diffs := all[len(all)-1].diffs
			diffs[len(diffs)-1] = append(diffs[len(diffs)-1], change)
		case len(ids) > 0 && isCommitID(plan.OID(ids[0])):
			if len(all) == 0 || string(all[len(all)-1].commit) != ids[0] {
				all = append(all, logged{commit: plan.OID(ids[0]), parents: max(len(ids)-1, 1)})
			}
			last := &all[len(all)-1]
			last.diffs = append(last.diffs, nil)
		default:
			return nil, fmt.Errorf("git log: can't read %q", field)
		}
	}
	return all, nil
}

// parseRaw reads what git's raw format says of a path: ":<old mode> <new mode> <old id> <new id> <status>".
func parseRaw(info, path string) (Change, error) {
	f := strings.Fields(info)
	if len(f) != 5 {
		return Change{}, fmt.Errorf("can't read the change of %q: %q", path, info)
	}
	if f[4] == "D" {
		return Change{Path: path}, nil
	}
	return Change{Path: path, Mode: f[1], OID: plan.OID(f[3])}, nil
}

// changes are the paths in which the commit differs from every parent: what a merge has as one of them has it came in with
// that one.
func (l logged) changes() []Change {
	if len(l.diffs) < l.parents {
		return nil
	}
	changes := l.diffs[0]
	for _, d := range l.diffs[1:] {
		changes = intersect(changes, d)
	}
	return changes
}

// intersect keeps the changes whose path both have.
func intersect(a, b []Change) []Change {
	in := map[string]bool{}
	for _, c := range b {
		in[c.Path] = true
	}
	var both []Change
	for _, c := range a {
		if in[c.Path] {
			both = append(both, c)
		}
	}
	return both
}

// judgeAll judges commits by what they bring.
func (g *Gate) judgeAll(ctx context.Context, all []logged) (*Report, error) {
	if err := g.prefetchManifests(ctx, all); err != nil {
		return nil, err
	}
	r := newReport()
	for _, l := range all {
		t := tree{commit: l.commit, landed: !g.arriving, list: func(ctx context.Context, dir string) ([]gitstore.TreeEntry, error) {
			return g.listCommit(ctx, l.commit, dir)
		}}
		if l.parents > 1 {
			if err := g.judgeMerge(ctx, t, l, r); err != nil {
				return nil, err
			}
			continue
		}
		changes := l.changes()
		if len(changes) == 0 {
			continue
		}
		r.Commits++
		if err := g.judge(ctx, t, changes, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// prefetchManifests gets, in a partial clone, the manifests of all commits at once.
func (g *Gate) prefetchManifests(ctx context.Context, all []logged) error {
	if !g.store.Partial(ctx) {
		return nil
	}
	var oids []plan.OID
	for _, l := range all {
		for _, c := range slices.Concat(l.diffs...) {
			if strings.HasSuffix(c.Path, "/bundle/"+export.ManifestName) && !c.Deleted() {
				oids = append(oids, c.OID)
			}
		}
	}
	return g.store.Prefetch(ctx, oids)
}

// listCommit lists what a commit has below dir; a directory that it does not have is empty.
func (g *Gate) listCommit(ctx context.Context, commit plan.OID, dir string) ([]gitstore.TreeEntry, error) {
	entries, err := g.store.ListTree(ctx, commit, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for i := range entries {
		entries[i].Path = strings.TrimPrefix(entries[i].Path, dir+"/")
	}
	return entries, err
}
