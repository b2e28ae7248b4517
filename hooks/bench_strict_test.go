package hooks

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkStrict times ref moves that bench/ does not measure and that touch nothing protected: with no
// reference-transaction hook, with one that is `exit 0`, and in strict mode. The three take turns, each first equally
// often, so that a busy machine slows all of them. It reports medians of the rounds, and how much slower strict mode is
// than `exit 0`: for the whole command, and for what the hook adds to it.
func BenchmarkStrict(b *testing.B) {
	const tags = 1000
	var origin *repo
	var list, drop strings.Builder
	cases := []struct {
		name         string
		rounds       int
		reset, timed func(r *repo, round int)
	}{
		{name: "tag", rounds: 60, timed: func(r *repo, round int) {
			r.git("update-ref", "refs/tags/n"+strconv.Itoa(round), "HEAD")
		}},
		{name: "branch", rounds: 60, timed: func(r *repo, round int) { r.git("branch", "n"+strconv.Itoa(round)) }},
		{name: "fetch-1000-tags-atomic", rounds: 40, reset: func(r *repo, _ int) {
			r.pipe(drop.String())
		}, timed: func(r *repo, _ int) {
			r.git("fetch", "-q", "--atomic", origin.dir, "refs/tags/t*:refs/tags/t*")
		}},
	}
	for i := range tags {
		list.WriteString("create refs/tags/t" + strconv.Itoa(i) + " HEAD\n")
		drop.WriteString("delete refs/tags/t" + strconv.Itoa(i) + "\n")
	}
	origin = newRepo(b)
	origin.pipe(list.String())
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			var repos []*repo
			for _, hook := range []string{"none", "exit 0", "strict"} {
				r := newRepo(b)
				for i := range 2 {
					r.git("commit", "-q", "--allow-empty", "-m", "c")
					r.git("tag", "c"+strconv.Itoa(i))
				}
				r.git("branch", "work")
				if strings.HasPrefix(c.name, "fetch") {
					r.pipe(list.String())
				}
				switch hook {
				case "exit 0":
					r.hook(strictName, "#!/bin/sh\nexit 0\n", 0o755)
				case "strict":
					r.installStrict()
					for _, s := range clientSpecs(false) { // bench/ measures the cost of the others
						r.hook(s.name, "", 0o644)
					}
				}
				repos = append(repos, r)
			}
			took := make([][]time.Duration, len(repos))
			round := 0
			for b.Loop() {
				for range c.rounds {
					round++
					for turn := range repos {
						i := (turn + round) % len(repos)
						r := repos[i]
						if c.reset != nil {
							c.reset(r, round)
						}
						start := time.Now()
						c.timed(r, round)
						took[i] = append(took[i], time.Since(start))
					}
				}
			}
			none, plain, strict := median(took[0]), median(took[1]), median(took[2])
			b.ReportMetric(none*1e3, "none-ms")
			b.ReportMetric(plain*1e3, "exit0-ms")
			b.ReportMetric(strict*1e3, "strict-ms")
			b.ReportMetric(strict/plain, "x-command")
			b.ReportMetric((strict-none)/(plain-none), "x-added")
		})
	}
}

func median(d []time.Duration) float64 {
	slices.Sort(d)
	return d[len(d)/2].Seconds()
}

// pipe updates refs in one transaction with all hooks off.
func (r *repo) pipe(list string) {
	r.t.Helper()
	cmd := exec.Command("git", "-c", "core.hooksPath=/dev/null", "update-ref", "--stdin")
	cmd.Dir, cmd.Env, cmd.Stdin = r.dir, r.env, strings.NewReader(list)
	if out, err := cmd.CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
}
