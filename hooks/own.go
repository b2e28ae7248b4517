package hooks

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
)

// Own returns the absolute path of the hook of a name that the repository has beside the gate's; "" if it has none.
// What it runs may contain the gate's section.
func Own(ctx context.Context, git Git, name string) (string, error) {
	l, err := inspect(ctx, git)
	if err != nil {
		return "", err
	}
	dir := l.dir
	if l.dispatching() {
		dir = l.originalDir()
	}
	path := filepath.Join(dir, name)
	content, info, err := readHook(path)
	if err != nil || info == nil {
		return "", err
	}
	if info, err = os.Stat(path); err != nil || !info.Mode().IsRegular() || !executable(info) {
		return "", nil // git does not run it either
	}
	s, err := strip(content)
	if err != nil {
		return "", err
	}
	if s.found && len(bytes.TrimSpace(s.rest)) <= len("#!/bin/sh") {
		return "", nil
	}
	return path, nil
}
