package checkout

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
)

// Place is where files are kept up to date. They are written in groups, each with a record of its own.
type Place struct {
	Top    string // absolute path of the worktree
	Dir    string // the directory in it
	Record string // absolute path of the directory with the records: in this worktree's git directory
}

// Options say how to bring a group up to date.
type Options struct {
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
	return p.sync(group, files, o, func(name string) bool { _, stays := files[name]; return !stays })
}

// Drop removes one obsolete file of a group if it still is what we wrote.
func (p Place) Drop(group, name string, o Options) (removed bool, err error) {
	r, err := p.sync(group, nil, o, func(n string) bool { return n == name })
	return len(r.Removed) > 0, err
}

func (p Place) sync(group string, files map[string][]byte, o Options, obsolete func(string) bool) (r Result, err error) {
	if !fs.ValidPath(group) || filepath.Base(group) != group {
		return r, fmt.Errorf("%q is no name of a group", group)
	}
	s := syncing{Place: p, Options: o, group: group, result: &r}
	if s.was, err = p.load(group); err != nil {
		return r, fmt.Errorf("read what was written of %s: %w", group, err)
	}
	if len(files)+len(s.was) == 0 {
		return r, nil
	}
	if s.tree, err = openTree(p.Top, p.Dir, o.Look || len(files) == 0); err != nil {
		return r, err
	}
	if s.tree != nil {
		defer s.tree.Close()
	}
	s.now = maps.Clone(s.was)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		want := files[name]
		if want == nil {
			want = []byte{}
		}
		if err := s.compare(name, want); err != nil {
			return r, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.was)) {
		if obsolete(name) {
			if err := s.compare(name, nil); err != nil {
				return r, err
			}
		}
	}
	return r, s.carryOut()
}

// syncing is one Sync under way.
type syncing struct {
	Place
	Options
	group    string
	tree     *tree
	was, now record
	steps    []step
	result   *Result
}

// step is one file to write, or to remove if data is nil.
type step struct {
	name  string
	data  []byte
	aside bool // keep what is there under another name
}

// compare finds out what to do about a file that should have this content, or should not be there (nil).
func (s *syncing) compare(name string, want []byte) error {
	info, err := s.tree.look(name)
	switch {
	case err != nil:
		return err
	case info == nil && want == nil:
		delete(s.now, name)
		return nil
	case info == nil:
		s.steps = append(s.steps, step{name: name, data: want})
		return nil
	}
	have, what, err := s.content(name, info)
	if err != nil {
		return err
	}
	ours := have != nil && slices.Contains(s.was[name], hashOf(have))
	switch {
	case have != nil && want != nil && bytes.Equal(have, want):
		s.now[name] = []string{hashOf(want)}
		if !s.Look && info.Mode().Perm()&0o222 != 0 {
			return s.tree.Chmod(filepath.FromSlash(name), readOnly)
		}
	case ours, s.Force != nil && s.Force(name, have):
		s.steps = append(s.steps, step{name, want, !ours})
	default:
		s.result.Edited = append(s.result.Edited, Edit{Name: name, Want: want,
			Base: s.written(s.group, name, s.was[name]), Gone: want == nil, Have: have, What: what})
	}
	return nil
}

// content is what a regular file has, or else what stands there.
func (s *syncing) content(name string, info fs.FileInfo) (have []byte, what string, err error) {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return nil, "a directory", nil
	case mode&fs.ModeSymlink != 0:
		return nil, "a symbolic link", nil
	case !mode.IsRegular():
		return nil, "no regular file", nil
	case info.Size() > maxRead:
		return nil, fmt.Sprintf("a file of %d MiB", info.Size()>>20), nil
	}
	have, err = s.tree.ReadFile(filepath.FromSlash(name))
	return have, "", err
}

// carryOut does the steps. Before, the record says what the files will be; afterwards, what they are.
func (s *syncing) carryOut() error {
	if s.Look {
		for _, st := range s.steps {
			s.report(st, "")
		}
		return nil
	}
	if len(s.steps) > 0 {
		if err := s.tree.sweep(); err != nil {
			return err
		}
		for _, st := range s.steps {
			if st.data != nil {
				s.now[st.name] = append(slices.Clip(s.now[st.name]), hashOf(st.data))
			}
		}
		if err := s.save(s.group, s.now); err != nil {
			return err
		}
	}
	var failed error
	for _, st := range s.steps {
		if failed = s.do(st); failed != nil {
			break // record what was done so far all the same
		}
	}
	if len(s.steps) == 0 && maps.EqualFunc(s.was, s.now, slices.Equal) {
		return nil
	}
	return cmp.Or(failed, s.save(s.group, s.now))
}

func (s *syncing) do(st step) (err error) {
	copied := ""
	if st.aside {
		if copied, err = s.tree.setAside(st.name); err != nil {
			return err
		}
	}
	switch {
	case st.data != nil:
		if err := s.tree.write(st.name, st.data); err != nil {
			return err
		}
		s.now[st.name] = []string{hashOf(st.data)}
	case !st.aside:
		if err := s.tree.Remove(filepath.FromSlash(st.name)); err != nil {
			return err
		}
		fallthrough
	default:
		s.tree.removeEmpty(st.name)
		delete(s.now, st.name)
	}
	s.keep(s.group, st.name, st.data)
	s.report(st, copied)
	return nil
}

func (s *syncing) report(st step, copied string) {
	if st.aside {
		s.result.Kept = append(s.result.Kept, Kept{st.name, copied})
	}
	if st.data == nil {
		s.result.Removed = append(s.result.Removed, st.name)
	} else {
		s.result.Written = append(s.result.Written, st.name)
	}
}
