package prompt

import (
	"errors"
	"io/fs"
)

// Layer is a place where templates may lie. Name is how errors call it: the directory, for one that a user can edit.
type Layer struct {
	Name string
	FS   fs.FS
}

// Layers is the first layer that has a file, for each file. Only a file that does not exist is looked for further down:
// one that can't be read is an error.
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

// place is how an error calls the file: with the layer that it lies in, where there are layers.
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
