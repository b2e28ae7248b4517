package hooks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Uninstall removes everything that Install installed, in any mode, and returns what it did. Hook files get their old
// bytes and mode back, with the changes that others made outside our section.
func Uninstall(ctx context.Context, o Options) (Report, error) {
	l, err := inspectLayout(ctx, o.Git)
	if err != nil {
		return Report{}, fmt.Errorf("uninstall hooks: %w", err)
	}
	in := installer{git: o.Git, at: l}
	err = in.removeDispatcher(ctx)
	for _, dir := range in.ownDirs() {
		if err == nil {
			err = in.removeSections(dir, everySpec())
		}
	}
	if err != nil {
		return in.report, fmt.Errorf("uninstall hooks: %w", err)
	}
	return in.report, nil
}

// ownDirs returns the directories that may have a section of ours.
func (in *installer) ownDirs() []string {
	dirs := []string{filepath.Join(in.at.common, "hooks")}
	for _, d := range []string{in.at.dir, in.at.originalDir()} {
		if !samePath(d, in.at.dispatcher()) && Within(in.at.common, d) && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// removeSections removes our sections from these hook files of dir and from other tools' copies of them. It removes
// files and the directory that Install made, unless they now hold something else.
func (in *installer) removeSections(dir string, specs []spec) error {
	dirMade := false
	for _, s := range specs {
		for _, name := range append(movedNames(s.name), s.name) {
			made, err := in.removeSection(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			dirMade = dirMade || made == madeDir
		}
	}
	if dirMade {
		removeEmpty(dir)
	}
	return nil
}

// movedNames returns the names under which lefthook and the pre-commit framework keep a hook that they found.
func movedNames(name string) []string { return []string{name + ".old", name + ".legacy"} }

// removeSection removes our section from a file, if it has one, and returns what its begin line said.
func (in *installer) removeSection(path string) (made string, err error) {
	content, info, err := readHook(path)
	if err != nil {
		return "", err
	}
	old, err := stripSection(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if !old.found {
		return "", nil
	}
	if old.made != foundFile && strings.TrimSpace(string(old.rest)) == "#!/bin/sh" {
		if err := os.Remove(path); err != nil {
			return "", fmt.Errorf("remove hook: %w", err)
		}
		in.report.add(path, "removed")
		return old.made, nil
	}
	if err := writeHook(path, old.rest, info.Mode()); err != nil {
		return "", err
	}
	in.report.add(path, "section removed")
	return old.made, nil
}

// removeDispatcher makes git use the original hooks again and removes the dispatcher's files. Files of others stay.
func (in *installer) removeDispatcher(ctx context.Context) error {
	if err := in.removeInclude(ctx); err != nil {
		return err
	}
	dir := in.at.dispatcher()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the dispatcher directory: %w", err)
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		ours, err := in.isDispatched(p)
		if err != nil {
			return err
		}
		if !ours {
			in.report.add(p, "left: it was not written by git wf")
			continue
		}
		if err := os.Remove(p); err != nil {
			return fmt.Errorf("remove hook: %w", err)
		}
	}
	removeEmpty(dir)
	removeEmpty(filepath.Dir(dir))
	in.report.add(dir, "dispatcher removed")
	return nil
}

// removeEmpty removes a directory if it is empty.
func removeEmpty(dir string) {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
		_ = os.Remove(dir)
	}
}
