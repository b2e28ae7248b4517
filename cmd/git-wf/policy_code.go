package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/policy"
)

// policyProtectCode protects the files that patterns name: only approved changes may alter them.
func (e *env) policyProtectCode(c *cli.Context, store *gitstore.Store) error {
	patterns := c.Args().Slice()
	subject := "protect " + strings.Join(patterns, " ") + " for changes"
	return e.beginEra(c, store, subject, func(next *policy.Changes) error {
		next.Paths = slices.Clone(next.Paths)
		for _, pattern := range patterns {
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
		return nil
	})
}

// policyUnprotectCode removes patterns. Without an exception more is protected than before.
func (e *env) policyUnprotectCode(c *cli.Context, store *gitstore.Store) error {
	names := c.Args().Slice()
	return e.beginEra(c, store, "unprotect "+strings.Join(names, " "), func(next *policy.Changes) error {
		next.Paths = slices.Clone(next.Paths)
		for _, name := range names {
			i := slices.Index(next.Paths, name)
			if i < 0 {
				return notProtected(name)
			}
			next.Paths = slices.Delete(next.Paths, i, i+1)
		}
		return nil
	})
}

func notProtected(name string) error {
	return fault.Usage("git wf policy show", "%s is not protected", plain.Line(name))
}

// policySince exempts the history of the named branches so far.
func (e *env) policySince(c *cli.Context, store *gitstore.Store) error {
	return e.beginEra(c, store, "judge code from now on", func(next *policy.Changes) error {
		if len(next.Paths) == 0 {
			return errNoCode
		}
		next.Since = nil
		return nil
	})
}

var errNoCode = fault.Refused("git wf policy protect --changes 'src/**'", "the policy protects no code")

// beginEra changes what the policy says of code. If other patterns hold from now on, it records the tips of the named
// branches, and prints what that exempts where they protect more.
func (e *env) beginEra(c *cli.Context, store *gitstore.Store, subject string, edit func(*policy.Changes) error) error {
	var tips []gitstore.Tip
	var next policy.Changes
	err := e.changePolicy(c, store, subject, func(p *policy.Policy) (err error) {
		if next = p.Changes; len(next.Paths) > 0 {
			next.Since = next.Eras()
		}
		if err := edit(&next); err != nil {
			return err
		}
		if next.Branches, err = namedBranches(c, store, next.Branches); err != nil {
			return err
		}
		if len(next.Paths) == 0 {
			p.Changes = policy.Changes{}
			return nil
		}
		tips = nil
		if eras := next.Eras(); len(eras) > len(next.Since) {
			if tips, err = store.NamedTips(c.Context, next); err != nil {
				return err
			}
			for _, tip := range tips {
				era := &eras[len(eras)-1]
				era.Commits = append(era.Commits, tip.Commit)
			}
			next.Since = eras
		}
		p.Changes = next
		return nil
	})
	for _, tip := range tips {
		if err == nil {
			fmt.Fprintln(e.stdout, plain.Line(fmt.Sprintf("not judged where the protection is new: %s %.7s %q, %s",
				tip.Branch, tip.Commit, tip.Subject, plain.Count(tip.History, "commit"))))
		}
	}
	return err
}

// namedBranches adds those that the user names. Without any it is where changes land, and what is checked out.
func namedBranches(c *cli.Context, store *gitstore.Store, named []string) ([]string, error) {
	all := slices.Concat(named, c.StringSlice("branch"))
	if len(named) == 0 {
		trunk, _, err := store.Trunk(c.Context)
		if err != nil {
			return nil, err
		}
		head, _ := store.Git(c.Context, "symbolic-ref", "--quiet", "--short", "HEAD") // fails where HEAD is detached
		all = append(slices.DeleteFunc([]string{trunk, head}, func(name string) bool {
			return name == "" || strings.HasPrefix(name, policy.WorkBranches)
		}), all...)
	}
	return slices.Compact(all), nil
}

// policyRevert says whether an approved change may be taken back.
func (e *env) policyRevert(c *cli.Context, store *gitstore.Store) error {
	word := c.Args().First()
	if word != "yes" && word != "no" {
		return usage("expected yes or no")
	}
	return e.changePolicy(c, store, "land.revert "+word, func(p *policy.Policy) error {
		if len(p.Changes.Paths) == 0 {
			return errNoCode
		}
		p.Changes.NoRevert = word == "no"
		return nil
	})
}
