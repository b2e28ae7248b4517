package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prepare"
	"gitwf/internal/process"
	"gitwf/internal/prompt"
)

// preparation is the directory below WF_IN with the outputs of a task's steps, and the role of their commands.
const preparation = "preparation"

// takeSteps takes the steps of a task's preparation and tells the agent what they found. ready is false if the attempt
// ended with them; takeSteps has then recorded it, as failed or as a question.
func (e *Engine) takeSteps(ctx context.Context, h *hold, w *workDir) (ready bool, err error) {
	if len(w.steps) == 0 || w.role != contract.RoleAction {
		return true, nil
	}
	h.began = e.Now()
	out, err := e.runSteps(h.work, plandoc.WithInherited(h.state, h.task.Task), w)
	if h.work.Err() != nil { // as for an attempt: it says nothing about the task
		return false, e.broken(ctx, h)
	}
	if err != nil {
		return false, err
	}
	h.prepared = out.Records()
	if out.Failed != nil {
		return false, e.unprepared(ctx, h, out)
	}
	err = e.tellSteps(ctx, w, out)
	if _, ok := errors.AsType[*prompt.BudgetError](err); ok {
		return false, e.failWith(ctx, h, err)
	}
	return err == nil, err
}

// runSteps runs them in a checkout of the repository: the agent's own, or else one that goes with the attempt.
func (e *Engine) runSteps(ctx context.Context, task *plan.Task, w *workDir) (prepare.Outcome, error) {
	snap := w.snap
	if !e.Trust.Preparation(task) {
		return prepare.Outcome{}, &plan.RefusedError{Task: task.TaskID,
			Reason: "a command line of its preparation is not trusted here", Hint: "git wf trust"}
	}
	results := filepath.Join(w.in, preparation)
	if err := os.Mkdir(results, 0o777); err != nil {
		return prepare.Outcome{}, err
	}
	dir := w.work
	if !w.checkout && slices.ContainsFunc(plandoc.Steps(task), plandoc.Step.Runs) {
		tree := *w
		tree.work = filepath.Join(w.dir, "repository")
		dir = tree.work
		if w.source == "" { // without a commit there is nothing to read
			if err := os.Mkdir(dir, 0o777); err != nil {
				return prepare.Outcome{}, err
			}
		} else if err := e.checkOut(ctx, &tree); err != nil {
			return prepare.Outcome{}, err
		}
	}
	layOutSummaries(dir, snap.ID, w.about.Inputs)
	answers, err := e.stepAnswers(ctx, snap, task)
	if err != nil {
		return prepare.Outcome{}, err
	}
	retried, err := e.retriedSteps(ctx, snap, task.TaskID)
	if err != nil {
		return prepare.Outcome{}, err
	}
	environ, err := e.commandEnv()
	if err != nil {
		return prepare.Outcome{}, err
	}
	return prepare.Run(ctx, prepare.Setup{
		Task: task, Plan: snap.ID, Dir: dir, Results: results, Answers: answers, Retried: retried,
		Timeout: time.Duration(snap.Plan.Limits().CheckTimeoutSeconds) * time.Second,
		Environ: process.Environ(environ, "WF_ROLE="+preparation, "WF_REPO="+w.repo, "WF_IN="+w.in,
			"WF_CONTEXT="+w.context,
			"WF_PLAN="+string(snap.ID), "WF_TASK="+string(task.TaskID), "WF_ATTEMPT="+strconv.Itoa(w.attempt)),
	})
}

// layOutSummaries puts the summaries of the inputs where a session directory has them, so that its
// commands find them. It overwrites nothing of the repository's: WF_CONTEXT has the summaries too.
func layOutSummaries(dir string, id plan.ID, inputs []agent.Input) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	at := ".workflow/" + string(id) + "/.summaries"
	if len(inputs) == 0 || root.MkdirAll(at, 0o777) != nil {
		return
	}
	for _, in := range inputs {
		for _, name := range []string{string(in.TaskID) + "-summary.md", string(in.TaskID) + ".md"} {
			if _, err := root.Lstat(at + "/" + name); err != nil {
				_ = root.WriteFile(at+"/"+name, []byte(in.Summary), 0o666)
			}
		}
	}
}

// stepQuestion is the name of the question about a failed step.
func stepQuestion(step string) string { return "preparation: " + plain.Line(step) }

// stepAnswers are the newest answers to questions about failed steps, by the name of the step.
func (e *Engine) stepAnswers(ctx context.Context, snap *gitstore.Snapshot, task *plan.Task) (map[string]string, error) {
	answers := map[string]string{}
	all, err := e.answered(ctx, snap, task.TaskID)
	for _, q := range all {
		for _, s := range plandoc.Steps(task) {
			if q.Name == stepQuestion(s.Name) && q.To == "" { // a role speaks for no person
				answers[s.Name] = cmp.Or(q.Answer.Text, q.Answer.OptionID)
			}
		}
	}
	return answers, err
}

