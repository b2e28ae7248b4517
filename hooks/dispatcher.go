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
	"regexp"
	"slices"
)

// plainHooks are git's other hooks that may be there and do nothing: for each the dispatcher has a script that runs the
// original, whenever it comes to exist.
func plainHooks() []string {
	return []string{
		"applypatch-msg", "pre-applypatch", "post-applypatch", "prepare-commit-msg", "commit-msg", "post-commit",
		"pre-rebase", "post-checkout", "post-rewrite", "pre-auto-gc", "sendemail-validate",
		"p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit",
	}
}

// telltaleHooks are those whose mere presence is felt: git runs them for each ref or each write of the index, or behaves
// differently when they exist (push-to-checkout). They get a script when the original exists, and else a symbolic link that
// points nowhere until the original comes: git then sees no hook.
func telltaleHooks() []string {
	return []string{
		"reference-transaction", "post-index-change", "push-to-checkout", "proc-receive",
		"pre-receive", "update", "post-receive", "post-update",
	}
}

// hookName matches the names of hooks, git's and those that other tools start with `git hook run`.
var hookName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)

// dispatcher writes the dispatcher directory, makes git use it, and takes away what another mode left.
func (in *installer) dispatcher(ctx context.Context) error {
	dir := in.at.dispatcher()
	if err := in.refuseStrangers(dir); err != nil {
		return err
	}
	if _, err := in.makeDir(dir); err != nil {
		return err
	}
	if err := in.writeDispatcher(dir); err != nil {
		return err
	}
	if !in.at.dispatching() {
		if err := in.point(ctx, dir); err != nil {
			return err
		}
	}
	for _, own := range in.ownDirs() {
		if err := in.removeSections(own, everySpec()); err != nil {
			return err
		}
	}
	return in.removeConfig(ctx)
}

// writeDispatcher writes one script for each hook of the gate, and a way through for each other one.
func (in *installer) writeDispatcher(dir string) error {
	changed := false
	write := func(name, script string) error {
		did, err := ensure(filepath.Join(dir, name), []byte(script))
		changed = changed || did
		return err
	}
	for _, s := range in.specs {
		if err := write(s.name, in.render.dispatch(s, in.originalHook(s.name))); err != nil {
			return err
		}
	}
	for _, name := range in.passed() {
		if err := write(name, in.render.pass(in.originalHook(name))); err != nil {
			return err
		}
	}
	for _, name := range telltaleHooks() {
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

// originalHook returns the path of an original as a script writes it: a relative one is seen from the directory in which git
// starts hooks, which is how git itself reads a relative core.hooksPath.
func (in *installer) originalHook(name string) string {
	p := path.Join(filepath.ToSlash(in.at.original), name)
	if p == name { // the hooks are at the top of the worktree; a word without a slash would be looked up on PATH
		return "./" + p
	}
	return p
}

// passed returns the names of the hooks that get a script that only runs the original.
func (in *installer) passed() []string {
	names := plainHooks()
	entries, err := os.ReadDir(in.at.originalDir())
	if err != nil {
		return names // it need not exist yet
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(in.at.originalDir(), e.Name()))
		if err == nil && info.Mode().IsRegular() && executable(info) && hookName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), in.gates)
}

// linkAhead makes the link for a telltale hook that does not exist yet. Where links can't be made, or the original is another
// one in each worktree, there is none, and `git wf hooks install` has to run again once the hook is there.
func (in *installer) linkAhead(dir, name string) (bool, error) {
	link, target := filepath.Join(dir, name), filepath.Join(in.at.original, name)
	if slices.Contains(in.passed(), name) || in.gates(name) {
		return false, nil
	}
	if !filepath.IsAbs(target) {
		// What an earlier run put there, when the gate still had this hook, must go.
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

// refuseStrangers fails if another tool put a hook into the dispatcher directory, which is where git told it that hooks are.
// To overwrite it would switch it off; to move it is not ours to do.
func (in *installer) refuseStrangers(dir string) error {
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
		if hookName.MatchString(e.Name()) {
			return fmt.Errorf("%s was written by another tool: move it to %s, then install again", p, filepath.Join(in.at.originalDir(), e.Name()))
		}
	}
	return nil
}

// isDispatched says whether Install made the file or link at p, and nobody added to it.
func (in *installer) isDispatched(p string) (bool, error) {
	content, info, err := readHook(p)
	if err != nil || info == nil {
		return false, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		_, err := os.Readlink(p)
		return err == nil && slices.Contains(telltaleHooks(), filepath.Base(p)), nil
	}
	head := []byte("#!/bin/sh\n" + beginMark + " " + dispatched)
	return bytes.HasPrefix(content, head) && bytes.HasSuffix(content, []byte(endMark+"\n")), nil
}

// point makes git take its hooks from dir, and remembers what the setting was. Git may still disagree, when an included
// file sets it again: then all is put back.
func (in *installer) point(ctx context.Context, dir string) error {
	scope := "--" + scopeLocal
	if in.at.scope == scopeWorktree {
		scope = "--" + scopeWorktree
	}
	if in.at.scope == scopeLocal || in.at.scope == scopeWorktree {
		raw, err := in.git(ctx, "config", scope, "--get", hooksPath)
		if err != nil {
			return fmt.Errorf("%s comes from an included file, which overrides the repository's own config: unset it there", hooksPath)
		}
		if err := in.set(ctx, scope, previousPath, raw); err != nil {
			return err
		}
	}
	if err := in.set(ctx, scope, hooksPath, filepath.ToSlash(dir)); err != nil {
		return err
	}
	in.report.add(hooksPath, "set to "+dir)
	now, err := inspect(ctx, in.git)
	if err != nil {
		return err
	}
	if !now.dispatching() {
		return errors.Join(fmt.Errorf("git still takes its hooks from %s", now.dir), in.unpoint(ctx, scope))
	}
	return nil
}

// unpoint gives core.hooksPath back the value that it had.
func (in *installer) unpoint(ctx context.Context, scope string) error {
	raw, err := in.git(ctx, "config", scope, "--get", previousPath)
	if err != nil {
		// There was none before.
		if _, err := in.git(ctx, "config", scope, "--unset", hooksPath); err != nil {
			return fmt.Errorf("unset %s: %w", hooksPath, err)
		}
		in.report.add(hooksPath, "unset")
		return nil
	}
	if err := in.set(ctx, scope, hooksPath, raw); err != nil {
		return err
	}
	in.report.add(hooksPath, "set back to "+raw)
	return in.forgetPrevious(ctx, scope)
}

func (in *installer) forgetPrevious(ctx context.Context, scope string) error {
	if _, err := in.git(ctx, "config", scope, "--get", previousPath); err != nil {
		return nil
	}
	if _, err := in.git(ctx, "config", scope, "--unset", previousPath); err != nil {
		return fmt.Errorf("unset %s: %w", previousPath, err)
	}
	return nil
}
