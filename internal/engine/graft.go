package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/estimate"
	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// graft makes an approved plan part of plan.json, once each of its leaves is found feasible. A leaf that is too large
// for one attempt gets a task that splits it or, if that is impossible, a question.
func (e *Engine) graft(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	due := func(h *hold) bool { return among(h.state.Ungrafted(), t.TaskID) }
	want := plan.Claim{Task: t.TaskID, Agent: plan.ReviewerPlan}
	return e.underClaim(ctx, id, want, due, func(h *hold) error { return e.graftApproved(ctx, h) })
}

func (e *Engine) graftApproved(ctx context.Context, h *hold) error {
	t := h.task
	c, err := e.candidate(ctx, h.snap, t)
	if err != nil {
		return err
	}
	made, err := export.ReadArtifact(ctx, e.Store, h.snap, t.TaskID, t.Approved)
	if err != nil {
		return err
	}
	if made.Estimated(t.Agent) && !e.mayMake(t.Task, t.Agent) {
		return &untrustedError{t.TaskID, t.Active, "the agent " + plain.Line(t.Agent)}
	}
	byAgent := made.Session != ""
	if len(c.wrong) == 0 && byAgent {
		c.wrong = c.forbidden(h.state, made.Agent)
	}
	if len(c.wrong) > 0 { // what it changes is done by now, or the policy has become stricter
		subject, err := e.subject(ctx, h.snap, h.state, t.TaskID, t.Active)
		if err != nil {
			return err
		}
		rev := check.OfPlan(subject, nil, c.wrong, nil, e.Now())
		return e.recordReview(ctx, h.plan, rev, subject, nil, textsOf(c.wrong))
	}
	ev := plan.GraftPlan{
		Task: t.TaskID, Version: t.Approved, Plan: c.plan, ByAgent: byAgent,
		Planner: e.planner(t.Agent), Fills: c.fills,
	}
	h.began = e.Now()
	err = e.feasible(h.work, h.snap, t, c, made, &ev)
	var unknown *feasibilityError
	switch {
	case h.work.Err() != nil:
		return e.broken(ctx, h)
	case errors.As(err, &unknown):
		// A check that could not run has not passed: the plan waits, and after a few attempts it waits for a person.
		return e.fail(ctx, h, unknown.res)
	case err != nil:
		return err
	}
	if !byAgent {
		r, err := e.amendment(ctx, h.snap, t.TaskID, c.whole)
		if err != nil {
			return err
		}
		if err := e.MakeAgain(ctx, h.plan, r, made.Agent); err != nil {
			return err
		}
	}
	if err := e.record(ctx, h.plan, t.TaskID, ev, h, nil, what); err != nil {
		return err
	}
	for _, leaf := range ev.Split {
		e.report(leaf, "is too large for one attempt and will be split")
	}
	return nil
}

// feasible estimates the candidate's new leaves and puts the consequences into the event. A person's own estimates
// stand; the rule's are recorded next to them.
func (e *Engine) feasible(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, c candidate,
	made plan.Artifact, ev *plan.GraftPlan) error {
	weights, err := e.Weights()
	if err != nil {
		return err
	}
	v, _ := snap.Records.Of(t.TaskID).Version(t.Approved)
	limits := c.whole.Limits()
	rec := estimate.Record{
		TaskID: t.TaskID, ArtifactID: plan.VersionID(t.Approved), Tree: v.Files,
		Threshold: limits.OneShotThresholdPersonDays,
		CreatedAt: plan.Second(e.Now()),
	}
	leaves := c.whole.NewLeaves(snap.Plan)
	var said map[plan.TaskID]estimate.Judgement
	if made.Estimated(t.Agent) && len(leaves) > 0 {
		var res agent.Result
		if said, res, err = e.askFeasibility(ctx, snap, t, c, leaves); err != nil {
			return err
		}
		rec.Agent, rec.Usage = res.MadeBy(t.Agent), res.Usage
	}
	rec.Judge(leaves, said, weights)
	ev.Feasibility = plan.Document(rec)
	if !made.Estimated(t.Agent) {
		return nil
	}
	estimates := make([]plan.Feasible, len(rec.Tasks))
	results := map[plan.TaskID]estimate.TaskResult{}
	for i, r := range rec.Tasks {
		estimates[i], results[r.TaskID] = plan.Feasible{TaskID: r.TaskID, Days: r.Days, OneShotPass: r.OneShotPass}, r
	}
	tasks := c.whole.Index()
	for _, l := range ev.Estimate(c.whole, estimates) {
		ev.Ask = append(ev.Ask, tooLarge(tasks.Depth(l.TaskID), results[l.TaskID], limits, plan.Second(e.Now())))
	}
	return nil
}

// feasibilityError: nobody could estimate the leaves.
type feasibilityError struct{ res agent.Result }

func (e *feasibilityError) Error() string { return "estimate the tasks: " + e.res.Message }

