package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
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
	return e.out(struct {
		readmodel.Head
		Commit    plan.OID        `json:"commit"`
		Learnings string          `json:"learnings"` // the path of the note in the plan's tree
		Metrics   plan.Metrics    `json:"metrics"`
		Tasks     []plan.TaskCost `json:"tasks"`
	}{readmodel.HeadOf(done.Snapshot.State()), done.Commit, note, doc.Metrics, doc.Tasks}, func(w io.Writer) {
		m := doc.Metrics
		fmt.Fprintf(w, "%s: completed\n", id)
		fmt.Fprintf(w, "  %s, %d approved, %d abandoned\n", plain.Count(m.Tasks, "task"), m.Approved, m.Abandoned)
		fmt.Fprintf(w, "  %s in %s, %s, %d attempts in vain\n", plain.Count(m.Versions, "version"),
			plain.Count(m.Rounds, "round"), plain.Count(m.Rejections, "rejection"), m.Attempts)
		fmt.Fprintf(w, "  %s from the first event to the last, %s in review\n",
			time.Duration(m.WallSeconds)*time.Second, time.Duration(m.ReviewSeconds)*time.Second)
		if m.InputTokens+m.OutputTokens > 0 {
			fmt.Fprintf(w, "  %d tokens in, %d out, %s\n", m.InputTokens, m.OutputTokens, dollars(m.CostUSD))
		}
		fmt.Fprintf(w, "lessons: git show workflow/%s:%s\n", id, note)
		if _, _, open := export.Kinds(done.Snapshot.State()); len(open) > 0 {
			fmt.Fprintf(w, "%s of it did not land yet: git wf land --plan %s\n", plain.Count(len(open), "change"), id)
		}
	})
}
