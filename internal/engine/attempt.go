package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	inWorktree := e.inWorktree(name, t.Task) || t.Changes()
	h, work, err := e.claimAs(ctx, id, plan.Claim{Task: t.TaskID, Agent: name, Worktree: inWorktree})
	if err != nil {
		return err
	}
	defer e.release(ctx, id, h)
	snap, state, t, err := e.afterClaim(ctx, id, t.TaskID)
	if err != nil || t == nil {
		return err
	}
	if inWorktree {
		if err := e.keepsClear(ctx, id, state, t); err != nil {
			return err
		}
	}
	if err := e.talksAlone(ctx, id, state, t, name); err != nil {
		return err
	}
	if rejected, err := e.rejectConflict(ctx, snap, t); err != nil || rejected {
		return err
	}
	began := e.Now()
	w, err := e.prepare(work, snap, t, roleOf(t.Task), approvedInputs(snap, state, t.TaskID))
	var tooLong *prompt.BudgetError
	if errors.As(err, &tooLong) { // this task can't go on, but others can
		return e.fail(ctx, id, t.TaskID, 0, h, agent.Result{Kind: agent.Error, Message: err.Error()},
			e.Now().Sub(began), nil)
	}
	if err != nil {
		return err
	}
	defer w.remove()
	if ready, err := e.takeSteps(ctx, work, snap, t, h, w, name); err != nil || !ready {
		return err
	}

	e.report(t.TaskID, "started by "+name)
	began = e.Now()
	if err := e.lookAhead(work, w, snap, t, name); work.Err() != nil {
		return e.broken(ctx, h)
	} else if err != nil {
		res := agent.Result{Kind: agent.Error, Message: err.Error()}
		return e.fail(ctx, id, t.TaskID, 0, h, res, e.Now().Sub(began), nil)
	}
	var log bytes.Buffer
	job := w.job(snap, t, &log)
	job.Environ = e.Environ
	if name == agent.NameExec {
		if job.Environ, err = e.commandEnv(); err != nil {
			return err
		}
	}
	if job.Thread, err = e.thread(work, snap, t, name); err != nil {
		return err
	}
	if job.Spent, err = e.spent(work, snap, t, job.Thread); err != nil {
		return err
	}
	res, err := worker.Run(work, job)
	if done := err == nil && (res.Kind == agent.Artifact || res.Kind == agent.NeedsInput); work.Err() != nil && !done {
		// Interrupted, or the claim was lost: this says nothing about the task, so it is no attempt. Record what was
		// finished just before, if the claim is still ours.
		return e.broken(ctx, h)
	}
	if err != nil && res.Message == "" {
		res = agent.Result{Kind: agent.Error, Message: err.Error()}
	}
	if down := outageOf(name, res); down != nil {
		return down
	}
	if t.Planning() {
		if err := nameCandidate(w.out, t.DeliverableSpec.Filename); err != nil {
			return err
		}
	}
	if res.Kind == agent.NeedsInput && len(res.Needs) > 0 {
		return e.needs(ctx, snap, t, h, res, e.Now().Sub(began), log.Bytes())
	}
	if res.Kind == agent.Artifact && w.change != nil {
		return e.deliverChange(ctx, snap, t, h, w, res, e.Now().Sub(began), log.Bytes())
	}
	if res.Kind == agent.Artifact {
		var refused *agent.CollectError
		files, err := agent.Collect(w.out, t.DeliverableSpec, snap.Plan.Limits())
		if err == nil {
			return e.deliver(ctx, snap, t, h, w, files, res, e.Now().Sub(began))
		}
		if !errors.As(err, &refused) {
			return err
		}
		res.Kind, res.Message = agent.Error, err.Error()
		if refused.Rule.Lasting() {
			return e.refused(ctx, snap, t, h, res, e.Now().Sub(began), log.Bytes())
		}
	}
	return e.fail(ctx, id, t.TaskID, 0, h, res, e.Now().Sub(began), log.Bytes())
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
		isOver := other.phase != nil && other.in(reviews) // its version is recorded
		if other.what == w.what && other.agent == w.agent && other.task.Role == w.task.Role && !isOver {
			return true
		}
	}
	return talkedBy(s, w.task, w.agent, r.claims) != ""
}

