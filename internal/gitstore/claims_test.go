package gitstore

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"gitwf/internal/plan"
)

func lease(pid int, from time.Time) plan.Claim {
	return plan.Claim{Task: "IMPL-1", Agent: "exec", Session: "s", Host: "h", PID: pid, Started: from, Expires: from.Add(time.Minute)}
}

func TestClaimRace(t *testing.T) {
	dir := newRepo(t)
	start(t, open(t, dir), testID, 1)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var winners []plan.Claim
	for w := range 8 {
		s := open(t, dir)
		wg.Go(func() {
			c, err := s.Claim(context.Background(), testID, lease(w, testNow))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				winners = append(winners, c)
			case !errors.Is(err, ErrClaimed):
				t.Errorf("claim: %v", err)
			}
		})
	}
	wg.Wait()
	if len(winners) != 1 {
		t.Fatalf("%d winners", len(winners))
	}
	got, err := open(t, dir).Claims(context.Background(), testID)
	if err != nil || got["IMPL-1"] != winners[0] {
		t.Errorf("claims %v, %v; want %v", got, err, winners[0])
	}
	sound(t, dir)
}

func TestClaimLife(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	start(t, s, testID, 1)
	first, err := s.Claim(ctx, testID, lease(1, testNow))
	if err != nil || first.Number != 1 {
		t.Fatal(first, err)
	}
	later := testNow.Add(50 * time.Second)
	renewed, err := s.Renew(ctx, testID, first, later.Add(time.Minute))
	if err != nil || renewed.Number != 1 {
		t.Fatal(renewed, err)
	}
	if _, err := s.Claim(ctx, testID, lease(2, testNow.Add(70*time.Second))); !errors.Is(err, ErrClaimed) {
		t.Errorf("claim of what was renewed: %v", err)
	}
	// The same process may take over its own expired claim: only start and number then tell the two apart.
	second, err := s.Claim(ctx, testID, lease(1, renewed.Expires))
	if err != nil || second.Number != 2 {
		t.Fatal("take over:", second, err)
	}
	if _, err := s.Renew(ctx, testID, renewed, later); !errors.Is(err, ErrClaimed) {
		t.Errorf("renew of what was taken over: %v", err)
	}
	if err := s.Release(ctx, testID, renewed); !errors.Is(err, ErrClaimed) {
		t.Errorf("release of what was taken over: %v", err)
	}

	ev := func(claim plan.Claim) error {
		b := s.NewBatch()
		files, _, err := b.AddFiles(map[string][]byte{"f": []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Append(ctx, testID, addVersion("IMPL-1", files), AppendOptions{Now: testNow, Batch: b, Claim: &claim})
		return err
	}
	before := git(t, dir, "for-each-ref")
	if err := ev(renewed); !errors.Is(err, ErrClaimed) {
		t.Errorf("append under a lost claim: %v", err)
	}
	if after := git(t, dir, "for-each-ref"); after != before {
		t.Errorf("refs changed: %s", after)
	}
	if err := ev(second); err != nil {
		t.Error(err)
	}
	if claims, err := s.Claims(ctx, testID); err != nil || len(claims) != 0 {
		t.Errorf("after the event: claims %v, %v", claims, err)
	}
	if err := s.Release(ctx, testID, second); !errors.Is(err, ErrClaimed) {
		t.Errorf("second release: %v", err)
	}
	sound(t, dir)
}
