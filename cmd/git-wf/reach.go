package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// begin makes commands do what their rules say, and count their arguments before they run. above are the words and the
// rule of the command that these are part of.
func (e *env) begin(above string, from rule, commands []*cli.Command) {
	for _, c := range commands {
		name := above + c.Name
		r, ok := rules[name]
		if !ok {
			r = from
		}
		group := len(c.Subcommands) > 0
		counts := !group && !c.SkipFlagParsing && c.Name != "run" // their actions look at the arguments
		c.Before = func(c *cli.Context) error {
			e.json = c.Bool("json")
			e.looks, e.lands = e.looks || r.looks, e.lands || r.lands && !c.Bool("dry-run")
			if counts {
				if err := checkArgs(c); err != nil {
					return err
				}
			}
			if group {
				return checkSubcommand(c) // each of its commands is asked
			}
			if err := checkFlags(c, flagRules[name]); err != nil {
				return err
			}
			return e.admit(c, name, r)
		}
		c.OnUsageError = e.usageError
		e.begin(name+" ", r, c.Subcommands)
	}
}

// warnUnreached says in one line that git does not reach the gate where it was installed, and what fixes it.
func (e *env) warnUnreached(ctx context.Context, store *gitstore.Store) error {
	if !e.looks {
		return nil
	}
	e.looks = false         // once is enough
	store.RemoveDeadLocks() // not in a hook, whose git holds locks itself
	s := e.setup(store)
	if e.lands && !s.Installed() {
		fmt.Fprintln(e.stderr, "warning: git wf is not set up here, so what is not approved may land: git wf init")
	}
	why, err := s.Unreached(ctx)
	if why != "" {
		fmt.Fprintln(e.stderr, plain.Line("warning: git does not reach the gate, so what is not "+
			"approved may land: "+why))
	}
	return err
}
