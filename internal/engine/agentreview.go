package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/estimate"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

// reviewingAgent is who is to review the task's newest version next: one from its list of reviewers that this machine
// knows or, if nobody is named, the one from the user's table or wf.reviewer.
func (e *Engine) reviewingAgent(s *plan.State, t *plan.TaskState) (speaker, bool) {
	c := s.CheckOf(t.TaskID)
	if who, ok := e.listed(s, t); ok {
		return who, e.Trust.AllCriteria(t.Task) && e.mayJudge(c.Task, who)
	}
	name := ""
	if c != nil {
		name = e.byTable(c.Task)
	}
	if name == "" {
		name = e.Agents.Read().Reviewer
	}
	if slices.Contains(s.Reviewers(t.TaskID), plan.ReviewerPerson) && !e.mayStandIn(s, t) {
		return speaker{}, false
	}
	return speaker{agent: name}, e.Agents.Knows(name) && s.MayReview(t.TaskID, name) &&
		!hasReviewed(s, t, name) && e.Trust.AllCriteria(t.Task)
}

// mayStandIn reports whether an agent may review in the place of the person whom a list of reviewers names: only an
// agent's plan, unless the policy wants a person for plans, or an agent has decided to change the plan.
func (e *Engine) mayStandIn(s *plan.State, t *plan.TaskState) bool {
	return t.Planning() && slices.Contains(s.Reviewers(t.TaskID), plan.ReviewerPerson) &&
		s.Tasks[plan.TaskID(t.Agent)] == nil && !slices.Contains(e.Policy.PlanReviewers, plan.ReviewerPerson)
}

func hasReviewed(s *plan.State, t *plan.TaskState, name string) bool {
	return slices.ContainsFunc(s.Records.Of(t.TaskID).Reviews, func(r plan.ReviewRecord) bool {
		return r.Version == t.Active && r.Reviewer == plan.EscapeName(name)
	})
}

// mayReview tells which fallbacks may review in a speaker's place: for a seat any, else those whose verdict would count
// as another reviewer's.
func (e *Engine) mayReview(s *plan.State, t *plan.TaskState, who speaker) func(string) bool {
	if who.seat != "" {
		return nil
	}
	return func(name string) bool { return s.MayReview(t.TaskID, name) && !hasReviewed(s, t, name) }
}

// reviewByAgent has an agent judge a task's newest version, with what the engine itself ran and saw. It locks the
// version when the review begins.
func (e *Engine) reviewByAgent(ctx context.Context, id plan.ID, t *plan.TaskState, who speaker) error {
	return e.reviewLocked(ctx, id, t, plan.StepPerson, who.agent, func(h *hold) error {
		t := h.task
		if again, ok := e.reviewingAgent(h.state, t); !ok || again != who {
			return nil
		}
		ev, err := e.evidence(h.work, h.snap, h.state, t)
		var res agent.Result
		var reply contract.Reply
		if err == nil {
			e.report(t.TaskID, fmt.Sprintf("%s is reviewed by %s", plan.VersionID(t.Active), who))
			want := contract.Want{Role: reviewRoleOf(t.Task), Criteria: t.AcceptanceCriteria,
				Rubric: ev.subject.Rubric, MinScore: ev.subject.MinScore}
			reply, res, err = e.consult(h.work, h.snap, t, who, ev.subject.Artifact.Inputs, want, &h.log,
				func(w *workDir) (prompt.Data, error) { return e.reviewData(h.work, w, ev, who) })
		}
		if over, err := e.withoutReply(ctx, h, who.agent, "", res, err); over {
			return err
		}
		said := reply.Review
		by := speaker{res.MadeBy(who.agent), who.seat}
		said.Reviewer, said.Agent, said.Session = by.reviewer(), by.spoken(), h.claim.Session
		said.Reason, said.CheckID, said.Usage = reply.Summary, ev.checkID, res.Usage
		rulings := map[string]check.Ruling{}
		for _, c := range reply.Criteria {
			rulings[c.ID] = check.Ruling{Result: plan.ResultFail, Evidence: c.Evidence}
			if c.Pass {
				rulings[c.ID] = check.Ruling{Result: plan.ResultPass, Evidence: c.Evidence}
			}
		}
		rev := check.ByAgent(ev.subject, ev.ran, said, rulings, e.Now())
		return e.recordReview(ctx, id, rev, ev.subject, h, nil, res.Notes...)
	})
}

