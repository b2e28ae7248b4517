package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// StaleLocks returns the lock files below the git directory that a killed git or git wf can leave behind, and the step
// that meets each. Mended means that the program must continue by itself; the other locks protect the user's work in
// the repository, and the program must name them.
func StaleLocks() []StaleLock {
	return []StaleLock{
		{"refs/workflow/" + planID + ".lock", "submit", true},
		{"refs/workflow/" + planID + ".lock", "run", true},
		{"refs/workflow-claims/" + planID + "/MAKE-1.lock", "artifact", true},
		{"refs/workflow-claims/" + planID + "/CHECK-HAND-1.lock", "review", true},
		{"packed-refs.lock", "answer", true},
		{"packed-refs.new", "run", true},
		{"WORKFLOW_HEAD.lock", "plan", true},
		{"wf/lock/" + planID, "retry", true}, // our lock file is no lock unless a process holds it
		{"gc.pid", "waive", true},
		{"objects/maintenance.lock", "submit", true},
		{"shallow.lock", "run", true},
		{"index.lock", "run", true},
		{"HEAD.lock", "run", true},
		{"config.lock", "run", true},
		{"index.lock", "export", false},
		{"refs/heads/main.lock", "export-commit", false},
	}
}

// StaleLock is a lock file left behind.
type StaleLock struct {
	File, Step string
	Mended     bool
}

// MeetLocks puts every lock file in a step's way that the program must get past by itself.
func (s *Stages) MeetLocks(ctx context.Context, step string) error {
	var files []string
	for _, l := range StaleLocks() {
		if l.Step == step && l.Mended {
			files = append(files, l.File)
		}
	}
	return s.meet(ctx, files, step, true, false)
}

// MeetLock puts a lock file in a step's way. A fresh one was left just now: the program must wait until it can be sure
// that nobody holds it.
func (s *Stages) MeetLock(ctx context.Context, l StaleLock, fresh bool) error {
	return s.meet(ctx, []string{l.File}, l.Step, l.Mended, fresh)
}

func (s *Stages) meet(ctx context.Context, files []string, name string, mended, fresh bool) error {
	r, err := s.Before[name].Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	// git writes packed-refs when it deletes a ref that is in it.
	if _, err := r.Git(ctx, "pack-refs", "--all"); err != nil {
		return err
	}
	before, err := r.Remember(ctx)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := leave(r.inGit(file), fresh); err != nil {
			return err
		}
	}
	o, err := r.WF(ctx, s.Step(name).Args...)
	switch {
	case err != nil:
		return err
	case mended && o.Exit != 0:
		return fmt.Errorf("one of %q is in the way of %s", files, o)
	case !mended && r.foreignLock(o) == "":
		return fmt.Errorf("%q is in the way, or not, but not named, of %s", files, o)
	}
	for _, file := range files {
		// Locks that this step did not meet still exist; they must not block git's own commands below.
		if err := os.Remove(r.inGit(file)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := r.Judge(ctx, before, o); err != nil {
		return err
	}
	return s.CarryOn(ctx, r)
}

func (r *Repo) inGit(file string) string {
	return filepath.Join(r.Dir, ".git", filepath.FromSlash(file))
}

func leave(path string, fresh bool) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	then := time.Now().Add(-time.Hour)
	if fresh {
		then = time.Now()
	}
	return errors.Join(f.Close(), os.Chtimes(path, then, then))
}
