package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/repotest"
)

func TestParseLease(t *testing.T) {
	tests := []struct {
		in   string
		want time.Duration // zero: refused
	}{
		{"5m", 5 * time.Minute}, {"90s", 90 * time.Second}, {"300", 300 * time.Second}, {"1h30m", 90 * time.Minute},
		{"24h", 24 * time.Hour}, {"1s", time.Second},
		{"", 0}, {"soon", 0}, {"0", 0}, {"-5m", 0}, {"999ms", 0}, {"25h", 0}, {"5 m", 0}, {"99999999999999999999", 0},
		{"9223372036854775807", 0},
	}
	for _, tt := range tests {
		got, err := ParseLease("wf.lease", tt.in)
		if got != tt.want || (err == nil) != (tt.want > 0) {
			t.Errorf("%q: %s, %v", tt.in, got, err)
		}
	}
}

// Whether a claim's process is gone, seen from a process on its host or on what looks like its host.
func TestGone(t *testing.T) {
	self := thisOwner()
	if self.process == "" {
		t.Skip("the system does not say when a process began")
	}
	part := strings.Split(self.process, ":")
	name := func(i int, other string) string {
		p := append([]string{}, part...)
		p[i] = other
		return strings.Join(p, ":")
	}
	zombie := exec.Command("git", "version") // it ends, and nobody waits for it
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer zombie.Wait()
	zombieStart, state := processStart(zombie.Process.Pid)
	for range 3000 {
		if state == ended {
			break
		}
		time.Sleep(10 * time.Millisecond)
		_, state = processStart(zombie.Process.Pid)
	}
	inFirst := part[2] == firstPidSpace && part[0] != "-"
	tests := []struct {
		name    string
		host    string
		pid     int
		process string
		want    bool
	}{
		{"this process", self.host, self.pid, self.process, false},
		{"an ended process", self.host, endedProcess(t), name(3, "1"), true},
		{"an ended process of an older version", self.host, endedProcess(t), "", true},
		{"a running process of an older version", self.host, self.pid, "", false},
		{"the same number given out again", self.host, self.pid, name(3, "1"), true},
		{"a zombie", self.host, zombie.Process.Pid, name(3, zombieStart), true},
		{"another host", "elsewhere", 1 << 30, name(3, "1"), false},
		{"no process", self.host, 0, "", false},
		{"another container of this name", self.host, 1 << 30, name(2, "7"), false},
		{"before this machine was started again", self.host, self.pid, name(1, "before"), inFirst},
		{"another machine of this name", self.host, self.pid, strings.Join([]string{"other", "before", part[2], "1"}, ":"),
			false},
		{"nonsense", self.host, self.pid, ":::::", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := self.find(plan.Claim{Host: tt.host, PID: tt.pid, Process: tt.process}) == ended; got != tt.want {
				t.Errorf("gone: %v", got)
			}
		})
	}
	if !self.owns(plan.Claim{Host: self.host, PID: self.pid, Process: self.process}) ||
		self.owns(plan.Claim{Host: self.host, PID: self.pid, Process: name(2, "7")}) {
		t.Error("a container of the same name takes this one's claims for its own")
	}
}

