package main

import (
	"context"
	"testing"
	"time"
)

// TestBenchmarks runs all of them, as small as they can be, so that they still work when somebody wants to measure.
func TestBenchmarks(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a few hundred processes")
	}
	ctx := context.Background()
	l, err := newLab(ctx, t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	z := sizes{files: 300, commits: 1, tasks: 3, runs: 1, jobs: 1, planTasks: 50, statuses: 1}
	for _, b := range benchmarks {
		r, err := b.run(ctx, l, z)
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		t.Log(r)
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		in   []time.Duration
		want time.Duration
	}{
		{[]time.Duration{3}, 3},
		{[]time.Duration{9, 1, 2}, 2},
		{[]time.Duration{10, 1, 2, 4}, 3},
	} {
		if got := median(tt.in); got != tt.want {
			t.Errorf("median(%v) = %d, want %d", tt.in, got, tt.want)
		}
	}
}

func TestGoal(t *testing.T) {
	for _, tt := range []struct {
		r    ratio
		want bool
	}{
		{ratio{wall: 2, goal: 2}, true},
		{ratio{wall: 2, goal: 2, strict: true}, false},
		{ratio{wall: 1.99, goal: 2, strict: true}, true},
		{ratio{wall: 2.01, goal: 2}, false},
	} {
		if got := tt.r.met(); got != tt.want {
			t.Errorf("%+v: met is %v", tt.r, got)
		}
	}
}
