//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"gitwf/internal/chaostest"
)

// overhead measures what git wf worker adds to tasks that take ten seconds: the time between the end of one and the
// begin of the next that the same worker does.
func (b *bench) overhead(ctx context.Context) error {
	const each, seconds = 6, 10
	row("transport", "round trip", "workers", "until the first task", "between tasks", "overhead",
		"until all is done", "connections a task", "load")
	row("---", "---", "---", "---", "---", "---", "---", "---", "---")
	for _, transport := range b.transports {
		for _, delay := range b.delays {
			for _, n := range b.workers {
				times := b.file("times")
				note := fmt.Sprintf(`echo "$PPID $(date +%%s%%N)" >>%s; `, times)
				s, err := b.newStage(ctx, n*each,
					fmt.Sprintf("%ssleep %d; echo {} >$WF_OUT/t.txt; %[1]s", note, seconds))
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
				pause, err := meanPause(times)
				if err != nil {
					return err
				}
				row(transport, delay, n, first, pause, fmt.Sprintf("%.0f %%", 100*pause.Seconds()/seconds),
					fmt.Sprintf("%.1f s", last.Seconds()),
					float64(b.link.connections.Load()-before)/float64(n*each), load())
				if err := os.Remove(times); err != nil {
					return err
				}
			}
		}
	}
	return ctx.Err()
}

// meanPause reads when tasks began and ended, in lines of a process and a time in ns, and returns the mean time
// between two tasks of one process.
func meanPause(file string) (mean time.Duration, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	sum, pauses, of := 0, 0, map[string][]int{}
	for line := range strings.Lines(string(text)) {
		process, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		ns, err := strconv.Atoi(at)
		if err != nil {
			return 0, err
		}
		if of[process] = append(of[process], ns); len(of[process]) > 1 && len(of[process])%2 == 1 {
			sum, pauses = sum+ns-of[process][len(of[process])-2], pauses+1
		}
	}
	return time.Duration(sum / max(pauses, 1)), nil
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
