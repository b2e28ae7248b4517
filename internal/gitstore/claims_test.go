package gitstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gitwf/internal/plan"
)

func lease(pid int, from time.Time) plan.Claim {
	return plan.Claim{Task: "IMPL-1", Agent: "exec", Session: "s", Host: "h", PID: pid, Started: from,
		Expires: from.Add(time.Minute), Number: 1}
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

// Whoever takes over a claim may find that it ended after he looked.
func TestClaimGone(t *testing.T) {
	s := open(t, newRepo(t))
	ctx := context.Background()
	start(t, s, testID, 1)
	c, err := s.Claim(ctx, testID, lease(1, testNow))
	if err != nil {
		t.Fatal(err)
	}
	held, ref, err := s.claim(ctx, testID, "IMPL-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Release(ctx, testID, c); err != nil {
		t.Fatal(err)
	}
	if _, err := s.writeClaim(ctx, ref, held.oid, lease(2, testNow)); !errors.Is(err, ErrClaimed) {
		t.Errorf("taken over: %v", err)
	}
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
	var claimed *ClaimedError
	if _, err := s.Claim(ctx, testID, lease(2, renewed.Expires.Add(time.Hour))); !errors.As(err, &claimed) ||
		!errors.Is(err, ErrClaimed) || claimed.Held != renewed {
		t.Errorf("claim of what is there: %v", err)
	}
	// TakeOver refuses a claim that was found before it was renewed.
	next := lease(1, renewed.Expires)
	next.Number = 2
	if _, err := s.TakeOver(ctx, testID, first, next); !errors.Is(err, ErrClaimed) {
		t.Errorf("take over of what was renewed: %v", err)
	}
	// A process may take over its own expired claim: only start and number then tell the two apart.
	second, err := s.TakeOver(ctx, testID, renewed, next)
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

// Vacate keeps the number, and nobody can release what somebody else has taken over.
func TestVacate(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	start(t, s, testID, 1)
	c, err := s.Claim(ctx, testID, lease(1, testNow))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Vacate(ctx, testID, c); err != nil {
		t.Fatal(err)
	}
	claims, err := s.Claims(ctx, testID)
	if err != nil || !claims["IMPL-1"].Vacant() || claims["IMPL-1"].Number != 1 {
		t.Errorf("left: %+v, %v", claims, err)
	}
	if err := s.Vacate(ctx, testID, c); !errors.Is(err, ErrClaimed) {
		t.Errorf("second time: %v", err)
	}
	next := lease(2, testNow)
	next.Number = 2
	if _, err := s.TakeOver(ctx, testID, claims["IMPL-1"], next); err != nil {
		t.Error(err)
	}
	if _, err := s.TakeOver(ctx, testID, claims["IMPL-1"], next); !errors.Is(err, ErrClaimed) {
		t.Errorf("taken over twice: %v", err)
	}
	sound(t, dir)
}

// An unreadable claim holds nothing: exactly one of many takes it over.
func TestUnreadableClaim(t *testing.T) {
	dir := newRepo(t)
	start(t, open(t, dir), testID, 1)
	file := filepath.Join(t.TempDir(), "claim")
	if err := os.WriteFile(file, []byte("{no json"), 0o666); err != nil {
		t.Fatal(err)
	}
	blob := git(t, dir, "hash-object", "-w", file)
	git(t, dir, "update-ref", "refs/workflow-claims/"+string(testID)+"/IMPL-1", blob)
	ctx := context.Background()
	found, err := open(t, dir).Claims(ctx, testID)
	if err != nil || len(found) != 1 || !found["IMPL-1"].Vacant() {
		t.Fatalf("%+v, %v", found, err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for w := range 8 {
		s := open(t, dir)
		wg.Go(func() {
			_, err := s.TakeOver(ctx, testID, found["IMPL-1"], lease(w, testNow))
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if !errors.Is(err, ErrClaimed) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d took it over", won)
	}
}

// A pulse changes with every event and claim, in each ref format, and with nothing else.
func TestPulse(t *testing.T) {
	t.Run("of a plan", func(t *testing.T) { testPulse(t, testID) })
	t.Run("of all plans", func(t *testing.T) { testPulse(t, "") })
}

func testPulse(t *testing.T, of plan.ID) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	start(t, s, testID, 1)
	before := s.Pulse(of)
	changed := func(what string, want bool) {
		t.Helper()
		now := s.Pulse(of)
		if (now != before) != want {
			t.Errorf("%s: changed %v", what, !want)
		}
		before = now
		time.Sleep(10 * time.Millisecond) // some file systems have coarse timestamps
	}
	changed("nothing", false)
	time.Sleep(10 * time.Millisecond)
	c, err := s.Claim(ctx, testID, lease(1, testNow))
	if err != nil {
		t.Fatal(err)
	}
	changed("a claim", true)
	if c, err = s.Renew(ctx, testID, c, testNow.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	changed("a renewal", true)
	git(t, dir, "branch", "other")
	changed("a branch", false)
	b := s.NewBatch()
	files, _, err := b.AddFiles(map[string][]byte{"f": []byte("x")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, testID, addVersion("IMPL-1", files), AppendOptions{Now: testNow, Batch: b}); err != nil {
		t.Fatal(err)
	}
	changed("an event", true)
	git(t, dir, "pack-refs", "--all")
	changed("packing", true)
	if err := s.Release(ctx, testID, c); err != nil {
		t.Fatal(err)
	}
	changed("a release", true)
}

// The remains of a claim after a power cut block nobody.
func TestBrokenClaims(t *testing.T) {
	dir := newRepo(t)
	s := open(t, dir)
	ctx := context.Background()
	start(t, s, testID, 5)
	ref := func(task plan.TaskID) string {
		return filepath.Join(s.CommonDir(), "refs", "workflow-claims", string(testID), string(task))
	}
	write := func(file, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.RemoveAll(file),
			os.WriteFile(file, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	damage := func() {
		write(ref("IMPL-1"), "")
		write(ref("IMPL-2"), strings.Repeat("\x00", 41))
		write(ref("IMPL-3"), strings.Repeat("1", 40)+"\n")
	}
	claimOf := func(task plan.TaskID) plan.Claim {
		c := lease(1, testNow.Add(time.Hour))
		c.Task = task
		return c
	}
	for _, task := range []plan.TaskID{"IMPL-4", "IMPL-5"} {
		if _, err := s.Claim(ctx, testID, claimOf(task)); err != nil {
			t.Fatal(err)
		}
	}
	damage()
	if _, err := s.Claim(ctx, testID, claimOf("IMPL-1")); err != nil {
		t.Errorf("claim over what is broken: %v", err)
	}
	damage()
	write(s.loosePath(plan.OID(git(t, dir, "rev-parse", "refs/workflow-claims/"+string(testID)+"/IMPL-4"))), "")
	claims, err := s.Claims(ctx, testID)
	if err != nil || len(claims) != 1 || claims["IMPL-5"].Task != "IMPL-5" {
		t.Errorf("claims %v, %v", claims, err)
	}
	if out := git(t, dir, "for-each-ref", "--format=%(refname)",
		"refs/workflow-claims"); out != "refs/workflow-claims/"+string(testID)+"/IMPL-5" {
		t.Errorf("left: %s", out)
	}
}