// retriedSteps are the steps that have failed for good since the task was last reset, by name.
func (e *Engine) retriedSteps(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID) (map[string]bool, error) {
	retried := map[string]bool{}
	r := snap.Records.Of(id)
	for _, rec := range r.Attempts {
		if rec.N <= r.Reset().Attempt || rec.Kind != plan.AttemptError || rec.Version > 0 {
			continue
		}
		doc, err := e.documents(ctx, snap, id).Attempt(rec)
		if err != nil {
			return nil, err
		}
		for _, step := range doc.Preparation {
			if step.Result == plandoc.StepFailed {
				retried[step.Step] = true
			}
		}
	}
	return retried, nil
}

// unprepared records an attempt that ended with a step: as a question if the step wants a person, else as failed.
func (e *Engine) unprepared(ctx context.Context, h *hold, out prepare.Outcome) error {
	s := out.Failed
	message := fmt.Sprintf("the preparation failed: step %s: %s", plain.Line(s.Name), s.Record.Problem)
	if tail := strings.TrimSpace(lastPart(s.Output, 2000)); tail != "" {
		message += "\nend of its output:\n" + tail
	}
	res := agent.Result{Kind: agent.Error, Message: message}
	if s.Record.ExitCode != nil {
		res.ExitCode = *s.Record.ExitCode
	}
	for _, s := range out.Steps {
		output := strings.TrimSpace(s.Output)
		fmt.Fprintf(&h.log, "== %s: %s\n%s\n", plain.Line(s.Name), s.Record.Result, output)
	}
	if !out.Ask {
		return e.fail(ctx, h, res)
	}
	res.Kind = agent.NeedsInput
	res.Needs = []plan.Question{ownQuestion(stepQuestion(s.Name), message, "What it needs is there: try the step "+
		"again. If it fails again, the text beside this answer is taken as its result")}
	return e.needs(ctx, h, res)
}

// lastPart is the end of a text, at most so many bytes.
func lastPart(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "..." + strings.ToValidUTF8(s[len(s)-most:], "")
}

// tellSteps rewrites prompt and context with the findings of the steps.
func (e *Engine) tellSteps(ctx context.Context, w *workDir, out prepare.Outcome) error {
	w.steps, w.about.Preparation = nil, nil
	for i, s := range out.Steps {
		p := agent.Prepared{Prepared: s.Record, Action: s.Action, Advice: s.Advice}
		p.Output = s.Output // the whole, while the record has an excerpt
		told := promptStep(s.Step, i)
		told.Result, told.Output, told.Problem, told.Advice = s.Record.Result, prompt.Text(s.Output), s.Record.Problem,
			prompt.Text(strings.Join(s.Advice, "\n"))
		if s.File != "" {
			p.File = preparation + "/" + s.File
			told.File = p.File
		}
		w.steps = append(w.steps, told)
		w.about.Preparation = append(w.about.Preparation, p)
	}
	if err := w.about.Write(w.context); err != nil {
		return err
	}
	return e.attemptPrompt(ctx, w)
}

// stepsAhead are the steps of a task's preparation before any is taken.
func stepsAhead(t *plan.Task) []prompt.Step {
	if t.NodeType != plan.Action || t.Planning() {
		return nil
	}
	var steps []prompt.Step
	for i, s := range plandoc.Steps(t) {
		steps = append(steps, promptStep(s, i))
	}
	return steps
}

func promptStep(s plandoc.Step, i int) prompt.Step {
	name := s.Name
	if s.OutputTo != "" {
		name += " [" + s.OutputTo + "]"
	}
	return prompt.Step{Number: i + 1, Name: name, Action: s.Action, Result: "not taken yet"}
}

// assigned is the agent for a task that names none: the one in its meta.agent, or the one for its kind and title in the
// user's table; "" if there is none, or none of that name is set up here.
func (e *Engine) assigned(t *plan.Task) string {
	if t.NodeType != plan.Action || t.Planning() {
		return ""
	}
	if name := t.MetaAgent(); e.isSetUp(name) {
		return name
	}
	return e.byTable(t)
}

// byTable is the agent for a task or a CHECK in the user's table, "" if there is none.
func (e *Engine) byTable(t *plan.Task) string {
	table, err := e.Assign()
	if err != nil {
		return "" // canAssign reports it
	}
	return table.Of(t, e.isSetUp)
}

func (e *Engine) isSetUp(name string) bool {
	_, ok := e.Agents.Config(name)
	return ok
}

// canAssign fails if the user's table can't be read: tasks would go to the wrong agent.
func (e *Engine) canAssign() error {
	_, err := e.Assign()
	return err
}

// MissingPaths finds the focus_paths of a strict draft that HEAD lacks, placed in the draft's file.
func (e *Engine) MissingPaths(ctx context.Context, d Draft) (plan.Findings, error) {
	if d.Plan.Config.TaskDocument != plandoc.StrictTaskDocument {
		return nil, nil
	}
	head, err := e.Store.Head(ctx)
	if err != nil && !errors.Is(err, gitstore.ErrUnborn) {
		return nil, err
	}
	has := map[string]bool{}
	if head != "" {
		out, err := e.Store.Git(ctx, "ls-tree", "-r", "-t", "-z", "--name-only", "--full-tree", string(head))
		if err != nil {
			return nil, fmt.Errorf("list the files of HEAD: %w", err)
		}
		for name := range strings.SplitSeq(out, "\x00") {
			has[name] = true
		}
	}
	return plandoc.Locate(d.Name, d.Data, plandoc.MissingPaths(d.Plan, func(path string) bool { return has[path] })),
		nil
}
