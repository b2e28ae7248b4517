package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

// reviewVerdicts has the built-in review judge a judge's newest version under a claim.
func (e *Engine) reviewVerdicts(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	findings := func(h *hold, made plan.Artifact) ([]string, bool, error) {
		v, err := export.ReadVerdicts(ctx, e.Store, h.snap, made)
		return append(v.Findings(h.state), v.Unanswered()...), len(h.state.Outdated(t.TaskID, h.task.Active)) > 0, err
	}
	return e.reviewAct(ctx, id, t, plan.ReviewerVerdicts, findings)
}

// applyVerdicts lets the approved verdicts of a judge take effect, with those of the judges that share a task with it.
// Verdicts that can't take effect any more are overtaken.
func (e *Engine) applyVerdicts(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	due := func(h *hold) bool {
		group := h.state.Together(t.TaskID)
		return len(group) > 0 && group[0] == t.TaskID
	}
	want := plan.Claim{Task: t.TaskID, Agent: plan.ReviewerVerdicts}
	return e.underClaim(ctx, id, want, due, func(h *hold) error {
		group := h.state.Together(t.TaskID)
		var all []export.Verdicts
		for _, judge := range group {
			made, err := export.ReadArtifact(ctx, e.Store, h.snap, judge, h.state.Tasks[judge].Active)
			if err != nil {
				return err
			}
			v, err := export.ReadVerdicts(ctx, e.Store, h.snap, made)
			if err != nil {
				return err
			}
			if findings := v.Findings(h.state); len(findings) > 0 {
				return e.overtake(ctx, h.snap, judge, plan.ReviewerVerdicts, findings)
			}
			all = append(all, v)
		}
		now := e.Now()
		ev := plan.ApplyVerdicts{Judges: group, Render: check.File, Time: now,
			Make: func(s *plan.State) (reviews []plan.Review, asks []plan.Question, err error) {
				for _, v := range all {
					r, q, err := v.Outcome(s, now)
					if err != nil {
						return nil, nil, err
					}
					reviews, asks = append(reviews, r...), append(asks, q...)
				}
				return reviews, asks, nil
			}}
		err := e.record(ctx, id, t.TaskID, ev, h, nil, what)
		if _, ok := errors.AsType[*plan.RefusedError](err); ok {
			snap, readErr := e.Store.Snapshot(ctx, id)
			if readErr == nil && len(snap.State().Together(t.TaskID)) == 0 {
				return nil // somebody else was faster, or what is judged has changed: look again
			}
		}
		return err
	})
}

// excuse passes the failed run lines of a judge whose verdicts reject a task, or approve none.
func (e *Engine) excuse(ctx context.Context, snap *gitstore.Snapshot, subject check.Subject,
	results []plan.CriterionResult) error {
	v, err := export.ReadVerdicts(ctx, e.Store, snap, subject.Artifact)
	if err != nil {
		return fmt.Errorf("read the verdicts of %s: %w", subject.Task.TaskID, err)
	}
	check.Excuse(results, v.Rejected(), v.Approves())
	return nil
}

// judging is what a judge is told of the versions that it judges.
func (e *Engine) judging(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState,
	order *prompt.Order) (*prompt.Judging, error) {
	s := snap.State()
	j := &prompt.Judging{Rubric: prompt.RubricOf(s.RubricOfJudge(t.TaskID))}
	if order != nil {
		j.Mode = order.Mode
	}
	for _, id := range s.Judged(t.TaskID) {
		of := s.Tasks[id]
		if of.Approved == 0 {
			continue // of a partial review, one that is left out
		}
		ran, err := export.Ran(ctx, e.Store, snap, id)
		if err != nil {
			return nil, err
		}
		j.Tasks = append(j.Tasks, prompt.Judged{
			Task: prompt.TaskOf(of.Task, s.MinScore(id)), Version: of.Approved, Ran: prompt.RanOf(ran),
		})
	}
	return j, nil
}

// A judge is shown what its own run lines say about what it judges, before it says anything itself. On joined changes
// they see nothing of the verdicts, so that the review of those takes the same results. On documents they run in the
// directory of the verdicts, so that the review runs them there again.

