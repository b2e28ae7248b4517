//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"gitwf/internal/chaostest"
)

// overhead measures what git wf worker adds to tasks that take ten seconds.
func (b *bench) overhead(ctx context.Context) error {
	const each, seconds = 6, 10
	row("transport", "round trip", "workers", "until the first task", "a task's turn, s", "overhead",
		"with start and end", "connections a task", "load")
	row("---", "---", "---", "---", "---", "---", "---", "---", "---")
	for _, transport := range b.transports {
		for _, delay := range b.delays {
			for _, n := range b.workers {
				s, err := b.newStage(ctx, n*each, fmt.Sprintf("sleep %d; echo {} >$WF_OUT/t.txt", seconds))
				if err != nil {
					return err
				}
				b.link.roundTrip.Store(int64(delay))
				before := b.link.connections.Load()
				var first, last time.Duration
				for _, o := range s.work(ctx, n, s.Repo, b.url(transport, s.server)) {
					if o.Exit != 0 {
						return fmt.Errorf("a worker failed: %s", o)
					}
					first += o.Word / time.Duration(n)
					last = max(last, o.Took)
				}
				turn := (last - first).Seconds() / each
				percent := func(turn float64) string { return fmt.Sprintf("%.0f %%", 100*(turn/seconds-1)) }
				row(transport, delay, n, first, turn, percent(turn), percent(last.Seconds()/each),
					float64(b.link.connections.Load()-before)/float64(n*each), load())
			}
		}
	}
	return ctx.Err()
}

// work has n workers carry the plan out until each finds nothing more to do, and returns how the last run of each
// ended. One that fails is started again, as whatever starts workers does; how it failed is shown once.
func (s *stage) work(ctx context.Context, n int, as *chaostest.Repo, url string) []*chaostest.Outcome {
	const most = 60
	ends, codes := make([]*chaostest.Outcome, n), map[string]int{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			for range most {
				o, err := as.WF(ctx, "worker", "--remote", url, "--trust", s.trust)
				mu.Lock()
				ends[i] = o
				key := fmt.Sprint(o.Exit)
				if o.Exit != 0 {
					_, said, _ := strings.Cut("\n"+o.Err, "\nerror: ")
					said, _, _ = strings.Cut(said, "\n")
					key += " " + said
				}
				if err != nil {
					key += " " + err.Error()
				}
				codes[key]++
				mu.Unlock()
				if o.Exit == 0 || o.Exit == 3 {
					return
				}
			}
		})
	}
	all.Wait()
	for key, n := range codes {
		if key != "0" {
			fmt.Fprintf(os.Stderr, "%d times: %s\n", n, key)
		}
	}
	return ends
}
