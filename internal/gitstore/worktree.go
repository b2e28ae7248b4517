package gitstore

import (
	"context"
	"os"
	"time"

	"gitwf/internal/plan"
)

// worktreesLock is the lock for adding and removing linked worktrees: git then reads its data about each of them and
// fails if another one is half made.
const worktreesLock = plan.ID("worktrees")

// addTries is how often we try to add a linked worktree: the user's own git does not know our lock.
const addTries = 4

// AddWorktree makes dir, which must not exist, a linked worktree of the repository at a commit, without a branch.
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
			return err // it failed for another reason
		}
		time.Sleep(time.Duration(n) * 50 * time.Millisecond)
	}
}

// RemoveWorktree removes a linked worktree, whatever is in it. After a failure, git worktree prune clears the rest.
func (s *Store) RemoveWorktree(ctx context.Context, dir string) error {
	unlock, err := s.lockPlan(ctx, worktreesLock)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = s.Git(ctx, "worktree", "remove", "--force", "--force", dir)
	return err
}
