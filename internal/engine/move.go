package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/threeway"
)

// move brings a version that did not land onto the branch as it is now. If it applies there and its lines pass, that is
// the task's next version, and nobody is asked. Else the agent makes it again, if the engine can start it.
func (e *Engine) move(ctx context.Context, id plan.ID, t *plan.TaskState, name string) error {
	moved, makes := true, true // if somebody was faster
	want := plan.Claim{Task: t.TaskID, Agent: name}
	err := e.underClaim(ctx, id, want, (*hold).isReady, func(h *hold) (err error) {
		moved, err = e.recordMoved(ctx, h)
		makes = e.mayAttempt(h.state, h.task)
		return err
	})
	switch {
	case err != nil || moved:
		return err
	case !makes:
		return &untrustedError{task: t.TaskID, version: t.Active} // once a run is enough
	}
	return e.attempt(ctx, id, t, name)
}

// recordMoved records the moved version, if it applies and its lines pass.
func (e *Engine) recordMoved(ctx context.Context, h *hold) (ok bool, err error) {
	t := h.task
	batch := e.Store.NewBatch()
	defer batch.Discard()
	a, ok, err := e.moved(h.work, batch, h.snap, t)
	if err != nil || !ok || !e.Trust.AllCriteria(t.Task) {
		return false, err
	}
	if err := batch.Flush(h.work); err != nil {
		return false, err
	}
	subject := check.Subject{Task: t.Task, Artifact: a, MinScore: h.state.MinScore(t.TaskID),
		Rubric: h.state.RubricOf(t.TaskID)}
	results, err := e.examine(h.work, h.snap, h.state, subject)
	if h.work.Err() != nil {
		return false, e.broken(ctx, h)
	}
	if err != nil || failedAny(results) {
		return false, err
	}
	if same, err := e.sameDiff(ctx, h.snap, t, a); err != nil || same {
		now := plan.Decision{By: plan.ReviewerChecks, CreatedAt: plan.Second(e.Now()),
			Reason: "Its diff is the same on what it builds on now, and its lines pass there."}
		held := plan.StillHolds{Task: t.TaskID, Decision: now, Author: AgentActor(plan.ReviewerChecks)}
		return err == nil, cmp.Or(err, e.record(ctx, h.plan, t.TaskID, held, h, nil, what))
	}
	makers, err := e.Store.Makers(ctx, h.snap)
	if err != nil {
		return false, err
	}
	by := makers[t.TaskID.Dir()+"/"+plan.ArtifactRecord{Version: t.Active}.Path()]
	if err := e.keepBase(context.WithoutCancel(ctx), batch, h.plan, a); err != nil {
		return false, err
	}
	where := "onto the branch"
	if !h.snap.Records.Of(t.TaskID).NeedsNewBase() {
		where = "to what it builds on now"
	}
	ev := plan.NewVersion{Artifact: a, Author: by}
	err = e.record(ctx, h.plan, t.TaskID, ev, h, batch, func(c plan.Change) string {
		return fmt.Sprintf("%s moves %s %s, %s", c.Trailer("Wf-Artifact"), plan.VersionID(t.Active), where,
			plain.Count(len(plandoc.ChangedFiles(a.Files)), "changed file"))
	})
	return err == nil, err
}

// sameDiff reports whether a moved version is the approved one, on other versions of what it builds on, and would need
// a new review: checks alone would approve it anyway.
func (e *Engine) sameDiff(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState,
	a plan.Artifact) (bool, error) {
	r := snap.Records.Of(t.TaskID)
	if v, ok := r.Version(t.Active); !ok || v.Files != a.Tree || r.NeedsNewBase() ||
		snap.State().MayReview(t.TaskID, plan.ReviewerChecks) &&
			!slices.ContainsFunc(t.AcceptanceCriteria, plan.Criterion.Manual) {
		return false, nil
	}
	outdated := snap.State().Outdated(t.TaskID, t.Active)
	for _, in := range a.Inputs {
		if _, changed := outdated[in.TaskID]; !changed {
			continue
		}
		fits, err := e.Store.FitsOn(ctx, a.Tree, in.Tree)
		if err != nil || !fits || !snap.State().Tasks[in.TaskID].Changes() { // a document may ask for something else
			return false, err
		}
	}
	return len(outdated) > 0, nil
}

