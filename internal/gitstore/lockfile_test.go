package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestStaleLocks: a killed git's locks don't stop a plan for ever, and a living git keeps its own.
func TestStaleLocks(t *testing.T) {
	tests := []struct {
		name, file string
		age        time.Duration
		removed    bool
	}{
		{"the plan's", "refs/workflow/WFS-x.lock", time.Hour, true},
		{"the claim's", "refs/workflow-claims/WFS-x/IMPL-1.lock", time.Hour, true},
		{"packed-refs", "packed-refs.lock", time.Hour, true},
		{"half of packed-refs", "packed-refs.new", time.Hour, true},
		{"a young one", "refs/workflow/WFS-x.lock", time.Second, false},
		{"a young one of packed-refs", "packed-refs.lock", refLockLimit + time.Second, false},
		{"one from the future", "refs/workflow/WFS-x.lock", -time.Hour, false},
		{"another ref's", "refs/heads/main.lock", time.Hour, false},
		{"the index's", "index.lock", time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Store{commonDir: t.TempDir()}
			path := filepath.Join(s.commonDir, filepath.FromSlash(tt.file))
			touch(t, path, tt.age)
			w := s.refLocks([]refChange{{ref: "refs/workflow/WFS-x"}, {ref: "refs/workflow-claims/WFS-x/IMPL-1"}})
			if held := w.held(context.Background()); held != tt.removed {
				t.Errorf("at the first look: held is %v", held)
			}
			if _, err := os.Lstat(path); os.IsNotExist(err) != tt.removed {
				t.Errorf("removed is %v", os.IsNotExist(err))
			}
		})
	}
}

// TestLockWatch: we wait for a lock while it stays the same, however young its timestamp, but only so long.
func TestLockWatch(t *testing.T) {
	ctx := context.Background()
	s := &Store{commonDir: t.TempDir()}
	path := filepath.Join(s.commonDir, "refs", "workflow", "WFS-x.lock")
	touch(t, path, -time.Hour) // the clock was set back
	w := s.refLocks([]refChange{{ref: "refs/workflow/WFS-x"}})
	if w.held(ctx) {
		t.Error("a lock that was never seen before is held by a git at work")
	}
	if !w.held(ctx) {
		t.Error("one that has not changed is worth waiting for")
	}
	touch(t, path, -2*time.Hour)
	if w.held(ctx) {
		t.Error("another one is held by a git at work")
	}
	first := w.seen[path]
	first.since = time.Now().Add(-refLockLimit)
	w.seen[path] = first
	if !w.held(ctx) {
		t.Error("after the limit it is removed, and the change tried again")
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is still there")
	}
	// A lock that can't be removed is reported, not waited for without end.
	if err := os.MkdirAll(filepath.Join(path, "in the way"), 0o777); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	w.held(ctx)
	if w.held(ctx) {
		t.Error("it is waited for without end")
	}
}

// TestAppendPastStaleLock appends an event although a killed git left its lock.
func TestAppendPastStaleLock(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	start(t, s, testID, 1)
	touch(t, filepath.Join(dir, ".git", planRefs+string(testID)+".lock"), time.Hour)
	if _, err := appendVersion(s, "IMPL-1", "hello\n"); err != nil {
		t.Fatal(err)
	}
	touch(t, filepath.Join(dir, ".git", "WORKFLOW_HEAD.lock"), time.Hour)
	if err := s.SetActive(context.Background(), testID); err != nil {
		t.Fatal(err)
	}
	sound(t, dir)
}

// TestKeep: Keep rewrites what a gc deleted from a batch before anything named it.
func TestKeep(t *testing.T) {
	dir := newRepo(t)
	b := open(t, dir).NewBatch()
	blob := b.AddBlob([]byte("soon gone\n"))
	tree, err := b.AddTreeOf([]TreeEntry{{Path: "a/b", Mode: modeFile, OID: blob}})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Flush(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{false, true} {
		if lost, err := b.Keep(context.Background()); err != nil || lost != want {
			t.Errorf("lost is %v, want %v; %v", lost, want, err)
		}
		if got := git(t, dir, "ls-tree", "-r", string(tree)); got != "100644 blob "+string(blob)+"\ta/b" {
			t.Errorf("the tree is %q", got)
		}
		git(t, dir, "cat-file", "-e", string(blob))
		git(t, dir, "prune", "--expire=now")
	}
}

func touch(t *testing.T, path string, age time.Duration) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	then := time.Now().Add(-age)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
}
