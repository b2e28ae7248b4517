package gate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"gitwf/hooks"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

const (
	zeroOID   = "0000000000000000000000000000000000000000"
	emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904" // which git knows without storing it
)

// pathspecs select what is below the roots in any spelling: on a file system that folds case, Deliverables/ is
// deliverables/.
func (g *Gate) pathspecs() []string {
	return append([]string{"--"}, hooks.Pathspecs(g.policy.RootPaths())...)
}

// magic keeps the pathspecs what they are: with GIT_LITERAL_PATHSPECS in the environment they would select nothing.
const magic = "--no-literal-pathspecs"

// Index judges what is staged, against HEAD.
func (g *Gate) Index(ctx context.Context) (*Report, error) {
	head, err := g.store.Head(ctx)
	if errors.Is(err, gitstore.ErrUnborn) {
		head, err = emptyTree, nil
	}
	if err != nil {
		return nil, err
	}
	changes, err := g.diff(ctx, "diff-index", "--cached", "--no-ext-diff", "--ignore-submodules=none", string(head))
	if err != nil {
		return nil, err
	}
	r := newReport()
	return r, g.judge(ctx, tree{list: g.listIndex}, changes, r)
}

func newReport() *Report {
	return &Report{Findings: []Finding{}, Waived: []Finding{}, Bundles: []Bundle{}}
}

// Commit judges one commit: the paths in which it differs from every parent.
func (g *Gate) Commit(ctx context.Context, commit plan.OID) (*Report, error) {
	r := newReport()
	return r, g.commit(ctx, commit, r)
}