// moved computes a task's newest version on the base that it would have now. ok is false if it conflicts there, or if
// the branch is where the version did not land.
func (e *Engine) moved(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot,
	t *plan.TaskState) (a plan.Artifact, ok bool, err error) {
	if a, err = export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Active); err != nil {
		return a, false, err
	}
	last, err := export.LastLanding(ctx, e.Store, snap, t.TaskID, t.Active)
	if err != nil {
		return a, false, err
	}
	base, contradict, err := e.baseOf(ctx, batch, snap, t.TaskID)
	tried := len(last.Conflicts)+len(last.Criteria) > 0 // or else it waits for a review there
	if err != nil || len(contradict) > 0 || tried && base.Commit == last.On {
		return a, false, err
	}
	var conflicts []threeway.Conflict
	if base.After, conflicts, err = batch.ApplyChange(ctx, a.Tree, base.Tree); err != nil || len(conflicts) > 0 {
		return a, false, err
	}
	tree, files, err := batch.AddChange(ctx, base.Tree, base.After)
	if err != nil || tree == "" {
		return a, false, err
	}
	a.Base, a.Tree, a.Files, a.Size = &base, tree, files, totalSize(files)
	a.Inputs, a.CreatedAt, a.SourceCommit = approvedInputs(snap, snap.State(), t.TaskID), plan.Second(e.Now()),
		base.Commit
	a.Usage, a.Preparation, a.DurationMS = nil, nil, 0
	return a, true, nil
}

// showRefused tells whoever makes a change again why its approved version did not land, and gives it as a patch.
func (e *Engine) showRefused(ctx context.Context, w *workDir) error {
	snap, t := w.snap, w.task
	if !snap.Records.Of(t.TaskID).NeedsNewBase() {
		return nil
	}
	last, err := export.LastLanding(ctx, e.Store, snap, t.TaskID, t.Active)
	if err != nil {
		return err
	}
	why := []string{fmt.Sprintf("%s did not land on %s: %s", last.ArtifactID, last.Branch, last.Reason)}
	why = append(why, last.Conflicts...)
	for _, r := range last.Criteria {
		if r.Result == plan.ResultFail {
			why = append(why, fmt.Sprintf("%s: %s: %s", r.ID, r.Statement, r.Evidence))
		}
	}
	w.change.refused = why
	return e.tellOwn(ctx, w)
}

// RunLanding has a run land each change as soon as it is approved, one after the other: the next attempt on the same
// files begins with it.
type RunLanding struct {
	LandOptions
	Done Landed // of each task the last try
}

// lands reports whether a task's approved change is to land. Each version is tried once, up to max_attempts of them.
func (r *run) lands(s *plan.State, t *plan.TaskState) bool {
	tried, records := r.tried[t.TaskID], s.Records.Of(t.TaskID)
	return t.Changes() && t.Status == plan.StatusDone && s.Delivers(t.TaskID, t.Approved) &&
		!records.Landed(t.Approved) && !records.Proposed(t.Approved) && !slices.Contains(tried, t.Approved) &&
		len(tried) < s.Plan.Limits().MaxAttempts
}

// nextToLand is the first change to land, nil if there is none or one is landing.
func (r *run) nextToLand(s *plan.State) *plan.TaskState {
	if r.Landing == nil {
		return nil
	}
	for _, w := range r.running {
		if w.what == "land" {
			return nil
		}
	}
	for _, id := range s.Changes() {
		if t := s.Tasks[id]; r.lands(s, t) {
			return t
		}
	}
	return nil
}

func (r *run) land(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	o, all := r.Landing.LandOptions, r.Landing.Done.Tasks
	o.Tasks = []plan.TaskID{t.TaskID}
	done, err := r.Land(ctx, id, o)
	if done.After == "" {
		return err
	}
	for _, l := range done.Tasks {
		r.report(l.TaskID, l.Outcome())
		all = slices.DeleteFunc(all, func(o plan.Landing) bool { return o.TaskID == l.TaskID })
	}
	done.Tasks, done.GivenUp = append(all, done.Tasks...), append(r.Landing.Done.GivenUp, done.GivenUp...)
	done.NotRun = append(r.Landing.Done.NotRun, done.NotRun...)
	r.Landing.Done = done
	return err
}

// waitsToLand reports whether an attempt touches what may soon land: it would have to be made again.
func (r *run) waitsToLand(s *plan.State, w work) bool {
	if r.Landing == nil || w.what != "attempt" {
		return false
	}
	for _, t := range s.Tasks {
		soon := r.lands(s, t)
		if t.Status == plan.StatusReadyToCheck && t.Changes() {
			_, soon = r.reviewWork(s, t)
			soon = soon && r.may(t)
		}
		if soon && plandoc.SameFocus(t.Task, w.task.Task) {
			return true
		}
	}
	return false
}
