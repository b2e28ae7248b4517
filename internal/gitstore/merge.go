package gitstore

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"gitwf/internal/each"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// treeObjects are the repository's objects and those of a batch, for package threeway.
type treeObjects struct{ b *Batch }

func (t *treeObjects) Tree(ctx context.Context, oid plan.OID) ([]threeway.Entry, error) {
	data, err := t.read(ctx, oid, "tree")
	if err != nil {
		return nil, err
	}
	var entries []threeway.Entry
	flaw := ScanTree(data, func(mode, name, id []byte) {
		entries = append(entries, threeway.Entry{Name: string(name), Mode: string(mode),
			OID: plan.OID(hex.EncodeToString(id))})
	})
	for _, e := range entries {
		if flaw == nil && !LegalMode([]byte(e.Mode)) {
			flaw = &TreeFlaw{e.Name, "has mode " + e.Mode}
		}
	}
	if flaw != nil {
		return nil, fmt.Errorf("tree %s is malformed: %s: %s", oid, plain.Quote(flaw.Name), flaw.Why)
	}
	return entries, nil
}

func (t *treeObjects) WriteTree(entries []threeway.Entry) (plan.OID, error) {
	raw := each.Of(entries, func(e threeway.Entry) rawEntry { return rawEntry{e.Mode, e.Name, e.OID} })
	return t.b.addTree(raw)
}

// read returns an object of a kind, of the batch or of the repository.
func (t *treeObjects) read(ctx context.Context, oid plan.OID, kind string) (data []byte, err error) {
	if o := t.b.byOID[oid]; o != nil && o.kind.String() == kind {
		if o.source == nil {
			return o.data, nil
		}
		f, _, err := o.source.open()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return io.ReadAll(f)
	}
	err = t.b.s.objects.each(ctx, []string{string(oid)}, func(_ int, o object) error {
		data = append([]byte{}, o.Data...)
		return o.want(kind, string(oid))
	})
	return data, err
}

// MergeFiles asks git merge-file, outside of any repository: configuration and attributes would decide otherwise.
func (t *treeObjects) MergeFiles(ctx context.Context, base, ours, theirs plan.OID) (plan.OID, bool, error) {
	dir, err := os.MkdirTemp("", scratchPrefix)
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(dir)
	args := []string{"merge-file", "-p", "-q", "--"}
	for i, oid := range []plan.OID{ours, base, theirs} {
		data, err := t.read(ctx, oid, "blob")
		if err != nil {
			return "", false, err
		}
		name := filepath.Join(dir, [...]string{"ours", "base", "theirs"}[i])
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return "", false, err
		}
		args = append(args, name)
	}
	merged, err := runGit(ctx, Invocation{Args: args, Dir: dir, Env: []string{
		"GIT_DIR=" + filepath.Join(dir, "none"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
	}})
	var failed *GitError
	if errors.As(err, &failed) && failed.ExitCode > 0 { // the number of conflicts, or 255 for what is no text
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	return t.b.add(plumbing.BlobObject, merged), true, nil
}

// Renames asks git diff-tree, with its own measure of likeness. It knows no renames in a tree that only the batch has.
func (t *treeObjects) Renames(ctx context.Context, before, after plan.OID) (map[string]string, error) {
	if before == "" || after == "" || t.b.byOID[before] != nil || t.b.byOID[after] != nil {
		return nil, nil
	}
	out, err := t.b.s.GitIn(ctx, Invocation{Args: []string{
		"diff-tree", "-r", "-M", "--diff-filter=R", "--raw", "-z", "--no-ext-diff", string(before), string(after),
	}})
	if err != nil {
		return nil, err
	}
	renamed := map[string]string{}
	fields := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for i := 0; i+2 < len(fields); i += 3 { // ":<modes> <ids> R<likeness>", before, after
		renamed[fields[i+1]] = fields[i+2]
	}
	return renamed, nil
}

// MergedTree is the tree that git's own merge makes of a tree and what changed between two others: it follows renames.
// It is "" if there are conflicts, or git is older than 2.38.
func (b *Batch) MergedTree(ctx context.Context, before, ours, after plan.OID) (plan.OID, error) {
	at := time.Unix(0, 0)
	fork := b.AddCommit(before, "", "Base", at)
	ours, after = b.AddCommit(ours, fork, "Ours", at), b.AddCommit(after, fork, "Theirs", at)
	if err := b.Flush(ctx); err != nil {
		return "", err
	}
	out, err := b.s.Git(ctx, "merge-tree", "--write-tree", "--no-messages", string(ours), string(after))
	if err != nil {
		return "", ctx.Err()
	}
	return plan.OID(out), nil
}
