package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// contestant is one command that is measured.
type contestant struct {
	name   string
	before func(ctx context.Context) error // makes things ready, is not measured; may be nil
	dir    string
	env    []string // beside the lab's
	args   []string

	wall, cpu []time.Duration // of each round
}

// measure lets the contestants run by turns, so that what else the machine does hits all of them alike. Whoever began
// one round comes last in the next.
func (l *lab) measure(ctx context.Context, rounds int, all ...*contestant) error {
	for round := range rounds {
		for i := range all {
			if err := l.once(ctx, all[(i+round)%len(all)]); err != nil {
				return err
			}
		}
	}
	return nil
}

// once runs a contestant. Its output is thrown away; its processor time is that of the process and of all the children
// it waited for.
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
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", c.name, err, lastLines(errs.String()))
	}
	c.wall = append(c.wall, took)
	c.cpu = append(c.cpu, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
	return nil
}

func lastLines(s string) string {
	const most = 2000
	return s[max(0, len(s)-most):]
}

func median(d []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(d))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// more is what b took more than a, round by round.
func more(a, b *contestant) *contestant {
	return &contestant{wall: differences(a.wall, b.wall), cpu: differences(a.cpu, b.cpu)}
}

func differences(a, b []time.Duration) []time.Duration {
	d := make([]time.Duration, len(a))
	for i := range a {
		d[i] = b[i] - a[i]
	}
	return d
}

// ratio compares two medians with a goal.
type ratio struct {
	what      string
	wall, cpu float64
	goal      float64
	strict    bool // the goal itself is too much
}

func compare(what string, goal float64, a, b *contestant) ratio {
	return ratio{what: what, goal: goal, wall: quotient(a.wall, b.wall), cpu: quotient(a.cpu, b.cpu)}
}

func quotient(a, b []time.Duration) float64 { return float64(median(a)) / float64(median(b)) }

func (r ratio) met() bool { return r.wall < r.goal || !r.strict && r.wall == r.goal }

// report is what one benchmark found.
type report struct {
	title  string
	rows   []*contestant
	ratios []ratio
}

func (r report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.title)
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "time\tfastest\tuser+sys\t  \n")
	for _, c := range r.rows {
		fmt.Fprintf(w, "%s\t%s\t%s\t  %s\n", short(median(c.wall)), short(slices.Min(c.wall)), short(median(c.cpu)), c.name)
	}
	fmt.Fprint(w, "ratio\tgoal\tuser+sys\t  \n")
	for _, q := range r.ratios {
		sign, verdict := "<=", "met"
		if q.strict {
			sign = "<"
		}
		if !q.met() {
			verdict = "MISSED"
		}
		fmt.Fprintf(w, "%.2f\t%s %.2f\t%.2f\t  %s: %s\n", q.wall, sign, q.goal, q.cpu, q.what, verdict)
	}
	w.Flush()
	return b.String()
}

// short is a duration with three digits or so.
func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
