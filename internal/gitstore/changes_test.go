package gitstore_test

import (
	"context"
	"testing"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/repotest"
)

// A plan is read again soon after it has moved, and once more when the times of files have surely changed.
func TestChanges(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	repo := repotest.New(t)
	c := gitstore.Changes(ctx, func() gitstore.Pulse { return repo.Store.Pulse(repotest.ID) })
	select {
	case <-c:
		t.Fatal("a change before there was one")
	case <-time.After(time.Second):
	}
	repo.Begin("title: Note\nroot_acceptance_criteria: [{id: R1, statement: It is there}]\ntasks: [{task_id: NOTE-1, title: Note, covers: [R1], estimated_person_days: 1, deliverable_spec: {filename: n.md}, acceptance_criteria: [{id: A1, statement: It has 1 line}]}]\n")
	for range 2 {
		select {
		case <-c:
		case <-time.After(time.Minute):
			t.Fatal("no change after there was one")
		}
	}
}
