//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// contest is workers at one served copy of a stage.
type contest struct {
	*stage
	url, served string
	next        atomic.Int64 // the next task that nobody has used here
	plainNext   int
	contended   []string // what each of those that contend for one ref saw there last
	failed      atomic.Int64
}

// git runs git in the stage and reports whether it ended well. Whoever was slower is refused; other failures are
// counted, and the first one is shown.
func (c *contest) git(ctx context.Context, args ...string) (out string, ok bool) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = c.Dir, c.Lab.Env
	var errs strings.Builder
	cmd.Stderr = &errs
	data, err := cmd.Output()
	out = strings.TrimSpace(string(data))
	slower := strings.Contains(out, "stale info") || strings.Contains(errs.String(), "cannot lock ref")
	if err != nil && !slower && c.failed.Add(1) == 1 {
		fmt.Fprintf(os.Stderr, "git %s: %v: %s\n%s\n", strings.Join(args, " "), err, out, errs.String())
	}
	return out, err == nil
}

func (c *contest) push(ctx context.Context, ref, old, oid string) bool {
	_, ok := c.git(ctx, "-c", "core.hooksPath=/dev/null", "push", "--porcelain", "--progress", "--atomic",
		"--no-follow-tags", "--recurse-submodules=no", "--force-with-lease="+ref+":"+old, c.url, oid+":"+ref)
	return ok
}

// handIn moves the ref of a claim that only this worker has. The server's files are set up behind its back.
func (c *contest) handIn(ctx context.Context, _ int) bool {
	return c.onClaim(func(k int, ref, file string) bool {
		return os.WriteFile(file, []byte(c.claims[k]+"\n"), 0o666) == nil && c.push(ctx, ref, c.claims[k], c.handIns[k])
	})
}

// claim makes the ref of a claim.
func (c *contest) claim(ctx context.Context, _ int) bool {
	return c.onClaim(func(k int, ref, _ string) bool { return c.push(ctx, ref, "", c.again[k]) })
}

func (c *contest) onClaim(do func(k int, ref, file string) bool) bool {
	k := int(c.next.Add(1) - 1)
	if k >= len(c.claims) {
		return false
	}
	ref := fmt.Sprintf("%sT-%d", claimRef, k+1)
	file := filepath.Join(c.served, ref)
	defer os.Remove(file)
	return do(k, ref, file)
}

// plainPush pushes a commit to a branch. One pusher does.
func (c *contest) plainPush(ctx context.Context, _ int) bool {
	if c.plainNext++; c.plainNext > len(c.plain) {
		return false
	}
	_, ok := c.git(ctx, "-c", "core.hooksPath=/dev/null", "push", "-q", c.url,
		c.plain[c.plainNext-1]+":refs/heads/plain")
	return ok
}

// contend moves one ref that all move: whoever was slower fetches it and tries again on what it is now.
func (c *contest) contend(ctx context.Context, worker int) bool {
	const ref = "refs/heads/contended"
	mine := fmt.Sprintf("refs/seen/%d", worker)
	oid, ok := c.git(ctx, "commit-tree", "-p", c.contended[worker], "-m", fmt.Sprint(worker, time.Now()), "main^{tree}")
	if ok && c.push(ctx, ref, c.contended[worker], oid) {
		c.contended[worker] = oid
		return true
	}
	_, _ = c.git(ctx, "fetch", "-q", "--no-tags", "--no-write-fetch-head", c.url, "+"+ref+":"+mine)
	c.contended[worker], _ = c.git(ctx, "rev-parse", mine)
	return false
}

// rate is what n workers do a second, from their begin to the end of the last try of each.
func rate(ctx context.Context, n int, window time.Duration, do func(context.Context, int) bool) float64 {
	var mu sync.Mutex
	var all sync.WaitGroup
	sum, began := 0.0, time.Now()
	for worker := range n {
		all.Go(func() {
			done := 0
			for ctx.Err() == nil && time.Since(began) < window {
				if do(ctx, worker) {
					done++
				}
			}
			mu.Lock()
			defer mu.Unlock()
			sum += float64(done) / time.Since(began).Seconds()
		})
	}
	all.Wait()
	return sum
}

// push measures what pushes of workers cost beside those of one who pushes commits.
func (b *bench) push(ctx context.Context) error {
	const most = 600
	s, err := b.newStage(ctx, most, "echo 1 >$WF_OUT/t.txt")
	if err == nil {
		err = s.prepare(ctx, most)
	}
	if err != nil {
		return err
	}
	row("transport", "round trip", "workers", "plain pushes/s, one pusher", "hand-ins/s", "claims/s", "contended ref/s",
		"hand-ins beside plain", "contended beside plain", "failed", "load")
	row("---", "---", "---", "---", "---", "---", "---", "---", "---", "---", "---")
	for _, transport := range b.transports {
		for _, delay := range b.delays {
			b.link.roundTrip.Store(int64(delay))
			for _, workers := range b.workers {
				if err := b.cell(ctx, s, transport, delay, workers); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}

// newContest serves a copy of a stage. Without a transport it is reached as a directory.
func (b *bench) newContest(s *stage, transport string) (*contest, error) {
	b.copies++
	name := fmt.Sprintf("copy%d.git", b.copies)
	c := &contest{stage: s, url: b.url(transport, name), served: filepath.Join(b.file("served"), name)}
	err := os.CopyFS(c.served, os.DirFS(s.served))
	return c, errors.Join(err, os.MkdirAll(filepath.Join(c.served, claimRef), 0o777))
}

func (b *bench) cell(ctx context.Context, s *stage, transport string, delay time.Duration, workers int) error {
	c, err := b.newContest(s, transport)
	if err != nil {
		return err
	}
	defer os.RemoveAll(c.served)
	main, err := s.Git(ctx, "rev-parse", "main")
	c.contended = slices.Repeat([]string{main}, workers)
	for _, branch := range []string{"contended", "plain"} {
		if err == nil {
			_, err = s.Git(ctx, "--git-dir="+c.served, "update-ref", "refs/heads/"+branch, main)
		}
	}
	if err != nil {
		return err
	}
	sides := []func(context.Context, int) bool{c.plainPush, c.handIn, c.claim, c.contend}
	rates := make([]float64, len(sides))
	for round := range b.rounds {
		for i := range sides {
			side, n := (i+round)%len(sides), workers
			if side == 0 {
				n = 1
			}
			rates[side] += rate(ctx, n, max(b.window, 10*delay), sides[side]) / float64(b.rounds)
		}
	}
	row(transport, delay, workers, rates[0], rates[1], rates[2], rates[3], rates[1]/rates[0], rates[3]/rates[0],
		c.failed.Load(), load())
	return nil
}