// joinedRun is what has to be equal for a result to be that of another run.
type joinedRun struct {
	plan       plan.ID
	task, spec string
	tree       plan.OID
	inputs     string
}

// lookAhead runs the lines of a judge on what it judges, and shows them to whoever speaks for it.
func (e *Engine) lookAhead(h *hold, w *workDir) error {
	t := h.task
	if !e.looksAhead(h.claim.Agent, t) {
		return nil
	}
	subject := check.Subject{Task: t.Task, Artifact: plan.Artifact{TaskID: t.TaskID, Inputs: w.inputs}}
	results, err := e.examine(h.work, h.snap, h.state, subject)
	if err != nil {
		return fmt.Errorf("its own commands could not run: %w", err)
	}
	for i, r := range results {
		results[i].Evidence = e.Secrets().Text(r.Evidence)
	}
	w.ran = prompt.RanOf(results)
	return e.attemptPrompt(h.work, w)
}

// looksAhead reports whether whoever makes the next version of a task is shown what its run lines say.
func (e *Engine) looksAhead(name string, t *plan.TaskState) bool {
	return t.Judges != nil && name != agent.NameExec && len(linesAhead(t.Task, true)) > 0
}

// linesAhead are the criteria whose lines can say something before there are verdicts.
func linesAhead(t *plan.Task, joined bool) []plan.Criterion {
	return slices.DeleteFunc(slices.Clone(t.AcceptanceCriteria), func(c plan.Criterion) bool {
		return c.Run == "" || c.CheckMethod == plan.RunSmokeTest ||
			!joined && strings.Contains(c.Run, t.DeliverableSpec.Filename)
	})
}

// examineJudge runs the criteria of a judge on its verdicts, or on what it judges if there are none yet.
func (e *Engine) examineJudge(ctx context.Context, setup *check.Setup, snap *gitstore.Snapshot, t *plan.TaskState,
	subject check.Subject) ([]plan.CriterionResult, error) {
	criteria, joined, ahead := t.AcceptanceCriteria, joins(snap.State(), t.Task), subject.Artifact.ArtifactID == ""
	if ahead {
		criteria = linesAhead(t.Task, joined)
		setup.Candidate = func(context.Context, string) error { return nil }
	}
	if !joined {
		results, err := check.Run(ctx, criteria, *setup)
		if err == nil && !ahead {
			err = e.excuse(ctx, snap, subject, results)
		}
		return results, err
	}
	base, leave, err := e.checkJoined(ctx, setup, snap, subject.Artifact)
	if err != nil {
		return nil, err
	}
	defer leave()
	key := joinedRun{snap.ID, string(t.TaskID), t.SpecHash(), base.Tree, fmt.Sprint(subject.Artifact.Inputs)}
	var have []plan.CriterionResult
	if known, ok := e.joined.Load(key); ok {
		have, _ = known.([]plan.CriterionResult)
	}
	var results []plan.CriterionResult
	for _, c := range criteria {
		if i := slices.IndexFunc(have, func(r plan.CriterionResult) bool { return r.ID == c.ID }); i >= 0 {
			results = append(results, have[i])
			continue
		}
		ran, err := check.Run(ctx, []plan.Criterion{c}, *setup)
		if err != nil {
			return nil, err
		}
		results = append(results, ran...)
	}
	if ahead {
		e.joined.Store(key, slices.Clone(results))
		return results, nil
	}
	return results, e.excuse(ctx, snap, subject, results)
}

// joins reports whether a judge judges changes of the repository: its run lines run where all of them are.
func joins(s *plan.State, t *plan.Task) bool {
	return slices.ContainsFunc(s.Judged(t.TaskID), func(id plan.TaskID) bool { return s.Tasks[id].Changes() })
}

// lacks says what keeps the run lines of a task's criteria from running here.
func (e *Engine) lacks(s *plan.State, t *plan.Task) Wait {
	w := e.Trust.lacks(t)
	if labels, ok := e.waitForLabels(t); ok && t.HasRun() {
		return labels
	}
	if w.Text == "" && t.Judges != nil && t.HasRun() && joins(s, t) && !e.Trust.Code() {
		return runsCode
	}
	return w
}

