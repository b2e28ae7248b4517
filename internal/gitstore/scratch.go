package gitstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// scratchPrefix begins the name of each scratch directory.
const scratchPrefix = "git-wf-"

// Scratch makes a temporary directory for work on this repository; release removes it. It lies outside the repository,
// which git would find from inside. A note below wf/scratch names it, beside a file that its owner locks while it
// lives: so we know those of killed processes, which are removed first, and touch no other repository's.
func (s *Store) Scratch(ctx context.Context) (dir string, release func(), err error) {
	for _, dead := range s.DeadScratch() {
		_ = s.RemoveScratch(dead) // the next run tries again
	}
	if dir, err = os.MkdirTemp("", scratchPrefix); err != nil {
		return "", nil, err
	}
	fail := func(err error) (string, func(), error) {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("make a scratch directory: %w", err)
	}
	at, err := filepath.Abs(dir) // a relative TMPDIR names another place elsewhere
	if err != nil {
		return fail(err)
	}
	note := filepath.Join(s.scratchNotes(), filepath.Base(dir))
	// The lock comes first: a note without one belongs to a dead process.
	held, err := s.lockFile(ctx, filepath.Dir(note), filepath.Base(note)+lockSuffix)
	if err != nil {
		return fail(err)
	}
	if err := os.WriteFile(note, []byte(at), 0o666); err != nil {
		endNote(note, held)
		return fail(err)
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		endNote(note, held)
	}, nil
}

// lockSuffix ends the name of a note's lock file. It is a separate file because Windows can't read a locked one.
const lockSuffix = ".lock"

func endNote(note string, held *flock.Flock) {
	_ = os.Remove(note)
	held.Close()
	_ = os.Remove(note + lockSuffix)
}

func (s *Store) scratchNotes() string { return filepath.Join(s.commonDir, "wf", "scratch") }

// DeadScratch lists the notes of this repository's scratch directories whose owners are gone.
func (s *Store) DeadScratch() []string {
	entries, _ := os.ReadDir(s.scratchNotes())
	var dead []string
	for _, e := range entries {
		note := filepath.Join(s.scratchNotes(), e.Name())
		if strings.HasSuffix(note, lockSuffix) {
			continue
		}
		if held := lockDead(note, lockSuffix); held != nil {
			held.Close()
			dead = append(dead, note)
		}
	}
	return dead
}

// ScratchDir is the directory that a note names, "" if it names none.
func ScratchDir(note string) string {
	data, _ := os.ReadFile(note)
	if dir := string(data); filepath.IsAbs(dir) && strings.HasPrefix(filepath.Base(dir), scratchPrefix) {
		return filepath.Clean(dir)
	}
	return ""
}

// RemoveScratch removes a dead scratch directory and its note.
func (s *Store) RemoveScratch(note string) error {
	held := lockDead(note, lockSuffix)
	if held == nil {
		return nil // somebody else has removed it
	}
	if dir := ScratchDir(note); dir != "" {
		if err := os.RemoveAll(dir); err != nil {
			held.Close()
			return err
		}
	}
	endNote(note, held)
	return nil
}

// TryLock locks the file that belongs to a path, which ends in .lock. unlock is nil if somebody holds it.
func TryLock(path string) (unlock func()) {
	held := lockDead(path, lockSuffix)
	if held == nil {
		return nil
	}
	return func() { held.Close() }
}

// lockDead takes the lock of a note's owner; it returns nil if somebody holds it or it can't be locked.
func lockDead(note, suffix string) *flock.Flock {
	held := flock.New(note+suffix, flock.SetPermissions(0o666))
	if ok, err := held.TryLock(); err != nil || !ok {
		held.Close()
		return nil
	}
	return held
}
