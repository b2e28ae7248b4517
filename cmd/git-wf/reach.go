package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// recording are the commands that record or land something, or show its status. Each checks whether git still reaches
// the gate: other tools set core.hooksPath or rewrite hooks, and nobody would notice that nothing is judged any more.
var recording = []string{
	"plan", "add", "do", "run", "next", "status", "submit", "review", "answer", "retry", "rerun", "split", "undo",
	"export", "checkout", "policy", "waive", "land",
	"switch", "pause", "resume", "complete", "abandon", "prune",
}

// landing are the commands that lead to what lands. They say so where the gate was never installed, as in a fresh clone.
var landing = []string{"plan", "run", "export", "land"}

// personal are the commands for people alone: an agent that is working on a task is refused. policy, plan, doctor and
// ui check that themselves.
var personal = []string{
	"do", "add", "run", "split", "undo", "review", "answer", "retry", "rerun", "trust", "pause", "resume", "complete",
	"abandon", "waive", "prune", "init",
	"install", "uninstall",
}

// begin makes commands check whether git reaches the gate, refuse agents, and count their arguments before they run.
func (e *env) begin(commands []*cli.Command) {
	for _, c := range commands {
		looks, person := slices.Contains(recording, c.Name), slices.Contains(personal, c.Name)
		lands := slices.Contains(landing, c.Name)
		counts := len(c.Subcommands) == 0 && !c.SkipFlagParsing && c.Name != "run" // their actions look at the arguments
		c.Before = func(c *cli.Context) error {
			e.looks, e.lands = e.looks || looks, e.lands || lands && !c.Bool("dry-run")
			if person {
				if err := e.inAttempt(); err != nil {
					return err
				}
			}
			if counts {
				return checkArgs(c)
			}
			return nil
		}
		c.OnUsageError = usageError
		e.begin(c.Subcommands)
	}
}

// warnUnreached says in one line that git does not reach the gate where it was installed, and what fixes it.
func (e *env) warnUnreached(ctx context.Context, store *gitstore.Store) error {
	if !e.looks {
		return nil
	}
	e.looks = false // once is enough
	s := e.setup(store)
	if e.lands && !s.Installed() {
		fmt.Fprintln(e.stderr, "warning: git wf is not set up here, so what is not approved may land: git wf init")
	}
	why, err := s.Unreached(ctx)
	if why != "" {
		fmt.Fprintln(e.stderr, plain.Line("warning: git does not reach the gate, so what is not approved may land: "+why))
	}
	return err
}