// checkJoined sets the run lines of a judge up to run in a checkout of what the approved changes that it depends on
// come to together, without those that its verdicts leave out: a test whose implementation is blocked is red.
func (e *Engine) checkJoined(ctx context.Context, setup *check.Setup, snap *gitstore.Snapshot,
	made plan.Artifact) (base plan.Base, leave func(), err error) {
	s, v := snap.State(), export.Verdicts{}
	if made.ArtifactID != "" {
		if v, err = export.ReadVerdicts(ctx, e.Store, snap, made); err != nil {
			return base, nil, err
		}
	}
	below := slices.DeleteFunc(s.Changes(made.TaskID), func(in plan.TaskID) bool {
		return s.Tasks[in].Approved == 0 || v.Excludes(in)
	})
	batch := e.Store.NewBatch()
	defer batch.Discard()
	if base, _, err = e.join(ctx, batch, snap, made.TaskID, "", approved(snap, below)); err != nil {
		return base, nil, err
	}
	commit, err := e.begin(ctx, batch, base)
	if err != nil {
		return base, nil, err
	}
	leave, err = e.runCode(ctx, setup, snap, func(context.Context, bool) (plan.OID, error) { return commit, nil })
	return base, leave, err
}

// rejectConflict rejects the approved change that contradicts those before it, in the order in which they are applied:
// no judge is shown such a tree. It reports whether there was one.
func (e *Engine) rejectConflict(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (bool, error) {
	s := snap.State()
	if t.Judges == nil || !joins(s, t.Task) {
		return false, nil
	}
	batch := e.Store.NewBatch()
	defer batch.Discard()
	id, conflicts, err := e.firstConflict(ctx, batch, snap, t.TaskID)
	if err != nil || id == "" {
		return false, err
	}
	subject, err := e.subject(ctx, snap, s, id, s.Tasks[id].Approved)
	if err != nil {
		return false, err
	}
	findings := []string{fmt.Sprintf("it conflicts with the approved changes of tasks beside it, which come first: %s",
		strings.Join(conflicts, "; "))}
	rev := check.OfAct(subject, plan.ReviewerChecks, nil, findings, e.Now())
	return true, e.recordReview(ctx, snap.ID, rev, subject, nil, findings)
}

// firstConflict is the first change below a task that does not apply to what those before it come to, and where.
func (e *Engine) firstConflict(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot,
	judge plan.TaskID) (plan.TaskID, []string, error) {
	all := below(snap, judge)
	for i, id := range all {
		if _, met, err := e.join(ctx, batch, snap, judge, "", approved(snap, all[:i+1])); err != nil || len(met) > 0 {
			return id, met, err
		}
	}
	return "", nil, nil
}

// showOutdated tells whoever makes a version again because its inputs have changed what is new about them, and gives
// the version that they begin with.
func (e *Engine) showOutdated(ctx context.Context, w *workDir) error {
	snap, t, s := w.snap, w.task, w.snap.State()
	if t.Verdict != plan.Approved {
		return nil
	}
	outdated := s.Outdated(t.TaskID, t.Active)
	for _, id := range s.Inputs(t.TaskID) {
		was, changed := outdated[id]
		before, ok := snap.Records.Of(id).Version(was)
		now, there := snap.Records.Of(id).Version(s.Tasks[id].Approved)
		if !changed || !ok || !there || was == now.Version {
			continue
		}
		diff, err := e.diff(ctx, before.Files, now.Files)
		if err != nil {
			return err
		}
		name := string(id) + ".diff"
		dir := filepath.Join(w.in, "changed")
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(diff), 0o666); err != nil {
			return err
		}
		info := plan.FileInfo{Path: name, Mode: "100644", Size: int64(len(diff))}
		files, err := filesOf(dir, []plan.FileInfo{info}, "", prompt.MaxInputText)
		if err != nil {
			return err
		}
		w.told = append(w.told, prompt.Input{Name: "what changed of " + string(id), Dir: "changed", Files: files})
		w.outdated = append(w.outdated, fmt.Sprintf("%s: v%d was its input, v%d is approved now", id, was, now.Version))
	}
	if len(w.outdated) == 0 || t.Changes() {
		return nil
	}
	return e.tellOwn(ctx, w)
}
