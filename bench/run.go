package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

//go:embed plumbing.sh
var plumbing string

const scriptRef = "refs/heads/plumbing"

// benchRun compares git wf run with a shell script that runs the same commands and records the same two commits per
// task, and with make, which runs them and records nothing. All begin with the plan as `git wf plan -f` leaves it.
func benchRun(ctx context.Context, l *lab, z sizes) (report, error) {
	lines := taskLines(z.tasks)
	file := func(name string) string { return filepath.Join(l.dir, name) }
	for path, text := range map[string]string{
		"plumbing.sh": plumbing, "tasks.tsv": scriptFile(lines), "plan.yaml": planFile(lines), "Makefile": makeFile(lines),
	} {
		if err := os.WriteFile(file(path), []byte(text), 0o666); err != nil {
			return report{}, err
		}
	}
	round := 0
	fresh := func(c *contestant, steps ...[]string) *contestant {
		c.before = func(ctx context.Context) (err error) {
			round++
			if c.dir, err = l.plannedRepo(ctx, fmt.Sprintf("run%d", round), file("plan.yaml"), steps...); err != nil {
				return err
			}
			// An ext4 without a journal reuses no freed inode for a minute, and takes longer to find others: the next
			// contestant would pay for what the last one removed.
			select {
			case <-time.After(z.rest):
			case <-ctx.Done():
			}
			return ctx.Err()
		}
		return c
	}
	run := func(jobs int, more string) *contestant {
		n := strconv.Itoa(jobs)
		return &contestant{name: "git wf run --jobs " + n + more, args: []string{l.gitWF, "run", "--quiet", "--jobs", n}}
	}
	script := fresh(&contestant{name: "plumbing.sh", args: []string{"sh", file("plumbing.sh"), scriptRef,
		file("tasks.tsv")}})
	if z.syncScript {
		script.name += ", objects flushed"
		script.env = []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsync",
			"GIT_CONFIG_VALUE_0=loose-object,reference"}
	}
	alone, both := fresh(run(1, "")), fresh(run(2, ""))
	strict := fresh(run(2, ", strict mode"), []string{l.gitWF, "init"})
	mk := fresh(&contestant{name: "make -j2", args: []string{"make", "-s", "-j2", "-f", file("Makefile")}})
	if _, err := exec.LookPath("make"); err != nil {
		mk.absent = true
	}
	rows := []*contestant{alone, both, strict, script, mk}
	if err := l.measure(ctx, z.runs, rows...); err != nil {
		return report{}, err
	}
	for _, ours := range rows[:3] {
		if err := l.sameHistory(ctx, [2]string{ours.dir, script.dir}, z.tasks); err != nil {
			return report{}, err
		}
	}
	return report{
		title: fmt.Sprintf("run: %d tasks of one file, with one check each; rounds: %d", z.tasks, z.runs),
		rows:  rows,
		ratios: []ratio{
			compare("git wf run / the script", 1.0/3, alone, script),
			compare("git wf run --jobs 2 / the script", 0.2, both, script),
			compare("git wf run --jobs 2, strict mode / the script", 0.2, strict, script),
			compare("git wf run --jobs 2 / make -j2", 4, both, mk),
			compare("git wf run --jobs 2, strict mode / make -j2", 4, strict, mk),
		},
	}, nil
}

// plannedRepo returns a repository with the plan, and a branch of the same commits for the script.
func (l *lab) plannedRepo(ctx context.Context, name, yaml string, steps ...[]string) (string, error) {
	dir, err := l.repo(ctx, name, "")
	if err != nil {
		return "", err
	}
	return dir, l.steps(ctx, dir, append(steps,
		[]string{l.gitWF, "plan", "-f", yaml},
		[]string{"git", "update-ref", scriptRef, "refs/workflow/WFS-bench"},
		[]string{"sync"}, // contestants must not pay for the preparation's pending writes
	)...)
}

// sameHistory checks that both sides made equally many commits, and trees with the same paths: a comparison with a
// script that does less, or with an aborted run, says nothing.
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
