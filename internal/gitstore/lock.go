package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"gitwf/internal/plan"
)

// lockPlan makes the writers of one plan on this machine queue. It is not what keeps the history whole, the move of the
// ref from exactly one old value is; it keeps them from throwing each other's work away. The goroutines of this process
// queue among themselves first, so that only one of them has to poll for the file.
func (s *Store) lockPlan(ctx context.Context, id plan.ID) (unlock func(), err error) {
	s.mu.Lock()
	turn := s.locks[id]
	if turn == nil {
		turn = make(chan struct{}, 1)
		s.locks[id] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := lockFile(ctx, filepath.Join(s.commonDir, "wf", "lock"), string(id))
	if err != nil {
		<-turn
		return nil, fmt.Errorf("lock plan: %w", err)
	}
	return func() {
		file.Close()
		<-turn
	}, nil
}

// LockWorktree makes those queue who change the same thing beside this working tree, under a name for it. A process that
// ends, however it does, gives its lock back.
func (s *Store) LockWorktree(ctx context.Context, name string) (unlock func(), err error) {
	file, err := lockFile(ctx, filepath.Join(s.gitDir, "wf", "lock", "worktree"), name)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { file.Close() }, nil
}

func lockFile(ctx context.Context, dir, name string) (*flock.Flock, error) {
	const interval = time.Millisecond
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	// Another user of a shared repository must be able to lock the same file.
	file := flock.New(filepath.Join(dir, name), flock.SetPermissions(0o666))
	if _, err := file.TryLockContext(ctx, interval); err != nil {
		return nil, err
	}
	return file, nil
}
