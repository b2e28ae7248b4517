package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// askedRounds names the question that a loop ends with whose rounds are used up.
const askedRounds = "rounds"

// renderFill renders the part of the plan's workflow that fills a GOAL, as the next version of the task that does so.
// The content follows from the workflow and the source's approved version, so it does not matter who renders it.
func (e *Engine) renderFill(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	want := plan.Claim{Task: t.TaskID, Agent: plan.AgentWorkflow}
	return e.underClaim(ctx, id, want, (*hold).isReady, e.renderNext)
}

func (e *Engine) renderNext(ctx context.Context, h *hold) error {
	w, err := expand.Of(h.work, e.Store, h.snap)
	if err != nil {
		return err
	}
	t, inputs := h.task, approvedInputs(h.snap, h.state, h.task.TaskID)
	if len(inputs) != 1 {
		return fmt.Errorf("%s: expected one task that it is rendered from, found %d", t.TaskID, len(inputs))
	}
	made, err := w.Render(h.work, t.Task, expand.Version{Task: inputs[0].TaskID, Tree: inputs[0].Tree})
	var wrong plan.Findings
	if errors.As(err, &wrong) { // the criterion that it can be rendered was waived, or judged by another program
		return e.failWith(ctx, h, wrong.Error())
	}
	if err != nil {
		return err
	}
	if made.Ask != "" {
		if q, err := e.asked(h.work, h.snap, t.TaskID, askedRounds); err != nil {
			return err
		} else if q == nil {
			need := plan.Question{Name: askedRounds, Kind: plan.AskText, Question: made.Ask}
			return e.needs(ctx, h, agent.Result{Kind: agent.NeedsInput, Message: made.Ask,
				Needs: []plan.Question{need}})
		}
	}
	batch := e.Store.NewBatch()
	defer batch.Discard() // if it is not recorded
	tree, files, err := batch.AddFiles(map[string][]byte{t.DeliverableSpec.Filename: made.Text})
	if err != nil {
		return err
	}
	from := fmt.Sprintf("endered from %s %s", inputs[0].TaskID, inputs[0].ArtifactID)
	a := e.newArtifact(t.TaskID, plan.AgentWorkflow, tree, files, inputs)
	a.DurationMS, a.Summary = e.took(h).Milliseconds(), "R"+from
	if a.SourceCommit, err = e.Store.Head(h.work); err != nil && !errors.Is(err, gitstore.ErrUnborn) {
		return err
	}
	return e.record(ctx, h.plan, t.TaskID, plan.NewVersion{Artifact: a, Author: AgentActor(a.Agent)}, h, batch,
		func(c plan.Change) string {
			return fmt.Sprintf("%s for %s, r%s", artifactOf(c), t.FillTargetTaskID, from)
		})
}

// rendered returns the fills that a version of a planning task brings with it. It fails with plan.Findings if the
// version is not what the plan's workflow makes.
func (e *Engine) rendered(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, data []byte) ([]*plan.Task,
	error) {
	if t.Agent != plan.AgentWorkflow {
		return nil, nil
	}
	a, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Active)
	if err != nil {
		return nil, err
	}
	made, err := expand.Made(ctx, e.Store, snap, t.Task, a)
	if err != nil || made == nil {
		return nil, err
	}
	if !bytes.Equal(made.Text, data) {
		return nil, plan.Findings{{Code: "not-rendered", TaskID: t.TaskID,
			Message:  "is not what the plan's workflow makes, so it can't be part of the plan",
			Expected: "what git wf run renders", Example: "git wf plan --amend -f FILE, which changes the plan"}}
	}
	return expand.Fills(made), nil
}

// expands says what is wrong with what the plan's workflow would make of a candidate, "" for nothing: each GOAL that is
// filled from it must get a fragment that keeps all rules of plans. What was filled from another version stays: only a
// person changes a plan that has begun.
func (e *Engine) expands(ctx context.Context, snap *gitstore.Snapshot, s *plan.State,
	subject check.Subject) (wrong, stays string, err error) {
	w, err := expand.Of(ctx, e.Store, snap)
	if err != nil {
		return "", "", err
	}
	from := expand.Version{Task: subject.Task.TaskID, Tree: subject.Artifact.Tree}
	if wrong, err = e.fillsFrom(ctx, w, s, from); err != nil || wrong != "" {
		return wrong, "", err
	}
	for _, g := range snap.Plan.Grafts {
		t := snap.Plan.Task(g.TaskID)
		if t == nil || t.Fill == nil || !slices.Contains(t.DependsOn, from.Task) {
			continue
		}
		v, _ := snap.Records.Of(t.TaskID).Version(plan.VersionNumber(g.ArtifactID))
		text, err := e.Store.ReadFile(ctx, v.Files, t.DeliverableSpec.Filename)
		if err != nil {
			return "", "", err
		}
		if made, err := w.Render(ctx, t, from); err != nil || !bytes.Equal(made.Text, text) {
			stays = fmt.Sprintf("%s was filled from another version, and stays so: git wf plan --amend -m TEXT "+
				"changes it",
				t.FillTargetTaskID)
		}
	}
	return "", stays, nil
}

// fillsFrom is expands of what is not filled yet.
func (e *Engine) fillsFrom(ctx context.Context, w *expand.Workflow, s *plan.State, from expand.Version) (string,
	error) {
	for _, t := range s.Filling(from.Task) {
		made, err := w.Render(ctx, t.Task, from)
		var p *plan.Plan
		if err == nil {
			p, err = plandoc.ParseCandidate(s, t.TaskID, t.DeliverableSpec.Filename, made.Text, e.Policy.Floors)
		}
		var whole *plan.Plan
		if err == nil {
			whole, err = s.Merged(t.TaskID, p, t.Active+1)
		}
		var wrong plan.Findings
		switch {
		case errors.As(err, &wrong):
			return string(t.FillTargetTaskID) + ": " + wrong.Error(), nil
		case err != nil:
			return "", err
		}
		if r := plandoc.ReviewPlan(judgedAs(t.Task, p, whole), plandoc.Stated); r.Verdict != plan.Approved {
			return fmt.Sprintf("%s: the review of plans would reject what it is filled with: %s", t.FillTargetTaskID,
				failures(r)), nil
		}
	}
	return "", nil
}

// failures are the criteria that a plan does not meet.
func failures(r plandoc.PlanReview) string {
	text := fmt.Sprintf("score %d", r.Score)
	for _, c := range r.Criteria {
		if !c.Passed() {
			text += "; " + plain.Line(c.Statement) + " " + plain.Line(c.Evidence)
		}
	}
	return text
}
