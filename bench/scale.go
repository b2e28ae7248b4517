package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const mostMemory = 300 << 20 // the most bytes a command may take, however long the plan

// benchScale shows how the cost of git wf grows with the plan: to accept one, flat and in levels, and to carry out a
// hundred of its tasks, the first and the last.
func benchScale(ctx context.Context, l *lab, z sizes) (report, error) {
	n := z.planTasks
	few := min(100, n/4)
	plan := func(name, text string) (*contestant, error) {
		yaml := filepath.Join(l.dir, name+".yaml")
		if err := os.WriteFile(yaml, []byte(text), 0o666); err != nil {
			return nil, err
		}
		c := &contestant{name: "git wf plan -f, " + name, args: []string{l.gitWF, "plan", "-f", yaml}}
		round := 0
		c.before = func(ctx context.Context) (err error) {
			round++
			c.dir, err = l.repo(ctx, fmt.Sprintf("%s%d", name, round), "")
			return err
		}
		return c, nil
	}
	var rows []*contestant
	for _, p := range []struct{ name, text string }{
		{fmt.Sprintf("%d tasks", n/10), planFile(graphLines(n / 10))},
		{fmt.Sprintf("%d tasks", n), planFile(graphLines(n))},
		{fmt.Sprintf("%d tasks in five levels", n), levelsFile(taskLines(n))},
	} {
		c, err := plan(p.name, p.text)
		if err != nil {
			return report{}, err
		}
		rows = append(rows, c)
	}
	small, flat, deep := rows[0], rows[1], rows[2]
	run := func(name string, tasks, done int) *contestant {
		c := &contestant{name: "git wf run, " + name, args: []string{l.gitWF, "run", "--quiet", "--plan", string(longID)},
			waits: done+few < tasks}
		round := 0
		c.before = func(ctx context.Context) (err error) {
			round++
			c.dir, err = l.longRepo(ctx, fmt.Sprintf("run-%d-%d-%d", tasks, done, round), tasks, done, few)
			return err
		}
		return c
	}
	alone := run(fmt.Sprintf("all of %d tasks", few), few, 0)
	first := run(fmt.Sprintf("the first %d of %d", few, n), n, 0)
	last := run(fmt.Sprintf("the last %d of %d", few, n), n, n-few)
	rows = append(rows, alone, first, last)
	if err := l.measure(ctx, z.scales, rows...); err != nil {
		return report{}, err
	}
	decision := differences(alone.wall, first.wall)
	for i := range decision {
		decision[i] /= time.Duration(2 * few) // each task has two events, with a decision before each
	}
	return report{
		title: fmt.Sprintf("scale: plans of up to %d tasks; rounds: %d", n, z.scales),
		rows:  rows,
		ratios: []ratio{
			compare("plan -f, ten times the tasks", 0, flat, small),
			within("plan -f / 4 s", median(flat.wall), 4*time.Second),
			within("plan -f, five levels / 4 s", median(deep.wall), 4*time.Second),
			within("memory of the largest step / 300 MB", max(flat.memory, deep.memory, last.memory), mostMemory),
			within("what a decision takes more in the long plan / 5 ms", median(decision),
				5*time.Millisecond),
			compare("run, the last tasks of the long plan / the first", 1.3, last, first),
		},
	}, nil
}

// longRepo makes a repository with a plan: the first tasks are done, the next few are ready, and the others wait for a
// file that nobody hands in.
func (l *lab) longRepo(ctx context.Context, name string, tasks, done, ready int) (string, error) {
	dir, err := l.repo(ctx, name, "")
	if err != nil {
		return "", err
	}
	stream, err := longPlan(tasks, done, ready)
	if err != nil {
		return "", err
	}
	if _, err := l.git(ctx, dir, strings.NewReader(stream), "fast-import", "--quiet"); err != nil {
		return "", err
	}
	return dir, l.steps(ctx, dir,
		[]string{"git", "gc", "-q"},
		[]string{l.gitWF, "trust", "--yes", "--plan", string(longID)},
		[]string{l.gitWF, "status", "--plan", string(longID)}, // it leaves its cache
	)
}

// levelsFile returns the same plan with the tasks below three levels of goals, ten in each.
func levelsFile(lines []taskLine) string {
	var b strings.Builder
	b.WriteString(planHead(len(lines)))
	goals := 0
	var level func(depth int, lines []taskLine)
	level = func(depth int, lines []taskLine) {
		indent := strings.Repeat("    ", depth)
		if depth == 3 {
			for _, l := range lines {
				b.WriteString(indent + strings.ReplaceAll(strings.TrimSuffix(l.yaml(), "\n"), "\n", "\n"+indent) + "\n")
			}
			return
		}
		for part := range slices.Chunk(lines, (len(lines)+9)/10) {
			goals++
			fmt.Fprintf(&b, "%s  - task_id: PART-%d\n%s    title: Part %d\n%s    tasks:\n", indent, goals, indent, goals, indent)
			level(depth+1, part)
		}
	}
	level(0, lines)
	return b.String()
}
