package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

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
			text += " with other " + changedPaths(changed)
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

func changedPaths(changed []gitstore.Changed) string {
	return strings.Join(plain.Some(changed, 3, func(c gitstore.Changed) string { return plain.Line(c.Path) }), ", ")
}
