package gitstore

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/threeway"
)

// BeginMerge begins git's own merge of a branch into HEAD, in the working tree, and gives the files the content that
// they are to have; one without an id is deleted. What is protected and not named stays as HEAD has it. It returns the
// other paths at which git found a conflict: those are for a person.
func (s *Store) BeginMerge(ctx context.Context, branch string, files map[string]threeway.Entry,
	protects func(path string) bool) (conflicts []string, err error) {
	run := func(stdin string, args ...string) (string, error) {
		out, err := s.GitIn(ctx, Invocation{Args: args, Stdin: strings.NewReader(stdin), Dir: s.workTree})
		return string(out), err
	}
	if dirty, err := run("", "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty"); err != nil {
		return nil, err
	} else if dirty != "" {
		return nil, fault.Refused("git stash", "the working tree has changes that are not committed")
	}
	_, mergeErr := run("", "merge", "--no-ff", "--no-commit", "--end-of-options", branch)
	if merging, err := s.CommitOf(ctx, "MERGE_HEAD"); err != nil || merging == "" {
		return nil, fmt.Errorf("git merge %s: %w", plain.Quote(branch), mergeErr)
	}
	touched, err := run("", "diff-index", "--cached", "--name-only", "-z", "--no-renames", "--no-ext-diff",
		"--ignore-submodules=none", "HEAD")
	if err != nil {
		return nil, err
	}
	for path := range strings.SplitSeq(strings.TrimSuffix(touched, "\x00"), "\x00") {
		if _, named := files[path]; path == "" || named || !protects(path) {
			continue
		}
		out, err := run("", "ls-tree", "-z", "HEAD", "--", ":(literal)"+path)
		if err != nil {
			return nil, err
		}
		var e threeway.Entry
		if f := strings.Fields(out); len(f) > 2 {
			e = threeway.Entry{Mode: f[0], OID: plan.OID(f[2])}
		}
		files[path] = e
	}
	var index, made bytes.Buffer
	for path, e := range files {
		if _, err := run("", "rm", "-r", "-f", "-q", "--ignore-unmatch", "--", ":(literal)"+path); err != nil {
			return nil, err
		}
		if e.OID != "" {
			fmt.Fprintf(&index, "%s %s\t%s\x00", e.Mode, e.OID, path)
			fmt.Fprintf(&made, "%s\x00", path)
		}
	}
	if _, err := run(index.String(), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	if _, err := run(made.String(), "checkout-index", "-f", "-u", "-z", "--stdin"); err != nil {
		return nil, err
	}
	left, err := run("", "diff", "--name-only", "-z", "--diff-filter=U")
	for path := range strings.SplitSeq(strings.TrimSuffix(left, "\x00"), "\x00") {
		if path != "" {
			conflicts = append(conflicts, path)
		}
	}
	return conflicts, err
}

// CommitMerge commits the merge that BeginMerge began.
func (s *Store) CommitMerge(ctx context.Context) error {
	_, err := s.GitIn(ctx, Invocation{Args: []string{"commit", "-q", "--no-edit"}, Dir: s.workTree})
	return err
}