func (g *Gate) commit(ctx context.Context, commit plan.OID, r *Report) error {
	out, err := g.store.Git(ctx, "rev-list", "--parents", "-n", "1", "--end-of-options", string(commit))
	if err != nil {
		return err
	}
	parents := strings.Fields(out)[1:]
	if len(parents) == 0 {
		parents = []string{emptyTree}
	}
	var changes []Change
	for i, p := range parents {
		diff, err := g.diff(ctx, "diff-tree", "-r", "--no-ext-diff", "--ignore-submodules=none", p, string(commit))
		if err != nil {
			return err
		}
		if i == 0 {
			changes = diff
			continue
		}
		changes = intersect(changes, diff)
	}
	if len(changes) > 0 {
		r.Commits++
	}
	return g.judge(ctx, tree{commit: commit, landed: !g.arriving, list: func(ctx context.Context, dir string) ([]gitstore.TreeEntry, error) {
		return g.listCommit(ctx, commit, dir)
	}}, changes, r)
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

// intersect keeps the changes whose path both have: a merge is judged only where it differs from all of its parents.
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

// Range judges every commit that the revisions select and that touches a protected root, not only the last: what is
// in the history can be checked out. Revisions are those of git rev-list, such as "main..topic" or "--not --remotes".
func (g *Gate) Range(ctx context.Context, revs ...string) (*Report, error) {
	args := []string{magic, "log", "--full-history", "-m", "--format=%H", "--no-ext-diff"}
	exempt, err := g.exempt(ctx)
	if err != nil {
		return nil, err
	}
	revs = append(revs[:len(revs):len(revs)], exempt...)
	if err := g.store.PrefetchTrees(ctx, revs...); err != nil {
		return nil, err
	}
	out, err := g.store.Git(ctx, slices.Concat(args, revs, g.pathspecs())...)
	if err != nil {
		return nil, err
	}
	if err := g.prefetchManifests(ctx, revs); err != nil {
		return nil, err
	}
	r := newReport()
	seen := map[string]bool{}
	for _, c := range strings.Fields(out) {
		if seen[c] { // -m lists a merge once for each parent
			continue
		}
		seen[c] = true
		if err := g.commit(ctx, plan.OID(c), r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Whole fails with an *gitstore.AbsentError if the revisions, which a person calls name, run into the end of a shallow clone:
// commits that belong to them are not here, and nobody can say that those are clean.
func (g *Gate) Whole(ctx context.Context, name string, revs ...string) error {
	cut, err := g.store.Cut(ctx, revs...)
	if err != nil || len(cut) == 0 {
		return err
	}
	return &gitstore.AbsentError{
		What: fmt.Sprintf("%s can't be judged: this clone is shallow and does not have what is below %.12s", name, cut[0]),
		Hint: gitstore.Unshallow,
	}
}

// prefetchManifests gets, in a partial clone, the manifests of the whole range at once.
func (g *Gate) prefetchManifests(ctx context.Context, revs []string) error {
	if !g.store.Partial(ctx) {
		return nil
	}
	args := []string{magic, "log", "--full-history", "--diff-merges=separate", "--root", "--format=", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff"}
	out, err := g.store.Git(ctx, slices.Concat(args, revs, g.pathspecs())...)
	if err != nil {
		return err
	}
	var oids []plan.OID
	fields := strings.Split(out, "\x00")
	for i, name := range fields[1:] { // each behind what is said of it, as in diff
		info := strings.Fields(fields[i])
		if strings.HasSuffix(name, "/bundle/"+export.ManifestName) && len(info) == 5 && info[4] != "D" {
			oids = append(oids, plan.OID(info[3]))
		}
	}
	return g.store.Prefetch(ctx, oids)
}

// exempt leaves out the history up to the policy's baselines, as far as it is here.
func (g *Gate) exempt(ctx context.Context) ([]string, error) {
	var revs []string
	for _, b := range g.policy.Baseline {
		if _, err := g.store.Git(ctx, "cat-file", "-e", string(b)+"^{commit}"); err == nil {
			revs = append(revs, "^"+string(b))
		} else if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return revs, nil
}

// Push judges what is about to be pushed, as git tells the pre-push hook on its standard input: one line for each ref,
// "<local ref> <local oid> <remote ref> <remote oid>".
func (g *Gate) Push(ctx context.Context, stdin io.Reader, remote string) (*Report, error) {
	lines, err := io.ReadAll(stdin)
	if err != nil {
		return nil, err
	}
	total := newReport()
	for line := range strings.Lines(string(lines)) {
		f := strings.Fields(line)
		if len(f) != 4 {
			return nil, fmt.Errorf("pre-push: can't read %q", line)
		}
		local, theirs := f[1], f[3]
		if local == zeroOID || strings.HasPrefix(f[2], "refs/workflow") {
			continue // a deletion brings no tree; a plan's own history has no protected root
		}
		revs := []string{local, "--not", "--remotes=" + remote}
		if theirs != zeroOID {
			if _, err := g.store.Git(ctx, "cat-file", "-e", theirs); err == nil {
				revs = append(revs, theirs)
			}
		}
		if err := g.Whole(ctx, strings.TrimPrefix(f[0], "refs/heads/"), revs...); err != nil {
			return nil, err
		}
		r, err := g.Range(ctx, revs...)
		if err != nil {
			return nil, err
		}
		total.merge(r)
	}
	return total, nil
}

// diff runs one of git's diff commands and reads what it says of each path.
func (g *Gate) diff(ctx context.Context, args ...string) ([]Change, error) {
	args = append(args[:len(args):len(args)], g.pathspecs()...)
	args = append([]string{magic, args[0], "--raw", "-z", "--no-abbrev", "--no-renames"}, args[1:]...)
	out, err := g.store.GitIn(ctx, gitstore.Invocation{Args: args})
	if err != nil {
		return nil, err
	}
	// ":<old mode> <new mode> <old id> <new id> <status>" and the path, in turn
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	var changes []Change
	for i := 0; i+1 < len(fields); i += 2 {
		info := strings.Fields(fields[i])
		if len(info) != 5 {
			return nil, fmt.Errorf("git %s: can't read %q", args[1], fields[i])
		}
		c := Change{Path: fields[i+1]}
		if info[4] != "D" {
			c.Mode, c.OID = info[1], plan.OID(info[3])
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// listIndex lists what is staged below dir.
func (g *Gate) listIndex(ctx context.Context, dir string) ([]gitstore.TreeEntry, error) {
	out, err := g.store.GitIn(ctx, gitstore.Invocation{Args: []string{magic, "ls-files", "--stage", "-z", "--", ":(top,literal)" + dir}})
	if err != nil {
		return nil, err
	}
	var entries []gitstore.TreeEntry
	for _, line := range strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, name, ok := strings.Cut(line, "\t")
		if f := strings.Fields(info); ok && len(f) == 3 {
			entries = append(entries, gitstore.TreeEntry{Path: strings.TrimPrefix(name, dir+"/"), Mode: f[0], OID: plan.OID(f[1])})
		}
	}
	return entries, nil
}