// A claim of another host holds as long as its clock may differ, and one from the future until a run has watched it for
// a lease.
func TestStanding(t *testing.T) {
	b := newWorkshop(t, page("", writes, passes))
	now := time.Now()
	clock := now
	b.Now = func() time.Time { return clock }
	b.Lease = 10 * time.Second
	held := func(from, to time.Duration) plan.Claim {
		return plan.Claim{Task: "IMPL-1", Agent: "exec", Session: "theirs", Host: "elsewhere", PID: 1,
			Started: now.Add(from).UTC(), Expires: now.Add(to).UTC(), Number: 4}
	}
	for _, tt := range []struct {
		name string
		c    plan.Claim
		want bool
	}{
		{"held", held(-time.Minute, time.Second), true},
		{"its clock may be behind", held(-time.Minute, -30*time.Second), true},
		{"expired by any clock", held(-time.Hour, -time.Minute), false},
		{"from the future", held(time.Hour, time.Hour+time.Minute), true},
		{"vacant", plan.Claim{Task: "IMPL-1", Number: 4}, false},
	} {
		if _, _, got := b.standing(tt.c, now); got != tt.want {
			t.Errorf("%s: stands %v", tt.name, got)
		}
	}
	b.seen = &sightings{first: map[plan.TaskID]sighting{}}
	c := held(time.Hour, time.Hour+20*time.Second)
	see := func(after time.Duration, c plan.Claim) bool {
		clock = now.Add(after)
		b.seen.note(plan.Claims{"IMPL-1": c}, clock)
		_, _, ok := b.standing(c, clock)
		return ok
	}
	renewed := c
	renewed.Expires = renewed.Expires.Add(5 * time.Second)
	switch {
	case !see(0, c), !see(19*time.Second, c):
		t.Error("taken over before its owner had the time to renew it")
	case !see(22*time.Second, renewed), !see(40*time.Second, renewed):
		t.Error("a renewal is not noticed")
	case see(48*time.Second, renewed):
		t.Error("it stands for ever")
	}
}

