package checkout

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// Place is where files are kept up to date. They are written in groups, each with a record of its own.
type Place struct {
	Top    string // absolute path of the worktree
	Dir    string // the directory in it
	Record string // absolute path of the directory with the records: in this worktree's git directory
}

// Options say how to bring a group up to date.
type Options struct {
	Now   time.Time
	Force func(name string, have []byte) bool // whether to replace an edited file and keep a copy; nil: none
	Look  bool                                // change nothing, only report
}

// Result is what was done. Names are relative to the directory and have slashes.
type Result struct {
	Written []string
	Removed []string
	Edited  []Edit // left as they are
	Kept    []Kept // edited files that were replaced
}

// Edit is something that stands where a file should, and was not written by us.
type Edit struct {
	Name string
	Want []byte // what the file should have
	Base []byte // what we wrote there, nil for nothing: the edit is the difference from it
	Gone bool   // there should be no such file any more
	Have []byte // nil if it is no regular file, or is too large
	What string // "" for a regular file; else what it is
}

// Kept is an edited file and the name of its copy.
type Kept struct{ Name, Copy string }

// Sync makes the files of a group what they should be: it writes missing and different ones and removes those that are
// obsolete. It leaves and reports edited files. The caller keeps others from syncing at the same time.
func (p Place) Sync(group string, files map[string][]byte, o Options) (Result, error) {
	var r Result
	if !fs.ValidPath(group) || filepath.Base(group) != group {
		return r, fmt.Errorf("%q is no name of a group", group)
	}
	written, err := p.load(group)
	if err != nil {
		return r, fmt.Errorf("read what was written of %s: %w", group, err)
	}
	if len(files)+len(written) == 0 {
		return r, nil
	}
	t, err := openTree(p.Top, p.Dir, o.Look || len(files) == 0)
	if err != nil {
		return r, err
	}
	if t != nil {
		defer t.Close()
	}
	s := syncing{place: p, group: group, tree: t, was: written, now: maps.Clone(written), o: o, result: &r}
	return r, s.run(files)
}

// syncing is one Sync under way.
type syncing struct {
	place    Place
	group    string
	tree     *tree
	was, now record
	o        Options
	result   *Result
}

// step is one file to change.
type step struct {
	name   string
	data   []byte
	remove bool
	aside  bool // keep what is there under another name
}

func (s *syncing) run(files map[string][]byte) error {
	var steps []step
	for _, name := range slices.Sorted(maps.Keys(files)) {
		st, err := s.compare(name, files[name])
		if err != nil {
			return err
		}
		if st != nil {
			steps = append(steps, *st)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.was)) {
		if _, stays := files[name]; stays {
			continue
		}
		st, err := s.obsolete(name)
		if err != nil {
			return err
		}
		if st != nil {
			steps = append(steps, *st)
		}
	}
	if s.o.Look {
		for _, st := range steps {
			s.report(st, "")
		}
		return nil
	}
	return s.carryOut(steps)
}

// carryOut does the steps. Before, the record says what the files will be; afterwards, what they are.
func (s *syncing) carryOut(steps []step) error {
	if len(steps) > 0 {
		if err := s.tree.sweep(); err != nil {
			return err
		}
		for _, st := range steps {
			if !st.remove {
				e := s.now[st.name]
				e.Next, e.Settled = hashOf(st.data), false
				s.now[st.name] = e
			}
		}
		if err := s.place.save(s.group, s.now); err != nil {
			return err
		}
		s.was = maps.Clone(s.now)
	}
	var failed error
	for _, st := range steps {
		if failed = s.do(st); failed != nil {
			break // record what was done so far all the same
		}
	}
	if maps.EqualFunc(s.was, s.now, entry.equal) {
		return failed
	}
	if err := s.place.save(s.group, s.now); err != nil && failed == nil {
		failed = err
	}
	return failed
}

func (e entry) equal(other entry) bool {
	return e.Hash == other.Hash && e.Next == other.Next && e.Size == other.Size && e.Settled == other.Settled &&
		e.Modified.Equal(other.Modified)
}

func (s *syncing) do(st step) error {
	copied := ""
	var err error
	if st.aside {
		if copied, err = s.tree.setAside(st.name); err != nil {
			return err
		}
	}
	switch {
	case st.remove && !st.aside:
		if err := s.tree.Remove(filepath.FromSlash(st.name)); err != nil {
			return err
		}
		fallthrough
	case st.remove:
		s.tree.removeEmpty(st.name)
		delete(s.now, st.name)
		s.place.keep(s.group, st.name, nil)
	default:
		if err := s.tree.write(st.name, st.data); err != nil {
			return err
		}
		info, err := s.tree.look(st.name)
		if err != nil || info == nil {
			return fmt.Errorf("%s is gone again: %w", st.name, err)
		}
		s.now[st.name] = s.entryOf(hashOf(st.data), info)
		s.place.keep(s.group, st.name, st.data)
	}
	s.report(st, copied)
	return nil
}

