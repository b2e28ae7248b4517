package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/prompt"
)

// openQuestion is an unanswered question of a task, for a person or, if there is one, an adviser.
type openQuestion struct {
	plan.Question
	n       int
	adviser speaker
	why     string // the role that is asked does not answer here
}

// openQuestions reads a task's unanswered questions, in order.
func (e *Engine) openQuestions(ctx context.Context, snap *gitstore.Snapshot, s *plan.State,
	t *plan.TaskState) (open []openQuestion, err error) {
	given, r := 0, snap.Records.Of(t.TaskID)
	for _, n := range r.Questions {
		q, err := e.documents(ctx, snap, t.TaskID).Question(n)
		switch {
		case err != nil:
			return nil, err
		case q.Answer == nil:
			q.TaskID = t.TaskID // whatever the record says
			open = append(open, openQuestion{Question: q.Question, n: n})
		case q.Answer.Role != "" && q.Attempt > r.Reset().Attempt:
			given++
		}
	}
	for i := range open {
		open[i].adviser, open[i].why = e.adviser(s, t, open[i].To, given)
	}
	return open, nil
}

// adviser is who answers for a role what a task asks it, or why nobody does. given counts the answers
// of roles since the task was last reset.
func (e *Engine) adviser(s *plan.State, t *plan.TaskState, role string, given int) (who speaker, why string) {
	who, limits := speaker{e.agentOfRole(s.Plan, role), role}, s.Plan.Limits()
	switch {
	case role == "":
	case !slices.Contains(t.Advisers(), role):
		why = "whom it may not ask"
	case given >= t.Consults.Max:
		why = "and roles have given the " + plain.Count(given, "answer") + " that they may"
	case t.Attempts >= limits.MaxAttempts || t.Lost >= limits.MaxLost:
		why = "and its attempts are used up"
	case !e.Agents.Knows(who.agent):
		why = "for whom no agent speaks here (git config " + agent.RoleKey(role) + " AGENT has one answer)"
	case !e.mayJudge(s.CheckOf(t.TaskID).Task, who):
		why = "whose agent " + who.agent + " is not trusted here (git wf trust)"
	default:
		return who, ""
	}
	return speaker{}, why
}

// consults are the questions that agents of roles can answer now, one of each task.
func (e *Engine) consults(ctx context.Context, snap *gitstore.Snapshot, s *plan.State) ([]openQuestion, error) {
	var all []openQuestion
	for _, t := range s.Plan.Tasks {
		if t.Consults == nil || s.Tasks[t.TaskID].Status != plan.StatusWaitingInput {
			continue
		}
		open, err := e.openQuestions(ctx, snap, s, s.Tasks[t.TaskID])
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(open, func(q openQuestion) bool { return q.adviser.agent != "" })
		if i >= 0 {
			all = append(all, open[i])
		}
	}
	return all, nil
}

// answerFor has the agent of a role answer a question. If it can't, an attempt of the task has failed.
func (e *Engine) answerFor(ctx context.Context, id plan.ID, q openQuestion) error {
	want, who := plan.Claim{Task: q.TaskID, Agent: q.adviser.agent}, q.adviser
	due := func(h *hold) bool { return h.task.Status == plan.StatusWaitingInput }
	return e.underClaim(ctx, id, want, due, func(h *hold) error {
		open, err := e.openQuestions(ctx, h.snap, h.state, h.task)
		still := func(o openQuestion) bool { return o.n == q.n && o.adviser == who }
		if err != nil || !slices.ContainsFunc(open, still) {
			return err
		}
		e.report(q.TaskID, fmt.Sprintf("%s asked of %s", q.QuestionID, who))
		inputs := approvedInputs(h.snap, h.state, q.TaskID)
		wanted := contract.Want{Role: contract.RoleConsult, Question: q.Question}
		reply, res, err := e.consult(h.work, h.snap, h.task, who, inputs, wanted, &h.log,
			func(w *workDir) (prompt.Data, error) { return e.adviceData(ctx, w, q) })
		said := fmt.Sprintf("%s did not answer %s: ", plain.Line(q.To), q.QuestionID)
		if over, err := e.withoutReply(ctx, h, who.agent, said, res, err); over {
			return err
		}
		a := reply.Answer
		a.Role, a.By, a.Usage, a.CreatedAt = q.To, res.MadeBy(who.agent), res.Usage, plan.Second(e.Now())
		ev := plan.AnswerQuestion{Task: q.TaskID, Number: q.n, Question: q.Question, Answer: a}
		ev.Author = AgentActor(a.By)
		err = e.record(ctx, id, q.TaskID, ev, h, nil, what)
		if _, ok := errors.AsType[*plan.RefusedError](err); ok {
			return nil // a person was faster
		}
		return err
	})
}

// adviceData is what a role is told of the task whose question it answers.
func (e *Engine) adviceData(ctx context.Context, w *workDir, q openQuestion) (prompt.Data, error) {
	d := e.promptData(w)
	d.Attempt, d.Inputs, d.Question = w.attempt, w.told, prompt.Text(q.Question.Question+"\n")
	for _, o := range q.Options {
		d.Question += prompt.Text(fmt.Sprintf("\n- %s: %s", o.OptionID, o.Description))
	}
	d.Shell = e.Agents.WritesFiles(q.adviser.agent) && !w.snap.Plan.Roles[q.To].Decides()
	var err error
	if d.Answers, err = e.answers(ctx, w.snap, w.task); err == nil {
		d.Failed, err = e.lastFailure(ctx, w.snap, w.task, 0, "")
	}
	return d, err
}
