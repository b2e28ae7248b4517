package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

// sessionNotes are what is unusual about a plan as a whole.
func sessionNotes(s *plan.State) (notes []string) {
	sum := readmodel.HeadOf(s)
	switch sum.SessionStatus {
	case plan.SessionPaused:
		notes = append(notes, "paused (git wf resume)")
	case plan.SessionCompleted:
		notes = append(notes, "completed")
	}
	if n := len(s.Records.Newer); n > 0 {
		notes = append(notes, plain.Count(n, "record")+" by a newer git wf: read-only here")
	}
	if sum.Notes > 0 && sum.SessionStatus != plan.SessionCompleted {
		notes = append(notes, plain.Count(sum.Notes, "note")+" (git wf notes)")
	}
	if sum.PlanType != "" {
		notes = append(notes, "type "+sum.PlanType)
	}
	if sum.Complexity.Highest() || s.Plan.Complexity != "" {
		notes = append(notes, string(sum.Complexity))
	}
	return notes
}

func (e *env) pause(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	return e.changeSession(c, eng, snap, func(d plan.Decision, by plan.Actor) plan.Event {
		return plan.Pause{Decision: d, Author: by}
	})
}

func (e *env) resume(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	err := e.changeSession(c, eng, snap, func(d plan.Decision, by plan.Actor) plan.Event {
		return plan.Resume{Decision: d, Author: by}
	})
	if err != nil {
		return err
	}
	return eng.Store.SetActive(c.Context, snap.ID)
}

// changeSession records an event of a plan as a whole.
func (e *env) changeSession(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot,
	event func(plan.Decision, plan.Actor) plan.Event) error {
	d, person, err := e.decision(c, eng.Store)
	if err != nil {
		return err
	}
	done, err := eng.Store.Append(c.Context, snap.ID, event(d, person), gitstore.AppendOptions{Now: e.now()})
	if err != nil {
		return err
	}
	return e.say(struct {
		readmodel.Head
		Commit plan.OID `json:"commit"`
	}{readmodel.HeadOf(done.Snapshot.State()), done.Commit},
		"%s: %s", snap.ID, plain.Line(strings.TrimPrefix(done.Change.Subject, "session: ")))
}

// beginType gives a draft the type and the complexity of the command line.
func beginType(c *cli.Context, eng *engine.Engine, d engine.Draft) error {
	if name := c.String("type"); name != "" {
		if d.Plan.PlanType != "" && d.Plan.PlanType != name {
			return usage("the plan says plan_type: %s, and the command line --type %s", plain.Line(d.Plan.PlanType),
				plain.Line(name))
		}
		d.Plan.PlanType = name
	}
	d.Plan.Complexity = d.Plan.Complexity.Higher(plan.Complexity(c.String("complexity")))
	return eng.BeginType(d)
}

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
		Then      []string        `json:"then,omitempty"`
		State     *plan.State     `json:"-"`
	}{readmodel.HeadOf(done.Snapshot.State()), done.Commit, note, doc.Metrics, doc.Tasks,
		e.mayFollow(c, store, done.Snapshot), done.Snapshot.State()})
}

func (e *env) plans(c *cli.Context, store *gitstore.Store) error {
	all, err := readmodel.List(c.Context, store, e.now())
	if err != nil {
		return err
	}
	list := struct{ Open, Completed, Left []readmodel.Entry }{Open: []readmodel.Entry{}}
	for _, one := range all {
		switch {
		case one.SessionStatus != plan.SessionCompleted:
			list.Open = append(list.Open, one)
		case c.Bool("all"):
			list.Completed = append(list.Completed, one)
		default:
			list.Left = append(list.Left, one)
		}
	}
	return e.printAs("plans", append(list.Open, list.Completed...), list)
}

func (e *env) switchPlan(c *cli.Context, store *gitstore.Store) error {
	id, err := planNamed(c.Context, store, c.Args().First())
	if err != nil {
		return err
	}
	if _, err := store.Tip(c.Context, id); err != nil {
		return fmt.Errorf("switch to %s: %w", id, err)
	}
	if err := store.SetActive(c.Context, id); err != nil {
		return err
	}
	return e.say(map[string]plan.ID{"plan_id": id}, "switched to %s", id)
}
