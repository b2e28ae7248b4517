package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// recording are the commands that record or land something, or say where that stands. Each looks whether git still
// reaches the gate: other tools set core.hooksPath or write hooks anew, and nobody notices that nothing is judged any
// more.
var recording = []string{
	"plan", "run", "next", "status", "submit", "review", "answer", "retry", "split", "export", "checkout",
	"policy", "waive",
	"switch", "pause", "resume", "complete", "abandon", "prune",
}

// personal are the commands that a person alone may give: an agent at work on a task is refused. policy, plan, doctor
// and ui refuse themselves what changes something.
var personal = []string{
	"run", "split", "review", "answer", "retry", "trust", "pause", "resume", "complete", "abandon", "waive", "prune", "init",
	"install", "uninstall",
}

// begin makes the commands look whether git reaches the gate, and refuse an agent, before they begin.
func (e *env) begin(commands []*cli.Command) {
	for _, c := range commands {
		looks, person := slices.Contains(recording, c.Name), slices.Contains(personal, c.Name)
		c.Before = func(*cli.Context) error {
			e.looks = e.looks || looks
			if person {
				return e.inAttempt()
			}
			return nil
		}
		c.OnUsageError = usageError
		e.begin(c.Subcommands)
	}
}

// sighting is what is known of the gate's hooks in the working tree.
func (e *env) sighting(store *gitstore.Store) hooks.Sighting {
	home := e.getenv("HOME")
	settings := []string{
		filepath.Join(store.CommonDir(), "config"), filepath.Join(store.GitDir(), "config.worktree"),
		cmp.Or(e.getenv("GIT_CONFIG_GLOBAL"), filepath.Join(home, ".gitconfig")),
		filepath.Join(cmp.Or(e.getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config"),
		cmp.Or(e.getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"),
	}
	return hooks.Sighting{File: filepath.Join(store.GitDir(), sightingName), Top: store.WorkTree(), Home: home,
		Settings: settings}
}

const sightingName = "wf-hooks-seen"

// warnUnreached says in one line that git does not reach the gate where it was installed, and what mends it.
func (e *env) warnUnreached(ctx context.Context, store *gitstore.Store) error {
	s := e.sighting(store)
	common := hooks.Sighting{File: filepath.Join(store.CommonDir(), sightingName)}
	if !e.looks || store.WorkTree() == "" || !common.Installed() || s.Stands() {
		return nil
	}
	e.looks = false // once is enough
	o, err := e.hookOptions(ctx, store, false)
	if err != nil {
		return ctx.Err() // the policy can't be read, which the command says itself
	}
	why, err := s.Remember(ctx, o)
	if err != nil && ctx.Err() == nil {
		why = err.Error()
	}
	if why != "" {
		fmt.Fprintln(e.stderr, plan.OneLine("warning: git does not reach the gate, so what is not approved may land: "+why))
	}
	return ctx.Err()
}

// forgetSightings makes no command look any more.
func forgetSightings(store *gitstore.Store) error {
	files, err := filepath.Glob(filepath.Join(store.CommonDir(), "worktrees", "*", sightingName))
	if err != nil {
		return err
	}
	for _, f := range append(files, filepath.Join(store.CommonDir(), sightingName)) {
		if err := os.Remove(f); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
