package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// contestant is a command to measure.
type contestant struct {
	name   string
	before func(ctx context.Context) error // prepares a round, not measured; may be nil
	dir    string
	env    []string // in addition to the lab's
	args   []string
	over   *contestant // the baseline: the report shows how much more this one takes
	absent bool        // not available on this machine, so not measured
	waits  bool        // it ends with 3, as git wf run does when somebody must act

	wall, cpu []time.Duration // per round
	memory    int64           // peak memory in bytes; 0 where the system does not report it
}

// measure runs the contestants in turn, so that other load on the machine hits all of them alike. The first in one
// round is the last in the next.
func (l *lab) measure(ctx context.Context, rounds int, all ...*contestant) error {
	all = slices.DeleteFunc(slices.Clone(all), func(c *contestant) bool { return c.absent })
	for round := range rounds {
		for i := range all {
			if err := l.once(ctx, all[(i+round)%len(all)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// once runs a contestant and drops its output. Processor time is that of the process and of all children it waited for.
func (l *lab) once(ctx context.Context, c *contestant) error {
	if c.before != nil {
		if err := c.before(ctx); err != nil {
			return fmt.Errorf("%s: prepare: %w", c.name, err)
		}
	}
	var errs strings.Builder
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stderr = c.dir, append(slices.Clone(l.env), c.env...), &errs
	begin := time.Now()
	err := cmd.Run()
	took := time.Since(begin)
	if c.waits && cmd.ProcessState.ExitCode() == 3 {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", c.name, err, lastLines(errs.String()))
	}
	c.wall = append(c.wall, took)
	c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	c.memory = max(c.memory, peakMemory(cmd.ProcessState))
	return nil
}

func lastLines(s string) string {
	const most = 2000
	return s[max(0, len(s)-most):]
}

// median returns 0 if nothing was measured.
func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// more returns how much more b took than a, round by round.
func more(a, b *contestant) *contestant {
	if a.absent || b.absent {
		return &contestant{absent: true}
	}
	return &contestant{wall: differences(a.wall, b.wall), cpu: differences(a.cpu, b.cpu)}
}

func differences(a, b []time.Duration) []time.Duration {
	d := make([]time.Duration, len(a))
	for i := range a {
		d[i] = b[i] - a[i]
	}
	return d
}

// added returns how much more the contestant takes than its baseline.
func (c *contestant) added() *contestant { return more(c.over, c) }

// ratio compares two medians with a goal.
type ratio struct {
	what      string
	wall, cpu float64
	goal      float64 // 0: none, the ratio is only for the reader
	strict    bool    // the goal itself is too much
	absent    bool    // one of the two was not measured
}

func compare(what string, goal float64, a, b *contestant) ratio {
	r := ratio{what: what, goal: goal, absent: a.absent || b.absent}
	if !r.absent {
		r.wall, r.cpu = quotient(a.wall, b.wall), quotient(a.cpu, b.cpu)
	}
	return r
}

// within compares a figure with its limit.
func within[T ~int64](what string, figure, most T) ratio {
	return ratio{what: what, goal: 1, wall: float64(figure) / float64(most), absent: figure == 0}
}

func quotient(a, b []time.Duration) float64 { return float64(median(a)) / float64(median(b)) }

// below makes the goal itself too much.
func (r ratio) below() ratio {
	r.strict = true
	return r
}

func (r ratio) met() bool { return r.wall < r.goal || !r.strict && r.wall == r.goal }
