package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"gitwf/internal/chaostest"
)

// TestPowerCut is the short form of the kind power; internal/chaostest tests the others.
func TestPowerCut(t *testing.T) {
	if testing.Short() {
		t.Skip("a -short test does not build git-wf")
	}
	ctx := context.Background()
	lab, err := chaostest.NewLab(ctx, "", os.Getenv("CHAOS_GIT_WF"))
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	c, err := chaostest.NewCrowd(ctx, lab, 6)
	if err != nil {
		t.Fatal(err)
	}
	p, err := chaostest.NewPower(ctx, c, record)
	if errors.Is(err, chaostest.ErrNoMount) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		if err := p.Cut(ctx, rng); err != nil {
			t.Error(err)
		}
	}
}
