package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gate"
	"gitwf/internal/gitstore"
	"gitwf/internal/policy"
)

// policyProtectCode protects the files that patterns name: only approved changes may alter them.
func (e *env) policyProtectCode(c *cli.Context, store *gitstore.Store) error {
	patterns := c.Args().Slice()
	if len(patterns) == 0 {
		return fault.Usage("git wf policy protect --changes 'src/**'", "expected a pattern of paths, as in .gitignore")
	}
	return e.changePolicy(c, store, "protect "+strings.Join(patterns, " ")+" for changes", func(p *policy.Policy) error {
		next := p.Changes
		next.Paths = slices.Clone(next.Paths)
		wider := false
		for _, pattern := range patterns {
			wider = wider || !slices.Contains(p.Changes.Paths, pattern)
			// the last pattern decides, so one that is named again moves to the end
			next.Paths = append(slices.DeleteFunc(next.Paths, func(s string) bool { return s == pattern }), pattern)
		}
		if c.IsSet("min-score") {
			next.MinScore = c.Int("min-score")
		}
		if c.IsSet("quorum") {
			next.Quorum = c.Int("quorum")
		}
		if c.IsSet("reviewer") {
			next.Reviewers = c.StringSlice("reviewer")
		}
		if p.Changes = next; !wider {
			return nil
		}
		var err error
		p.Changes.Since, err = gate.Before(c.Context, store, next.Since)
		return err
	})
}

// policyRevert says whether an approved change may be taken back.
func (e *env) policyRevert(c *cli.Context, store *gitstore.Store) error {
	word := c.Args().First()
	if c.NArg() != 1 || word != "yes" && word != "no" {
		return usage("expected yes or no")
	}
	return e.changePolicy(c, store, "land.revert "+word, func(p *policy.Policy) error {
		if len(p.Changes.Paths) == 0 {
			return fault.Refused("git wf policy protect --changes 'src/**'", "the policy protects no code")
		}
		p.Changes.NoRevert = word == "no"
		return nil
	})
}
