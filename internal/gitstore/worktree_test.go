package gitstore_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"gitwf/internal/repotest"
)

// Working trees are made and removed by many at once, in several processes: each has a Store of its own here.
func TestWorktreesAtOnce(t *testing.T) {
	r := repotest.New(t)
	const processes, each = 6, 4
	at := t.TempDir()
	var wg sync.WaitGroup
	for p := range processes {
		s := r.Open()
		head, err := s.Head(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			for n := range each {
				dir := filepath.Join(at, fmt.Sprint(p), fmt.Sprint(n), "work") // one name for all, as the engine has it
				if err := s.AddWorktree(t.Context(), dir, head); err != nil {
					t.Errorf("add: %v", err)
					continue
				}
				if err := s.RemoveWorktree(t.Context(), dir); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if out := r.Git("worktree", "list"); strings.Count(out, "\n") > 1 {
		t.Errorf("left:\n%s", out)
	}
	s := r.Open()
	head, err := s.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.AddWorktree(t.Context(), at, head); err == nil {
		t.Error("a directory that is full was taken for a new working tree")
	}
}
