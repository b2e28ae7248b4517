package chaostest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Point is one place of one step at which something goes wrong.
type Point struct {
	Step string
	N    int // the call
	Fault
}

// Fault is what goes wrong.
type Fault struct {
	Kill  Victim
	Fail  syscall.Errno // the call fails,
	Stays bool          // and so do all that follow: the disk stays full, the file system read-only
	Prune bool          // objects that nothing names yet are removed, as a `git gc --prune=now` does
}

func (f Fault) String() string {
	switch {
	case f.Fail != 0 && f.Stays:
		return f.Fail.Error() + " from then on"
	case f.Fail != 0:
		return f.Fail.Error()
	case f.Prune:
		return "unnamed objects pruned"
	}
	return f.Kill.String() + " killed"
}

func (p Point) String() string { return fmt.Sprintf("%s, call %d: %s", p.Step, p.N, p.Fault) }

// Faults are all that can go wrong at a point.
func Faults() []Fault {
	return []Fault{
		{Kill: Everybody}, {Kill: Program}, {Kill: Caller},
		{Fail: syscall.ENOSPC, Stays: true}, {Fail: syscall.ENOSPC}, {Fail: syscall.EIO}, {Fail: syscall.EROFS, Stays: true},
		{Prune: true},
	}
}

// Applies reports whether a step has to stand the fault. What `git commit` has written and not yet named, a prune takes
// away from git, and git says that one should not do that; our own events stand it.
func (f Fault) Applies(step Step) bool { return !f.Prune || step.Name != "export-commit" }

// hits reports whether the fault is one that such a call can have.
func (f Fault) hits(c *Call) bool {
	switch f.Fail {
	case syscall.ENOSPC:
		return slices.Contains([]string{"open", "write", "truncate", "fallocate", "fsync", "rename", "link", "symlink", "mkdir"}, c.Name)
	case syscall.EROFS:
		return c.Name != "flock" && strings.Contains(c.Paths[len(c.Paths)-1], "/.git/")
	}
	return true
}

// Count carries a step out under observation and returns how many calls of it change files.
func (s *Stages) Count(step string) (int, error) {
	r, err := s.Before[step].Copy()
	if err != nil {
		return 0, err
	}
	defer r.Remove()
	o, err := r.WFTraced(nil, s.Step(step).Args...)
	if err != nil {
		return 0, err
	}
	return len(o.Calls), nil
}

// Visit brings about a fault at one point of a step and judges what follows. It returns the call that was hit, which is
// nil if the step did not come as far: calls of several processes do not come in the same order each time.
func (s *Stages) Visit(ctx context.Context, p Point) (*Call, error) {
	r, err := s.Before[p.Step].Copy()
	if err != nil {
		return nil, err
	}
	defer r.Remove()
	before, err := r.Remember(ctx)
	if err != nil {
		return nil, err
	}
	var hit *Call
	o, err := r.WFTraced(func(c *Call) Fate {
		if c.N < p.N || hit != nil && !p.Stays || !p.hits(c) {
			return Fate{}
		}
		if hit == nil {
			hit = c
		}
		if p.Prune {
			// What the program has locked, a prune does not touch; an error of its own harms nobody.
			_, _ = r.Git(ctx, "prune", "--expire=now")
		}
		return Fate{Kill: p.Kill, Fail: p.Fail}
	}, s.Step(p.Step).Args...)
	fail := func(err error) error { return fmt.Errorf("%s (%v): %w\nbefore that: %s", p, hit, err, o) }
	switch {
	case err != nil:
		return hit, fail(err)
	case hit == nil:
		return nil, nil
	case p.Prune && !slices.Contains(s.Step(p.Step).Exits, o.Exit):
		return hit, fail(errors.New("it failed because objects were pruned"))
	}
	if err := r.Judge(ctx, before, o); err != nil {
		return hit, fail(err)
	}
	if slices.Contains(s.Step(p.Step).Exits, o.Exit) {
		if err := r.released(ctx); err != nil {
			return hit, fail(err)
		}
	}
	if err := r.Later(); err != nil {
		return hit, err
	}
	if err := s.CarryOn(ctx, r); err != nil {
		return hit, fail(err)
	}
	return hit, nil
}
