package hooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Scopes of a git setting, as `git config --show-scope` names them.
const (
	scopeLocal    = "local"
	scopeWorktree = "worktree"
	scopeCommand  = "command"
)

// hooksPath is the setting of where git looks for hooks.
const hooksPath = "core.hooksPath"

// A layout says where a repository's hooks are.
type layout struct {
	bare    bool
	common  string // the common git directory, which all linked worktrees share
	top     string // the top of the worktree; empty in a bare repository
	dir     string // where git looks for hooks now, absolute
	setting string // the effective core.hooksPath, with ~ expanded; empty if not set
	scope   string // where that is set
	// The directory of the repository's own hooks, which the dispatcher calls: absolute, or relative to the top of each
	// worktree
	original string
}

// inspectLayout asks git where it looks for hooks.
func inspectLayout(ctx context.Context, git Git) (layout, error) {
	var l layout
	out, err := git(ctx, "rev-parse", "--is-bare-repository", "--path-format=absolute", "--git-common-dir",
		"--git-path", "hooks", "--show-toplevel") // last, where a bare repository has an error
	lines := strings.Split(out, "\n")
	l.bare = lines[0] == "true"
	if err != nil && !l.bare {
		return l, fmt.Errorf("find the hooks directory: %w", err)
	}
	if len(lines) != 4 && (err == nil || len(lines) != 3) {
		return l, errors.New("find the hooks directory: the repository's path has a newline in it")
	}
	l.common, l.dir = lines[1], lines[2]
	if !l.bare {
		l.top = lines[3]
	}
	l.readSettings(ctx, git)
	return l, nil
}

// readSettings finds core.hooksPath, if it is set, and the original directory behind the dispatcher.
func (l *layout) readSettings(ctx context.Context, git Git) {
	l.original = filepath.Join(l.common, "hooks")
	if l.preparesHusky() {
		l.original = huskyDir
	}
	out, err := git(ctx, "config", "--show-scope", "--type=path", "-z", "--get-all", hooksPath)
	if err != nil {
		return
	}
	words := strings.Split(out, "\x00")
	for i := 0; i+1 < len(words); i += 2 {
		if l.scope, l.setting = words[i], words[i+1]; !samePath(l.setting, l.dispatcher()) {
			l.original = l.setting
		}
	}
}

// huskyDir is where husky tells git to look for hooks.
const huskyDir = ".husky/_"

// preparesHusky reports whether husky will set core.hooksPath at the next npm install.
func (l *layout) preparesHusky() bool {
	if info, err := os.Stat(filepath.Join(l.top, ".husky")); l.top == "" || err != nil || !info.IsDir() {
		return false
	}
	manifest, err := os.ReadFile(filepath.Join(l.top, "package.json"))
	return err == nil && bytes.Contains(manifest, []byte(`"husky"`))
}

// dispatcher returns the dispatcher directory, which core.hooksPath names if a hook can't be edited.
func (l layout) dispatcher() string { return filepath.Join(l.common, "wf", "hooks") }

// dispatching reports whether git uses the dispatcher's hooks.
func (l layout) dispatching() bool { return l.setting != "" && samePath(l.setting, l.dispatcher()) }

// originalDir returns the absolute path of the repository's own hooks, as seen from this worktree.
func (l layout) originalDir() string {
	if filepath.IsAbs(l.original) {
		return l.original
	}
	if l.bare {
		return filepath.Join(l.common, l.original)
	}
	return filepath.Join(l.top, l.original)
}

// ownsHooks reports whether the hooks directory belongs to this repository alone and all its worktrees share it.
func (l layout) ownsHooks() bool { return Within(l.common, l.dir) }

// tracked reports whether this repository tracks files in its hooks directory, even behind a symbolic link.
func (l layout) tracked(ctx context.Context, git Git) (bool, error) {
	top, dir := Resolve(l.top), Resolve(l.originalDir())
	if l.top == "" || !Within(top, dir) || Within(l.common, dir) {
		return false, nil
	}
	rel, err := filepath.Rel(top, dir)
	if err != nil {
		return false, fmt.Errorf("find %s in the worktree: %w", dir, err)
	}
	out, err := git(ctx, "ls-files", "-z", "--full-name", "--", ":(top,literal)"+filepath.ToSlash(rel))
	if err != nil {
		return false, fmt.Errorf("list tracked files of %s: %w", dir, err)
	}
	return out != "", nil
}

// Resolve follows the symbolic links of a path whose last parts may not exist.
func Resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(Resolve(parent), filepath.Base(path))
}

// Within reports whether a path is that of a directory or below it, whatever links lead there.
func Within(dir, path string) bool {
	rel, err := filepath.Rel(Resolve(dir), Resolve(path))
	return err == nil && filepath.IsLocal(rel)
}

func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	ia, errA := os.Stat(a)
	ib, errB := os.Stat(b)
	return errA == nil && errB == nil && filepath.IsAbs(a) && os.SameFile(ia, ib)
}
