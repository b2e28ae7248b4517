package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// MergeFile merges what three trees have at one path, as threeway.MergeEntry says. Content that the merge makes is in
// the batch.
func (b *Batch) MergeFile(ctx context.Context, base, ours, theirs threeway.Entry) (threeway.Entry, threeway.Why,
	error) {
	return threeway.MergeEntry(ctx, &treeObjects{b}, base, ours, theirs)
}

// Message returns a commit's message, "" if the commit is not here.
func (s *Store) Message(ctx context.Context, commit plan.OID) (string, error) {
	if !isOID(commit) {
		return "", nil
	}
	o, err := s.objects.one(ctx, string(commit))
	if err != nil || o.Kind != "commit" {
		return "", err
	}
	_, message, _ := strings.Cut(string(o.Data), "\n\n")
	return message, nil
}

// GitMerge asks git for its own merge of two commits, with renames and criss-cross histories, and lists where a tree
// differs from it: what the merge has there, by path. It reports false if git finds a conflict at a path that matters,
// or is older than 2.38, which can't be asked. Neither configuration nor attributes nor merge drivers decide: git works
// in a repository of its own that borrows the objects. Content that the merge makes is in the batch.
func (b *Batch) GitMerge(ctx context.Context, ours, theirs, tree plan.OID,
	matters func(path string) bool) (map[string]threeway.Entry, bool, error) {
	dir, err := os.MkdirTemp("", scratchPrefix)
	if err != nil {
		return nil, false, err
	}
	defer os.RemoveAll(dir)
	run := func(args ...string) (string, error) {
		out, err := runGit(ctx, Invocation{Args: args, Dir: dir, Env: []string{
			"GIT_DIR=" + dir, "GIT_OBJECT_DIRECTORY=" + filepath.Join(dir, "objects"), "GIT_INDEX_FILE=" +
				filepath.Join(dir, "index"),
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_PARAMETERS=", "GIT_CONFIG_COUNT=0",
		}})
		return string(out), err
	}
	if err := b.borrow(ctx, dir, run); err != nil {
		return nil, false, err
	}
	out, err := run("merge-tree", "--write-tree", "--no-messages", "--name-only", "-z", "--end-of-options", string(ours),
		string(theirs))
	merged, names, _ := strings.Cut(out, "\x00")
	conflicts := strings.FieldsFunc(names, func(r rune) bool { return r == 0 })
	if err != nil && (exitCode(err) != 1 || len(conflicts) == 0) || slices.ContainsFunc(conflicts, matters) {
		return nil, false, ctx.Err() // a conflict, no common history, or a git that can't
	}
	out, err = run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", merged, string(tree))
	if err != nil {
		return nil, false, err
	}
	const most = 10_000
	fields := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00") // ":<modes> <ids> <status>", path
	differs := make(map[string]threeway.Entry, len(fields)/2)
	for i := 0; i+1 < len(fields) && i < 2*most; i += 2 {
		f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
		if len(f) < 4 {
			return nil, false, fmt.Errorf("git diff-tree says %.100q", fields[i])
		}
		e := threeway.Entry{}
		if strings.Trim(f[2], "0") != "" {
			e = threeway.Entry{Mode: f[0], OID: plan.OID(f[2])}
		}
		if e.Mode == threeway.File || e.Mode == threeway.Executable {
			data, err := run("cat-file", "blob", string(e.OID))
			if err != nil {
				return nil, false, err
			}
			b.add(plumbing.BlobObject, []byte(data))
		}
		differs[fields[i+1]] = e
	}
	return differs, len(fields) <= 2*most, nil
}

// borrow makes dir a bare repository with the objects of this one, also those that a push has just brought.
func (b *Batch) borrow(ctx context.Context, dir string, run func(args ...string) (string, error)) error {
	objects, err := b.s.Git(ctx, "rev-parse", "--git-path", "objects")
	if err != nil {
		return err
	}
	if !filepath.IsAbs(objects) {
		objects = filepath.Join(b.s.dir, objects)
	}
	if _, err := run("init", "-q", "--bare", "--template="); err != nil {
		return err
	}
	info := filepath.Join(dir, "objects", "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(info, "alternates"),
		[]byte(objects+"\n"+filepath.Join(b.s.CommonDir(), "objects")+"\n"), 0o600)
}
