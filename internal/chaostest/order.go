package chaostest

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Order traces a step and checks for each of its events that nothing names an object before the object is safe: see
// CheckOrder. It returns the number of events checked.
func (s *Stages) Order(ctx context.Context, step string) (events int, err error) {
	r, err := s.Before[step].Copy()
	if err != nil {
		return 0, err
	}
	defer r.Remove()
	before, err := r.Remember(ctx)
	if err != nil {
		return 0, err
	}
	o, err := r.WFTraced(nil, s.Step(step).Args...)
	if err != nil {
		return 0, err
	}
	moves, err := r.moves(ctx, before)
	if err != nil {
		return 0, err
	}
	if err := CheckOrder(o.Calls, moves); err != nil {
		return 0, fmt.Errorf("%s: %w", step, err)
	}
	return len(moves), nil
}

// Move is one move of the plan's ref, and what it brought.
type Move struct {
	Ref     string   // the ref's file
	Objects []string // the files of the objects that the new commit needs and the old one does not
	Ordered bool     // the file system commits its metadata in order
	RefSync bool     // git was told to flush the ref, and supports it
}

// moves returns the moves of the plan's ref since then, oldest first.
func (r *Repo) moves(ctx context.Context, since Before) ([]Move, error) {
	args := []string{"rev-list", "--reverse", planRef}
	if since.tip != "" {
		args = append(args, "^"+since.tip)
	}
	commits, err := r.Git(ctx, args...)
	if err != nil {
		return nil, err
	}
	version, err := r.Git(ctx, "version")
	if err != nil {
		return nil, err
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "git version %d.%d", &major, &minor); err != nil {
		return nil, err
	}
	git := filepath.Join(r.Dir, ".git")
	var moves []Move
	for _, commit := range strings.Fields(commits) {
		out, err := r.Git(ctx, "rev-list", "--objects", "--no-object-names", commit, "--not", commit+"^@")
		if err != nil {
			return nil, err
		}
		m := Move{Ref: filepath.Join(git, planRef), RefSync: major > 2 || minor >= 36}
		m.Ordered = m.RefSync && commitsInOrder(git)
		for _, oid := range strings.Fields(out) {
			m.Objects = append(m.Objects, filepath.Join(git, "objects", oid[:2], oid[2:]))
		}
		moves = append(moves, m)
	}
	return moves, nil
}

// CheckOrder checks a trace. For each move of a ref it finds the call that gave the ref its new value. Before that call
// each of the move's objects needs these steps:
//
//   - its content was flushed after the last write or, on a file system that keeps the order, written out;
//   - only then it got its name;
//   - the name was flushed, with its directory or, on a file system that keeps the order, with the ref's lock
//     file, whose flush there covers everything before it.
//
// A flush of the whole file system after the object got its name will do instead. The ref's lock file must also be
// flushed before it replaces the ref. An object that existed before, which the store only touches, needs the flush as
// well.
func CheckOrder(calls []*Call, moves []Move) error {
	at := 0
	for i, m := range moves {
		end := slices.IndexFunc(calls[at:], func(c *Call) bool {
			return c.Err == 0 && c.Name == "rename" && c.Paths[1] == m.Ref
		})
		if end < 0 {
			return fmt.Errorf("event %d: the trace does not show how %s was moved", i+1, m.Ref)
		}
		end += at
		for _, o := range m.Objects {
			if err := m.checkObject(calls[:end], o); err != nil {
				return fmt.Errorf("event %d: %w", i+1, err)
			}
		}
		lock := m.Ref + ".lock"
		written := last(calls[:end], "write", lock)
		if m.RefSync && last(calls[:end], "fsync", lock) < written {
			return fmt.Errorf("event %d: %s got its value before that was flushed", i+1, m.Ref)
		}
		at = end + 1
	}
	return nil
}

// checkObject checks one object in the calls before the move of the ref.
func (m Move) checkObject(calls []*Call, object string) error {
	named := slices.IndexFunc(calls, func(c *Call) bool {
		return c.Err == 0 && c.Name == "rename" && c.Paths[1] == object
	})
	file, until := object, len(calls)
	if named >= 0 {
		file, until = calls[named].Paths[0], named
	}
	written := last(calls[:until], "write", file)
	if named >= 0 && written < 0 {
		return fmt.Errorf("%s got its name, but was never written", object)
	}
	if lastThat(calls, func(c *Call) bool { return c.Name == "syncfs" }) > max(written, named) {
		return nil
	}
	flushed := last(calls[:until], "fsync", file)
	if m.Ordered {
		flushed = max(flushed, lastThat(calls[:until], func(c *Call) bool {
			return c.Name == "sync_file_range" && c.Waits && c.Paths[0] == file
		}))
	}
	if flushed <= written {
		return fmt.Errorf("%s (%s) was not flushed before %s", object, filepath.Base(file), ending(named))
	}
	switch {
	case m.Ordered && last(calls, "fsync", m.Ref+".lock") < max(flushed, named):
		return fmt.Errorf("%s was not flushed with the ref", object)
	case m.Ordered || named < 0:
		return nil
	}
	if dir := last(calls, "fsync", filepath.Dir(object)); dir < named {
		return fmt.Errorf("the name of %s was not flushed before the ref was moved", object)
	}
	return nil
}

func ending(named int) string {
	if named < 0 {
		return "the ref was moved"
	}
	return "it got its name"
}

// last returns the index of the last successful call with this name on a file, or -1.
func last(calls []*Call, name, file string) int {
	return lastThat(calls, func(c *Call) bool { return c.Name == name && c.Paths[0] == file })
}

func lastThat(calls []*Call, ok func(*Call) bool) int {
	for i := len(calls) - 1; i >= 0; i-- {
		if calls[i].Err == 0 && ok(calls[i]) {
			return i
		}
	}
	return -1
}
