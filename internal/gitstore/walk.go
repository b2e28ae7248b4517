package gitstore

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// Walked is a commit of a walk with its root tree, as git stores it. Data is valid until the function that gets it
// returns.
type Walked struct {
	Commit  plan.OID
	Parents []plan.OID
	Tree    plan.OID
	Data    []byte
}

// WalkTrees passes every selected commit with its root tree to fn, in the order of git rev-list. One git lists the
// commits and feeds another that reads the trees; no path limits the walk, so no history is simplified. It fails if a
// tree is not here.
func (s *Store) WalkTrees(ctx context.Context, revs []string, fn func(w Walked) error) error {
	var readErr error
	listErr := s.Follow(ctx, nil, func(commits *bufio.Reader) error {
		readErr = s.Follow(ctx, commits, func(trees *bufio.Reader) error {
			return eachWalked(bufio.NewReaderSize(trees, 256<<10), fn)
		}, "cat-file", "--buffer", "--batch=%(objectname) %(objecttype) %(objectsize) %(rest)")
		return readErr
	}, slices.Concat([]string{"rev-list", "--no-commit-header", "--format=%T %H %P"}, revs, []string{"--"})...)
	return cmp.Or(readErr, listErr)
}

// eachWalked reads "<tree> tree <size> <commit> <parents>", followed by the tree.
func eachWalked(out *bufio.Reader, fn func(w Walked) error) error {
	var body []byte
	for {
		head, err := out.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(head) == 0 {
			return nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			return errors.New("walk: a commit has more parents than can be read")
		}
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		w, size, err := parseWalked(string(head[:len(head)-1]))
		if err != nil {
			return err
		}
		body = slices.Grow(body[:0], size+1)[:size+1]
		if _, err := io.ReadFull(out, body); err != nil {
			return io.ErrUnexpectedEOF
		}
		w.Data = body[:size]
		if err := fn(w); err != nil {
			return err
		}
	}
}

// parseWalked splits the line before a tree. All ids are slices of it: there are many.
func parseWalked(line string) (w Walked, size int, err error) {
	tree, rest, ok := strings.Cut(line, " tree ")
	if !ok {
		return w, 0, fmt.Errorf("walk: the tree of a commit can't be read: git cat-file says %.100q", line)
	}
	text, rest, _ := strings.Cut(rest, " ")
	commit, rest, _ := strings.Cut(rest, " ")
	w = Walked{Tree: plan.OID(tree), Commit: plan.OID(commit)}
	for rest = strings.TrimSpace(rest); rest != ""; {
		var parent string
		parent, rest, _ = strings.Cut(rest, " ")
		w.Parents = append(w.Parents, plan.OID(parent))
	}
	size, err = strconv.Atoi(text)
	if err != nil || size < 0 || size > mostWhole || len(commit) != len(tree) {
		return w, 0, fmt.Errorf("walk: tree %s of commit %s has %s bytes, where at most %d can be read", tree,
			commit, text, mostWhole)
	}
	return w, size, nil
}

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
