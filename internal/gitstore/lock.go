package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// lockPlan queues the writers of one plan on this machine, so that none discards another's work; what keeps the history
// whole is the compare-and-swap of the ref. Only one goroutine of a process polls for the file.
func (s *Store) lockPlan(ctx context.Context, id plan.ID) (unlock func(), err error) {
	s.mu.Lock()
	turn := s.turns[id]
	if turn == nil {
		turn = make(chan struct{}, 1)
		s.turns[id] = turn
	}
	s.mu.Unlock()
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := s.lockFile(ctx, filepath.Join(s.commonDir, "wf", "lock"), string(id))
	if err != nil {
		<-turn
		return nil, fmt.Errorf("lock plan: %w", err)
	}
	return func() {
		file.Close()
		<-turn
	}, nil
}

// LockWorktree serializes changes to something next to this worktree. The lock ends with its process.
func (s *Store) LockWorktree(ctx context.Context, name string) (unlock func(), err error) {
	file, err := s.lockFile(ctx, filepath.Join(s.gitDir, "wf", "lock", "worktree"), name)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return func() { file.Close() }, nil
}

func (s *Store) lockFile(ctx context.Context, dir, name string) (*flock.Flock, error) {
	const interval = time.Millisecond
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	// Another user of a shared repository must be able to lock the same file.
	file := flock.New(filepath.Join(dir, name), flock.SetPermissions(0o666))
	at := shell.Word(file.Path())
	defer s.TellIfSlow("waiting for another git wf, which has locked " + at + ": fuser " + at + " names its process")()
	if _, err := file.TryLockContext(ctx, interval); err != nil {
		return nil, err
	}
	return file, nil
}
