package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// commitLoop does by hand what landing does: each change is a commit, and its check runs behind it.
const commitLoop = `set -e
i=1
while test $i -le $1; do
	echo "$i" >src/f$i.txt
	git add src/f$i.txt
	git commit -q -m "Change $i"
	sh -c "test -s src/f$i.txt"
	i=$((i + 1))
done
`

// benchLand compares git wf land with a loop of git commit and the checks.
func benchLand(ctx context.Context, l *lab, z sizes) (report, error) {
	made, err := l.approvedChanges(ctx, z.changes)
	if err != nil {
		return report{}, err
	}
	n := strconv.Itoa(z.changes)
	land := &contestant{name: "git wf land", args: []string{l.gitWF, "land"}}
	loop := &contestant{name: "git commit in a loop, with the checks", args: []string{"sh", "-c", commitLoop, "sh", n}}
	round := 0
	for _, c := range []*contestant{land, loop} {
		c.before = func(ctx context.Context) error {
			round++
			c.dir = filepath.Join(l.dir, fmt.Sprintf("land%d", round))
			return l.steps(ctx, l.dir, []string{"cp", "-a", made, c.dir}, []string{"sync"})
		}
	}
	if err := l.measure(ctx, z.landed, land, loop); err != nil {
		return report{}, err
	}
	for _, c := range []*contestant{land, loop} {
		if got, err := l.git(ctx, c.dir, nil, "rev-list", "--count", "main"); err != nil || got != strconv.Itoa(z.changes+1) {
			return report{}, fmt.Errorf("%s: main has %s commits, expected %d: %w", c.name, got, z.changes+1, err)
		}
	}
	return report{
		title: fmt.Sprintf("land: %d approved changes of one file, with one check each; rounds: %d", z.changes, z.landed),
		rows:  []*contestant{land, loop}, ratios: []ratio{compare("git wf land / the loop", 2, land, loop)},
	}, nil
}

// approvedChanges returns a repository with a plan whose changes are approved and have not landed.
func (l *lab) approvedChanges(ctx context.Context, n int) (string, error) {
	dir, err := l.repo(ctx, "changes", importCommit("refs/heads/main")+importFile("src/first.txt", "first\n"))
	if err != nil {
		return "", err
	}
	var plan strings.Builder
	plan.WriteString("title: bench\ntasks:\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&plan, "  - {task_id: IMPL-%d, title: Change %d, description: Change %d., estimated_person_days: 0.5, "+
			"run: 'echo %d >src/f%d.txt', deliverable_spec: {format: change, paths: [src/f%d.txt]}, acceptance_criteria: "+
			"[{id: A1, statement: The file has text., run: test -s src/f%d.txt}]}\n", i, i, i, i, i, i, i)
	}
	file := filepath.Join(l.dir, "changes.yaml")
	if err := os.WriteFile(file, []byte(plan.String()), 0o666); err != nil {
		return "", err
	}
	return dir, l.steps(ctx, dir, []string{"git", "checkout", "-q", "main"}, []string{l.gitWF, "plan", "-f", file},
		[]string{l.gitWF, "trust", "--code"}, []string{l.gitWF, "run", "--quiet", "--jobs", "2"})
}
