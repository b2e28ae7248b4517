package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// graft makes an approved plan part of plan.json, once each of its leaves is found feasible. A leaf that is too large
// for one attempt gets a task that splits it or, if that is impossible, a question.
func (e *Engine) graft(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	due := func(h *hold) bool { return among(h.state.Ungrafted(), t.TaskID) }
	return e.underClaim(ctx, id, plan.Claim{Task: t.TaskID, Agent: plan.ReviewerPlan}, due, e.graftApproved)
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
			limits.OneShotThresholdPersonDays,
			because)
	}
	return plan.Question{
		TaskID: r.TaskID, Name: "scope", Kind: plan.AskText, By: plan.ReviewerPlan, CreatedAt: now,
		Question: fmt.Sprintf("%s %s, and can't be split further: %s. Say in a text what may be left out or is "+
			"settled already, or that it is to be done as it is.",
			r.TaskID, large, why),
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
		var rec estimate.Record
		name := g.TaskID.Dir() + "/" + g.FeasibilityPath()
		data, err := store.ReadFile(ctx, snap.Commit, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = json.Unmarshal(data, &rec)
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		for _, r := range rec.Tasks {
			if r.TaskID == id || g.TaskID == id {
				all = append(all, Judgement{name, g.TaskID, g.ArtifactID, rec.Agent, rec.Threshold, rec.CreatedAt, r})
			}
		}
	}
	return all, nil
}
