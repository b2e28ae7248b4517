package engine

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"gitwf/internal/agent"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// Wait is why an open task is not done yet, and what helps. State.Reason is what the plan alone knows; Wait adds what
// depends on the repository: agents, trust, questions, claims.
type Wait struct {
	Task   plan.TaskID `json:"task_id"`
	Status plan.Status `json:"status"`
	Text   string      `json:"text"`
	// the task that it waits for, the one that this one needs, ...
	Chain     []plan.TaskID   `json:"chain,omitempty"`
	Command   string          `json:"command,omitempty"`   // that helps, at the end of the chain
	Stuck     bool            `json:"stuck"`               // it can't go on without a person
	Act       string          `json:"-"`                   // the kind of Command: one of the constants Act...
	About     string          `json:"-"`                   // Text without the commands in it, where it has some
	Failed    bool            `json:"failed"`              // the task, or the end of the chain, used up its attempts
	Spent     string          `json:"spent,omitempty"`     // by the task itself, on what
	Questions []plan.Question `json:"questions,omitempty"` // what the task itself asks
	Missing   []Missing       `json:"missing,omitempty"`   // required inputs that the task itself lacks
}

// What a person can do about a Wait without knowing the command line.
const (
	ActSubmit = "submit"
	ActReview = "review"
	ActAnswer = "answer"
	ActRetry  = "retry"
	ActHolds  = "holds" // or hand in another version
)

// Missing is a required input that lacks files.
type Missing struct {
	plan.Requirement
	Have int    `json:"have"`
	Dir  string `json:"dir"` // where to put files for it, below the top of the worktree
}

// waits lists what only a person can do to let a plan go on, in plan order, without what waits for other tasks.
func (e *Engine) waits(ctx context.Context, snap *gitstore.Snapshot, s *plan.State) ([]Wait, error) {
	waits := []Wait{}
	for _, t := range s.Plan.Tasks {
		w, ok, err := e.wait(ctx, snap, s, s.Tasks[t.TaskID])
		if err != nil {
			return nil, err
		}
		if ok {
			w.Task, w.Status, w.Stuck = t.TaskID, s.Tasks[t.TaskID].Status, true
			waits = append(waits, w)
		}
	}
	return waits, nil
}

// wait is what only a person can do about one task; ok is false if that is nothing.
func (e *Engine) wait(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, t *plan.TaskState) (w Wait,
	ok bool, err error) {
	switch {
	case t.NodeType == plan.Goal || s.DropsNext(t):
		return Wait{}, false, nil
	case t.Status == plan.StatusDone && s.Records.Of(t.TaskID).Proposed(t.Approved):
		last, err := export.LastLanding(ctx, e.Store, snap, t.TaskID, t.Approved)
		text, command := last.Asks()
		return Wait{Text: text, Command: command}, text != "", err
	case t.Status == plan.StatusWaitingExternal && s.Decided(t.TaskID):
		return Wait{Text: s.Reason(t), Command: "git wf retry " + string(t.TaskID), Act: ActRetry}, true, nil
	case t.Status == plan.StatusWaitingExternal:
		w = Wait{Text: s.Reason(t), Command: "git wf show " + string(t.TaskID), Failed: t.Decides == nil,
			Spent: spent(s, t), Act: ActRetry}
		stuck, err := e.workflowStuck(ctx, snap, t)
		if stuck {
			w.Text += "; " + mendWorkflow
		} else {
			w.Command += "; git wf retry " + string(t.TaskID)
		}
		return w, true, err
	case t.Status == plan.StatusWaitingInput:
		w, err = e.waitForInput(ctx, snap, s, t)
		w.Act = ActAnswer
		return w, w.Text != "", err
	case t.Planning() && slices.Contains(s.Ungrafted(), t) && !e.mayMake(t.Task, t.Agent):
		return untrustedAgent(jobMake, t.Agent), true, nil
	case t.NodeType == plan.Check && t.Status == plan.StatusReady:
		return e.waitForReview(ctx, snap, s, s.Tasks[t.ReviewTargetTaskID])
	case t.NodeType == plan.Action && (t.Status == plan.StatusReady || t.Status == plan.StatusToBeModified) &&
		!t.Waits() && s.MayBegin() == nil:
		w, ok = e.waitForWork(s, t)
		return w, ok, nil
	}
	return Wait{}, false, nil
}

