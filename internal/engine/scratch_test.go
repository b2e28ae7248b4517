package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"gitwf/internal/fault"
)

func scratchFor(t *testing.T) *scratch {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	root, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	s := &scratch{root: root, end: func() { _ = os.RemoveAll(root) }}
	t.Cleanup(s.remove)
	return s
}

// used makes a directory with sparse files of a size.
func used(t *testing.T, s *scratch, files int, size int64) string {
	t.Helper()
	dir, err := s.mkdir()
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		name := filepath.Join(dir, fmt.Sprintf("%02d", i), "file")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(name, size); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func there(dir string) bool {
	_, err := os.Stat(dir)
	return err == nil
}

// What is finished with takes no room, and nothing outlives the run.
func TestScratchDiscard(t *testing.T) {
	s := scratchFor(t)
	gone, stays := used(t, s, 40, 2<<20), used(t, s, 3, 10)
	s.discard(gone)
	if there(gone) || !there(stays) {
		t.Errorf("discarded and there: %v; another one there: %v", there(gone), there(stays))
	}
	s.remove()
	if there(s.root) {
		t.Error("the place outlives the run")
	}
}

// What fails where nothing can be written says nothing about a task.
func TestNoRoom(t *testing.T) {
	s := scratchFor(t)
	if err := os.Symlink("/dev/full", filepath.Join(s.root, "room")); err != nil {
		t.Skip(err)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	_, err := s.mkdir()
	var refused *fault.Error
	if !errors.As(err, &refused) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if _, err := s.mkdir(); err != nil { // the link is gone
		t.Error(err)
	}
}
