package gitstore

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gitwf/internal/plan"
)

const longTasks = 10000

// BenchmarkLongPlan compares reading a status with `git ls-tree -r` of the same ref.
func BenchmarkLongPlan(b *testing.B) {
	dir := newRepo(b)
	longPlan(b, dir, longTasks)
	ctx := context.Background()
	snapshot := func(b *testing.B) *Store {
		s, err := Open(ctx, dir)
		if err != nil {
			b.Fatal(err)
		}
		snap, err := s.Snapshot(ctx, testID)
		if err != nil {
			b.Fatal(err)
		}
		if len(snap.Records.Tasks) != longTasks {
			b.Fatalf("%d tasks", len(snap.Records.Tasks))
		}
		return s
	}
	b.Run("ls-tree", func(b *testing.B) {
		for b.Loop() {
			git(b, dir, "ls-tree", "-r", "workflow/"+string(testID))
		}
	})
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			if err := os.RemoveAll(filepath.Join(dir, ".git", "wf")); err != nil {
				b.Fatal(err)
			}
			snapshot(b).Close()
		}
	})
	b.Run("cached", func(b *testing.B) {
		for b.Loop() {
			snapshot(b).Close()
		}
	})
	b.Run("derive", func(b *testing.B) {
		s := snapshot(b)
		defer s.Close()
		snap, _ := s.Snapshot(ctx, testID)
		for b.Loop() {
			plan.Derive(snap.Plan, snap.Records, nil, testNow)
		}
	})
	b.Run("append", func(b *testing.B) {
		s := snapshot(b)
		defer s.Close()
		appendLoop(b, s, longTasks)
	})
}

// BenchmarkAppend appends one-file versions to a plan of a hundred tasks: about ten flushed objects each.
func BenchmarkAppend(b *testing.B) {
	s := open(b, newRepo(b))
	start(b, s, testID, 100)
	appendLoop(b, s, 100)
}

func appendLoop(b *testing.B, s *Store, tasks int) {
	n := 0
	for b.Loop() {
		n++
		if _, err := appendVersion(s, testTask(n%tasks+1), time.Now().String()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkClaim takes a claim and releases it.
func BenchmarkClaim(b *testing.B) {
	s := open(b, newRepo(b))
	start(b, s, testID, 1)
	ctx := context.Background()
	n := 0
	for b.Loop() {
		n++
		c, err := s.Claim(ctx, testID, plan.Claim{Task: "IMPL-1", PID: n, Started: testNow, Expires: testNow.Add(time.Hour)})
		if err == nil {
			err = s.Release(ctx, testID, c)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
