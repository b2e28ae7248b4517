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
	"plan", "run", "next", "status", "submit", "review", "answer", "retry", "split", "undo", "export", "checkout",
	"policy", "waive",
	"switch", "pause", "resume", "complete", "abandon", "prune",
}

// personal are the commands for people alone: an agent that is working on a task is refused. policy, plan, doctor and
// ui check that themselves.
var personal = []string{
	"run", "split", "undo", "review", "answer", "retry", "trust", "pause", "resume", "complete", "abandon", "waive",
	"prune", "init",
	"install", "uninstall",
}

// begin makes commands check whether git reaches the gate, refuse agents, and count their arguments before they run.
func (e *env) begin(commands []*cli.Command) {
	for _, c := range commands {
		looks, person := slices.Contains(recording, c.Name), slices.Contains(personal, c.Name)
		counts := len(c.Subcommands) == 0 && !c.SkipFlagParsing && c.Name != "run" // their actions look at the arguments
		c.Before = func(c *cli.Context) error {
			e.looks = e.looks || looks
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
	why, err := e.setup(store).Unreached(ctx)
	if why != "" {
		fmt.Fprintln(e.stderr, plain.Line("warning: git does not reach the gate, so what is not approved may land: "+why))
	}
	return err
}
