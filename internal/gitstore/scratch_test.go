package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// A scratch directory stays while its owner lives, and the next Scratch after that removes it.
func TestScratch(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ctx := context.Background()
	s, other := open(t, newRepo(t)), open(t, newRepo(t))
	there := func(dir string) bool {
		_, err := os.Stat(dir)
		return err == nil
	}
	alive, release, err := s.Scratch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(os.Getenv("TMPDIR"), "git-wf-dead")
	stranger := filepath.Join(os.Getenv("TMPDIR"), "precious")
	for _, dir := range []string{dead, stranger} {
		if err := os.MkdirAll(filepath.Join(dir, "deep"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.scratchNotes(), filepath.Base(dir)), []byte(dir), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got := other.DeadScratch(); len(got) != 0 {
		t.Errorf("another repository sees %q", got)
	}
	if got := s.DeadScratch(); len(got) != 2 {
		t.Errorf("dead are %q", got)
	}
	next, releaseNext, err := s.Scratch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !there(alive) || !there(next) || there(dead) || !there(stranger) {
		t.Errorf("alive %t, next %t, dead %t, not ours %t", there(alive), there(next), there(dead), there(stranger))
	}
	release()
	releaseNext()
	if left, err := os.ReadDir(s.scratchNotes()); err != nil || len(left) > 0 || there(alive) || there(next) {
		t.Errorf("%d notes left (%v), alive %t, next %t", len(left), err, there(alive), there(next))
	}
}
