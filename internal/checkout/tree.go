package checkout

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/shell"
)

// InTheWayError is something else where a directory is needed.
type InTheWayError struct {
	Path string // from the top of the worktree
	Link bool   // a symbolic link, which may lead anywhere
}

func (e *InTheWayError) Error() string {
	what := "no directory"
	if e.Link {
		what = "a symbolic link; nothing is written through it"
	}
	return fmt.Sprintf("%s is %s", e.Path, what)
}

// Exit returns the command that moves it out of the way.
func (e *InTheWayError) Exit() (int, string) {
	move := "mv " + shell.Word(e.Path) + " " + shell.Word(e.Path+".orig")
	return fault.ExitRefused, move + ", at the top of the working tree, then git wf checkout"
}

// tree is the directory below which files are written. Names in it have slashes.
type tree struct {
	*os.Root
	dir string // as messages call it
}

// openTree opens the directory below the top of a worktree. It creates a missing one, unless look is set: then the tree
// is nil.
func openTree(top, dir string, look bool) (*tree, error) {
	root, err := os.OpenRoot(top)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && look:
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		if err := root.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &InTheWayError{dir, info.Mode()&fs.ModeSymlink != 0}
	}
	below, err := root.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{below, dir}, nil
}

// look is what stands at a name, nil for nothing. It fails if something on the way there is no directory.
func (t *tree) look(name string) (fs.FileInfo, error) {
	if t == nil {
		return nil, nil
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := t.Lstat(filepath.FromSlash(name[:i]))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case !info.IsDir():
			return nil, &InTheWayError{path.Join(t.dir, name[:i]), info.Mode()&fs.ModeSymlink != 0}
		}
	}
	info, err := t.Lstat(filepath.FromSlash(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return info, err
}

// maxRead is the size in bytes of the largest file that can be ours.
const maxRead = 64 << 20

const tempPrefix = ".checkout-"

// sweep removes what killed writers left.
func (t *tree) sweep() error {
	dir, err := t.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, tempPrefix) {
			err = errors.Join(err, t.Remove(name))
		}
	}
	return err
}

const (
	readOnly = 0o444
	writable = 0o644
)

// write replaces what is there with a read-only file, whole or not at all.
func (t *tree) write(name string, data []byte) error {
	if up := path.Dir(name); up != "." {
		if err := t.MkdirAll(filepath.FromSlash(up), 0o777); err != nil {
			return err
		}
	}
	temp := tempPrefix + rand.Text()
	f, err := t.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY, readOnly)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = t.move(temp, name)
	}
	if err != nil {
		_ = t.Remove(temp) // err has the reason
	}
	return err
}

// move renames over what is there. If read-only files can't be replaced, it first makes that file writable.
func (t *tree) move(from, to string) error {
	from, to = filepath.FromSlash(from), filepath.FromSlash(to)
	err := t.Rename(from, to)
	if errors.Is(err, fs.ErrPermission) && t.Chmod(to, writable) == nil {
		err = t.Rename(from, to)
	}
	return err
}

// setAside renames what stands at a name to NAME.orig, or the first free one of NAME.orig-2, NAME.orig-3 and so on.
func (t *tree) setAside(name string) (copied string, err error) {
	for n := 1; ; n++ {
		if copied = name + ".orig"; n > 1 {
			copied += fmt.Sprintf("-%d", n)
		}
		if info, err := t.look(copied); err != nil {
			return "", err
		} else if info == nil {
			break
		}
	}
	if err := t.move(name, copied); err != nil {
		return "", err
	}
	if info, err := t.look(copied); err == nil && info != nil && info.Mode().IsRegular() {
		return copied, t.Chmod(filepath.FromSlash(copied), writable)
	}
	return copied, nil
}

// removeEmpty removes the empty directories above a name.
func (t *tree) removeEmpty(name string) {
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if t.Remove(filepath.FromSlash(up)) != nil { // it is not empty
			return
		}
	}
}
