package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const landPlan = `title: Land
tasks:
  - {task_id: ONE-1, title: One, description: A file., estimated_person_days: 0.5, run: 'mkdir -p src/deep; ln -s README link; echo deep >src/deep/one.txt; head -c 100000 /dev/zero | tr "\0" x >src/big.txt; echo one >src/one.txt; echo more >>README', deliverable_spec: &all {format: change, paths: ['**']}, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/one.txt}]}
  - {task_id: TWO-1, title: Two, description: A file., depends_on: [ONE-1], estimated_person_days: 0.5, run: 'echo two >src/two.txt; rm GONE', deliverable_spec: *all, acceptance_criteria: [{id: A1, statement: It is there., run: test -s src/two.txt}]}
`

// Landing is a repository with two approved changes that are to land, and with work of the user's in it.
type Landing struct{ *Repo }

// NewLanding makes one.
func NewLanding(ctx context.Context, l *Lab) (*Landing, error) {
	r, err := l.NewRepo(ctx)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"GONE": "to go\n", "mine.txt": "before\n", "../land.yaml": landPlan} {
		if err := os.WriteFile(filepath.Join(r.Dir, name), []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"add", "GONE", "mine.txt"}, {"commit", "-q", "-m", "second"}} {
		if _, err := r.Git(ctx, args...); err != nil {
			return nil, err
		}
	}
	for _, args := range [][]string{{"init"}, {"plan", "-f", filepath.Join(r.Dir, "../land.yaml")}, {"trust", "--code"},
		{"run"}} {
		if _, err := r.Must(ctx, args...); err != nil {
			return nil, err
		}
	}
	err = errors.Join(os.WriteFile(filepath.Join(r.Dir, "mine.txt"), []byte("changed\n"), 0o666),
		os.WriteFile(filepath.Join(r.Dir, "staged.txt"), []byte("staged\n"), 0o666),
		os.WriteFile(filepath.Join(r.Dir, ".git", "info", "exclude"), []byte("ignored.txt\n"), 0o666),
		os.WriteFile(filepath.Join(r.Dir, "ignored.txt"), []byte("ignored\n"), 0o666))
	if err == nil {
		_, err = r.Git(ctx, "add", "staged.txt")
	}
	return &Landing{r}, err
}

// Count returns how many calls of a landing change files.
func (l *Landing) Count() (int, error) {
	r, err := l.Copy()
	if err != nil {
		return 0, err
	}
	defer r.Remove()
	o, err := r.WFTraced(nil, "land")
	if err == nil && o.Exit != 0 {
		err = errors.New(o.String())
	}
	if err != nil {
		return 0, err
	}
	return len(o.Calls), nil
}

// Kill kills a landing at a call. The branch must be before or after it, the user's work must be whole, and landing
// again must finish and record it.
func (l *Landing) Kill(ctx context.Context, n int, who Victim) error {
	r, err := l.Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	before, err := r.Git(ctx, "rev-parse", "main")
	if err != nil {
		return err
	}
	var hit *Call
	o, err := r.WFTraced(func(c *Call) Fate {
		if c.N < n || hit != nil {
			return Fate{}
		}
		hit = c
		return Fate{Kill: who}
	}, "land")
	if err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("%s killed at %v: %w\nbefore that: %s", who, hit, err, o) }
	after, err := r.Git(ctx, "log", "--format=%s", before+"..main")
	if err != nil {
		return fail(err)
	}
	if after != "" && after != "Two\nOne" {
		return fail(fmt.Errorf("the branch is between: %q", after))
	}
	if err := errors.Join(r.sound(ctx), l.whole(ctx, r)); err != nil {
		return fail(err)
	}
	if err := r.Later(); err != nil {
		return err
	}
	if err := l.again(ctx, r, before); err != nil {
		return fail(err)
	}
	return nil
}

// FullAt lands on a disk that is full from the call n on: the branch and the files are as before, or all has landed.
// With room again, landing finishes. hit is nil if the landing ended before that call.
func (l *Landing) FullAt(ctx context.Context, n int) (said *Outcome, hit *Call, err error) {
	r, err := l.Copy()
	if err != nil {
		return nil, nil, err
	}
	defer r.Remove()
	before, err := r.Git(ctx, "rev-parse", "main")
	if err != nil {
		return nil, nil, err
	}
	full := Fault{Fail: syscall.ENOSPC}
	said, err = r.WFTraced(func(c *Call) Fate {
		if c.N < n || !full.hits(c) {
			return Fate{}
		}
		if hit == nil {
			hit = c
		}
		return Fate{Fail: full.Fail}
	}, "land")
	if err == nil {
		err = errors.Join(r.sound(ctx), l.whole(ctx, r), l.again(ctx, r, before))
	}
	if err != nil {
		err = fmt.Errorf("full at %v: %w\nbefore that: %s", hit, err, said)
	}
	return said, hit, err
}

// again lands once more, which must finish and record it all.
func (l *Landing) again(ctx context.Context, r *Repo, before string) error {
	if again, err := r.WF(ctx, "land"); err != nil || again.Exit != 0 {
		return fmt.Errorf("landing again: %w\n%s", err, again)
	}
	log, err := r.Git(ctx, "log", "--format=%s", before+"..main")
	if err != nil || log != "Two\nOne" {
		return fmt.Errorf("landed %q: %w", log, err)
	}
	records, err := r.Git(ctx, "ls-tree", "-r", "--name-only", "refs/workflow/WFS-land")
	if err != nil || strings.Count(records, "-landed.json") != 2 {
		return fmt.Errorf("the records are %s: %w", records, err)
	}
	status, err := r.Git(ctx, "status", "--porcelain")
	if err != nil || status != landingStatus {
		return fmt.Errorf("the worktree is %q: %w", status, err)
	}
	return l.whole(ctx, r)
}

// landingStatus is what git status says of the user's work.
const landingStatus = " M mine.txt\nA  staged.txt"

// whole reports what is lost of the user's work.
func (l *Landing) whole(ctx context.Context, r *Repo) error {
	for name, want := range map[string]string{"mine.txt": "changed\n", "staged.txt": "staged\n",
		"ignored.txt": "ignored\n"} {
		if data, err := os.ReadFile(filepath.Join(r.Dir, name)); err != nil || string(data) != want {
			return fmt.Errorf("%s is %q: %w", name, data, err)
		}
	}
	if staged, err := r.Git(ctx, "ls-files", "staged.txt"); err != nil || staged == "" {
		return fmt.Errorf("nothing is staged: %w", err)
	}
	return nil
}
