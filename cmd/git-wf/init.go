package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/hooks"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/setup"
)

// setup connects the repository to the gate.
func (e *env) setup(store *gitstore.Store) setup.Setup {
	return setup.Setup{Store: store, Program: e.program, Getenv: e.getenv}
}

func (e *env) init(c *cli.Context) error {
	if dir := c.String("server"); dir != "" {
		return e.initServer(c, dir)
	}
	return e.onStore(e.initHere)(c)
}

func (e *env) initHere(c *cli.Context, store *gitstore.Store) error {
	store.RemoveDeadLocks()
	s, on, off := e.setup(store), c.Bool("strict"), c.Bool("no-strict")
	if on || off {
		if err := s.SetStrict(c.Context, on); err != nil {
			return err
		}
	}
	if c.Bool("throwaway") {
		if err := makeThrowaway(c.Context, store); err != nil {
			return err
		}
	}
	changed, err := e.setUp(c, store)
	if err != nil {
		return err
	}
	next, err := e.findPlans(c, store)
	switch {
	case err != nil:
		return err
	case changed:
		fmt.Fprintln(e.stdout, "set up; next: "+next)
	default:
		fmt.Fprintln(e.stdout, "already set up; nothing changed")
	}
	return nil
}

// makeThrowaway makes the repository one for trying things out.
func makeThrowaway(ctx context.Context, store *gitstore.Store) error {
	plans, err := store.Plans(ctx)
	if slices.ContainsFunc(plans, func(p gitstore.PlanRef) bool { return !p.ID.Throwaway() }) {
		return fault.Refused("git init DIR && git -C DIR wf init --throwaway",
			"there is a plan here already, whose approvals count: this is no repository to throw away")
	}
	if err == nil {
		_, err = store.Git(ctx, "config", "--local", gitstore.ThrowawayKey, "true")
	}
	return err
}

// setUp makes the settings and installs the hooks; changed says that there was something to do.
func (e *env) setUp(c *cli.Context, store *gitstore.Store) (changed bool, err error) {
	if store.WorkTree() == "" {
		return false, fault.Usage("", "%w", hooks.ErrBare)
	}
	s := e.setup(store)
	if changed, err = s.Settle(c.Context); err != nil {
		return false, err
	}
	report, err := s.Install(c.Context, c.Bool("force"))
	if changed = changed || len(report.Actions) > 0; changed {
		err = e.printHookActions(report, err)
	}
	return changed, err
}

// initServer sets up the bare repository in a directory.
func (e *env) initServer(c *cli.Context, dir string) error {
	server := *e
	server.dir = e.absolute(dir)
	return server.withStore(c.Context, func(store *gitstore.Store) error {
		return e.printHookActions(e.setup(store).Server(c.Context, c.Bool("force")))
	})
}
