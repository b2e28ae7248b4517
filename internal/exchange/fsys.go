package exchange

import (
	"bytes"
	"io/fs"
	"path"
	"strings"
	"time"
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
func Text(name string, data []byte) fs.FS { return text{name, data} }

type text struct {
	name string
	data []byte
}

func (t text) Open(name string) (fs.File, error) {
	if name != t.name {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openText{bytes.NewReader(t.data), t}, nil
}

type openText struct {
	*bytes.Reader
	text
}

func (o *openText) Close() error               { return nil }
func (o *openText) Stat() (fs.FileInfo, error) { return textInfo{o.text}, nil }

type textInfo struct{ text }

func (i textInfo) Name() string     { return path.Base(i.name) }
func (i textInfo) Size() int64      { return int64(len(i.data)) }
func (textInfo) Mode() fs.FileMode  { return 0o444 }
func (textInfo) ModTime() time.Time { return time.Time{} }
func (textInfo) IsDir() bool        { return false }
func (textInfo) Sys() any           { return nil }
