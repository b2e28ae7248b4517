package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
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
	err := e.Store.Log(ctx, snap.ID, snap.Commit, func(l gitstore.LogEntry) bool {
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

// asks is what a person is asked about versions of theirs that were made from something that has changed since: nobody
// makes these again by themselves. The plan goes on without an answer.
func (e *Engine) asks(ctx context.Context, snap *gitstore.Snapshot, s *plan.State) ([]Wait, error) {
	stale, err := export.Stale(ctx, e.Store, snap, s)
	if err != nil || len(stale) == 0 {
		return nil, err
	}
	var all []Wait
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		t := s.Tasks[id]
		if _, known := s.Stale(id); known || stale[id] == "" || t.Status != plan.StatusDone {
			continue
		}
		made, err := export.ReadArtifact(ctx, e.Store, snap, id, t.Approved)
		if err != nil {
			return nil, err
		}
		w, err := e.ask(ctx, snap, s, t, made)
		if err != nil {
			return nil, err
		}
		if w.Text != "" {
			all = append(all, w)
		}
	}
	return all, nil
}

func (e *Engine) ask(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, t *plan.TaskState,
	made plan.Artifact) (Wait, error) {
	var said, commands []string
	for _, in := range s.OutdatedOf(made) {
		now := s.Tasks[in.TaskID]
		v, ok := snap.Records.Of(in.TaskID).Version(now.Approved)
		if !ok || now.Status != plan.StatusDone {
			return Wait{}, nil // it is being made anew: there is nothing to compare with yet
		}
		changed, err := e.Store.Changed(ctx, in.Tree, v.Files)
		if err != nil {
			return Wait{}, err
		}
		text := fmt.Sprintf("%s %s, approved is %s", in.TaskID, in.ArtifactID, plan.VersionID(now.Approved))
		if len(changed) > 0 {
			path := func(c gitstore.Changed) string { return plain.Line(c.Path) }
			text += " with other " + strings.Join(plain.Some(changed, 3, path), ", ")
		}
		said = append(said, text)
		commands = append(commands, fmt.Sprintf("git wf diff %s %s %s", in.TaskID, in.ArtifactID,
			plan.VersionID(now.Approved)))
	}
	if len(said) == 0 {
		return Wait{}, nil
	}
	again := handIn(t.Task)
	if e.mayAttempt(s, t) {
		again = "git wf rerun " + string(t.TaskID)
	}
	w := Wait{Task: t.TaskID, Status: t.Status, Command: strings.Join(commands, "; "), Act: ActSubmit}
	w.About = fmt.Sprintf("%s was made from %s", made.ArtifactID, strings.Join(said, "; "))
	w.Text = fmt.Sprintf("%s: make it again (%s)", w.About, again)
	if !onlyCommandsJudge(s, t.TaskID) {
		w.Act = ActHolds
		w.Text += fmt.Sprintf(", or say that it still holds (git wf review %s --still-holds)", t.TaskID)
	}
	return w, nil
}

// onlyCommandsJudge reports whether nobody but the engine may review a task, whatever a person says.
func onlyCommandsJudge(s *plan.State, id plan.TaskID) bool {
	return !s.MayReview(id, plan.ReviewerPerson) &&
		!slices.ContainsFunc(s.Reviewers(id), func(name string) bool { return name != plan.ReviewerChecks })
}
