package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
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

func TestScratchDiscard(t *testing.T) {
	const mega = 1 << 20
	s := scratchFor(t)
	steps := []struct {
		name  string
		files int
		size  int64
		stays bool
	}{
		{"small", 3, 10, true},
		{"too large at all", 1, mostKept + 1, false},
		{"large by many files", 40, 2 * mega, false},
		{"half of it", 1, mostKept / 2, true},
		{"the other half, which is more than is left", 1, mostKept / 2, false},
		{"some", 2, mega, true},
		{"empty", 0, 0, true},
	}
	for _, step := range steps {
		dir := used(t, s, step.files, step.size)
		s.discard(dir)
		if there(dir) != step.stays {
			t.Errorf("%s: still there: %v", step.name, !step.stays)
		}
		if s.kept > mostKept {
			t.Errorf("%s: %d bytes kept", step.name, s.kept)
		}
	}
	if s.kept < mostKept/2+2*mega {
		t.Errorf("%d bytes counted", s.kept)
	}
	s.remove()
	if there(s.root) {
		t.Error("the place outlives the run")
	}
}

// Even empty files count: a run of many tasks must free space.
func TestScratchCountsSmallFiles(t *testing.T) {
	s := scratchFor(t)
	s.kept = mostKept - 5*block // room for the directories, if these have a size
	dir := used(t, s, 3, 0)
	s.discard(dir)
	if there(dir) {
		t.Error("three files and their directories take less than six blocks")
	}
}

func TestScratchDiscardAtOnce(t *testing.T) {
	s := scratchFor(t)
	var dirs []string
	for range 12 {
		dirs = append(dirs, used(t, s, 1, mostKept/6))
	}
	var wg sync.WaitGroup
	for _, dir := range dirs {
		wg.Go(func() { s.discard(dir) })
	}
	wg.Wait()
	stay := 0
	for _, dir := range dirs {
		if there(dir) {
			stay++
		}
	}
	if stay != 5 || s.kept > mostKept { // the directories count too, so not six
		t.Errorf("%d stay, %d bytes", stay, s.kept)
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
