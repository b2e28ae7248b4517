package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Install makes git run the gate together with the existing hooks, and returns what it did. A second run changes
// nothing; after an update of git-wf or a change of roots it rewrites its own part. It returns ErrBare or ErrNotBare in
// a repository of the other kind, and a *HooksPathError where it may change core.hooksPath only with Force.
func Install(ctx context.Context, o Options) (Report, error) {
	in, err := newInstaller(ctx, o)
	switch {
	case err != nil:
		return Report{}, fmt.Errorf("install hooks: %w", err)
	case in.at.bare && !o.Server:
		return Report{}, ErrBare
	case !in.at.bare && o.Server:
		return Report{}, ErrNotBare
	}
	if in.report.Mode, err = in.chooseMode(ctx, o.Force); err != nil {
		return Report{}, err
	}
	write := in.sections
	if in.report.Mode == ModeDispatcher {
		write = in.dispatcher
	}
	err = write(ctx)
	if err == nil && in.report.Mode == ModeDispatcher {
		in.at, err = inspectLayout(ctx, in.git) // which has changed
	}
	if err == nil {
		in.report.Hooks, err = in.status()
	}
	if err != nil {
		return in.report, fmt.Errorf("install hooks: %w", err)
	}
	return in.report, nil
}

// newInstaller inspects the repository.
func newInstaller(ctx context.Context, o Options) (*installer, error) {
	roots, err := checkedRoots(o.Roots)
	if err != nil {
		return nil, err
	}
	l, err := inspectLayout(ctx, o.Git)
	if err != nil {
		return nil, err
	}
	specs := clientSpecs(o.Strict)
	if o.Server {
		specs = serverSpecs()
	}
	return &installer{git: o.Git, render: renderer{roots, o.Policy, o.Program}, at: l, specs: specs}, nil
}

// An installer carries out one run of Install or Uninstall.
type installer struct {
	git    Git
	render renderer
	at     layout
	specs  []spec
	report Report
}

// chooseMode picks the mode. It fails if core.hooksPath is not ours to change.
func (in *installer) chooseMode(ctx context.Context, force bool) (Mode, error) {
	l := in.at
	if l.scope == scopeCommand || l.scope == scopeWorktree {
		return "", &HooksPathError{Dir: l.dir, Scope: l.scope}
	}
	if l.dispatching() {
		return ModeDispatcher, nil
	}
	tracked, err := l.tracked(ctx, in.git)
	if err != nil {
		return "", fmt.Errorf("install hooks: %w", err)
	}
	foreign := l.setting != "" && l.scope != scopeLocal
	if (tracked || foreign) && !force {
		return "", &HooksPathError{Dir: l.dir, Scope: l.scope, Tracked: tracked}
	}
	if foreign || !l.ownsHooks() || l.preparesHusky() {
		return ModeDispatcher, nil
	}
	for _, s := range in.specs {
		why, err := in.refusesSection(filepath.Join(l.dir, s.name))
		if err != nil {
			return "", fmt.Errorf("install hooks: %w", err)
		}
		if why != "" {
			in.report.add(filepath.Join(l.dir, s.name), why+": left as it is, called by the dispatcher")
			return ModeDispatcher, nil
		}
	}
	return ModeSection, nil
}

// refusesSection says why the hook at path can't take a section; it is empty if it can, or if there is no hook.
func (in *installer) refusesSection(path string) (string, error) {
	content, info, err := readHook(path)
	if err != nil || info == nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "is a symbolic link or no file", nil
	}
	old, err := stripSection(content)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	if !executable(info) {
		if old.found {
			// Somebody switched our own hook off by its mode. Install must not switch the rest of the file on.
			return "", fmt.Errorf("%s is not executable, so git ignores it: run `chmod +x` on it, or delete it", path)
		}
		return "is not executable, so git ignores it", nil
	}
	return uneditable(old.rest), nil
}

// sections puts the marked section into each hook file, and removes what another mode left.
func (in *installer) sections(ctx context.Context) error {
	made, err := in.makeDir(in.at.dir)
	if err != nil {
		return err
	}
	for _, s := range in.specs {
		if err := in.writeSection(s, made); err != nil {
			return err
		}
		made = false
		for _, name := range movedNames(s.name) {
			if _, err := in.removeSection(filepath.Join(in.at.dir, name)); err != nil {
				return err
			}
		}
	}
	// an earlier run may have installed others
	unwanted := slices.DeleteFunc(everySpec(), func(s spec) bool { return in.gates(s.name) })
	if err := in.removeSections(in.at.dir, unwanted); err != nil {
		return err
	}
	return in.removeDispatcher(ctx)
}

func (in *installer) writeSection(s spec, dirMade bool) error {
	path := filepath.Join(in.at.dir, s.name)
	content, info, err := readHook(path)
	if err != nil {
		return err
	}
	if info == nil {
		made := madeFile
		if dirMade {
			made = madeDir
		}
		in.report.add(path, "made")
		return writeHook(path, insertSection([]byte("#!/bin/sh\n"), in.render.sectionScript(s, made)), runnable)
	}
	old, err := stripSection(content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	made, did := foundFile, "section added at the top; the rest runs first"
	if old.found {
		made, did = old.made, "section brought up to date"
	}
	next := insertSection(old.rest, in.render.sectionScript(s, made))
	if bytes.Equal(next, content) {
		return nil
	}
	in.report.add(path, did)
	return writeHook(path, next, info.Mode())
}

// gates reports whether the gate has its own script for a hook.
func (in *installer) gates(name string) bool {
	return slices.ContainsFunc(in.specs, func(s spec) bool { return s.name == name })
}

// makeDir makes a directory and its missing parents.
func (in *installer) makeDir(dir string) (made bool, err error) {
	_, err = os.Stat(dir)
	if made = errors.Is(err, fs.ErrNotExist); made {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return false, fmt.Errorf("make the hooks directory: %w", err)
	}
	return made, nil
}
