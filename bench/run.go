package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed plumbing.sh
var plumbing string

const scriptRef = "refs/heads/plumbing"

// benchRun compares git wf run with a shell script that runs the same commands and records the same two commits a task.
// Both begin with the plan as `git wf plan -f` leaves it.
func benchRun(ctx context.Context, l *lab, z sizes) (report, error) {
	lines := taskLines(z.tasks)
	script, list, yaml := filepath.Join(l.dir, "plumbing.sh"), filepath.Join(l.dir, "tasks.tsv"), filepath.Join(l.dir, "plan.yaml")
	for path, text := range map[string]string{script: plumbing, list: scriptFile(lines), yaml: planFile(lines)} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return report{}, err
		}
	}
	round := 0
	var dirs [2]string
	fresh := func(side int, c *contestant) func(context.Context) error {
		return func(ctx context.Context) (err error) {
			round++
			if dirs[side], err = l.plannedRepo(ctx, fmt.Sprintf("run%d", round), yaml); err == nil {
				c.dir = dirs[side]
			}
			return err
		}
	}
	ours := &contestant{name: fmt.Sprintf("git wf run --jobs %d", z.jobs), args: []string{l.gitWF, "run", "--quiet", "--jobs", strconv.Itoa(z.jobs)}}
	theirs := &contestant{name: "plumbing.sh", args: []string{"sh", script, scriptRef, list}}
	if z.syncScript {
		theirs.name += ", objects flushed"
		theirs.env = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=loose-object,reference"}
	}
	ours.before, theirs.before = fresh(0, ours), fresh(1, theirs)
	if err := l.measure(ctx, z.runs, ours, theirs); err != nil {
		return report{}, err
	}
	if err := l.sameHistory(ctx, dirs, z.tasks); err != nil {
		return report{}, err
	}
	return report{
		title:  fmt.Sprintf("run: %d tasks of one file, with one check each; rounds: %d", z.tasks, z.runs),
		rows:   []*contestant{ours, theirs},
		ratios: []ratio{compare("git wf run / the script", 1.0/3, ours, theirs)},
	}, nil
}

// plannedRepo is a repository with the plan, and a branch of the same commits for the script.
func (l *lab) plannedRepo(ctx context.Context, name, yaml string) (string, error) {
	dir, err := l.repo(ctx, name, "")
	if err != nil {
		return "", err
	}
	return dir, l.steps(ctx, dir,
		[]string{l.gitWF, "plan", "-f", yaml},
		[]string{"git", "update-ref", scriptRef, "refs/workflow/WFS-bench"},
		[]string{"sync"}, // what the preparation left to be written is not the contestants' debt
	)
}

// sameHistory checks that both sides made as many commits, and trees with the same paths: a comparison with a script
// that does less, or with a run that broke off, says nothing.
func (l *lab) sameHistory(ctx context.Context, dirs [2]string, tasks int) error {
	var paths [2]string
	for i, ref := range []string{"refs/workflow/WFS-bench", scriptRef} {
		var err error
		if paths[i], err = l.git(ctx, dirs[i], nil, "ls-tree", "-r", "--name-only", ref); err != nil {
			return err
		}
		count, err := l.git(ctx, dirs[i], nil, "rev-list", "--count", ref, "--grep=^Wf-Task: IMPL-")
		if err != nil {
			return err
		}
		if want := strconv.Itoa(2 * tasks); count != want {
			return fmt.Errorf("%s has %s commits of tasks, expected %s", ref, count, want)
		}
	}
	if paths[0] != paths[1] {
		ours, theirs := strings.Fields(paths[0]), strings.Fields(paths[1])
		for i := range min(len(ours), len(theirs)) {
			if ours[i] != theirs[i] {
				return fmt.Errorf("the trees differ: git wf has %s where the script has %s", ours[i], theirs[i])
			}
		}
		return fmt.Errorf("the trees differ: git wf has %d files, the script %d", len(ours), len(theirs))
	}
	return nil
}
