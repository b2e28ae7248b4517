package prompt

import (
	"errors"
	"io/fs"
	"sync"
	"text/template"

	"gitwf/internal/contract"
)

// Layer is a place for templates. Name is what errors call it: the directory, if a user can edit it.
type Layer struct {
	Name string
	FS   fs.FS
}

// Layers reads each file from the first layer that has it. It searches on only if a file does not exist: an unreadable
// one is an error. Build parses each of its templates once, and does not see later changes of a file.
func Layers(layers ...Layer) fs.FS {
	return &layered{layers: layers, parsed: map[contract.Role]*template.Template{}}
}

type layered struct {
	layers []Layer
	mu     sync.Mutex
	parsed map[contract.Role]*template.Template
}

// load parses the template of a role, unless that was done.
func (l *layered) load(role contract.Role) (*template.Template, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t := l.parsed[role]; t != nil {
		return t, nil
	}
	t, err := parseTemplate(l, role)
	if err == nil {
		l.parsed[role] = t
	}
	return t, err
}

// Open opens the file in the first layer that has it.
func (l *layered) Open(name string) (fs.File, error) {
	_, f, err := l.find(name)
	return f, err
}

func (l *layered) find(name string) (Layer, fs.File, error) {
	for _, layer := range l.layers {
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
	l, ok := files.(*layered)
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
