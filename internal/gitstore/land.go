package gitstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Advance moves a branch forward from one commit to another, once for all commits between them, with the worktree that
// has it checked out. It fails, and moves nothing, if the branch moved meanwhile, is being rebased or bisected, or if a
// file that is not committed is in the way.
func (s *Store) Advance(ctx context.Context, branch string, from, to plan.OID) error {
	ref := "refs/heads/" + branch
	if busy, err := s.busyBranch(ref, branch); err != nil || busy != "" {
		return cmp.Or(err, fault.Refused("git status", "%s: %s", branch, busy))
	}
	dir, err := s.worktreeOf(ctx, ref)
	if err != nil {
		return err
	}
	// Two that land write the same files.
	lock, err := lockFile(ctx, filepath.Join(s.commonDir, "wf", "lock", "land"), "land")
	if err != nil {
		return err
	}
	defer lock.Close()
	tip, err := s.Ref(ctx, ref)
	if err != nil {
		return err
	}
	if tip != from {
		return ErrBranchMoved
	}
	if dir == "" {
		_, err = s.Git(ctx, "update-ref", "-m", "git wf land", ref, string(to), string(from))
	} else {
		err = s.mergeMarked(ctx, dir, from, to)
	}
	if err == nil {
		return nil
	}
	if now, readErr := s.Ref(ctx, ref); readErr == nil && now != from {
		return ErrBranchMoved
	}
	return inTheWay(branch, err)
}

// inTheWay is the error of a branch that did not move: git's own words name the file, the lock or the hook.
func inTheWay(branch string, err error) error {
	var g *GitError
	var locked *LockedError
	if !errors.As(err, &g) || g.ExitCode < 0 {
		return err
	}
	if errors.As(err, &locked) {
		return fmt.Errorf("%s did not move: %w", branch, err)
	}
	_, after, _ := strings.Cut(err.Error(), g.Error()) // what could not be taken back
	return fault.Refused("git wf land, once that is out of the way", "%s did not move: %s%s", branch,
		strings.TrimSpace(plain.Text(g.Stderr)), plain.Text(after))
}

// ErrBranchMoved: somebody else moved the branch first. Judge anew on its new tip.
var ErrBranchMoved = fault.Refused("git wf land", "the branch moved while the changes were tried")

// worktreeOf returns the worktree that has a branch checked out, "" if none has.
func (s *Store) worktreeOf(ctx context.Context, ref string) (string, error) {
	out, err := s.Git(ctx, "worktree", "list", "--porcelain")
	dir := ""
	for line := range strings.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch {
		case key == "worktree":
			dir = value
		case key == "branch" && value == ref:
			return dir, err
		}
	}
	return "", err
}

// busyBranch says what a worktree is doing with a branch that must not move meanwhile.
func (s *Store) busyBranch(ref, branch string) (string, error) {
	dirs, err := filepath.Glob(filepath.Join(s.CommonDir(), "worktrees", "*"))
	if err != nil {
		return "", err
	}
	for _, dir := range append(dirs, s.CommonDir()) {
		for _, busy := range []struct{ file, holds, what string }{
			{"rebase-merge/head-name", ref, "is being rebased"}, {"rebase-apply/head-name", ref, "is being rebased"},
			{"BISECT_START", branch, "is being bisected"},
		} {
			data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(busy.file)))
			if err == nil && strings.TrimSpace(string(data)) == busy.holds {
				return busy.what, nil
			}
		}
	}
	return "", nil
}
