//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"gitwf/internal/chaostest"
)

// thousand measures what grows with the number of workers and of tasks.
func (b *bench) thousand(ctx context.Context) error {
	const tasks, prepared = 1000, 60
	b.hook = true
	s, err := b.newStage(ctx, tasks, "echo 1 >$WF_OUT/t.txt")
	if err == nil {
		err = s.prepare(ctx, prepared)
	}
	b.link.roundTrip.Store(int64(b.delays[0]))
	for _, measure := range []func(context.Context, *stage) error{b.manyClaims, b.hookCost, b.joinCost} {
		if err == nil {
			err = measure(ctx, s)
		}
	}
	return err
}

// cost is what doing something n times took each time, and what processor time the processes took that it started.
func cost(n int, do func(i int)) (wall, cpu time.Duration) {
	spent := func() time.Duration {
		var used syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_CHILDREN, &used) // it can't fail for these arguments
		return time.Duration(used.Utime.Nano() + used.Stime.Nano())
	}
	began, before := time.Now(), spent()
	for i := range n {
		do(i)
	}
	return time.Since(began) / time.Duration(n), (spent() - before) / time.Duration(n)
}

// manyClaims measures a claim's push, and a worker's fetch, at a server without a hook that has many claim refs.
func (b *bench) manyClaims(ctx context.Context, s *stage) error {
	const times = 7
	row("claim refs", "push of a claim", "KB of it", "fetch without news", "KB of it", "failed", "load")
	row("---", "---", "---", "---", "---", "---", "---")
	for _, n := range []int{10, 1000, 10_000} {
		c, err := b.newContest(s, "git")
		if err == nil {
			err = os.Remove(filepath.Join(c.served, "hooks/pre-receive"))
		}
		for i := range n {
			file := fmt.Sprintf("%s/%sA-%d", c.served, claimRef, i)
			err = errors.Join(err, os.WriteFile(file, []byte(s.claims[0]+"\n"), 0o666))
		}
		if err != nil {
			return err
		}
		before := b.link.bytes.Load()
		push, _ := cost(times, func(int) { c.claim(ctx, 0) })
		pushed := b.link.bytes.Load() - before
		fetch := func(int) {
			c.git(ctx, "-c", "core.hooksPath=/dev/null", "fetch", "-q", "--no-tags", "--no-write-fetch-head",
				"--prune", c.url, "+refs/workflow/*:refs/seen/*", "+"+claimRef+"*:refs/seen-claims/*")
		}
		fetch(0)
		before = b.link.bytes.Load()
		again, _ := cost(times, fetch)
		row(n, push, pushed/times/1000, again, (b.link.bytes.Load()-before)/times/1000, c.failed.Load(), load())
	}
	return nil
}

// hookCost measures the processor time of pushes with the gate's hook at the server and without, both sides together.
func (b *bench) hookCost(ctx context.Context, s *stage) error {
	const times = 15
	row("push, CPU of both sides", "a commit to a branch", "a claim", "a hand-in", "failed", "load")
	row("---", "---", "---", "---", "---", "---")
	for _, kind := range []string{"without the hook", "with the hook"} {
		c, err := b.newContest(s, "")
		if kind == "without the hook" && err == nil {
			err = os.Remove(filepath.Join(c.served, "hooks/pre-receive"))
		}
		if err != nil {
			return err
		}
		_, plain := cost(times, func(int) { c.plainPush(ctx, 0) })
		_, claim := cost(times, func(int) { c.claim(ctx, 0) })
		_, handIn := cost(times, func(int) { c.handIn(ctx, 0) })
		row(kind, plain, claim, handIn, c.failed.Load(), load())
	}
	return nil
}

// joinCost measures the processor time of joining hand-ins, for whoever does it and for a clone that takes it over.
func (b *bench) joinCost(ctx context.Context, s *stage) error {
	const waiting = 20
	c, err := b.newContest(s, "")
	if err != nil {
		return err
	}
	var clones [2]*chaostest.Repo
	sync := func(i int) func(int) {
		return func(int) { _, err2 := clones[i].Must(ctx, "sync"); err = errors.Join(err, err2) }
	}
	for i := range clones {
		var err2, err3 error
		clones[i], err2 = s.Copy()
		_, err3 = clones[i].Git(ctx, "remote", "set-url", "origin", c.url)
		err = errors.Join(err, err2, err3)
		sync(i)(0) // it fills the caches
	}
	row("sync, of a plan of 1000 tasks", "CPU", "wall", "tasks done", "load")
	row("---", "---", "---", "---", "---")
	show := func(what string, i, times int) {
		wall, cpu := cost(times, sync(i))
		files, err2 := clones[i].Git(ctx, "ls-tree", "-r", "--name-only", planRef, "--", "tasks")
		row(what, cpu, wall, strings.Count(files, "/artifact.json")-1, load()) // the plan is one
		err = errors.Join(err, err2)
	}
	show("without news", 0, 3)
	args := []string{"-c", "core.hooksPath=/dev/null", "push", "-q", c.url}
	for i := range waiting {
		args = append(args, fmt.Sprintf("%s:%sT-%d", s.handIns[i], claimRef, i+1))
	}
	c.git(ctx, args...)
	show(fmt.Sprintf("that joins %d hand-ins", waiting), 0, 1)
	show("that takes their joins over", 1, 1)
	return err
}
