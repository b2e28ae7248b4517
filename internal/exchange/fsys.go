package exchange

import (
	"io/fs"
	"strings"
	"testing/fstest" // which has the standard library's file system in memory
)

// Below is a file system that has all of another one below a directory: what lies in it is found under the name that
// the user gave, and systems are recognised by that. Nothing else is in it.
func Below(dir string, fsys fs.FS) fs.FS {
	if dir == "." {
		return fsys
	}
	return below{dir, fsys}
}

type below struct {
	dir  string
	fsys fs.FS
}

func (b below) inner(op, name string) (string, error) {
	if name == b.dir {
		return ".", nil
	}
	if rest, ok := strings.CutPrefix(name, b.dir+"/"); ok && fs.ValidPath(rest) {
		return rest, nil
	}
	return "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
}

func (b below) Open(name string) (fs.File, error) {
	inner, err := b.inner("open", name)
	if err != nil {
		return nil, err
	}
	return b.fsys.Open(inner)
}

func (b below) Stat(name string) (fs.FileInfo, error) {
	inner, err := b.inner("stat", name)
	if err != nil {
		return nil, err
	}
	return fs.Stat(b.fsys, inner)
}

func (b below) ReadDir(name string) ([]fs.DirEntry, error) {
	inner, err := b.inner("readdir", name)
	if err != nil {
		return nil, err
	}
	return fs.ReadDir(b.fsys, inner)
}

// Text is a file system with one file, for what does not come from a disk.
func Text(name string, data []byte) fs.FS { return fstest.MapFS{name: {Data: data}} }
