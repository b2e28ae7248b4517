package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/agent"
	"gitwf/internal/contract"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/prompt"
)

// attempt has an agent make a task's next version, and records the version or why there is none.
func (e *Engine) attempt(ctx context.Context, id plan.ID, t *plan.TaskState, name string) error {
	worker, err := e.Agents.Lookup(name)
	if err != nil {
		return err
	}
	want := plan.Claim{Task: t.TaskID, Agent: name, Worktree: e.inWorktree(name, t.Task) || t.Changes()}
	return e.underClaim(ctx, id, want, (*hold).isReady, func(h *hold) error {
		if rejected, err := e.rejectConflict(ctx, h.snap, h.task); err != nil || rejected {
			return err
		}
		inputs := approvedInputs(h.snap, h.state, t.TaskID)
		w, err := e.prepare(h.work, h.snap, h.task, roleOf(h.task.Task), inputs)
		if errors.As(err, new(*prompt.BudgetError)) { // this task can't go on, but others can
			return e.failWith(ctx, h, err)
		}
		if err != nil {
			return err
		}
		defer w.remove()
		h.rules = w.rules
		if ready, err := e.takeSteps(ctx, h, w); err != nil || !ready {
			return err
		}
		return e.unlessOvertaken(ctx, h, inputs, e.makeVersion(ctx, h, w, worker))
	})
}

// unlessOvertaken is the error of an attempt, nil if its work is refused because something happened to the task or to
// its inputs meanwhile: that work counts for nothing, and the next look finds what is to be done now.
func (e *Engine) unlessOvertaken(ctx context.Context, h *hold, inputs []plan.Input, err error) error {
	var refused *plan.RefusedError
	if !errors.As(err, &refused) {
		return err
	}
	id := h.task.TaskID
	snap, readErr := e.Store.Snapshot(context.WithoutCancel(ctx), h.plan)
	if readErr != nil {
		return err
	}
	s := snap.State()
	if ready(s.Tasks[id]) && slices.Equal(approvedInputs(snap, s, id), inputs) {
		return err
	}
	e.report(id, "the work is thrown away: "+refused.Reason)
	return nil
}

// keepsClear fails with gitstore.ErrClaimed while a window is full, somebody else works on the same paths in a
// worktree, or our agent in the same conversation, which is never written by two at once. All claim before they look,
// so the last one sees the others, and nobody begins after seeing too many.
func (e *Engine) keepsClear(ctx context.Context, h *hold) error {
	byPaths := h.claim.Worktree && len(plandoc.TouchedPaths(h.task.Task)) > 0
	byTalk := h.claim.PID > 0 && e.inRoleThread(h.state, h.task, h.claim.Agent)
	if !byPaths && !byTalk && len(h.state.Windows(h.task.TaskID)) == 0 {
		return nil
	}
	claims, err := e.Store.Claims(ctx, h.plan)
	if err != nil {
		return err
	}
	claims = e.Standing(claims, e.Now())
	id := h.task.TaskID
	if why := barred(h.state, h.task.Task, byPaths, claims); why != "" {
		return fmt.Errorf("%s %s: %w", id, why, gitstore.ErrClaimed)
	}
	if by := talkedBy(h.state, h.task, h.claim.Agent, claims); byTalk && by != "" {
		return fmt.Errorf("%s: goes on in the conversation of %s: %w", id, by, gitstore.ErrClaimed)
	}
	return nil
}

// makeVersion asks the agent, and records what it made.
func (e *Engine) makeVersion(ctx context.Context, h *hold, w *workDir, worker agent.Agent) error {
	t, name := h.task, h.claim.Agent
	e.report(t.TaskID, "started by "+name)
	h.began = e.Now()
	if err := e.lookAhead(h, w); h.work.Err() != nil {
		return e.broken(ctx, h)
	} else if err != nil {
		return e.failWith(ctx, h, err)
	}
	job, err := e.jobOf(h, w)
	if err != nil {
		return err
	}
	res, err := worker.Run(h.work, job)
	if over, err := e.withoutReply(ctx, h, name, "", res, err); over {
		return err
	}
	if t.Planning() {
		if err := nameCandidate(w.out, t.DeliverableSpec.Filename); err != nil {
			return err
		}
	}
	switch {
	case res.Kind == agent.NeedsInput:
		return e.needs(ctx, h, res)
	case w.change != nil:
		return e.deliverChange(ctx, h, w, res)
	}
	files, err := agent.Collect(w.out, t.DeliverableSpec, h.snap.Plan.Limits())
	if err == nil {
		return e.deliver(ctx, h, w, files, res)
	}
	if !errors.As(err, new(*agent.CollectError)) {
		return err
	}
	res.Kind, res.Message = agent.Error, err.Error()
	return e.fail(ctx, h, res)
}

