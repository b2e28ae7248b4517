package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

func (e *env) complete(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	store, id := eng.Store, snap.ID
	active, err := store.Active(c.Context)
	if err == nil && active == id && snap.State().SessionStatus() == plan.SessionCompleted {
		// Whoever completed it was killed.
		return errors.Join(store.ClearActive(c.Context, id),
			e.say(readmodel.HeadOf(snap.State()), "%s: completed", id))
	}
	d, person, err := e.decision(c, store)
	if err != nil {
		return err
	}
	done, doc, err := eng.Complete(c.Context, id, d, person)
	if err != nil {
		return err
	}
	if err := store.ClearActive(c.Context, id); err != nil {
		return fmt.Errorf("%s is completed, but still the active plan here: %w", id, err)
	}
	note := ""
	for _, added := range done.Change.Add {
		if strings.HasPrefix(added.Path, plan.NotesDir+"/") {
			note = added.Path
		}
	}
	return e.print("complete", struct {
		readmodel.Head
		Commit    plan.OID        `json:"commit"`
		Learnings string          `json:"learnings"` // the path of the note in the plan's tree
		Metrics   plan.Metrics    `json:"metrics"`
		Tasks     []plan.TaskCost `json:"tasks"`
		State     *plan.State     `json:"-"`
	}{readmodel.HeadOf(done.Snapshot.State()), done.Commit, note, doc.Metrics, doc.Tasks, done.Snapshot.State()})
}
