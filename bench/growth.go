package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// benchGrowth shows how cost grows: of work on one task and on a whole plan, in plans from a hundred tasks on.
func benchGrowth(ctx context.Context, l *lab, z sizes) (report, error) {
	r := report{title: fmt.Sprintf("growth: plans of up to %d tasks; rounds: %d", z.planTasks, z.scales)}
	names := []string{"git wf plan -f", "git wf status, no cache", "git wf status, cached", "git ls-tree -r",
		"git wf run of one task"}
	r.curves = make([]curve, len(names))
	for i, name := range names {
		r.curves[i].name = name
	}
	var first, last []*contestant
	for _, n := range tasksUpTo(z.planTasks) {
		row, err := l.growthAt(ctx, n, names)
		if err != nil {
			return report{}, err
		}
		if err := l.measure(ctx, z.scales, row...); err != nil {
			return report{}, err
		}
		for i, c := range row {
			r.curves[i].points = append(r.curves[i].points, point{n, median(c.wall)})
		}
		if first == nil {
			first = row
		}
		last = row
		r.rows = append(r.rows, row...)
	}
	for i, name := range names {
		r.ratios = append(r.ratios, compare(name+", the longest plan / the shortest", 0, last[i], first[i]))
	}
	return r, nil
}

// tasksUpTo returns lengths of plans, about half an order of magnitude apart.
func tasksUpTo(most int) []int {
	var all []int
	for n := 100; n < most; n *= 10 {
		all = append(all, n, 3*n)
	}
	all = slices.DeleteFunc(all, func(n int) bool { return n >= most })
	if len(all) == 0 {
		all = []int{max(most/2, 2)}
	}
	return append(all, most)
}

// growthAt prepares the commands to measure on a plan of n tasks: one handed in, one done, and one done except for its
// last task.
func (l *lab) growthAt(ctx context.Context, n int, names []string) ([]*contestant, error) {
	yaml := filepath.Join(l.dir, fmt.Sprintf("growth%d.yaml", n))
	if err := os.WriteFile(yaml, []byte(planFile(graphLines(n))), 0o666); err != nil {
		return nil, err
	}
	done, err := l.longRepo(ctx, fmt.Sprintf("growth%d", n), n, n, 0)
	if err != nil {
		return nil, err
	}
	status := []string{l.gitWF, "status", "--plan", string(longID)}
	made := &contestant{args: []string{l.gitWF, "plan", "-f", yaml}}
	run := &contestant{args: []string{l.gitWF, "run", "--quiet", "--plan", string(longID)}}
	fresh := func(c *contestant, repo func(ctx context.Context, name string) (string, error)) {
		round := 0
		c.before = func(ctx context.Context) (err error) {
			round++
			c.dir, err = repo(ctx, fmt.Sprintf("growth%d-%s-%d", n, c.args[1], round))
			return err
		}
	}
	fresh(made, func(ctx context.Context, name string) (string, error) { return l.repo(ctx, name, "") })
	fresh(run, func(ctx context.Context, name string) (string, error) { return l.longRepo(ctx, name, n, n-1, 1) })
	all := []*contestant{
		made,
		{dir: done, args: status, before: func(context.Context) error {
			return os.RemoveAll(filepath.Join(done, ".git", "wf", "cache"))
		}},
		{dir: done, args: status, before: func(ctx context.Context) error { return l.steps(ctx, done, status) }},
		{dir: done, args: []string{"git", "ls-tree", "-r", longRef}},
		run,
	}
	for i, c := range all {
		c.name = fmt.Sprintf("%s, %d tasks", strings.TrimSpace(names[i]), n)
	}
	return all, nil
}
