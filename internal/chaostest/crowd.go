package chaostest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Crowd is a plan that needs only `git wf run`, for many processes at once.
type Crowd struct {
	lab   *Lab
	tasks int
	start *Repo // with the plan, nothing done
	want  Result
}

var madeLine = regexp.MustCompile(`^([A-Z]+-[0-9]+): v[0-9]+ by `)

// crowdPlan returns a plan of n tasks, each depending on the third before it. A task records that it is running, so
// that two workers at one task are detected.
func crowdPlan(n int) string {
	var b strings.Builder
	b.WriteString("title: Chaos\ntop_task: Write many files.\nconfig: {max_attempts: 1000}\nroot_acceptance_criteria: [{id: R1, statement: The files are there.}]\ntasks:\n")
	for i := 1; i <= n; i++ {
		needs, reads := "", ""
		if i > 3 {
			needs, reads = fmt.Sprintf("    depends_on: [MAKE-%d]\n", i-3), fmt.Sprintf(`cat "$WF_IN/MAKE-%d/"*.txt; `, i-3)
		}
		fmt.Fprintf(&b, `  - task_id: MAKE-%[1]d
    title: Number %[1]d
    description: A file with the line %[1]d.
    estimated_person_days: 1
    covers: [R1]
%[2]s    deliverable_spec: {format: txt, filename: number%[1]d.txt}
    run: |
      at="$WF_REPO/.git/at-work/$WF_TASK"
      mkdir "$at" || echo "$WF_TASK" >> "$WF_REPO/.git/twice"
      { %[3]secho %[1]d; } > "$WF_OUT/number%[1]d.txt"
      sleep 0.02
      rmdir "$at"
    acceptance_criteria: [{id: A1, statement: The file has the line %[1]d., run: grep -x %[1]d number%[1]d.txt}]
`, i, needs, reads)
	}
	return b.String()
}

// NewCrowd makes the plan and carries it out once with one process.
func NewCrowd(ctx context.Context, l *Lab, tasks int) (*Crowd, error) {
	c := &Crowd{lab: l, tasks: tasks}
	file := l.file("crowd.yaml")
	if err := os.WriteFile(file, []byte(crowdPlan(tasks)), 0o666); err != nil {
		return nil, err
	}
	var err error
	if c.start, err = l.NewRepo(ctx); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init"}, {"plan", "-f", file}} {
		if _, err := c.start.Must(ctx, args...); err != nil {
			return nil, err
		}
	}
	if err := os.Mkdir(filepath.Join(c.start.Dir, ".git", "at-work"), 0o777); err != nil {
		return nil, err
	}
	r, err := c.start.Copy()
	if err != nil {
		return nil, err
	}
	defer r.Remove()
	for _, args := range [][]string{{"run"}, {"export", "--commit"}} {
		if _, err := r.Must(ctx, args...); err != nil {
			return nil, err
		}
	}
	c.want, err = r.Result(ctx)
	return c, err
}

// Together lets many processes carry the plan out at once during the disturbances. It checks that each process ends
// with 0 and that each task was done once, never by two at a time.
func (c *Crowd) Together(ctx context.Context, processes int, disturb ...Disturbance) error {
	r, err := c.start.Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	before, err := r.Remember(ctx)
	if err != nil {
		return err
	}
	stop, err := r.Disturb(ctx, disturb...)
	if err != nil {
		return err
	}
	said := make([]*Outcome, processes)
	errs := make([]error, processes)
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() { said[i], errs[i] = r.Must(ctx, "run", "--jobs", fmt.Sprint(1+i%2)) })
	}
	wg.Wait()
	if err := errors.Join(append(errs, stop())...); err != nil {
		return err
	}
	if err := r.Judge(ctx, before, said...); err != nil {
		return err
	}
	if data, err := os.ReadFile(filepath.Join(r.Dir, ".git", "twice")); err == nil {
		return fmt.Errorf("two workers were at one task at once: %s", data)
	}
	made, err := r.versions(ctx)
	if err != nil {
		return err
	}
	for i := 1; i <= c.tasks; i++ {
		if task := fmt.Sprintf("MAKE-%d", i); made[task] != 1 {
			return fmt.Errorf("%s was made %d times", task, made[task])
		}
	}
	return c.finish(ctx, r)
}

// Disturbance is a git command that runs repeatedly while others work.
type Disturbance []string

// Maintenance returns git's cleanup commands, and a fetch, which moves refs and brings objects.
func Maintenance() []Disturbance {
	return []Disturbance{
		{"gc", "--quiet", "--prune=now"},
		{"pack-refs", "--all"},
		{"repack", "-a", "-d", "-q"},
		{"fetch", "--quiet", "--prune", "neighbour", "+refs/heads/*:refs/remotes/neighbour/*"},
	}
}

// Disturb starts the disturbances, each in its own loop; stop ends them. If one fails, that is no error of ours: git's
// own commands block each other.
func (r *Repo) Disturb(ctx context.Context, all ...Disturbance) (stop func() error, err error) {
	if len(all) == 0 {
		return func() error { return nil }, nil
	}
	neighbour, err := r.Copy()
	if err != nil {
		return nil, err
	}
	if _, err := r.Git(ctx, "remote", "add", "neighbour", neighbour.Dir); err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for _, d := range all {
		wg.Go(func() {
			for running.Err() == nil {
				// Don't cancel it halfway: a killed git leaves locks, which is another fault.
				_, _ = r.Git(ctx, d...)
				select {
				case <-running.Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		})
	}
	return func() error {
		cancel()
		wg.Wait()
		_, err := r.Git(ctx, "remote", "remove", "neighbour")
		return errors.Join(err, neighbour.Remove())
	}, nil
}

// UnderMaintenance carries the scenario out while git cleans up. After each event git must find the repository intact
// at once.
func (s *Stages) UnderMaintenance(ctx context.Context) error {
	r, err := s.Before["init"].Copy()
	if err != nil {
		return err
	}
	defer r.Remove()
	stop, err := r.Disturb(ctx, Maintenance()...)
	if err != nil {
		return err
	}
	err = s.stepByStep(ctx, r)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	return s.CarryOn(ctx, r)
}

func (s *Stages) stepByStep(ctx context.Context, r *Repo) error {
	for _, step := range s.Lab.Steps() {
		if step.Name == "retry" {
			if err := r.allow(); err != nil {
				return err
			}
		}
		before, err := r.Remember(ctx)
		if err != nil {
			return err
		}
		o, err := r.do(ctx, step)
		// gc may remove what git commit has not referenced yet; git can't undo that. On a loaded machine six times in a row.
		for again := 0; err != nil && step.Name == "export-commit" && again < 30; again++ {
			o, err = r.do(ctx, step)
		}
		if err != nil {
			return err
		}
		if err := errors.Join(r.reachable(ctx), r.kept(ctx, before), r.truthful(ctx, []*Outcome{o})); err != nil {
			return fmt.Errorf("after %s: %w", step.Name, err)
		}
	}
	return nil
}

// reachable reports whether everything the plan's history needs is there. A full fsck would fail on packs that a
// concurrent repack removes.
func (r *Repo) reachable(ctx context.Context) error {
	_, err := r.Git(ctx, "rev-list", "--objects", "--quiet", "--glob=refs/workflow*")
	return err
}
