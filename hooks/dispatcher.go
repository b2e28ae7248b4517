package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"gitwf/internal/pattern"
)

// plainHooks are git's other hooks whose presence changes nothing. The dispatcher has a script for each that runs the
// original, even if it is created later.
var plainHooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "prepare-commit-msg", "commit-msg", "post-commit",
	"pre-rebase", "post-checkout", "post-rewrite", "pre-auto-gc", "sendemail-validate",
	"p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit",
}

// lazyHooks are hooks whose mere presence costs time or changes git: it runs them for each ref or each index write,
// or behaves differently when they exist (push-to-checkout). They get a script if the original exists, and otherwise a
// symbolic link to the missing original: until it exists git sees no hook.
var lazyHooks = []string{
	"reference-transaction", "post-index-change", "push-to-checkout", "proc-receive",
	"pre-receive", "update", "post-receive", "post-update",
}

// hookName matches hook names, git's and those that other tools start with `git hook run`.
var hookName = pattern.Compile(`^[a-z0-9]+(-[a-z0-9]+)+$`)

// dispatcher writes the dispatcher directory, makes git use it, and removes what another mode left.
func (in *installer) dispatcher(ctx context.Context) error {
	dir := in.at.dispatcher()
	if err := in.moveForeignHooks(dir); err != nil {
		return err
	}
	if _, err := in.makeDir(dir); err != nil {
		return err
	}
	if err := in.writeDispatcher(dir); err != nil {
		return err
	}
	if !in.at.dispatching() {
		if err := in.setHooksPath(ctx, dir); err != nil {
			return err
		}
	}
	for _, own := range in.ownDirs() {
		if err := in.removeSections(own, everySpec()); err != nil {
			return err
		}
	}
	return nil
}

// writeDispatcher writes one script for each hook of the gate, and a pass-through for every other hook.
func (in *installer) writeDispatcher(dir string) error {
	changed := false
	write := func(name, script string) error {
		did, err := ensureHook(filepath.Join(dir, name), []byte(script))
		changed = changed || did
		return err
	}
	for _, s := range in.specs {
		if err := write(s.name, in.render.dispatchScript(s, in.originalHook(s.name))); err != nil {
			return err
		}
	}
	for _, name := range in.passed() {
		if err := write(name, in.render.passScript(in.originalHook(name))); err != nil {
			return err
		}
	}
	for _, name := range lazyHooks {
		did, err := in.linkAhead(dir, name)
		if err != nil {
			return err
		}
		changed = changed || did
	}
	if changed {
		in.report.add(dir, "scripts written; they call the hooks of "+in.at.original+" first")
	}
	return nil
}

// originalHook returns the path of an original as a script writes it. A relative path starts at the directory in which
// git runs hooks, just as git reads a relative core.hooksPath.
func (in *installer) originalHook(name string) string {
	p := path.Join(filepath.ToSlash(in.at.original), name)
	if p == name { // the hooks are at the top of the worktree; the shell would look up a word without a slash on PATH
		return "./" + p
	}
	return p
}

// passed returns the hooks whose script only runs the original.
func (in *installer) passed() []string {
	names := slices.Clone(plainHooks)
	entries, err := os.ReadDir(in.at.originalDir())
	if err != nil {
		return names // the directory may not exist yet
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(in.at.originalDir(), e.Name()))
		if err == nil && info.Mode().IsRegular() && executable(info) && hookName.Get().MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), in.gates)
}

// linkAhead makes the link for a lazy hook that does not exist yet. It makes none where links can't be made, or
// where each worktree has its own original; `git wf hooks install` must then run again once the hook exists.
func (in *installer) linkAhead(dir, name string) (bool, error) {
	link, target := filepath.Join(dir, name), filepath.Join(in.at.original, name)
	if slices.Contains(in.passed(), name) || in.gates(name) {
		return false, nil
	}
	if !filepath.IsAbs(target) {
		// Remove what an earlier run put there when this was still a hook of the gate.
		return os.Remove(link) == nil, nil
	}
	if old, err := os.Readlink(link); err == nil && old == target {
		return false, nil
	}
	if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("prepare hook %s: %w", name, err)
	}
	return os.Symlink(target, link) == nil, nil
}

// moveForeignHooks moves hooks that another tool wrote into the dispatcher directory, where git told it that hooks are,
// to where that tool would have put them without us. It fails if another hook is already there, or if the directory
// does not belong to this repository alone: overwriting would switch a hook off. It does overwrite husky's own files,
// which husky rewrites at every npm install.
func (in *installer) moveForeignHooks(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", dir, err)
	}
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		if ours, err := in.isDispatched(p); err != nil || ours {
			if err != nil {
				return err
			}
			continue
		}
		if !hookName.Get().MatchString(e.Name()) {
			continue
		}
		place := filepath.Join(in.at.originalDir(), e.Name())
		held, taken, err := readHook(place)
		if err != nil {
			return err
		}
		husky := samePath(in.at.originalDir(), filepath.Join(in.at.top, huskyDir))
		own, _, err := readHook(p)
		if err != nil {
			return err
		}
		free := taken == nil || bytes.Equal(held, own) || husky && bytes.HasSuffix(bytes.TrimSpace(held), []byte(`/h"`))
		if !free || !husky && !Within(in.at.common, in.at.originalDir()) {
			return fmt.Errorf("%s was written by another tool: move it to %s, then install again", p, place)
		}
		if _, err := in.makeDir(in.at.originalDir()); err != nil {
			return err
		}
		if err := os.Rename(p, place); err != nil {
			return fmt.Errorf("make room for the dispatcher: %w", err)
		}
		in.report.add(place, "moved here from "+dir)
	}
	return nil
}

// isDispatched reports whether Install made the file or link at p and nobody added to it.
func (in *installer) isDispatched(p string) (bool, error) {
	content, info, err := readHook(p)
	if err != nil || info == nil {
		return false, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return slices.Contains(lazyHooks, filepath.Base(p)), nil
	}
	head := []byte("#!/bin/sh\n" + beginMark + " " + dispatched)
	return bytes.HasPrefix(content, head) && bytes.HasSuffix(content, []byte(endMark+"\n")), nil
}
