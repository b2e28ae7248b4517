package gitstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// EachRawTree passes trees to fn as git stores them, with one request for all; a name is anything that git resolves to
// a tree. Data is valid until fn returns, and nil for an object that is no tree. It fails if something is not here.
func (s *Store) EachRawTree(ctx context.Context, names []string,
	fn func(i int, oid plan.OID, data []byte) error) error {
	return s.objects.each(ctx, names, func(i int, o object) error {
		switch o.Kind {
		case "tree":
			return fn(i, o.OID, o.Data)
		case "":
			return fmt.Errorf("tree %s is missing", names[i])
		}
		return fn(i, o.OID, nil)
	})
}

// MergeFile is threeway.MergeEntry. What it makes is in the batch.
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

// Blob returns the content of a blob, also of one that only the batch has.
func (b *Batch) Blob(ctx context.Context, oid plan.OID) ([]byte, error) {
	return (&treeObjects{b}).read(ctx, oid, "blob")
}

// EachCommit passes every selected commit to fn, with its root tree and its parents, in the order of git rev-list.
func (s *Store) EachCommit(ctx context.Context, revs []string,
	fn func(commit, tree plan.OID, parents []plan.OID) error) error {
	return s.Follow(ctx, nil, func(out *bufio.Reader) error {
		for {
			line, err := out.ReadString('\n')
			if errors.Is(err, io.EOF) && line == "" {
				return nil
			}
			f := strings.Fields(line)
			if err != nil || len(f) < 2 {
				return io.ErrUnexpectedEOF
			}
			parents := make([]plan.OID, len(f)-2)
			for i, p := range f[2:] {
				parents[i] = plan.OID(p)
			}
			if err := fn(plan.OID(f[0]), plan.OID(f[1]), parents); err != nil {
				return err
			}
		}
	}, slices.Concat([]string{"rev-list", "--no-commit-header", "--format=%H %T %P"}, revs, []string{"--"})...)
}
