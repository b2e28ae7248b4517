package chaostest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
)

// Point is one call in one step, and the fault there.
type Point struct {
	Step string
	N    int // the call's number
	Fault
}

// Fault is what goes wrong.
type Fault struct {
	Kill  Victim
	Fail  syscall.Errno // the call fails
	Stays bool          // all later calls fail too: the disk stays full, the file system read-only
	Prune bool          // remove objects that nothing names yet, as `git gc --prune=now` does
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

// Faults returns all that can go wrong at a point.
func Faults() []Fault {
	return []Fault{
		{Kill: Everybody}, {Kill: Program}, {Kill: Caller},
		{Fail: syscall.ENOSPC, Stays: true}, {Fail: syscall.ENOSPC}, {Fail: syscall.EIO}, {Fail: syscall.EROFS, Stays: true},
		{Prune: true},
	}
}

// Applies reports whether a step must survive the fault. A prune removes what `git commit` wrote and has not named yet,
// and git advises against that; our own events survive it.
func (f Fault) Applies(step Step) bool { return !f.Prune || step.Name != "export-commit" }

// hits reports whether a call can have the fault.
func (f Fault) hits(c *Call) bool {
	switch f.Fail {
	case syscall.ENOSPC:
		return slices.Contains([]string{"open", "write", "truncate", "fallocate", "fsync", "rename", "link", "symlink",
			"mkdir"}, c.Name)
	case syscall.EROFS:
		return c.Name != "flock" && strings.Contains(c.Paths[len(c.Paths)-1], "/.git/")
	}
	return true
}

// Count traces a step and returns how many of its calls change files.
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

// Visit injects a fault at one point of a step and judges what follows. It returns the call that was hit, or nil if the
// step ended before it: calls of several processes do not come in the same order each time.
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
			// A prune does not touch what the program has locked; an error of the prune itself does no harm.
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