func (s *syncing) report(st step, copied string) {
	if st.aside {
		s.result.Kept = append(s.result.Kept, Kept{st.name, copied})
	}
	if st.remove {
		s.result.Removed = append(s.result.Removed, st.name)
	} else {
		s.result.Written = append(s.result.Written, st.name)
	}
}

// entryOf is the record of a file that we have just read or written.
func (s *syncing) entryOf(hash string, info fs.FileInfo) entry {
	return entry{Hash: hash, Size: info.Size(), Modified: info.ModTime(), Settled: s.o.Now.Sub(info.ModTime()) > settling}
}

// compare finds out what to do about a file that should be there; nil for nothing.
func (s *syncing) compare(name string, want []byte) (*step, error) {
	info, err := s.tree.look(name)
	if err != nil {
		return nil, err
	}
	if info == nil {
		return &step{name: name, data: want}, nil
	}
	was, known := s.was[name]
	hash := hashOf(want)
	if known && was.Hash == hash && info.Mode().IsRegular() && was.fits(info) {
		return nil, nil
	}
	have, what, err := s.content(name, info)
	switch {
	case err != nil:
		return nil, err
	case what == "" && have != nil && bytes.Equal(have, want):
		s.now[name] = s.entryOf(hash, info)
		if !s.o.Look && info.Mode().Perm()&0o222 != 0 {
			return nil, s.tree.Chmod(filepath.FromSlash(name), readOnly)
		}
		return nil, nil
	case what == "" && have != nil && known && was.wrote(have):
		return &step{name: name, data: want}, nil
	case s.o.Force != nil && s.o.Force(name, have):
		return &step{name: name, data: want, aside: true}, nil
	}
	s.result.Edited = append(s.result.Edited, Edit{Name: name, Want: want,
		Base: s.place.written(s.group, name, s.was[name]), Have: have, What: what})
	return nil, nil
}

// obsolete finds out what to do about a file that we wrote and that should be gone.
func (s *syncing) obsolete(name string) (*step, error) {
	info, err := s.tree.look(name)
	if err != nil {
		return nil, err
	}
	if info == nil {
		delete(s.now, name)
		return nil, nil
	}
	have, what, err := s.content(name, info)
	switch {
	case err != nil:
		return nil, err
	case what == "" && have != nil && s.was[name].wrote(have):
		return &step{name: name, remove: true}, nil
	case s.o.Force != nil && s.o.Force(name, have):
		return &step{name: name, remove: true, aside: true}, nil
	}
	s.result.Edited = append(s.result.Edited, Edit{Name: name, Base: s.place.written(s.group, name, s.was[name]),
		Gone: true, Have: have, What: what})
	return nil, nil
}

// wrote reports whether a content is one that we wrote here.
func (e entry) wrote(have []byte) bool {
	hash := hashOf(have)
	return hash == e.Hash || hash == e.Next
}

// content is what a file has, or what else stands there.
func (s *syncing) content(name string, info fs.FileInfo) (have []byte, what string, err error) {
	switch mode := info.Mode(); {
	case mode.IsRegular():
	case mode.IsDir():
		return nil, "a directory", nil
	case mode&fs.ModeSymlink != 0:
		return nil, "a symbolic link", nil
	default:
		return nil, "no regular file", nil
	}
	if info.Size() > maxRead {
		return nil, fmt.Sprintf("a file of %d MiB", info.Size()>>20), nil
	}
	have, ok, err := s.tree.read(name)
	if err == nil && !ok {
		return nil, "a file that grows", nil
	}
	if have == nil {
		have = []byte{}
	}
	return have, "", err
}

// Drop removes one obsolete file of a group if it still is what we wrote.
func (p Place) Drop(group, name string, o Options) (removed bool, err error) {
	r, err := p.load(group)
	if _, ok := r[name]; err != nil || !ok {
		return false, err
	}
	t, err := openTree(p.Top, p.Dir, true)
	if err != nil || t == nil {
		return false, err
	}
	defer t.Close()
	var result Result
	s := syncing{place: p, group: group, tree: t, was: r, now: maps.Clone(r), o: o, result: &result}
	st, err := s.obsolete(name)
	if err != nil || o.Look {
		return st != nil, err
	}
	var steps []step
	if st != nil {
		steps = append(steps, *st)
	}
	return st != nil, s.carryOut(steps)
}
