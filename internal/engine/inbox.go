package engine

import (
	"context"
	"slices"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// ForPerson lists what a plan asks of a person: first what only a person can do to let it go on, in plan order, then
// what a person is asked about versions whose inputs have changed. The latter are not Stuck.
func (e *Engine) ForPerson(ctx context.Context, snap *gitstore.Snapshot, s *plan.State) ([]Wait, error) {
	waits, err := e.waits(ctx, snap, s)
	if err != nil {
		return nil, err
	}
	asks, err := e.asks(ctx, snap, s)
	return append(waits, asks...), err
}

// Item is something that waits for a person, in any of the plans.
type Item struct {
	Plan      plan.ID     `json:"plan_id"`
	PlanTitle string      `json:"plan_title"`
	On        plan.TaskID `json:"subject_task_id"` // whose page and commands it is about; of a CHECK, its target
	Title     string      `json:"title"`           // of that task
	Artifact  string      `json:"artifact_id,omitempty"`
	Asks      string      `json:"asks,omitempty"` // review, answer, submit, retry or holds: what a person can do
	Since     time.Time   `json:"since"`
	Wait
}

// Items makes an inbox of what a plan asks of a person. It reads the plan's history as far back as the oldest item.
func (e *Engine) Items(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, waits []Wait) ([]Item,
	error) {
	if len(waits) == 0 {
		return nil, nil
	}
	var items []Item
	for _, w := range waits {
		t := s.Subject(w.Task)
		items = append(items, Item{Plan: s.Plan.PlanID, PlanTitle: s.Plan.Title, On: t.TaskID, Title: t.Title,
			Artifact: plan.VersionID(t.Active), Asks: w.Act, Wait: w})
	}
	undated := len(items)
	err := e.Store.LogFrom(ctx, snap.ID, snap.Commit, func(l gitstore.LogEntry) bool {
		task := s.Subject(plan.TaskID(l.Trailers["Wf-Task"]))
		for i := range items {
			if items[i].Since.IsZero() && task != nil &&
				(task.TaskID == items[i].On || beginsWork(s, &items[i], task)) {
				items[i].Since = l.Time
				undated--
			}
		}
		return undated > 0
	})
	for i := range items {
		if items[i].Since.IsZero() {
			items[i].Since = snap.Time
		}
	}
	return items, err
}

// beginsWork reports whether an event of a task may be what an item waits since: work begins with its last input.
func beginsWork(s *plan.State, item *Item, task *plan.TaskState) bool {
	return item.Asks == ActSubmit && slices.Contains(s.Inputs(item.On), task.TaskID) ||
		task.Planning() && s.Tasks[item.On].Active == 0
}
