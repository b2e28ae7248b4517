package main

import (
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// onReadable is onPlan for commands that only look: of a damaged plan they show the newest sound commit, and exit
// with 1.
func (e *env) onReadable(read view, f func(*cli.Context, *gitstore.Store, *gitstore.Snapshot) error) cli.ActionFunc {
	return e.onStore(func(c *cli.Context, store *gitstore.Store) error {
		id, err := e.shownPlan(c, store)
		if err != nil {
			return err
		}
		snap, err := read(c, store, id)
		if err == nil {
			return f(c, store, snap)
		}
		sound, ok := soundCommit(err)
		if !ok {
			return err
		}
		if snap, err = store.SnapshotAt(c.Context, id, sound); err != nil {
			return err
		}
		return errors.Join(f(c, store, snap), warnDamaged(id, sound))
	})
}

// shownPlan is planID for the commands that only look: where no plan is active, the one that was.
func (p printer) shownPlan(c *cli.Context, store *gitstore.Store) (plan.ID, error) {
	id, err := planID(c, store)
	if !errors.Is(err, gitstore.ErrNoActive) {
		return id, err
	}
	former, formerErr := store.Former(c.Context)
	if formerErr != nil {
		return "", err
	}
	fmt.Fprintf(p.stderr, "no plan is active; %s was: git wf switch PLAN chooses one\n", former)
	return former, nil
}

// soundCommit is the newest commit at which a damaged plan can be read.
func soundCommit(err error) (plan.OID, bool) {
	var d *gitstore.DamagedError
	if !errors.As(err, &d) || d.Damage.Sound == "" {
		return "", false
	}
	return d.Damage.Sound, true
}

// warnDamaged is the error of a command that could show only a part.
func warnDamaged(id plan.ID, sound plan.OID) error {
	return fault.Refused("git wf doctor",
		"plan %s is damaged; this is what it was at its newest sound commit, %.12s", id, sound)
}

// readLog passes the events of a plan to show, newest first; those of a damaged plan from its newest sound commit.
func readLog(c *cli.Context, store *gitstore.Store, id plan.ID, show func(gitstore.LogEntry) bool) error {
	shown := 0
	tip, err := store.Tip(c.Context, id)
	if err != nil {
		err = fmt.Errorf("log of %s: %w", id, err)
	} else {
		err = store.Log(c.Context, id, tip, func(entry gitstore.LogEntry) bool { shown++; return show(entry) })
	}
	if err = store.Damaged(c.Context, id, err); err == nil {
		return nil
	}
	sound, ok := soundCommit(err)
	if !ok || shown > 0 {
		return err
	}
	return errors.Join(store.Log(c.Context, id, sound, show), warnDamaged(id, sound))
}
