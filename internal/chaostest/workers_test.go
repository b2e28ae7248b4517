package chaostest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadText is a plan of tasks that need one or two of those just before them, as plans of many tasks do. Each notes in
// a file of its own that it ran.
func loadText(rng *rand.Rand, tasks int, seconds, ran string) string {
	var b strings.Builder
	b.WriteString("title: Load\ntasks:\n")
	for i := 1; i <= tasks; i++ {
		var needs []string
		for range min(i-1, []int{0, 1, 1, 2}[rng.IntN(4)]) {
			needs = append(needs, fmt.Sprintf("TASK-%d", max(1, i-1-rng.IntN(40))))
		}
		if len(needs) == 2 && needs[0] == needs[1] {
			needs = needs[:1]
		}
		fmt.Fprintf(&b, "  - {task_id: TASK-%[1]d, title: Make %[1]d, estimated_person_days: 1, depends_on: [%[2]s], "+
			"deliverable_spec: {filename: t%[1]d.txt}, "+
			"run: 'echo . >>%[3]s/%[1]d; sleep %[4]s; echo %[1]d >$WF_OUT/t%[1]d.txt', "+
			"acceptance_criteria: [{id: A1, statement: It is there., run: test -s t%[1]d.txt}]}\n",
			i, strings.Join(needs, ", "), ran, seconds)
	}
	return b.String()
}

// TestWorkers has workers carry a plan out, of which some are killed at random and others come. Each task is approved
// once, and it runs again only where a worker was killed.
// CHAOS_WORKERS=32 CHAOS_WORKERS_TASKS=1000 CHAOS_WORKERS_SECONDS=10 is a day's work. CHAOS_WORKERS_CLOCKS="24h -24h"
// has the clocks of the first two a day off: the one ahead takes over what others do, and one of two results counts.
func TestWorkers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("scripts for a shell")
	}
	seed := environ("CHAOS_WORKERS_SEED", uint64(time.Now().UnixNano()))
	workers, tasks := int(environ("CHAOS_WORKERS", 4)), int(environ("CHAOS_WORKERS_TASKS", 12))
	seconds := fmt.Sprint(environ("CHAOS_WORKERS_SECONDS", 0))
	t.Logf("CHAOS_WORKERS_SEED=%d CHAOS_WORKERS=%d CHAOS_WORKERS_TASKS=%d CHAOS_WORKERS_SECONDS=%s", seed, workers,
		tasks, seconds)
	lab := stages(t).Lab
	t.Parallel()
	ctx := context.Background()
	tm := newTeam(t, lab, seed, "ann")
	ann := tm.clones[0]
	ran := filepath.Join(filepath.Dir(ann.Dir), "ran")
	if err := os.Mkdir(ran, 0o777); err != nil {
		t.Fatal(err)
	}
	tm.must(ann.Repo, "plan", "-f", tm.write(ann, ".git/load.yaml", loadText(tm.rng, tasks, seconds, ran)))
	tm.must(ann.Repo, "share")
	var mu sync.Mutex
	random := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return tm.rng.IntN(n)
	}
	toKill := max(1, tasks/10)
	var kills atomic.Int64
	began := time.Now()
	var all sync.WaitGroup
	clocks, lab2 := strings.Fields(os.Getenv("CHAOS_WORKERS_CLOCKS")), *lab
	if len(clocks) > 0 {
		var err error
		if lab2.Program, err = movedProgram(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range workers {
		machine := *ann.Repo
		if i < len(clocks) {
			machine.Lab, machine.Env = &lab2, []string{clockVariable + "=" + clocks[i]}
		}
		all.Go(func() {
			for {
				// One in ten tasks has its worker killed, with all that it started or alone.
				after := 24 * time.Hour
				if kills.Load() < int64(toKill) && random(2) == 0 {
					after = time.Duration(100+random(4000)) * time.Millisecond
				}
				o, err := machine.killOne(ctx, after, random(2) == 0, "worker", "--remote", tm.server.Dir,
					"--trust", filepath.Join(ann.Dir, ".git/wf/trust"))
				switch {
				case err != nil:
					t.Error(err)
					return
				case o.Exit == -1:
					kills.Add(1)
				case o.Exit == 0 || o.Exit == 3:
					return
				default:
					t.Errorf("worker: exit code %d\n%s", o.Exit, o.Err)
					return
				}
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	tm.must(ann.Repo, "sync")
	status := tm.must(ann.Repo, "status")
	if !strings.Contains(status, fmt.Sprintf("%d of %[1]d done", tasks)) {
		t.Errorf("not all tasks are done:\n%s", status)
	}
	files := tm.git(ann.Repo, "ls-tree", "-r", "--name-only", "refs/workflow/WFS-load", "--", "tasks")
	runs := 0
	for i := 1; i <= tasks; i++ {
		data, err := os.ReadFile(filepath.Join(ran, fmt.Sprint(i)))
		if err != nil {
			t.Error(err)
		}
		runs += len(data) / 2
		versions := regexp.MustCompile(fmt.Sprintf(`/TASK-%d/artifacts/v\d+/artifact.json`, i)).FindAllString(files, -1)
		if len(versions) != 1 {
			t.Errorf("TASK-%d has the versions %v", i, versions)
		}
	}
	if again := runs - tasks; again > int(kills.Load()) && len(clocks) == 0 {
		t.Errorf("%d runs of %d tasks beside %d kills", runs, tasks, kills.Load())
	}
	tm.must(tm.server, "doctor")
	if t.Failed() {
		t.Log(tm.git(ann.Repo, "log", "--graph", "--format=%h %ct %s", "refs/workflow/WFS-load"))
	}
	t.Logf("%d kills, %d runs of %d tasks in %s", kills.Load(), runs, tasks, took.Round(time.Second))
}