// withoutReply ends work whose agent gave no reply, if that is so: it was interrupted, can't be asked,
// or failed; said is what the words for that begin with. An interrupt, or the loss of the claim, says nothing about the
// task, so it is no attempt.
func (e *Engine) withoutReply(ctx context.Context, h *hold, name, said string, res agent.Result,
	err error) (bool, error) {
	replied := res.Kind == agent.Artifact || res.Kind == agent.NeedsInput && len(res.Needs) > 0
	if h.work.Err() != nil && (err != nil || !replied) {
		return true, e.broken(ctx, h)
	}
	if err != nil && res.Message == "" {
		res = agent.Result{Kind: agent.Error, Message: err.Error()}
	}
	if res.Down != nil {
		return true, &OutageError{Agent: name, Cause: firstLine(res.Message), Outage: *res.Down}
	}
	if replied {
		return false, nil
	}
	res.Message = said + res.Message
	return true, e.fail(ctx, h, res)
}

// reviewData is the packet for a reviewer.
func (e *Engine) reviewData(ctx context.Context, w *workDir, ev evidence,
	who speaker) (prompt.Data, error) {
	w.reviewer = who.agent
	data, err := e.packet(ctx, w, ev)
	if err != nil {
		return data, err
	}
	data.Shell = e.Agents.WritesFiles(who.agent) && !w.snap.Plan.Roles[who.seat].Decides()
	if err := e.hideConventions(data.Candidate.Dir, who.agent); err != nil {
		return data, err
	}
	if !data.Shell {
		data.Candidate.Dir = ""
	}
	if data.Failed, err = e.lastFailure(ctx, w.snap, w.task, w.task.Active, who.agent); err != nil {
		return data, err
	}
	if w.task.Planning() {
		err = e.planReviewData(ctx, w, &data)
	}
	return data, err
}

// consult writes the prompt of a role that makes no deliverable and has the agent answer it.
func (e *Engine) consult(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, who speaker,
	inputs []plan.Input, want contract.Want, log *bytes.Buffer,
	tell func(*workDir) (prompt.Data, error)) (reply contract.Reply, res agent.Result, err error) {
	w, err := e.prepareAs(ctx, snap, t, want.Role, who.seat, inputs)
	if err != nil {
		return reply, res, err
	}
	defer w.remove()
	var may func(string) bool
	if w.role.Usual() == contract.Review {
		may = e.mayReview(snap.State(), t, who)
	}
	judge, err := e.Agents.Model(who.agent, may)
	if err != nil {
		return reply, res, err
	}
	if err := w.makePlaces(); err != nil {
		return reply, res, err
	}
	data, err := tell(w)
	if err != nil {
		return reply, res, err
	}
	data.Contract = contractText(w.role, false)
	if err := e.writePrompt(ctx, w, data, e.budget(who.agent)); err != nil {
		return reply, res, err
	}
	job := w.job(log)
	job.Environ = e.Environ
	return judge.Judge(ctx, job, want)
}

// askFeasibility has an agent estimate the leaves of a plan. The result names the agent that did, and its cost.
func (e *Engine) askFeasibility(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, c candidate,
	leaves []*plan.Task) (said map[plan.TaskID]estimate.Judgement, res agent.Result, err error) {
	want := contract.Want{Role: contract.RoleFeasibility}
	for _, l := range leaves {
		want.Tasks = append(want.Tasks, l.TaskID)
	}
	for _, other := range c.whole.Tasks {
		if !slices.Contains(want.Tasks, other.TaskID) {
			want.Others = append(want.Others, other.TaskID)
		}
	}
	e.report(t.TaskID, fmt.Sprintf("%s %s estimated by %s", plain.Count(len(leaves), "task"), areOrIs(len(leaves)),
		t.Agent))
	reply, res, err := e.consult(ctx, snap, t, speaker{agent: t.Agent}, nil, want, new(bytes.Buffer),
		func(w *workDir) (prompt.Data, error) {
			data := e.promptData(w)
			data.Limits = prompt.LimitsOf(c.whole)
			for _, l := range leaves {
				data.Leaves = append(data.Leaves, prompt.LeafOf(l))
			}
			return data, nil
		})
	if _, ok := errors.AsType[*prompt.BudgetError](err); ok {
		res.Message = err.Error()
	}
	if err != nil && res.Message == "" {
		return nil, res, err
	}
	if res.Kind != agent.Artifact {
		res.Kind = agent.Error
		return nil, res, &feasibilityError{res}
	}
	said = map[plan.TaskID]estimate.Judgement{}
	for _, est := range reply.Estimates {
		pass := est.OneShotPass
		said[est.TaskID] = estimate.Judgement{Days: est.EstimatedPersonDays, OneShotPass: &pass, Why: est.Why}
	}
	return said, res, nil
}
