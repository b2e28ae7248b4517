package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// keptDir, in a pool, holds what Pool.Kept keeps.
const keptDir = "kept"

// Kept returns the directory for what a key stands for, and whether it is filled. If not, the caller fills it, and says
// so with filled; nobody else does meanwhile. It is good for a week.
func (p *Pool) Kept(ctx context.Context, key string) (dir string, there bool, filled func(bool) error, err error) {
	dir = filepath.Join(p.dir, keptDir, key)
	done := dir + ".done"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", false, nil, err
	}
	entries, _ := os.ReadDir(filepath.Dir(dir))
	for _, e := range entries {
		old, ok := strings.CutSuffix(e.Name(), ".done")
		if info, err := e.Info(); ok && old != key && err == nil && time.Since(info.ModTime()) > unused {
			old = filepath.Join(filepath.Dir(dir), old)
			_ = errors.Join(os.Remove(old+".done"), removeAll(old))
		}
	}
	defer p.store.TellIfSlow("waiting for another run, which prepares " + dir)()
	unlock := gitstore.TryLock(dir)
	for ; unlock == nil; unlock = gitstore.TryLock(dir) {
		if err := gitstore.Pause(ctx, 50*time.Millisecond); err != nil {
			return "", false, nil, err
		}
	}
	// An old one is filled anew, before a system that cleans its temporary files takes some of it.
	if info, err := os.Stat(done); err == nil && time.Since(info.ModTime()) < unused {
		unlock()
		return dir, true, nil, nil
	}
	_ = os.Remove(done)
	if err := errors.Join(removeAll(dir), os.Mkdir(dir, 0o700)); err != nil { // what a killed process left
		unlock()
		return "", false, nil, err
	}
	return dir, false, func(ok bool) error {
		defer unlock()
		if !ok {
			return nil
		}
		return os.WriteFile(done, nil, 0o666)
	}, nil
}

// Keep copies what matches the patterns, which are those of path.Match for paths below the checkout, to a directory.
// The repository must ignore it: else it would be a part of every change.
func (w *Workspace) Keep(ctx context.Context, patterns []string, to string) error {
	for _, pattern := range patterns {
		pattern = path.Clean(strings.Trim(pattern, "/"))
		if pattern == "." || pattern == ".git" || strings.HasPrefix(pattern, ".git/") || !fs.ValidPath(pattern) {
			return fmt.Errorf("%s is no path below the repository", plain.Quote(pattern))
		}
		found, err := fs.Glob(os.DirFS(w.Dir), pattern)
		if err != nil {
			return fmt.Errorf("%s: %w", plain.Quote(pattern), err)
		}
		for _, name := range found {
			out, err := w.git(ctx, w.index, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
				name)
			if err != nil {
				return err
			}
			if files := split(out); len(files) > 0 {
				return fmt.Errorf("%s is not ignored by the repository", plain.Quote(files[0]))
			}
			if err := copyTree(w.Dir, to, filepath.FromSlash(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Restore copies what Keep has copied back, except where something is already.
func (w *Workspace) Restore(from string) error {
	return w.restore(from, ".")
}

func (w *Workspace) restore(from, dir string) error {
	entries, err := os.ReadDir(filepath.Join(from, dir))
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		info, err := os.Lstat(filepath.Join(w.Dir, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = copyTree(from, w.Dir, name)
		case err == nil && info.IsDir() && e.IsDir(): // and no link
			err = w.restore(from, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// copyTree copies a file, a link or a directory, with the directories above it.
func copyTree(from, to, name string) error {
	if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o777); err != nil {
		return err
	}
	return filepath.WalkDir(filepath.Join(from, name), func(source string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, source)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.Mkdir(target, info.Mode().Perm()|0o700)
		case d.Type()&fs.ModeSymlink != 0:
			link, err := os.Readlink(source)
			if err != nil {
				return err
			}
			return os.Symlink(link, target)
		case d.Type().IsRegular():
			return copyFile(source, target, info)
		}
		return nil // no socket or pipe is of use without its process
	})
}

func copyFile(from, to string, info fs.FileInfo) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	// Build tools compare times.
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