// inRoleThread reports whether an agent makes the next version of a task in the one conversation of its role.
func (e *Engine) inRoleThread(s *plan.State, t *plan.TaskState, name string) bool {
	return e.Agents.Knows(name) && s.Plan.Roles[t.Role].OneThread() && ready(t)
}

// talkedBy is another task that an agent makes in the conversation of a task's role, under one of the claims; "" if
// there is none.
func talkedBy(s *plan.State, t *plan.TaskState, name string, claims plan.Claims) plan.TaskID {
	for id, c := range claims {
		other := s.Tasks[id]
		if c.Agent == name && id != t.TaskID && other != nil && other.NodeType == plan.Action && other.Role == t.Role {
			return id
		}
	}
	return ""
}

// talksAlone fails with gitstore.ErrClaimed if the agent works on another task in the same conversation: one is never
// written by two at once. As with keepsClear, nobody begins after seeing somebody.
func (e *Engine) talksAlone(ctx context.Context, id plan.ID, s *plan.State, t *plan.TaskState, name string) error {
	if !e.inRoleThread(s, t, name) {
		return nil
	}
	claims, err := e.Store.Claims(ctx, id)
	if err != nil {
		return err
	}
	if by := talkedBy(s, t, name, e.Standing(claims, e.Now())); by != "" {
		return fmt.Errorf("%s: goes on in the conversation of %s: %w", t.TaskID, by, gitstore.ErrClaimed)
	}
	return nil
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
	e.report(h.claim.Task,
		fmt.Sprintf("the work under claim %d is thrown away: the claim was not renewed in time, and is not ours "+
			"any more",
			h.claim.Number))
}

// afterClaim reads the plan again now that nobody else can work on the task; a nil task means that nothing is left to
// do.
func (e *Engine) afterClaim(ctx context.Context, id plan.ID, task plan.TaskID) (*gitstore.Snapshot, *plan.State,
	*plan.TaskState, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	state := snap.State()
	if t := state.Tasks[task]; ready(t) {
		return snap, state, t, nil
	}
	return snap, state, nil, nil
}

// claimWhile claims a task and reads the plan again. If the work is not due any more, because somebody else was faster,
// the claim is given back and the hold is nil. The returned context ends when the claim is lost.
func (e *Engine) claimWhile(ctx context.Context, id plan.ID, task plan.TaskID, by string,
	due func(*plan.State) bool) (*hold, context.Context, *gitstore.Snapshot, error) {
	h, work, err := e.claim(ctx, id, task, by)
	if err != nil {
		return nil, nil, nil, err
	}
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil || !due(snap.State()) {
		e.release(ctx, id, h)
		return nil, nil, nil, err
	}
	return h, work, snap, nil
}

// among reports whether a task is in a list.
func among(list []*plan.TaskState, id plan.TaskID) bool {
	return slices.ContainsFunc(list, func(t *plan.TaskState) bool { return t.TaskID == id })
}

// ready reports whether a task can be worked on, or a CHECK be run, now.
func ready(t *plan.TaskState) bool {
	return t != nil && (t.Status == plan.StatusReady || t.Status == plan.StatusToBeModified && !t.Waits())
}

