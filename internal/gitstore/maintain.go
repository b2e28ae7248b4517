package gitstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Maintain asks git to tidy up the repository if it is time for that, as git's own commands do after they have written:
// with the user's environment and settings, and not where these switch it off (maintenance.auto, gc.auto). It waits for
// git to find that nothing is due; what is due goes on after Maintain has returned, unless gc.autoDetach says otherwise.
//
// Nothing of ours is in danger: what is on its way into a plan is written again if a gc takes it (see survive).
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
	cmd.Dir, cmd.Env = s.dir, os.Environ() // grafts and replacements keep what they name, so git must see them
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
			return nil // somebody else is at it, or it has said what is wrong where gc says that: gc.log
		}
		return err
	case <-late:
		return nil
	case <-ctx.Done():
		if !detached {
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended just now
			<-ended
		}
		return ctx.Err()
	}
}

// foundDue is how long git may take to find that nothing is due. Longer means that it is at work.
const foundDue = 300 * time.Millisecond

// allOn reports whether none of the settings is there and switches something off.
func (s *Store) allOn(ctx context.Context, keys ...string) (bool, error) {
	for _, key := range keys {
		if value, set, err := s.Config(ctx, key); err != nil || set && !isTrue(value) {
			return false, err
		}
	}
	return true, nil
}
