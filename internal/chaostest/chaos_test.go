package chaostest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// shared is the lab of all tests: it builds the program and carries out the scenario without a fault once.
type shared struct {
	once   sync.Once
	lab    *Lab
	stages *Stages
	err    error
}

var theLab shared // filled by the first test that needs it

func TestMain(m *testing.M) {
	code := m.Run()
	if theLab.lab != nil {
		if err := theLab.lab.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(code)
}

func stages(t *testing.T) *Stages {
	t.Helper()
	if testing.Short() {
		t.Skip("a -short test does not build git-wf")
	}
	theLab.once.Do(func() {
		if theLab.lab, theLab.err = NewLab(context.Background(), "", os.Getenv("CHAOS_GIT_WF")); theLab.err == nil {
			theLab.stages, theLab.err = NewStages(context.Background(), theLab.lab)
		}
	})
	if theLab.err != nil {
		t.Fatal(theLab.err)
	}
	return theLab.stages
}

// TestFaultsAtCalls visits some points of the steps, spread evenly: for each step one fault on the way, and one kill
// near its end, where refs move.
func TestFaultsAtCalls(t *testing.T) { // alone: see Traced
	s, ctx := stages(t), context.Background()
	faults := Faults()
	for i, step := range s.Lab.Steps() {
		if step.Name == "run-to-rest" {
			continue // takes as long as all others together, and makes the same kinds of events
		}
		n, err := s.Count(step.Name)
		if errors.Is(err, ErrNoTrace) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
		points := []Point{{step.Name, n * (1 + i%5) / 6, faults[i%len(faults)]}}
		if i%4 == 0 {
			points = append(points, Point{step.Name, n - 1 - i%4, Fault{Kill: Everybody}})
		}
		if step.Name == "export" || step.Name == "submit" {
			points = append(points, Point{step.Name, n - 10, Fault{Prune: true}})
		}
		for _, p := range points {
			if !p.Applies(step) {
				continue
			}
			if _, err := s.Visit(ctx, p); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestKillAtRandom(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	tally, err := stages(t).KillAtRandom(context.Background(), seed, 3, nil)
	if err != nil {
		t.Errorf("%v (go run -C bench ./chaos -seed %d random goes on looking)", err, seed)
	}
	t.Logf("seed %d: %+v", seed, tally)
}

func TestCrowd(t *testing.T) {
	t.Parallel()
	s, ctx := stages(t), context.Background()
	c, err := NewCrowd(ctx, s.Lab, 8)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Together(ctx, 16); err != nil {
		t.Errorf("16 processes: %v", err)
	}
	if err := c.Together(ctx, 2, Maintenance()...); err != nil {
		t.Errorf("2 processes, and git cleans up: %v", err)
	}
	seed := uint64(time.Now().UnixNano())
	if _, err := c.KillRuns(ctx, seed, 4, nil); err != nil {
		t.Errorf("kill runs: %v", err)
	}
}

func TestUnderMaintenance(t *testing.T) {
	t.Parallel()
	if err := stages(t).UnderMaintenance(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestStaleLocks(t *testing.T) {
	t.Parallel()
	s, ctx := stages(t), context.Background()
	for _, step := range []string{"plan", "artifact", "review", "run"} {
		if err := s.MeetLocks(ctx, step); err != nil {
			t.Errorf("%s: %v", step, err)
		}
	}
	for _, l := range StaleLocks() {
		if l.Mended {
			continue
		}
		if err := s.MeetLock(ctx, l, false); err != nil {
			t.Errorf("%s: %v", l.File, err)
		}
	}
}

func TestFreshLock(t *testing.T) {
	t.Parallel()
	s := stages(t)
	// It waits for ten seconds and does no work.
	if err := s.MeetLock(context.Background(), StaleLocks()[0], true); err != nil {
		t.Error(err)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	s, ctx := stages(t), context.Background()
	for _, left := range []int64{0, 16 << 10, 48 << 10} {
		err := s.FullDisk(ctx, s.Step("run"), left)
		if errors.Is(err, ErrNoMount) {
			t.Skip(err)
		}
		if err != nil {
			t.Errorf("%d bytes left: %v", left, err)
		}
	}
}

func TestClockSetBack(t *testing.T) {
	t.Parallel()
	s, ctx := stages(t), context.Background()
	program, err := BuildClock(ctx, s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.ClockSetBack(ctx, program, 26*time.Hour); err != nil {
		t.Error(err)
	}
}

// TestOrder checks real traces, and changed ones to show that the check can fail.
func TestOrder(t *testing.T) { // alone: see Traced
	s, ctx := stages(t), context.Background()
	for _, step := range []string{"artifact", "answer", "submit", "review", "retry", "waive"} {
		n, err := s.Order(ctx, step)
		if errors.Is(err, ErrNoTrace) {
			t.Skip(err)
		}
		if err != nil {
			t.Error(err)
		}
		if n < 1 {
			t.Errorf("%s: no event in the trace", step)
		}
	}
}

func TestCheckOrder(t *testing.T) {
	const ref, object, other = "/g/refs/workflow/P", "/g/objects/aa/11", "/g/objects/bb/22"
	call := func(name string, paths ...string) *Call { return &Call{Name: name, Paths: paths} }
	out := func(path string) *Call { return &Call{Name: "sync_file_range", Paths: []string{path}, Waits: true} }
	begun := func(path string) *Call { return &Call{Name: "sync_file_range", Paths: []string{path}} }
	lock, one, two := ref+".lock", "/g/objects/tmp_obj_1", "/g/objects/tmp_obj_2"
	end := []*Call{call("open", lock), call("write", lock), call("fsync", lock), call("rename", lock, ref)}
	named := []*Call{call("rename", one, object), call("rename", two, other)}
	written := []*Call{call("write", one), begun(one), call("write", two), begun(two)}
	dirs := []*Call{call("fsync", "/g/objects/aa"), call("fsync", "/g/objects/bb")}
	join := func(parts ...[]*Call) (all []*Call) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	all := []*Call{call("syncfs", "/g/objects")}
	outs := []*Call{out(one), out(two)}
	failed := call("fsync", lock)
	failed.Err = 5
	tests := []struct {
		name    string
		ordered bool
		calls   []*Call
		want    string
	}{
		{"one flush for all", true, join(written, outs, named, end), ""},
		{"each by itself", false, join(written, []*Call{call("fsync", one), call("fsync", two)}, named, dirs, end), ""},
		{"nothing written out", true, join(written, named, end), object +
			" (tmp_obj_1) was not flushed before it got its name"},
		{"one only begun", true, join(written, outs[1:], named, end), object + " (tmp_obj_1) was not flushed"},
		{"the flush of all failed", true, join(written, outs, named, end[:2], []*Call{failed}, end[3:]), object +
			" was not flushed with the ref"},
		{"the flush of all too early", true, join(end[:3], written, outs, named, end[3:]), object +
			" was not flushed with the ref"},
		{"written out too late", true, join(written, named, outs, end), "was not flushed before it got its name"},
		{"written once more", true, join(written, outs, []*Call{call("write", one)}, named, end), object +
			" (tmp_obj_1) was not flushed"},
		{"written out where the order is not kept", false, join(written, []*Call{out(one), call("fsync", two)}, named, dirs,
			end), object + " (tmp_obj_1) was not flushed"},
		{"names not flushed", false, join(written, []*Call{call("fsync", one), call("fsync", two)}, named, end),
			"the name of " + object + " was not flushed"},
		{"the ref moved first", true, join(end, written, outs, named), object +
			" (11) was not flushed before the ref was moved"},
		{"the ref not flushed", true, join(written, outs, named, end[:2], end[3:]), object + " was not flushed with the ref"},
		{"the ref not flushed where the order is not kept", false,
			join(written, []*Call{call("fsync", one), call("fsync", two)}, named, dirs, end[:2], end[3:]), ref +
				" got its value before that was flushed"},
		{"all of the file system flushed", false, join(written, named, all, end), ""},
		{"all of it flushed before the names", false, join(written, all, named, end), object +
			" (tmp_obj_1) was not flushed before it got its name"},
		{"all of it flushed after the ref", false, join(written, named, end, all), object +
			" (tmp_obj_1) was not flushed before it got its name"},
		{"there before, and flushed", true, join([]*Call{call("utimens", object), out(object)}, written[2:], outs[1:],
			named[1:], end), ""},
		{"there before, and not flushed", true, join([]*Call{call("utimens", object)}, written[2:], outs[1:], named[1:], end),
			object + " (11) was not flushed"},
		{"no move", true, written, "does not show how " + ref + " was moved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			move := Move{Ref: ref, Objects: []string{object, other}, Ordered: tt.ordered, RefSync: true}
			if err := CheckOrder(tt.calls, []Move{move}); err != nil {
				got = err.Error()
			}
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestLandingKilled kills a landing at calls spread over it, more of them where the branch moves.
func TestLandingKilled(t *testing.T) { // alone: see Traced
	s, ctx := stages(t), context.Background()
	l, err := NewLanding(ctx, s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	n, err := l.Count()
	if errors.Is(err, ErrNoTrace) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	every := max(n/8, 1)
	if os.Getenv("CHAOS_LAND_ALL") != "" {
		every = 1
	}
	for i := 1; i <= n; i += every {
		if err := l.Kill(ctx, i, []Victim{Everybody, Program, Caller}[i%3]); err != nil {
			t.Error(err)
		}
	}
}

func TestLandingFullDisk(t *testing.T) {
	t.Parallel()
	s, ctx := stages(t), context.Background()
	l, err := NewLanding(ctx, s.Lab)
	if err != nil {
		t.Fatal(err)
	}
	said := map[bool]int{}
	for _, left := range []int64{0, 40 << 10, 80 << 10, 120 << 10, 160 << 10, 1 << 20} {
		o, err := l.FullDisk(ctx, left)
		if errors.Is(err, ErrNoMount) {
			t.Skip(err)
		}
		if err != nil {
			t.Errorf("%d bytes left: %v", left, err)
			continue
		}
		said[o.Exit == 0]++
	}
	if !t.Failed() && (said[true] == 0 || said[false] == 0) {
		t.Errorf("landed and not: %v", said)
	}
}

// TestKilledAgain kills every command that writes, and gives it again.
func TestKilledAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts for a shell")
	}
	s, ctx := stages(t), context.Background()
	acts, err := s.NewActs(ctx)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 4))
	for _, a := range acts {
		if _, _, err := a.Kill(ctx, rng); err != nil {
			t.Error(err)
		}
	}
}