// workflowStuck reports whether a task's newest version is rejected for what the plan's workflow makes of any.
func (e *Engine) workflowStuck(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (bool, error) {
	reviews := snap.Records.Of(t.TaskID).Reviews
	expands := func(c plan.Criterion) bool { return c.CheckMethod == plan.Expands }
	if len(reviews) == 0 || !slices.ContainsFunc(t.AcceptanceCriteria, expands) {
		return false, nil
	}
	r, err := export.ReadReview(ctx, e.Store, snap, t.TaskID, reviews[len(reviews)-1])
	return slices.ContainsFunc(r.Criteria, func(c plan.CriterionResult) bool {
		return c.Result == plan.ResultFail && strings.HasSuffix(c.Evidence, mendWorkflow)
	}), err
}

// spent lists the attempts or rounds that a task, or the review of its newest version, has used up.
func spent(s *plan.State, t *plan.TaskState) string {
	id, version := t.TaskID, 0
	if t.NodeType == plan.Check {
		id, version = t.ReviewTargetTaskID, t.Active
	}
	r := s.Records.Of(id)
	reset := r.Reset()
	var list []string
	limits := s.Plan.Limits()
	bound := fmt.Sprintf("max_attempts is %d", limits.MaxAttempts)
	if _, of := s.Round(t); of > 0 && t.Attempts < limits.MaxAttempts {
		bound = fmt.Sprintf("max_rounds is %d", of)
	}
	failed, lost := t.Attempts >= limits.MaxAttempts, t.Lost >= limits.MaxLost
	if lost && !failed {
		bound = fmt.Sprintf("max_lost is %d", limits.MaxLost)
	}
	if failed || lost {
		for _, a := range r.Attempts {
			if a.Version == version && a.N > reset.Attempt && a.Kind != plan.AttemptNeedsInput &&
				(a.Kind == plan.AttemptLost) == !failed {
				list = append(list, fmt.Sprintf("a%d %s", a.N, a.Kind))
			}
		}
	} else {
		for _, rev := range r.Reviews {
			if rev.Verdict == plan.Rejected && rev.N > reset.Review {
				list = append(list, fmt.Sprintf("%s by %s", s.Word(id, rev),
					plain.Line(plan.UnescapeName(rev.Reviewer))))
			}
		}
	}
	const most = 5
	if n := len(list) - most; n > 0 {
		list = append([]string{fmt.Sprintf("%d more", n)}, list[n:]...)
	}
	return bound + ": " + strings.Join(list, ", ")
}

// waitForInput says what a task asks or requires of a person, in which form, and where to put it: nothing,
// where agents of roles answer all that it asks.
func (e *Engine) waitForInput(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, t *plan.TaskState) (Wait,
	error) {
	var w Wait
	open, err := e.openQuestions(ctx, snap, s, t)
	for _, q := range open {
		if q.adviser.seat != "" {
			continue
		}
		if w.Questions = append(w.Questions, q.Question); len(w.Questions) > 1 {
			continue
		}
		w.Text, w.Command = "asks", answerCommand(t.TaskID, q.Question, q.n != open[0].n)
		if q.why != "" {
			w.Text += " " + q.To + ", " + q.why
		}
		w.Text += ": " + q.Question.Question
	}
	if len(open) > 0 || err != nil {
		return w, err
	}
	var lacks []string
	for _, req := range s.Lacking(t.Task) {
		m := Missing{Requirement: req, Have: s.HandedIn(t.Task, req.Name), Dir: InputDir(s.Plan.PlanID, req.Name)}
		w.Missing = append(w.Missing, m)
		lacks = append(lacks, req.Lack(m.Have))
		if w.Command == "" {
			w.Command = handInCommand(t.TaskID, req)
		}
	}
	w.Text = "waits for input: " + strings.Join(lacks, ", ")
	return w, nil
}

// answerCommand is the command that answers a question, which it names if others come before it.
func answerCommand(id plan.TaskID, q plan.Question, later bool) string {
	command := "git wf answer " + string(id)
	if later {
		command += " --question " + q.QuestionID
	}
	switch q.Kind {
	case plan.AskFile:
		return command + " --file FILE"
	case plan.AskChoice:
		choice := "ID"
		if q.RecommendedOptionID != "" {
			choice = shell.Word(plain.Line(q.RecommendedOptionID))
		}
		return command + " --option " + choice
	}
	return command + " -"
}

// seatsLeft says how many of a panel have spoken, and who has not.
func seatsLeft(s *plan.State, t *plan.TaskState) string {
	var missing []string
	seats := 0
	for name, r := range s.Panel(t.TaskID, t.Active) {
		if seats++; r.N == 0 {
			missing = append(missing, plain.Line(name))
		}
	}
	if seats == 0 {
		return ""
	}
	return fmt.Sprintf(": %d of %d seats, %s to come", seats-len(missing), seats, strings.Join(missing, ", "))
}

func (e *Engine) waitForReview(ctx context.Context, snap *gitstore.Snapshot, s *plan.State,
	target *plan.TaskState) (w Wait, ok bool, err error) {
	switch s.NextReviewStep(target.TaskID) {
	case plan.StepPerson:
		who, ok := e.reviewingAgent(s, target)
		if c := s.CheckOf(target.TaskID); !e.mayJudge(c.Task, who) {
			return untrustedAgent(jobReview, who.agent), true, nil
		}
		if ok && e.Agents.Knows(who.agent) {
			w, ok = e.waitForAgent(who.agent, e.mayReview(s, target, who))
			return w, ok, nil
		}
		if seats := s.OpenSeats(target.TaskID); len(seats) > 0 {
			return waitForSeats(target, seats), true, nil
		}
		w := Wait{
			Text: fmt.Sprintf("%s of %s awaits a person's review", plan.VersionID(target.Active), target.TaskID) +
				seatsLeft(s, target),
			Command: "git wf review " + string(target.TaskID), Act: ActReview,
		}
		w.About = w.Text
		switch name := e.Agents.Read().Reviewer; {
		case name == "" && e.mayStandIn(s, target):
			w.Text += " (git config wf.reviewer AGENT has an agent review it)"
		case name != "" && name != agent.NameManual && !e.Agents.Knows(name):
			w.Text += fmt.Sprintf(" (wf.reviewer is %s, and no agent of that name reviews; git wf agents lists them)",
				plain.Line(name))
		}
		return w, true, nil
	case plan.StepRunChecks:
		if w := e.lacks(s, target.Task); w.Text != "" {
			return w, true, nil
		}
	case plan.StepPlan:
		c, err := e.candidate(ctx, snap, target)
		if err != nil || c.plan == nil {
			return Wait{}, false, err
		}
		if fresh := e.Untrusted(c.plan); len(fresh) > 0 {
			return Wait{Text: fmt.Sprintf("%s of the plan %s not trusted here", CountUntrusted(fresh),
				areOrIs(len(fresh))),
				Command: "git wf trust"}, true, nil
		}
	}
	return Wait{}, false, nil
}

// waitForSeats says how the seats are filled that no agent takes here.
func waitForSeats(t *plan.TaskState, seats []string) Wait {
	w := Wait{Command: seatCommand(t.TaskID, seats[0]), Act: ActReview}
	w.About = fmt.Sprintf("%s of %s awaits a review by %s, for whom no agent speaks here", plan.VersionID(t.Active),
		t.TaskID, plain.Line(strings.Join(seats, ", ")))
	w.Text = fmt.Sprintf("%s (git config %s AGENT has one speak)", w.About, agent.RoleKey(seats[0]))
	return w
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// waitForAgent says what an agent lacks before it can work; ok is false if it lacks nothing. It does not try the agent:
// that would use up attempts and say nothing about the task.
func (e *Engine) waitForAgent(name string, may func(string) bool) (w Wait, ok bool) {
	if why := e.Agents.Missing(name, may); why != nil {
		return Wait{Text: plain.Line(why.Error()), Command: "git wf agents"}, true
	}
	return Wait{}, false
}

func (e *Engine) waitForWork(s *plan.State, t *plan.TaskState) (Wait, bool) {
	name := e.agentOf(s.Plan, t.Task)
	if w, ok := e.waitForLabels(t.Task); ok && (e.Agents.Knows(name) || name == agent.NameExec) {
		return w, true
	}
	switch {
	case !e.mayMake(t.Task, name):
		return untrustedAgent(jobMake, name), true
	case (e.Agents.Knows(name) || name == agent.NameExec) && !e.Trust.Preparation(t.Task):
		return Wait{Text: "a command line of its preparation is not trusted here", Command: "git wf trust"}, true
	case name == agent.NameExec && t.Run == "":
		return Wait{Text: "agent exec runs the command line of a task, and this one has none", Command: "git wf agents",
			Act: ActSubmit}, true
	case e.Agents.Knows(name):
		if w, ok := e.waitForAgent(name, nil); ok || !e.looksAhead(name, t) {
			return w, ok
		}
		w := e.lacks(s, t.Task)
		return w, w.Text != ""
	case t.Fill != nil, s.Plan.Register && s.Plan.PlanID == e.RulesID():
		return Wait{}, false
	case name == plan.AgentWorkflow:
		return Wait{Text: "the plan was rejected", Command: "git wf plan --workflow NAME"}, true
	case t.SplitTargetTaskID != "":
		return Wait{Text: string(t.SplitTargetTaskID) + " is to be split", Command: "git wf split " +
			string(t.SplitTargetTaskID) + " -f FILE"}, true
	case t.Planning() && t.Active == 0:
		return Wait{Text: "the plan is to be made", Command: "git wf plan --edit"}, true
	case t.Planning():
		return Wait{Text: "the plan was rejected", Command: "git wf plan --edit"}, true
	case s.Plan.Register:
		return Wait{Text: "another plan does it", Command: fmt.Sprintf(
			"git wf plan --workflow NAME --set PARAM=%s:%s WHAT", s.Plan.PlanID, t.TaskID)}, true
	case name == agent.NameManual:
		w := Wait{Text: "a person does this task", Command: handIn(t.Task), Act: ActSubmit}
		if t.Role != "" {
			w.About = w.Text + " as " + plain.Line(t.Role)
			w.Text = fmt.Sprintf("%s (git config %s AGENT has an agent do it)", w.About, agent.RoleKey(t.Role))
		}
		return w, true
	case name != agent.NameExec:
		_, err := e.Agents.Lookup(name)
		return Wait{Text: err.Error(), Command: "git wf agents", Act: ActSubmit}, true
	case !e.Trust.Has(t.Run):
		return Wait{Text: "its command line is not trusted here", Command: "git wf trust"}, true
	}
	return Wait{}, false
}

// handIn is the command with which a person begins to hand in what a task wants.
func handIn(t *plan.Task) string {
	if t.Changes() {
		return "git wf start " + string(t.TaskID)
	}
	files := "PATH..."
	if name := t.DeliverableSpec.Only(); name != "" {
		files = shell.Word(plain.Line(path.Base(name)))
	}
	return "git wf submit " + string(t.TaskID) + " " + files
}
