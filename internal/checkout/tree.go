package checkout

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/shell"
)

// InTheWayError is something that is no directory where one is needed.
type InTheWayError struct {
	Path string // from the top of the working tree
	Link bool   // a symbolic link, which may lead anywhere
}

func (e *InTheWayError) Error() string {
	what := "no directory"
	if e.Link {
		what = "a symbolic link; nothing is written through it"
	}
	return fmt.Sprintf("%s is %s", e.Path, what)
}

// Exit has the command that takes it out of the way.
func (e *InTheWayError) Exit() (int, string) {
	move := "mv " + shell.Word(e.Path) + " " + shell.Word(e.Path+".orig")
	return fault.ExitRefused, move + ", at the top of the working tree, then git wf checkout"
}

// tree is the directory that files are written below. Names in it have slashes.
type tree struct {
	*os.Root
	dir string // as messages call it
}

// openTree opens the directory below the top of a working tree. It is made if there is none, unless it is only looked at:
// then the tree is nil.
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

// look is what stands at a name: nil if nothing does. It fails if something on the way there is no directory.
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

// maxRead is the size in bytes above which a file is nothing that was written here.
const maxRead = 64 << 20

// read returns a regular file's content; ok is false for one that is too large to be one of ours.
func (t *tree) read(name string) (data []byte, ok bool, err error) {
	f, err := t.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, maxRead+1))
	return data, len(data) <= maxRead, err
}

const tempPrefix = ".checkout-"

// sweep removes what writers that were killed have left.
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

// write puts a read-only file in the place of what is there, whole or not at all.
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
		_ = t.Remove(temp) // the reason why is err
	}
	return err
}

// move renames over what is there. Where read-only files can't be replaced, what is there is made writable first.
func (t *tree) move(from, to string) error {
	from, to = filepath.FromSlash(from), filepath.FromSlash(to)
	err := t.Rename(from, to)
	if errors.Is(err, fs.ErrPermission) && t.Chmod(to, writable) == nil {
		err = t.Rename(from, to)
	}
	return err
}

// setAside renames what stands at a name to NAME.orig, or the first of NAME.orig-2, NAME.orig-3 and so on that is free.
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

// removeEmpty removes the directories above a name that have nothing in them any more.
func (t *tree) removeEmpty(name string) {
	for up := path.Dir(name); up != "."; up = path.Dir(up) {
		if t.Remove(filepath.FromSlash(up)) != nil { // it has something in it
			return
		}
	}
}
