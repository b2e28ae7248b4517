package prompt

import (
	"errors"
	"io/fs"
)

// Layer is a place for templates. Name is what errors call it: the directory, if a user can edit it.
type Layer struct {
	Name string
	FS   fs.FS
}

// Layers reads each file from the first layer that has it. It searches on only if a file does not exist: an unreadable
// one is an error.
func Layers(layers ...Layer) fs.FS { return layered(layers) }

type layered []Layer

// Open opens the file in the first layer that has it.
func (l layered) Open(name string) (fs.File, error) {
	_, f, err := l.find(name)
	return f, err
}

func (l layered) find(name string) (Layer, fs.File, error) {
	for _, layer := range l {
		f, err := layer.FS.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return layer, f, err
	}
	return Layer{}, nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// place is what errors call the file: with its layer, if there are layers.
func place(files fs.FS, name string) string {
	l, ok := files.(layered)
	if !ok {
		return name
	}
	layer, f, _ := l.find(name)
	if f != nil {
		f.Close()
	}
	if layer.Name == "" {
		return name
	}
	return layer.Name + "/" + name
}