// keepsClear fails with gitstore.ErrClaimed if somebody else works on the same paths in a worktree. Both claim their
// tasks before they look, so at least one sees the other, and nobody begins after seeing one.
func (e *Engine) keepsClear(ctx context.Context, id plan.ID, s *plan.State, t *plan.TaskState) error {
	if len(plandoc.TouchedPaths(t.Task)) == 0 {
		return nil
	}
	claims, err := e.Store.Claims(ctx, id)
	if err != nil {
		return err
	}
	if by := crossedBy(s, t.Task, e.Standing(claims, e.Now())); by != "" {
		return fmt.Errorf("%s: about the same paths as %s: %w", t.TaskID, by, gitstore.ErrClaimed)
	}
	return nil
}

// deliver records a new version, with its verdict if the checks are quick.
func (e *Engine) deliver(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, h *hold, w *workDir,
	files []agent.File, res agent.Result, took time.Duration) error {
	x := e.early(ctx, t.TaskID, took)
	defer x.end()
	batch := e.Store.NewBatch()
	defer batch.Discard() // if it is not recorded
	tree, infos, err := batch.AddDir(context.WithoutCancel(ctx), w.out, fileRefs(files))
	if err != nil {
		return err
	}
	same, err := e.rejectedAlready(ctx, snap, t, tree, w.inputs)
	if err != nil {
		return err
	}
	if same && e.Agents.Knows(h.claim.Agent) && h.claim.Agent != agent.NameOutline {
		res.Kind, res.Message = agent.Error, fmt.Sprintf("made the files of %s again, which was rejected: %s",
			plan.VersionID(t.Active), w.rejected.Reason)
		return e.fail(ctx, snap.ID, t.TaskID, 0, h, res, took, nil)
	}
	return e.recordVersion(ctx, snap, t, h, w, batch, tree, infos, res, took, x)
}

// rejectedAlready reports whether a tree is that of the newest version, which was made from the same inputs and
// rejected for what it is.
func (e *Engine) rejectedAlready(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, tree plan.OID,
	inputs []plan.Input) (bool, error) {
	v, ok := snap.Records.Of(t.TaskID).Version(t.Active)
	if !ok || v.Files != tree || snap.State().LastingVerdict(t.TaskID, plan.VersionID(t.Active)) != plan.Rejected {
		return false, nil
	}
	made, err := export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Active)
	return err == nil && slices.Equal(made.Inputs, inputs), err
}

// recordVersion records a new version whose files are in the batch.
func (e *Engine) recordVersion(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, h *hold, w *workDir,
	batch *gitstore.Batch, tree plan.OID, infos []plan.FileInfo, res agent.Result, took time.Duration, x *early) error {
	by := res.MadeBy(h.claim.Agent)
	a := plan.Artifact{
		TaskID: t.TaskID, Tree: tree, Agent: by, Session: h.claim.Session, CreatedAt: plan.Second(e.Now()),
		SourceCommit: w.source, Inputs: w.inputs, Files: infos, Size: totalSize(infos),
		DurationMS: took.Milliseconds(), Summary: res.Summary, Thread: res.Thread, Usage: res.Usage,
		Preparation: h.prepared,
	}
	if by == agent.NameExec {
		const most = 1 << 10
		a.Output = strings.TrimSpace(res.LogTail)
		if n := len(a.Output); n > most {
			a.Output = "..." + strings.ToValidUTF8(a.Output[n-most:], "")
		}
	}
	count := countFiles(infos)
	if w.change != nil {
		a.Base, count = &w.change.base, plain.Count(len(plandoc.ChangedFiles(infos)), "changed file")
		if err := e.keepBase(context.WithoutCancel(ctx), batch, snap.ID, a); err != nil {
			return err
		}
	}
	a.Concerns = res.Concerns
	ev := plan.NewVersion{Artifact: a, Notes: res.Notes, Author: AgentActor(by)}
	done, err := e.appendWith(ctx, snap.ID, ev, h, gitstore.AppendOptions{Batch: batch, Next: x.next()})
	if err != nil {
		return err
	}
	e.report(t.TaskID, fmt.Sprintf("%s by %s, %s, in %s", artifactOf(done.Change), by, count, round(took)))
	return x.finish(ctx, snap.ID, t, done)
}