// tooLarge asks what to do with a leaf that no split can make smaller.
func tooLarge(depth int, r estimate.TaskResult, limits plan.Config, now time.Time) plan.Question {
	why := fmt.Sprintf("it stands at level %d of %d", depth, limits.MaxDecompositionDepth)
	if depth < limits.MaxDecompositionDepth {
		why = fmt.Sprintf("the plan has %d tasks already (config.max_leaf_tasks)", limits.MaxLeafTasks)
	}
	large := fmt.Sprintf("can't be done in one go (%s)", r.Why)
	if r.Days > limits.OneShotThresholdPersonDays {
		because, _, _ := strings.Cut(r.Why, "; more than the threshold") // the question itself says that
		large = fmt.Sprintf("is estimated at %g person-days, more than %g (%s)", r.Days,
			limits.OneShotThresholdPersonDays, because)
	}
	return plan.Question{
		TaskID: r.TaskID, Name: "scope", Kind: plan.AskText, By: plan.ReviewerPlan, CreatedAt: now,
		Question: fmt.Sprintf("%s %s, and can't be split further: %s. Say in a text what may be left out or is "+
			"settled already, or that it is to be done as it is.", r.TaskID, large, why),
	}
}

// Judgement is a feasibility check's verdict on one task.
type Judgement struct {
	Record     string      `json:"record"` // the path of the whole record in the plan's tree
	PlanTask   plan.TaskID `json:"plan_task_id"`
	ArtifactID string      `json:"artifact_id"` // of the plan that was judged
	Agent      string      `json:"agent,omitempty"`
	Threshold  float64     `json:"one_shot_threshold_person_days"`
	CreatedAt  time.Time   `json:"created_at"`
	estimate.TaskResult
}

// Judgements are the feasibility checks' verdicts on a task from a plan's grafts, oldest first: the last one counts.
// For a task that makes plans, they are the verdicts on each leaf of its plan.
func Judgements(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, id plan.TaskID) ([]Judgement,
	error) {
	all := []Judgement{}
	for _, g := range snap.Plan.Grafts {
		rec, err := readFeasibility(export.DocumentsOf(ctx, store, snap, g.TaskID), g)
		if err != nil {
			return nil, err
		}
		name := g.TaskID.Dir() + "/" + g.FeasibilityPath()
		for _, r := range rec.Tasks {
			if r.TaskID == id || g.TaskID == id {
				all = append(all, Judgement{name, g.TaskID, g.ArtifactID, rec.Agent, rec.Threshold, rec.CreatedAt, r})
			}
		}
	}
	return all, nil
}

// readFeasibility reads what was found of the leaves of a graft; it is empty if nobody looked.
func readFeasibility(docs export.Documents, g plan.Graft) (rec estimate.Record, err error) {
	if err = docs.Read(g.FeasibilityPath(), &rec); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return rec, err
}

// askedRounds names the question that a loop ends with whose rounds are used up.
const askedRounds = "rounds"

// renderFill renders the part of the plan's workflow that fills a GOAL, as the next version of the task that does so.
// The content follows from the workflow and the source's approved version, so it does not matter who renders it.
func (e *Engine) renderFill(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	want := plan.Claim{Task: t.TaskID, Agent: plan.AgentWorkflow}
	render := func(h *hold) error { return e.renderNext(ctx, h) }
	return e.underClaim(ctx, id, want, (*hold).isReady, render)
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
		return e.failWith(ctx, h, wrong)
	}
	if err != nil {
		return err
	}
	if made.Ask != "" {
		if q, err := e.asked(h.work, h.snap, t.TaskID, askedRounds); err != nil {
			return err
		} else if q == nil {
			need := ownQuestion(askedRounds, made.Ask, "What there is goes on as it is")
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
	from := fmt.Sprintf("from %s %s", inputs[0].TaskID, inputs[0].ArtifactID)
	a := e.newArtifact(t.TaskID, plan.AgentWorkflow, tree, files, inputs)
	a.DurationMS, a.Summary = e.took(h).Milliseconds(), "Rendered "+from
	if a.SourceCommit, err = e.Store.Head(h.work); err != nil && !errors.Is(err, gitstore.ErrUnborn) {
		return err
	}
	ev := plan.NewVersion{Artifact: a, Author: AgentActor(a.Agent)}
	return e.record(ctx, h.plan, t.TaskID, ev, h, batch, func(c plan.Change) string {
		return fmt.Sprintf("%s for %s, rendered %s", c.Trailer("Wf-Artifact"), t.FillTargetTaskID, from)
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
				"changes it", t.FillTargetTaskID)
		}
	}
	return "", stays, nil
}

// mendWorkflow ends the evidence of what no other candidate helps.
const mendWorkflow = "mend the workflow: git wf plan --workflow FILE makes a new plan of it"

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
		if err == nil {
			err = whole.FillsTooDeep(expand.Fills(made)).Err()
		}
		var wrong plan.Findings
		switch {
		case errors.As(err, &wrong):
			why := string(t.FillTargetTaskID) + ": " + wrong.Error()
			if wrong.Has("depth") { // whatever the file says
				why += "; " + mendWorkflow
			}
			return why, nil
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
