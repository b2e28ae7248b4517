package main

import (
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// stillHolds records a person's word that a task's version holds for what its inputs are now.
func (e *env) stillHolds(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, t *plan.TaskState) error {
	store := eng.Store
	person, err := store.Person(c.Context)
	if err != nil {
		return err
	}
	made, err := export.ReadArtifact(c.Context, store, snap, t.TaskID, t.Approved)
	if err != nil && t.Approved > 0 {
		return err
	}
	now := e.now()
	ev := plan.StillHolds{Task: t.TaskID, Author: person, Version: made,
		Decision: plan.Decision{By: person.Name, CreatedAt: plan.Second(now), Reason: c.String("message")}}
	done, err := store.Append(c.Context, snap.ID, ev, gitstore.AppendOptions{Now: now})
	if err != nil {
		return err
	}
	if err := e.say(struct {
		Task      plan.TaskID `json:"task_id"`
		Subject   string      `json:"subject"`
		CreatedAt time.Time   `json:"created_at"`
	}{t.TaskID, done.Change.Subject, ev.Decision.CreatedAt}, "%s", plain.Line(done.Change.Subject)); err != nil {
		return err
	}
	return e.printNextOf(c.Context, eng, snap.ID)
}
