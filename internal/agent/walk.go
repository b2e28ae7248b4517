package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"gitwf/internal/fault"
)

// Limits of a walk, whatever the plan allows: a deeper or larger tree is a runaway, not a deliverable.
const (
	maxDepth = 100
	maxDirs  = 100000
	readDirs = 256 // entries read at once
)

// walker visits what is below a directory. It opens everything relative to a handle of that directory (os.Root), and a
// directory only if it is still the one that it listed: swapping in a symlink during the walk can't lead us outside,
// and a FIFO can't block us.
type walker struct {
	root  *os.Root
	visit visitor
	dirs  int
}

// visitor gets what lies below a root: its slash path and lstat's result.
type visitor func(root *os.Root, path string, info fs.FileInfo) error

// walk calls visit for everything below out but directories. A missing out is empty; a symlink or a file in
// its place is an error. An error from visit ends the walk and is returned.
func walk(out string, visit visitor) error {
	info, err := os.Lstat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return &CollectError{Path: ".", Rule: RuleType, Want: "the directory that WF_OUT named at the beginning",
			Got: typeName(info)}
	}
	root, err := os.OpenRoot(out)
	if err != nil {
		return unreadable(".", err)
	}
	defer root.Close()
	w := &walker{root: root, visit: visit}
	return w.dir(".", info, 0)
}

func (w *walker) dir(name string, info fs.FileInfo, depth int) error {
	w.dirs++
	if w.dirs > maxDirs {
		return &CollectError{Path: name, Rule: RuleTooMany, Want: fmt.Sprintf("at most %d directories", maxDirs),
			Got: "more"}
	}
	if depth > maxDepth {
		return &CollectError{Path: name, Rule: RuleName, Want: fmt.Sprintf("at most %d directories deep", maxDepth),
			Got: "deeper"}
	}
	// Non-blocking, so that a FIFO in the directory's place can't block us.
	f, err := w.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return unreadable(name, err)
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return unreadable(name, err)
	}
	if !os.SameFile(info, now) {
		return &CollectError{Path: name, Rule: RuleChanged, Want: "nobody writing there any more",
			Got: "another file in its place"}
	}
	for {
		entries, err := f.ReadDir(readDirs)
		for _, e := range entries {
			if err := w.entry(path.Join(name, e.Name()), e, depth); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return unreadable(name, err)
		}
	}
}

func (w *walker) entry(name string, e fs.DirEntry, depth int) error {
	info, err := e.Info()
	if err != nil {
		return unreadable(name, err)
	}
	if info.IsDir() {
		return w.dir(name, info, depth+1)
	}
	return w.visit(w.root, name, info)
}

func unreadable(name string, err error) error {
	why := fault.Reason(err).Error() // the temporary directory's name helps nobody
	return &CollectError{Path: name, Rule: RuleUnreadable, Want: "something that can be read", Got: why}
}

func typeName(info fs.FileInfo) string {
	switch m := info.Mode(); {
	case m.IsRegular():
		return "a file"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}
