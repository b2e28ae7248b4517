package main

import (
	"github.com/urfave/cli/v2"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

func (e *env) pauseCommand() *cli.Command {
	return &cli.Command{
		Name:      "pause",
		Usage:     "let no work begin in a plan until it is resumed",
		ArgsUsage: "[PLAN]",
		Description: "What is being worked on is finished and recorded. Looking, exporting and verifying go on, and so do the decisions\n" +
			"of people: reviews, answers, waivers.",
		Flags: []cli.Flag{planFlag(), jsonFlag(), messageFlag("why")},
		Action: func(c *cli.Context) error {
			if err := e.inAttempt(); err != nil {
				return err
			}
			return e.withNamedPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
				d, person, err := e.decision(c, store)
				if err != nil {
					return err
				}
				done, err := store.Append(c.Context, snap.ID, plan.Pause{Decision: d, Author: person},
					gitstore.AppendOptions{Now: e.now()})
				if err != nil {
					return err
				}
				return e.sessionOutcome(c, done)
			})
		},
	}
}

func (e *env) resumeCommand() *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "go on with a plan that is paused, or open a completed one again",
		ArgsUsage: "[PLAN]",
		Description: "The plan becomes the active one of this worktree. A completed plan needs a reason (-m): its metrics and lessons stay,\n" +
			"and the next completion adds new ones.",
		Flags: []cli.Flag{planFlag(), jsonFlag(), messageFlag("why; needed for a completed plan")},
		Action: func(c *cli.Context) error {
			if err := e.inAttempt(); err != nil {
				return err
			}
			return e.withNamedPlan(c, func(store *gitstore.Store, snap *gitstore.Snapshot) error {
				d, person, err := e.decision(c, store)
				if err != nil {
					return err
				}
				done, err := store.Append(c.Context, snap.ID, plan.Resume{Decision: d, Author: person},
					gitstore.AppendOptions{Now: e.now()})
				if err != nil {
					return err
				}
				if err := store.SetActive(c.Context, snap.ID); err != nil {
					return err
				}
				return e.sessionOutcome(c, done)
			})
		},
	}
}
