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

// Uninstall takes everything out that Install put in, whatever the mode, and returns what it did. Hook files get back the bytes
// and the mode they had, with the changes that others made outside of our section.
func Uninstall(ctx context.Context, o Options) (Report, error) {
	l, err := inspect(ctx, o.Git)
	if err != nil {
		return Report{}, fmt.Errorf("uninstall hooks: %w", err)
	}
	in := installer{git: o.Git, at: l}
	steps := []func() error{func() error { return in.removeDispatcher(ctx) }, func() error { return in.removeConfig(ctx) }}
	for _, dir := range in.ownDirs() {
		steps = append(steps, func() error { return in.removeSections(dir, everySpec()) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return in.report, fmt.Errorf("uninstall hooks: %w", err)
		}
	}
	return in.report, nil
}

// ownDirs returns the directories in which a section of ours may be.
func (in *installer) ownDirs() []string {
	dirs := []string{filepath.Join(in.at.common, "hooks")}
	for _, d := range []string{in.at.dir, in.at.originalDir()} {
		if !samePath(d, in.at.dispatcher()) && within(resolve(in.at.common), resolve(d)) && !slices.Contains(dirs, d) {
			dirs = append(dirs, d)
		}
	}
	return dirs
}

// removeSections takes our sections out of these hook files of dir, and of what other tools made of them, and removes the
// files and the directory that Install made unless something else is in them now.
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
		return in.removeEmpty(dir)
	}
	return nil
}

// movedNames are the names under which other tools keep a hook that they found: lefthook sets it aside, the pre-commit framework
// runs it before its own.
func movedNames(name string) []string { return []string{name + ".old", name + ".legacy"} }

// removeSection takes our section out of one file, if there is one, and returns what its begin line said.
func (in *installer) removeSection(path string) (made string, err error) {
	content, info, err := readHook(path)
	if err != nil {
		return "", err
	}
	old, err := strip(content)
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

// removeDispatcher makes git use the original hooks again and removes the dispatcher's files. What others put there stays.
func (in *installer) removeDispatcher(ctx context.Context) error {
	for _, scope := range []string{scopeLocal, scopeWorktree} {
		if err := in.removePointer(ctx, scope); err != nil {
			return err
		}
	}
	if err := in.unpoint(ctx); err != nil {
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
	if err := in.removeEmpty(dir); err != nil {
		return err
	}
	in.report.add(dir, "dispatcher removed")
	return in.removeEmpty(filepath.Dir(dir))
}

// removePointer gives core.hooksPath of one scope back its value, if it names the dispatcher there. Somebody may have set it
// to another directory since; that stays.
func (in *installer) removePointer(ctx context.Context, scope string) error {
	if scope == scopeWorktree && in.at.scope != scopeWorktree {
		return nil
	}
	flag := "--" + scope
	now, err := in.git(ctx, "config", flag, "--get", hooksPath)
	if err == nil && samePath(now, in.at.dispatcher()) {
		return in.restore(ctx, flag)
	}
	return in.forgetPrevious(ctx, flag)
}

// removeEmpty removes a directory if nothing is in it.
func (in *installer) removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return nil //nolint:nilerr // it is gone, or others use it
	}
	if err := os.Remove(dir); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}