// failed is the record of an attempt that left no artifact.
func (e *Engine) failed(task plan.TaskID, version int, h *hold, res agent.Result, took time.Duration,
	log []byte) plan.AddAttempt {
	by := res.MadeBy(h.claim.Agent)
	notes := res.Notes
	if res.Kind == agent.NeedsInput {
		notes = nil // the event of a question brings none
	}
	return plan.AddAttempt{
		Attempt: plan.Attempt{
			TaskID: task, Kind: res.Kind.Attempt(), Agent: by, Session: h.claim.Session,
			CreatedAt:  plan.Second(e.Now()),
			DurationMS: took.Milliseconds(), ExitCode: res.ExitCode, Message: res.Message, Concerns: res.Concerns,
			Thread: res.Thread, Usage: res.Usage,
			Preparation: h.prepared,
		},
		Version: version, Log: log, Notes: notes, Author: AgentActor(by),
	}
}

// needs records the questions that an attempt ended with. It does not ask again what was asked and answered before: an
// agent that asks again has failed.
func (e *Engine) needs(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, h *hold, res agent.Result,
	took time.Duration, log []byte) error {
	for _, need := range res.Needs {
		q, err := e.asked(ctx, snap, t.TaskID, need.Name)
		if err != nil {
			return err
		}
		if q != nil {
			res.Kind, res.Message = agent.Error, fmt.Sprintf("asked for %s again, which %s has the answer to",
				plain.Line(q.Name), q.QuestionID)
			return e.fail(ctx, snap.ID, t.TaskID, 0, h, res, took, log)
		}
	}
	for i := range res.Needs {
		res.Needs[i].By, res.Needs[i].CreatedAt = res.MadeBy(h.claim.Agent), plan.Second(e.Now())
	}
	ev := plan.Ask{Attempt: e.failed(t.TaskID, 0, h, res, took, log), Questions: res.Needs}
	return e.record(ctx, snap.ID, t.TaskID, ev, h, nil, func(c plan.Change) string {
		return what(c) + ": " + firstLine(res.Needs[0].Question)
	})
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

// refusedFile is the name of the question about a refused file.
const refusedFile = "a file that was refused"

// refused records that a file was refused for a reason that a retry does not change. A command line would produce the
// same file, so refused asks a person at once; an agent gets one more try. After the answer it is an attempt like any
// other.
func (e *Engine) refused(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, h *hold, res agent.Result,
	took time.Duration, log []byte) error {
	again := h.claim.Agent == agent.NameExec
	if list := snap.Records.Of(t.TaskID).Attempts; !again && len(list) > 0 {
		last, err := e.documents(ctx, snap, t.TaskID).Attempt(list[len(list)-1])
		if err != nil {
			return err
		}
		again = last.Message == e.mask().Text(res.Message)
	}
	asked, err := e.asked(ctx, snap, t.TaskID, refusedFile)
	if err != nil {
		return err
	}
	if !again || asked != nil {
		return e.fail(ctx, snap.ID, t.TaskID, 0, h, res, took, log)
	}
	res.Kind = agent.NeedsInput
	res.Needs = []plan.Question{{
		Name: refusedFile, Kind: plan.AskText,
		Question: res.Message +
			".\nTrying again would make it again. Mend what makes it, or the plan, and answer; then it is tried again.",
	}}
	return e.needs(ctx, snap, t, h, res, took, log)
}

// fail records an attempt without a result.
func (e *Engine) fail(ctx context.Context, id plan.ID, task plan.TaskID, version int, h *hold, res agent.Result,
	took time.Duration, log []byte) error {
	if err := e.scratch.hasRoom(); err != nil {
		return err
	}
	ev := e.failed(task, version, h, res, took, log)
	return e.record(ctx, id, task, ev, h, nil, func(c plan.Change) string {
		return what(c) + ": " + firstLine(res.Message)
	})
}
