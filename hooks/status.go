package hooks

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// HookStatus says whether git runs the gate in one hook.
type HookStatus struct {
	Name   string `json:"name"`   // git's name of the hook
	Mode   Mode   `json:"mode"`   // how it is installed; empty if it is not
	Path   string `json:"path"`   // the file where git looks
	Active bool   `json:"active"` // git runs the gate
	Reason string `json:"reason"` // why not or, if active, why Install should run again; empty if all is well
}

// Status returns the state of each hook of the gate, by files and settings alone; Probe proves it.
func Status(ctx context.Context, o Options) ([]HookStatus, error) {
	in, err := newInstaller(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("look at the hooks: %w", err)
	}
	return in.status()
}

func (in *installer) status() ([]HookStatus, error) {
	var out []HookStatus
	for _, s := range in.specs {
		st, err := in.fileStatus(s)
		if err != nil {
			return nil, fmt.Errorf("look at the hooks: %w", err)
		}
		out = append(out, st)
	}
	return out, nil
}

const (
	outdated     = "is not what this git-wf writes for these roots: run `git wf hooks install`"
	notInstalled = "not installed: run `git wf hooks install`"
)

// fileStatus inspects the file that git would run.
func (in *installer) fileStatus(s spec) (HookStatus, error) {
	st := HookStatus{Name: s.name, Path: filepath.Join(in.at.dir, s.name)}
	content, info, err := readHook(st.Path)
	if err != nil {
		return st, err
	}
	want, mode := in.expected(s, content)
	switch {
	case info == nil || !bytes.Contains(content, []byte(beginMark)):
		st.Reason, err = in.whyAbsent(s, info != nil)
		return st, err
	case !executable(info):
		st.Mode, st.Reason = mode, "not executable, so git ignores it: run `chmod +x` on it"
	case !bytes.Equal(content, want):
		st.Mode, st.Active, st.Reason = mode, true, outdated
	default:
		st.Mode, st.Active = mode, true
	}
	return st, nil
}

// expected returns what Install would make of a hook file, and the file's mode.
func (in *installer) expected(s spec, content []byte) ([]byte, Mode) {
	if in.at.dispatching() {
		return []byte(in.render.dispatchScript(s, in.originalHook(s.name))), ModeDispatcher
	}
	old, err := stripSection(content)
	if err != nil {
		return nil, ModeSection
	}
	return insertSection(old.rest, in.render.sectionScript(s, old.made)), ModeSection
}

// whyAbsent says why git finds no gate where it looks.
func (in *installer) whyAbsent(s spec, other bool) (string, error) {
	for _, dir := range append(in.ownDirs(), in.at.dispatcher()) {
		if samePath(dir, in.at.dir) {
			continue
		}
		content, info, err := readHook(filepath.Join(dir, s.name))
		if err != nil {
			return "", err
		}
		if info != nil && bytes.Contains(content, []byte(beginMark)) {
			return fmt.Sprintf("core.hooksPath makes git look in %s, but the gate is in %s: run `git wf hooks install`",
				in.at.dir, dir), nil
		}
	}
	if other {
		return "there is a hook, but no gate in it, as when another tool has written it anew: run `git " +
			"wf hooks install`", nil
	}
	return notInstalled, nil
}

// Own returns the absolute path of the repository's own hook of a name, "" if there is none. The file
// may also contain the gate's section.
func Own(ctx context.Context, git Git, name string) (string, error) {
	l, err := inspectLayout(ctx, git)
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
	s, err := stripSection(content)
	if err != nil {
		return "", err
	}
	if s.found && len(bytes.TrimSpace(s.rest)) <= len("#!/bin/sh") {
		return "", nil
	}
	return path, nil
}
