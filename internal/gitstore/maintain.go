package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Maintain runs git's automatic maintenance, as git's own commands do after writing: with the user's environment and
// settings, and not if these disable it (maintenance.auto, gc.auto). It waits for git to find that nothing is due. Due
// work continues after Maintain returns, unless gc.autoDetach says otherwise.
//
// It endangers nothing of ours: if a gc deletes what is on its way into a plan, Append rewrites it (see awaitGC).
func (s *Store) Maintain(ctx context.Context) error {
	auto, err := s.allOn(ctx, "maintenance.auto", "gc.auto")
	if err != nil {
		return fmt.Errorf("ask git to tidy up: %w", err)
	}
	if !auto {
		return nil
	}
	detached, err := s.allOn(ctx, "maintenance.autodetach", "gc.autodetach")
	if err != nil {
		return fmt.Errorf("ask git to tidy up: %w", err)
	}
	cmd := exec.Command("git", "maintenance", "run", "--auto", "--quiet")
	cmd.Dir, cmd.Env = s.dir, os.Environ() // git must see grafts and replacements, because they keep what they name
	if detached {
		cmd.SysProcAttr = ownSession()
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var late <-chan time.Time
	if detached {
		late = time.After(foundDue)
	}
	select {
	case err := <-ended:
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			return nil // another gc is running, or gc.log has the error
		}
		return err
	case <-late:
		return nil
	case <-ctx.Done():
		if !detached {
			_ = cmd.Process.Signal(os.Interrupt) // it may just have ended
			<-ended
		}
		return ctx.Err()
	}
}

// foundDue is how long git takes at most to find that nothing is due. After that, it is at work.
const foundDue = 300 * time.Millisecond

// allOn reports whether none of the settings is switched off.
func (s *Store) allOn(ctx context.Context, keys ...string) (bool, error) {
	for _, key := range keys {
		if value, set, err := s.Config(ctx, key); err != nil || set && !isTrue(value) {
			return false, err
		}
	}
	return true, nil
}
