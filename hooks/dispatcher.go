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
var hookName = pattern.Compile(`^[a-z0-9]+(-[a-z0-9]+)+$`)

// dispatcher writes the dispatcher directory, makes git use it, and takes away what another mode left.
func (in *installer) dispatcher(ctx context.Context) error {
	dir := in.at.dispatcher()
	if err := in.adoptStrangers(dir); err != nil {
		return err
	}
	if _, err := in.makeDir(dir); err != nil {
		return err
	}
	if err := in.writeDispatcher(dir); err != nil {
		return err
	}
	if err := in.pointAnew(ctx, dir); err != nil {
		return err
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
		if err == nil && info.Mode().IsRegular() && executable(info) && hookName.Get().MatchString(e.Name()) {
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

// adoptStrangers moves what another tool put into the dispatcher directory, which is where git told it that hooks are, to where
// it would have put it without us. It fails where another hook is there, or the directory is not this repository's alone: to
// overwrite either would switch it off. husky's own files are no hooks of anybody: it writes them anew at every npm install.
func (in *installer) adoptStrangers(dir string) error {
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
		if !free || !husky && !within(resolve(in.at.common), resolve(in.at.originalDir())) {
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
