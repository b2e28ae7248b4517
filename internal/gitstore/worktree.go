package gitstore

import (
	"context"
	"os"
	"time"

	"gitwf/internal/plan"
)

// worktreesLock is the lock under which linked working trees come and go: git reads what it has of each of them when it adds
// or removes one, and fails where another is half made.
const worktreesLock = plan.ID("worktrees")

// addTries is how often a linked working tree is tried to be made: somebody's own git knows nothing of the lock.
const addTries = 4

// AddWorktree makes dir, which must not exist, a linked working tree of the repository at a commit, without a branch.
func (s *Store) AddWorktree(ctx context.Context, dir string, commit plan.OID) error {
	unlock, err := s.lockPlan(ctx, worktreesLock)
	if err != nil {
		return err
	}
	defer unlock()
	for n := 1; ; n++ {
		_, err := s.Git(ctx, "-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", "--detach", dir, string(commit))
		if err == nil || n == addTries || ctx.Err() != nil {
			return err
		}
		if _, there := os.Lstat(dir); there == nil {
			return err // it is something else that it failed at
		}
		time.Sleep(time.Duration(n) * 50 * time.Millisecond)
	}
}

// RemoveWorktree removes a linked working tree, whatever is in it. What is left after a failure, git worktree prune clears
// away.
func (s *Store) RemoveWorktree(ctx context.Context, dir string) error {
	unlock, err := s.lockPlan(ctx, worktreesLock)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = s.Git(ctx, "worktree", "remove", "--force", "--force", dir)
	return err
}
