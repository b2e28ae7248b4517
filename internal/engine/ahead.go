package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

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
		results[i].Evidence = e.mask().Text(r.Evidence)
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