// jobOf is what the agent gets to make a version.
func (e *Engine) jobOf(h *hold, w *workDir) (job agent.Job, err error) {
	job = w.job(&h.log)
	job.Environ = e.Environ
	if h.claim.Agent == agent.NameExec {
		job.Environ, err = e.commandEnv()
	}
	if err == nil {
		job.Thread, err = e.thread(h.work, h.snap, h.task, h.claim.Agent)
	}
	if err == nil {
		job.Spent, err = e.spentIn(h.work, h.snap, h.task, job.Thread)
	}
	return job, err
}

// roleOf is the role of the agent that does a task.
func roleOf(t *plan.Task) contract.Role {
	switch {
	case t.SplitTargetTaskID != "":
		return contract.RoleSplit
	case t.Planning():
		return contract.RolePlan
	}
	return contract.RoleAction
}

// reviewRoleOf is the role of the agent that reviews a task.
func reviewRoleOf(t *plan.Task) contract.Role {
	if t.Planning() {
		return contract.RolePlanReview
	}
	return contract.RoleCheck
}

// nameCandidate renames the plan that an agent made to the declared name: plan.json is as good as plan.yaml, and the
// content says which it is.
func nameCandidate(out, name string) error {
	for _, other := range []string{"plan.yaml", "plan.yml", "plan.json"} {
		if _, err := os.Lstat(filepath.Join(out, name)); err == nil || other == name {
			continue
		}
		err := os.Rename(filepath.Join(out, other), filepath.Join(out, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// thread is the agent's own name for its last conversation about the task, or in the task's role if that has one for
// all of its tasks, to continue; "" begins a new one.
func (e *Engine) thread(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, name string) (string, error) {
	if e.Agents.Knows(name) && snap.Plan.Roles[t.Role].OneThread() {
		return e.roleThread(ctx, snap, t.Role, name)
	}
	if t.Active == 0 || !e.Agents.Knows(name) {
		return "", nil
	}
	a, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Active)
	if err != nil || a.Agent != name {
		return "", err
	}
	return a.Thread, nil
}

// talks reports whether an attempt would go on in a conversation that current work is writing.
func (r *run) talks(s *plan.State, w work, chosen []work) bool {
	if !r.inRoleThread(s, w.task, w.agent) {
		return false
	}
	for _, other := range slices.AppendSeq(slices.Clone(chosen), maps.Values(r.running)) {
		if other.what == w.what && other.agent == w.agent && other.task.Role == w.task.Role {
			return true
		}
	}
	return talkedBy(s, w.task, w.agent, r.claims) != ""
}

// inRoleThread reports whether an agent makes the next version of a task in the one conversation of its role.
func (e *Engine) inRoleThread(s *plan.State, t *plan.TaskState, name string) bool {
	return e.Agents.Knows(name) && s.Plan.Roles[t.Role].OneThread() && ready(t)
}

// talkedBy is another task that an agent makes in the conversation of a task's role, by the claims; "" if none.
func talkedBy(s *plan.State, t *plan.TaskState, name string, claims plan.Claims) plan.TaskID {
	for id, c := range claims {
		other := s.Tasks[id]
		if c.Agent == name && id != t.TaskID && other != nil && other.NodeType == plan.Action && other.Role == t.Role {
			return id
		}
	}
	return ""
}

// broken is the error of interrupted work: the user's interrupt, or the loss of its claim, which it reports.
func (e *Engine) broken(ctx context.Context, h *hold) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e.fenced(h)
	return gitstore.ErrClaimed
}

// fenced reports that work counts for nothing because somebody else has taken over its task.
func (e *Engine) fenced(h *hold) {
	e.report(h.claim.Task, fmt.Sprintf("the work under claim %d is thrown away: "+
		"the claim was not renewed in time, and is not ours any more", h.claim.Number))
}

// among reports whether a task is in a list.
func among(list []*plan.TaskState, id plan.TaskID) bool {
	return slices.ContainsFunc(list, func(t *plan.TaskState) bool { return t.TaskID == id })
}

// ready reports whether a task can be worked on, or a CHECK be run, now.
func ready(t *plan.TaskState) bool {
	return t != nil && (t.Status == plan.StatusReady || t.Status == plan.StatusToBeModified && !t.Waits())
}

// deliver records a new version.
func (e *Engine) deliver(ctx context.Context, h *hold, w *workDir, files []agent.File,
	res agent.Result) error {
	batch := e.Store.NewBatch()
	defer batch.Discard() // if it is not recorded
	tree, infos, err := batch.AddDir(context.WithoutCancel(ctx), w.out, fileRefs(files))
	if err != nil {
		return err
	}
	same, err := e.rejectedAlready(ctx, h, tree, w.inputs)
	if err != nil {
		return err
	}
	if same && e.Agents.Knows(h.claim.Agent) {
		res.Kind, res.Message = agent.Error, fmt.Sprintf("made the files of %s again, which was rejected: %s",
			plan.VersionID(h.task.Active), w.rejected.Reason)
		h.log.Reset()
		return e.fail(ctx, h, res)
	}
	return e.recordVersion(ctx, h, w, batch, tree, infos, res)
}

// rejectedAlready reports whether a tree is that of the newest version, which was made from the same inputs and
// rejected for what it is.
func (e *Engine) rejectedAlready(ctx context.Context, h *hold, tree plan.OID,
	inputs []plan.Input) (bool, error) {
	id, active := h.task.TaskID, h.task.Active
	v, ok := h.snap.Records.Of(id).Version(active)
	if !ok || v.Files != tree || h.state.LastingVerdict(id, plan.VersionID(active)) != plan.Rejected {
		return false, nil
	}
	made, err := export.ReadArtifact(ctx, e.Store, h.snap, id, active)
	return err == nil && slices.Equal(made.Inputs, inputs), err
}

// recordVersion records a new version whose files are in the batch.
func (e *Engine) recordVersion(ctx context.Context, h *hold, w *workDir, batch *gitstore.Batch,
	tree plan.OID, infos []plan.FileInfo, res agent.Result) error {
	by, took := res.MadeBy(h.claim.Agent), e.took(h)
	a := e.newArtifact(h.task.TaskID, by, tree, infos, w.inputs)
	a.Session, a.SourceCommit, a.DurationMS = h.claim.Session, w.source, took.Milliseconds()
	a.Summary, a.Thread, a.Usage, a.Concerns = res.Summary, res.Thread, res.Usage, res.Concerns
	a.Preparation, a.Rules = h.prepared, h.rules
	if by == agent.NameExec {
		a.Output = lastPart(strings.TrimSpace(res.LogTail), 1<<10)
	}
	count := plain.Count(len(infos), "file")
	if w.change != nil {
		a.Base, count = &w.change.base, plain.Count(len(plandoc.ChangedFiles(infos)), "changed file")
		if err := e.keepBase(context.WithoutCancel(ctx), batch, h.plan, a); err != nil {
			return err
		}
	}
	ev := plan.NewVersion{Artifact: a, Notes: res.Notes, Author: AgentActor(by)}
	return e.record(ctx, h.plan, h.task.TaskID, ev, h, batch, func(c plan.Change) string {
		return fmt.Sprintf("%s by %s, %s, in %s", c.Trailer("Wf-Artifact"), by, count, round(took))
	})
}

// newArtifact is the record of a version that is made now.
func (e *Engine) newArtifact(task plan.TaskID, by string, tree plan.OID, files []plan.FileInfo,
	inputs []plan.Input) plan.Artifact {
	return plan.Artifact{TaskID: task, Agent: by, Tree: tree, Files: files, Size: totalSize(files),
		Inputs: inputs, CreatedAt: plan.Second(e.Now())}
}

// failed is the record of work under a claim that left no artifact and no review.
func (e *Engine) failed(h *hold, res agent.Result) plan.AddAttempt {
	by := res.MadeBy(h.claim.Agent)
	ev := plan.AddAttempt{
		Attempt: plan.Attempt{
			TaskID: h.claim.Task, Kind: res.Kind.Attempt(), Agent: by, Session: h.claim.Session,
			CreatedAt: plan.Second(e.Now()), DurationMS: e.took(h).Milliseconds(),
			ExitCode: res.ExitCode, Message: res.Message, Concerns: res.Concerns, Thread: res.Thread,
			Usage: res.Usage, Preparation: h.prepared, Rules: h.rules,
		},
		Log: h.log.Bytes(), Notes: res.Notes, Author: AgentActor(by),
	}
	if res.Kind == agent.NeedsInput {
		ev.Notes = nil // the event of a question brings none
	}
	if h.task != nil && h.task.TaskID != h.claim.Task { // the CHECK's attempt to review a version
		ev.Version = h.task.Active
	}
	return ev
}

// needs records the questions that an attempt ended with. It does not ask again what was asked and answered before: an
// agent that asks again has failed.
func (e *Engine) needs(ctx context.Context, h *hold, res agent.Result) error {
	ev, again, err := e.questions(ctx, h, res)
	if err != nil {
		return err
	}
	if again != "" {
		res.Kind, res.Message = agent.Error, again
		return e.fail(ctx, h, res)
	}
	return e.record(ctx, h.plan, h.task.TaskID, ev, h, nil, func(c plan.Change) string {
		return what(c) + ": " + firstLine(res.Needs[0].Question)
	})
}

// questions is the event of the questions that work ended with, or says what was asked before.
func (e *Engine) questions(ctx context.Context, h *hold, res agent.Result) (ev plan.Ask, again string, err error) {
	for i, need := range res.Needs {
		q, err := e.asked(ctx, h.snap, h.task.TaskID, need.Name)
		if err != nil {
			return ev, "", err
		}
		if q != nil {
			return ev, fmt.Sprintf("asked for %s again, which %s has the answer to", plain.Line(q.Name),
				q.QuestionID), nil
		}
		res.Needs[i].By, res.Needs[i].CreatedAt = res.MadeBy(h.claim.Agent), plan.Second(e.Now())
	}
	return plan.Ask{Attempt: e.failed(h, res), Questions: res.Needs}, "", nil
}

// asked is the task's question of a name, nil if there is none.
func (e *Engine) asked(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, name string) (*plan.Question,
	error) {
	for _, n := range snap.Records.Of(id).Questions {
		if q, err := e.documents(ctx, snap, id).Question(n); err != nil || q.Name == name {
			return &q.Question, err
		}
	}
	return nil, nil
}

// goOn and stop are the options of what the engine itself asks. Whoever answers with stop pauses the plan.
const goOn = "go-on"

var stop = plan.Option{OptionID: "stop", Description: "Pause the plan; git wf resume goes on with it"}

// ownQuestion is a question of the engine's own.
func ownQuestion(name, text, goesOn string) plan.Question {
	return plan.Question{Name: name, Kind: plan.AskChoice, Question: text, RecommendedOptionID: goOn,
		Options: []plan.Option{{OptionID: goOn, Description: goesOn}, stop}}
}

// fail records an attempt without a result.
func (e *Engine) fail(ctx context.Context, h *hold, res agent.Result) error {
	if err := e.scratch.hasRoom(); err != nil {
		return err
	}
	return e.record(ctx, h.plan, h.claim.Task, e.failed(h, res), h, nil, func(c plan.Change) string {
		return what(c) + ": " + firstLine(res.Message)
	})
}

// failWith records that the work failed before an agent said anything. What is only not here is no attempt.
func (e *Engine) failWith(ctx context.Context, h *hold, cause error) error {
	if gitstore.IsAbsent(cause) {
		return cause
	}
	return e.fail(ctx, h, agent.Result{Kind: agent.Error, Message: cause.Error()})
}
