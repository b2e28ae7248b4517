package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// benchVerify compares git wf verify of a long history with the one git command that finds the commits to judge.
func benchVerify(ctx context.Context, l *lab, z sizes) (report, error) {
	dir, err := l.repo(ctx, "verify", "")
	if err != nil {
		return report{}, err
	}
	bundles, err := l.bundles(ctx, dir, z.landings)
	if err != nil {
		return report{}, err
	}
	if _, err := l.git(ctx, dir, strings.NewReader(history(z.history, bundles)), "fast-import", "--quiet"); err != nil {
		return report{}, err
	}
	if err := l.steps(ctx, dir, []string{"git", "gc", "-q"}); err != nil {
		return report{}, err
	}
	merges, err := l.isHistory(ctx, dir, z)
	if err != nil {
		return report{}, err
	}
	list := &contestant{name: "git log --full-history -m --format=%H " + historyRange + " -- deliverables", dir: dir,
		args: []string{"git", "log", "--full-history", "-m", "--format=%H", historyRange, "--", "deliverables"}}
	ours := &contestant{name: "git wf verify " + historyRange, dir: dir, args: []string{l.gitWF, "verify", historyRange}}
	if err := l.measure(ctx, z.verifies, list, ours); err != nil {
		return report{}, err
	}
	return report{
		title: fmt.Sprintf("verify: %d commits, %d of them merges, of which %d touch deliverables; medians of %d",
			z.history, merges, z.landings, z.verifies),
		rows:   []*contestant{list, ours},
		ratios: []ratio{compare("verify / git log", 2, ours, list)},
	}, nil
}

const (
	historyRef   = "refs/heads/long"
	historyRange = "base..long"
)

// bundles carries out a plan of n tasks, and exports what is approved after each: n trees of deliverables that may
// land.
func (l *lab) bundles(ctx context.Context, dir string, n int) ([]string, error) {
	yaml := filepath.Join(l.dir, "landings.yaml")
	if err := os.WriteFile(yaml, []byte(planFile(pageLines(n*pagesEach, pagesEach))), 0o666); err != nil {
		return nil, err
	}
	if err := l.steps(ctx, dir, []string{l.gitWF, "plan", "-f", yaml}); err != nil {
		return nil, err
	}
	step := []string{l.gitWF, "run", "--quiet", "--step"} // once for the version, once for its review
	var trees []string
	for range n {
		if err := l.steps(ctx, dir, step, step, []string{l.gitWF, "export", "--partial"}); err != nil {
			return nil, err
		}
		tree, err := l.git(ctx, dir, nil, "write-tree", "--prefix=deliverables/")
		if err != nil {
			return nil, err
		}
		trees = append(trees, tree)
	}
	return trees, nil
}

// isHistory checks the imported history: its length, that every landing is judged, and that a fifth are merges.
func (l *lab) isHistory(ctx context.Context, dir string, z sizes) (merges int, err error) {
	count := func(args ...string) int {
		var out string
		if err == nil {
			if out, err = l.git(ctx, dir, nil, append([]string{"rev-list", "--count", historyRange}, args...)...); err == nil {
				n, parseErr := strconv.Atoi(out)
				err = parseErr
				return n
			}
		}
		return 0
	}
	all, landings := count(), count("--no-merges", "--full-history", "--", "deliverables")
	merges = count("--merges")
	switch {
	case err != nil:
	case all != z.history || landings != z.landings || merges != z.history/5:
		err = fmt.Errorf("the history has %d commits, %d merges and %d landings", all, merges, landings)
	default:
		var out string
		out, err = l.output(ctx, dir, nil, l.gitWF, "verify", historyRange)
		if judged := strings.Count(out, " files as approved at "); err == nil && judged != z.landings {
			err = fmt.Errorf("git wf verify judged %d bundles, expected %d:\n%.400s", judged, z.landings, out)
		}
	}
	return merges, err
}

// history returns a branch of n commits on top of refs/heads/base. Of every five, one begins a side branch of two, one
// stays on the main line, and one merges the side branch. The landings are spread over it, every other one on a side
// branch.
func history(n int, landings []string) string {
	var b strings.Builder
	mark := 0
	begin := func(parents ...int) int {
		mark++
		fmt.Fprintf(&b, "commit %s\nmark :%d\ncommitter Ada <ada@example.com> %d +0100\ndata 2\nc\n", historyRef, mark,
			1700000000+mark)
		for i, p := range parents {
			fmt.Fprintf(&b, "%s :%d\n", []string{"from", "merge"}[i], p)
		}
		return mark
	}
	tip := begin()
	for i := range 1000 {
		b.WriteString(importFile(fmt.Sprintf("src/d%02d/e%d/f%d", i%20, i/20%10, i), "first\n"))
	}
	b.WriteString("\nreset refs/heads/base\nfrom :1\n\n")
	edit := func() string {
		return importFile(fmt.Sprintf("src/d%02d/e%d/f%d", mark%20, mark/20%10, mark%1000), fmt.Sprintf("edit %d\n", mark))
	}
	landed := 0
	change := func(i int, onSide bool) string {
		text := edit()
		if landed < len(landings) && i >= landed*(n/5)/len(landings) && (landed%2 == 1) == onSide {
			text += fmt.Sprintf("M 040000 %s deliverables\n", landings[landed])
			landed++
		}
		return text
	}
	for i := range n / 5 {
		main := begin(tip)
		b.WriteString(change(i, false))
		side := begin(main)
		brought := change(i, true)
		b.WriteString(brought)
		side = begin(side)
		last := edit()
		b.WriteString(last)
		main = begin(main)
		b.WriteString(edit())
		tip = begin(main, side)
		b.WriteString(brought + last) // an import does not merge trees by itself
	}
	for range n % 5 {
		tip = begin(tip)
		b.WriteString(edit())
	}
	return b.String()
}