// The numbers of a task's claims grow, whatever happens to the claims.
func TestNumbersGrow(t *testing.T) {
	b := newWorkshop(t, page("max_attempts: 99", writes, passes))
	ctx := context.Background()
	last := 0
	offer := func(lease time.Duration) int {
		t.Helper()
		o, err := b.Offer(ctx, repotest.ID, Wanted{Task: "IMPL-1", Agent: "alice", Claim: true, Lease: lease})
		if err != nil {
			t.Fatal(err)
		}
		if o.Claim.Number <= last {
			t.Errorf("number %d after %d", o.Claim.Number, last)
		}
		last = o.Claim.Number
		return last
	}
	release := func(n int, why string) {
		t.Helper()
		if err := b.ReleaseClaim(ctx, repotest.ID, "IMPL-1", n, why); err != nil {
			t.Fatal(err)
		}
	}
	interrupted := func() { // a run that was stopped before it had anything to record
		t.Helper()
		h, err := b.claim(ctx, repotest.ID, plan.Claim{Task: "IMPL-1", Agent: "exec"})
		if err != nil {
			t.Fatal(err)
		}
		if h.claim.Number <= last {
			t.Errorf("a run's number %d after %d", h.claim.Number, last)
		}
		b.release(ctx, h)
	}
	for round := range 3 {
		offer(time.Nanosecond) // never comes back
		release(offer(time.Hour), "")
		interrupted()
		release(offer(time.Hour), "can't be done")
		interrupted()
		if round == 1 {
			offer(time.Nanosecond)
			interrupted() // takes it over
		}
	}
	file := b.repo.Dir + "/page.txt"
	if err := os.WriteFile(file, []byte("x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	n := offer(time.Hour)
	sub := Submission{Task: "IMPL-1", Paths: []string{file}, Person: plan.Actor{Name: "Ada", Email: "ada@example.com"}}
	for stale := 1; stale < n; stale++ {
		sub.Claim = stale
		var refused *plan.RefusedError
		if _, err := b.Submit(ctx, repotest.ID, sub); !errors.As(err, &refused) {
			t.Fatalf("handed in under %d: %v", stale, err)
		}
	}
	sub.Claim = n
	if _, err := b.Submit(ctx, repotest.ID, sub); err != nil {
		t.Fatal(err)
	}
	offerAfter := func() {
		t.Helper()
		if _, err := b.Submit(ctx, repotest.ID, sub); err == nil {
			t.Error("handed in twice")
		}
	}
	offerAfter()
	if h, err := b.claim(ctx, repotest.ID, plan.Claim{Task: "IMPL-1", Agent: "exec"}); err != nil || h.claim.Number <= n {
		t.Errorf("after the event: %+v, %v", h, err)
	} else {
		b.release(ctx, h)
	}
}

// Two processes find the same expired claim: one gets it, and one attempt is recorded as lost.
func TestTakeOverRace(t *testing.T) {
	b := newWorkshop(t, page("", writes, passes))
	ctx := context.Background()
	old := time.Now().Add(-time.Hour)
	if _, err := b.Store.Claim(ctx, repotest.ID, plan.Claim{Task: "IMPL-1", Agent: "exec", Session: "x", Host: "elsewhere",
		PID: 1, Started: old, Expires: old, Number: 1}); err != nil {
		t.Fatal(err)
	}
	const n = 8
	results := make(chan error, n)
	for i := range n {
		e := &Engine{Store: b.repo.Open(), Trust: b.Trust, Now: time.Now, Agents: b.Agents, Lease: time.Minute,
			Secrets: secrets}
		e.ownerOnce.Do(func() { e.self = owner{host: "host" + strconv.Itoa(i), pid: 1 + i} })
		go func() {
			_, err := e.claim(ctx, repotest.ID, plan.Claim{Task: "IMPL-1", Agent: "exec"})
			results <- err
		}()
	}
	won := 0
	for range n {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, gitstore.ErrClaimed) {
			t.Error(err)
		}
	}
	if got := b.records(); won != 1 || got != "attempts/a1-lost.json" {
		t.Errorf("%d won, recorded %s", won, got)
	}
}

// Explain finds a chain quickly in any plan, even an invalid one.
func TestExplainShapes(t *testing.T) {
	const n = 3000
	p := &plan.Plan{PlanID: "WFS-p", RootTaskID: "GOAL-1", Tasks: []*plan.Task{{TaskID: "GOAL-1", NodeType: plan.Goal}}}
	add := func(id, on string) {
		task := &plan.Task{TaskID: plan.TaskID(id), NodeType: plan.Action, ParentTaskID: "GOAL-1"}
		if on != "" {
			task.DependsOn = []plan.TaskID{plan.TaskID(on)}
		}
		p.Tasks = append(p.Tasks, task)
	}
	add("A-1", "B-1")
	add("B-1", "C-1")
	add("C-1", "A-1")
	add("D-1", "GONE-1")
	add("L-0", "")
	for i := 1; i < n; i++ {
		add("L-"+strconv.Itoa(i), "L-"+strconv.Itoa(i-1))
	}
	s := plan.Derive(p, plan.Records{}, nil, time.Time{})
	begin := time.Now()
	open := Explain(s, []Wait{{Task: "L-0", Text: "a person does this task"}}, nil)
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	texts := map[plan.TaskID]Wait{}
	for _, o := range open {
		texts[o.Task] = o
	}
	if o := texts["A-1"]; !o.Failed || !strings.HasSuffix(o.Text, ": they wait for each other") {
		t.Errorf("a circle: %+v", o)
	}
	if o := texts["D-1"]; o.Text != "waits for GONE-1: there is no such task" {
		t.Errorf("a dependency that does not exist: %+v", o)
	}
	last := texts[plan.TaskID("L-"+strconv.Itoa(n-1))]
	if len(last.Chain) != mostChain+1 || last.Chain[mostChain] != "L-0" || !last.Stuck || last.Failed ||
		len(last.Text) > 500 {
		t.Errorf("a long chain: %d, %s", len(last.Chain), last.Text)
	}
	if want := "waits for L-0: a person does this task"; texts["L-1"].Text != want {
		t.Errorf("%s", texts["L-1"].Text)
	}
}

// After claiming a task, a worker checks again who else works on the same paths: two can never both begin.
func TestKeepsClear(t *testing.T) {
	task := func(id, focus string) string {
		return "  - {task_id: " + id + ", title: " + id + ", context: {focus_paths: [" + focus +
			"]}, estimated_person_days: 1, run: " + strconv.Quote(writes) +
			", deliverable_spec: {format: txt, filename: page.txt}, acceptance_criteria: " + passes + ", covers: [R1]}\n"
	}
	b := newWorkshop(t, "title: Page\nroot_acceptance_criteria: [{id: R1, statement: The page has a title}]\ntasks:\n"+
		task("IMPL-1", "src")+task("IMPL-2", "src/a.c")+task("IMPL-3", "doc"))
	ctx := context.Background()
	now := time.Now()
	for _, c := range []struct {
		name     string
		task     plan.TaskID
		worktree bool
		expires  time.Duration
		want     bool
	}{
		{"the same paths", "IMPL-2", true, time.Hour, false},
		{"the same paths, not in a working tree", "IMPL-2", false, time.Hour, true},
		{"the same paths, long expired", "IMPL-2", true, -time.Hour, true},
		{"other paths", "IMPL-3", true, time.Hour, true},
		{"its own claim", "IMPL-1", true, time.Hour, true},
	} {
		held, err := b.Store.Claim(ctx, repotest.ID, plan.Claim{Task: c.task, Agent: "a", Host: "elsewhere", PID: 1,
			Started: now.Add(-2 * time.Hour), Expires: now.Add(c.expires), Number: 1, Worktree: c.worktree})
		if err != nil {
			t.Fatal(err)
		}
		s := b.repo.Snapshot(repotest.ID).State()
		h := &hold{plan: repotest.ID, claim: plan.Claim{Worktree: true}, state: s, task: s.Tasks["IMPL-1"]}
		if err := b.keepsClear(ctx, h); (err == nil) != c.want || err != nil &&
			!errors.Is(err, gitstore.ErrClaimed) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := b.Store.Release(ctx, repotest.ID, held); err != nil {
			t.Fatal(err)
		}
	}
}

// Processes that claim tasks of one window at the same moment never have more of them than its jobs.
func TestWindowRace(t *testing.T) {
	text := "title: Page\nroot_acceptance_criteria: [{id: R1, statement: The page has a title}]\ntasks:\n" +
		"  - task_id: PART-1\n    title: Parts\n    jobs: 2\n    tasks:\n"
	for i := range 5 {
		text += fmt.Sprintf("      - {task_id: IMPL-%d, title: Page, estimated_person_days: 1, deliverable_spec: {format: "+
			"txt, filename: page.txt}, acceptance_criteria: %s, covers: [R1]}\n", i+1, passes)
	}
	b := newWorkshop(t, text)
	ctx := context.Background()
	const processes, turns = 5, 4
	var busy, full atomic.Int32
	var all sync.WaitGroup
	for i := range processes {
		e := &Engine{Store: b.repo.Open(), Trust: b.Trust, Now: time.Now, Agents: b.Agents, Lease: time.Minute,
			Environ: b.Environ, Templates: b.Templates, Weights: b.Weights, Assign: nobody, Secrets: secrets}
		e.ownerOnce.Do(func() { e.self = owner{host: "host" + strconv.Itoa(i), pid: 1 + i} })
		task := plan.TaskID(fmt.Sprintf("IMPL-%d", i+1))
		all.Go(func() {
			for turn := 0; turn < turns; {
				c, err := e.claimOutside(ctx, repotest.ID, task, Wanted{Agent: "ann"})
				if errors.Is(err, gitstore.ErrClaimed) {
					time.Sleep(time.Millisecond * time.Duration(1+rand.IntN(10)))
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				switch n := busy.Add(1); {
				case n > 2:
					t.Errorf("%d in work at once", n)
				case n == 2:
					full.Add(1)
				}
				time.Sleep(20 * time.Millisecond)
				busy.Add(-1)
				if err := e.ReleaseClaim(ctx, repotest.ID, task, c.Number, ""); err != nil {
					t.Error(err)
				}
				turn++
			}
		})
	}
	all.Wait()
	if full.Load() == 0 {
		t.Error("never two at once")
	}
}
