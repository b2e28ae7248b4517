package setup

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"gitwf/hooks"
)

const sightingName = "wf-hooks-seen"

// sighting is what was last seen of the hooks in the worktree.
func (s Setup) sighting() hooks.Sighting {
	home := s.Getenv("HOME")
	settings := []string{
		filepath.Join(s.Store.CommonDir(), "config"), filepath.Join(s.Store.GitDir(), "config.worktree"),
		cmp.Or(s.Getenv("GIT_CONFIG_GLOBAL"), filepath.Join(home, ".gitconfig")),
		filepath.Join(cmp.Or(s.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"),
		cmp.Or(s.Getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"),
	}
	return hooks.Sighting{File: filepath.Join(s.Store.GitDir(), sightingName), Top: s.Store.WorkTree(), Home: home,
		Settings: settings}
}

// commonSighting is what was seen when the hooks were installed, for all worktrees.
func (s Setup) commonSighting() hooks.Sighting {
	common := s.sighting()
	common.File = filepath.Join(s.Store.CommonDir(), sightingName)
	return common
}

// Unreached says why git does not reach the gate although it was installed; "" if git does. Other tools set
// core.hooksPath or write hooks anew, and nobody would notice that nothing is judged any more.
func (s Setup) Unreached(ctx context.Context) (why string, err error) {
	seen := s.sighting()
	if s.Store.WorkTree() == "" || !s.Installed() || seen.Stands() {
		return "", nil
	}
	o, err := s.Options(ctx, false)
	if err != nil {
		return "", ctx.Err() // the policy can't be read, which the command says itself
	}
	all, err := hooks.Status(ctx, o)
	if err == nil {
		why, err = seen.Remember(ctx, o.Git, all)
	}
	if err != nil && ctx.Err() == nil {
		why = err.Error()
	}
	return why, ctx.Err()
}

// Installed reports whether the hooks of this repository were ever installed. A bare repository needs none.
func (s Setup) Installed() bool { return s.Store.WorkTree() == "" || s.commonSighting().Installed() }

// forgetSightings makes no command look any more.
func (s Setup) forgetSightings() error {
	files, err := filepath.Glob(filepath.Join(s.Store.CommonDir(), "worktrees", "*", sightingName))
	if err != nil {
		return err
	}
	for _, f := range append(files, filepath.Join(s.Store.CommonDir(), sightingName)) {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
