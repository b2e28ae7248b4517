package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Submission is a candidate from a person or an outside agent.
type Submission struct {
	Task    plan.TaskID
	Paths   []string // absolute; a file keeps its name; a directory means everything below it
	Person  plan.Actor
	Session string // of the agent that hands in its work
	Message string
	Claim   int // the number of its claim, zero for none

	// instead of Paths, of a change of the repository
	Commit   string   // the change is what this commit's tree is beside its merge base
	On       plan.OID // or beside this one, with nothing below it
	Worktree bool     // the change is what the files of the worktree are now

	From string // instead of all these, the task's newest version at this commit of the plan

	// what an agent says under Claim, by the contract: files, in place of Paths or for the worktree, or something else
	Reply []byte
}

// Submit records a submission as the task's next version, under the claim that it names or one for just that long.
func (e *Engine) Submit(ctx context.Context, id plan.ID, sub Submission) (*gitstore.Appended, error) {
	h, err := e.holdFor(ctx, id, sub)
	if err != nil {
		return nil, err
	}
	done, err := e.submit(ctx, id, sub, h)
	if err == nil || sub.Claim == 0 {
		e.release(ctx, h)
		return done, err
	}
	h.stop() // a refused submission can be mended and handed in again, under the same claim
	if claimed, ok := errors.AsType[*gitstore.ClaimedError](err); ok {
		return nil, e.notHeld(sub.Task, sub.Claim, claimed.Held)
	}
	return nil, err
}

// holdFor is the claim under which a submission is made.
func (e *Engine) holdFor(ctx context.Context, id plan.ID, sub Submission) (*hold, error) {
	if sub.Claim > 0 {
		return e.adopt(ctx, id, sub.Task, sub.Claim)
	}
	h, err := e.claim(ctx, id, plan.Claim{Task: sub.Task, Agent: sub.Person.Name})
	if claimed, ok := errors.AsType[*gitstore.ClaimedError](err); ok {
		refused := &plan.RefusedError{Task: sub.Task, Reason: "somebody is working on it: " + ownerOf(claimed.Held),
			Hint: "git wf status"}
		if claimed.Held.PID <= 0 {
			refused.Hint = fmt.Sprintf("git wf submit %s --claim %d PATH..., if that is you", sub.Task,
				claimed.Held.Number)
		}
		return nil, refused
	}
	return h, err
}

func (e *Engine) submit(ctx context.Context, id plan.ID, sub Submission, h *hold) (*gitstore.Appended, error) {
	snap, err := e.Store.Near(ctx, id, sub.Task)
	if err != nil {
		return nil, err
	}
	if snap.Plan.Register {
		return nil, registerError(id)
	}
	state := snap.State()
	t := state.Tasks[sub.Task]
	if t == nil || t.NodeType != plan.Action || t.DeliverableSpec == nil {
		return nil, &plan.RefusedError{Task: sub.Task, Reason: "is no task that makes a deliverable",
			Hint: "git wf status"}
	}
	if t.Planning() {
		return nil, &plan.RefusedError{Task: sub.Task, Reason: "makes the plan itself", Hint: "git wf plan -f FILE"}
	}
	if sub.Reply != nil {
		h.snap, h.task = snap, t
		dir, release, err := e.Store.Scratch(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
		if ev, err := e.replied(ctx, h, &sub, dir); err != nil || ev != nil {
			if err == nil {
				return e.append(ctx, id, ev, h, nil)
			}
			return nil, err
		}
	}
	batch := e.Store.NewBatch()
	defer batch.Discard() // if it is not recorded
	var tree, source plan.OID
	var infos []plan.FileInfo
	var base *plan.Base
	if sub.From != "" {
		var made plan.Artifact
		made, err = e.recordedVersion(ctx, snap, sub)
		base, tree, infos = made.Base, made.Tree, made.Files
	} else if t.Changes() {
		base, tree, infos, err = e.submittedChange(ctx, batch, snap, t, sub)
	} else {
		tree, infos, err = e.submittedFiles(ctx, batch, snap, t, sub)
	}
	if err != nil {
		return nil, err
	}
	if source, err = e.Store.Head(ctx); err != nil {
		return nil, err
	}
	by, author, session := sub.Person.Name, sub.Person, sub.Session
	if agent := h.claim.Agent; agent != by { // the agent name of the claim
		by, author = agent, AgentActor(agent)
	}
	if author.IsAgent() && session == "" {
		session = h.claim.Session
	}
	r := snap.Records.Of(t.TaskID)
	last, _ := r.Version(t.Active)
	if author == sub.Person && last.Files == tree && sub.Message == "" && t.Status != plan.StatusDone &&
		!r.Overtaken(t.Active) {
		return nil, &plan.RefusedError{Task: sub.Task, Reason: "nothing has changed since " + plan.VersionID(t.Active),
			Hint: fmt.Sprintf("git wf submit %s -m WHY PATH... hands the same in again", sub.Task)}
	}
	a := e.newArtifact(sub.Task, by, tree, infos, approvedInputs(snap, state, sub.Task))
	a.Session, a.SourceCommit, a.Summary, a.Base = session, source, sub.Message, base
	if base != nil {
		if err := e.keepBase(ctx, batch, id, a); err != nil {
			return nil, err
		}
	}
	ev := plan.NewVersion{Artifact: a, Author: author, ByPerson: author == sub.Person && !author.IsAgent()}
	if t.Status == plan.StatusDone {
		if ev.Before, err = export.ReadArtifact(ctx, e.Store, snap, t.TaskID, t.Approved); err != nil {
			return nil, err
		}
	}
	return e.append(ctx, id, ev, h, batch)
}

// replied reads what an agent says of its work. Files are put where the submission has them from, in dir or in the
// worktree; anything else is an event.
func (e *Engine) replied(ctx context.Context, h *hold, sub *Submission, dir string) (plan.Event, error) {
	if dir = filepath.Join(dir, "out"); sub.Worktree {
		dir = e.Store.WorkTree()
	} else if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	res, err := agent.Read(contract.Want{Role: contract.RoleAction, Limits: h.snap.Plan.Limits(),
		Advisers: h.task.Advisers(), FilesElsewhere: sub.Worktree}, sub.Reply, dir)
	var again string
	switch {
	case err != nil:
		return nil, fault.Usage("git wf agents schema prints the form of a reply", "%w", err)
	case res.Kind == agent.NeedsInput:
		var ev plan.Event
		if ev, again, err = e.questions(ctx, h, res); err == nil && again != "" {
			err = fault.Refused(fmt.Sprintf("git wf show %s has the answer", sub.Task), "%s: %s", sub.Task, again)
		}
		return ev, err
	case res.Kind != agent.Artifact:
		return e.failed(h, res), nil
	}
	sub.Message = cmp.Or(sub.Message, res.Summary)
	if !sub.Worktree {
		sub.Paths = append(sub.Paths, dir)
	}
	return nil, nil
}

// recordedVersion is a version that the plan's history has already.
func (e *Engine) recordedVersion(ctx context.Context, snap *gitstore.Snapshot, sub Submission) (made plan.Artifact,
	err error) {
	commit, err := e.Store.CommitOf(ctx, sub.From)
	if in, inErr := e.Store.IsAncestor(ctx, commit, snap.Commit); err != nil || inErr != nil || !in {
		return made, fault.Usage("git wf log lists the commits", "--from %s: is no commit of %s", sub.From, snap.ID)
	}
	at, err := e.Store.SnapshotAt(ctx, snap.ID, commit)
	if err != nil {
		return made, err
	}
	return export.ReadArtifact(ctx, e.Store, at, sub.Task, at.Records.Of(sub.Task).Active())
}

// submittedFiles adds the files of a submission.
func (e *Engine) submittedFiles(ctx context.Context, batch *gitstore.Batch, snap *gitstore.Snapshot, t *plan.TaskState,
	sub Submission) (plan.OID, []plan.FileInfo, error) {
	if len(sub.Paths) == 0 {
		return "", nil, fault.Usage(fmt.Sprintf("git wf submit %s PATH...", t.TaskID), "%s: nothing is handed in",
			t.TaskID)
	}
	files, err := agent.Gather(sub.Paths, t.DeliverableSpec, snap.Plan.Limits())
	if err != nil {
		return "", nil, err
	}
	return batch.AddDir(ctx, "", fileRefs(files))
}

// PersonReview is a person's review of one version, which stays locked from beginning to end.
type PersonReview struct {
	Subject check.Subject
	Ran     []plan.CriterionResult // what the engine saw
	engine  *Engine
	hold    *hold
	checkID string
}

// BeginReview locks the newest version of a task for a person's review. It reads what the engine saw from its record,
// or runs the criteria now and records that: an opinion rests on evidence.
func (e *Engine) BeginReview(ctx context.Context, id plan.ID, task plan.TaskID) (*PersonReview, error) {
	snap, err := e.Store.Near(ctx, id, task)
	if err == nil && snap.State().Tasks[task] != nil && snap.State().Tasks[task].HasRun() {
		snap, err = e.Store.Snapshot(ctx, id) // a command may look at the whole bundle
	}
	if err != nil {
		return nil, err
	}
	s := snap.State()
	t, c := s.Tasks[task], s.CheckOf(task)
	if c == nil {
		return nil, &plan.RefusedError{Task: task, Reason: "is no task that makes a deliverable", Hint: "git wf status"}
	}
	if t.Active == 0 {
		return nil, &plan.RefusedError{Task: task, Reason: "has no version to review", Hint: "git wf show " +
			string(task)}
	}
	if w := e.lacks(s, t.Task); w.Text != "" {
		return nil, &plan.RefusedError{Task: task, Reason: w.Text, Hint: w.Command}
	}
	h, err := e.claim(ctx, id, plan.Claim{Task: c.TaskID, Agent: plan.ReviewerPerson})
	if errors.Is(err, gitstore.ErrClaimed) {
		return nil, &plan.RefusedError{Task: task, Reason: "somebody is reviewing it", Hint: "git wf status"}
	}
	if err != nil {
		return nil, err
	}
	r := &PersonReview{engine: e, hold: h}
	ev, err := e.evidence(h.work, snap, s, t)
	if err != nil {
		r.End()
		return nil, err
	}
	r.Subject, r.Ran, r.checkID = ev.subject, ev.ran, ev.checkID
	return r, nil
}

// evidence is what the engine saw of a version.
type evidence struct {
	subject check.Subject
	ran     []plan.CriterionResult
	checkID string // of its record, "" if there was nothing to run
}

// evidence finds what the engine saw of a task's newest version: in its record, or by running the criteria now and
// recording that. Every opinion rests on it.
func (e *Engine) evidence(ctx context.Context, snap *gitstore.Snapshot, s *plan.State,
	t *plan.TaskState) (evidence, error) {
	var ev evidence
	var err error
	if ev.subject, err = e.subject(ctx, snap, s, t.TaskID, t.Active); err != nil {
		return ev, err
	}
	k, err := e.lastChecked(ctx, snap, t)
	if err == nil && k.SpecHash == t.SpecHash() && k.Tree == ev.subject.Artifact.Tree {
		ev.ran, ev.checkID = k.Criteria, k.CheckID
		return ev, nil
	}
	if !t.HasRun() {
		return ev, nil
	}
	if ev.ran, err = e.examine(ctx, snap, s, ev.subject); err != nil || len(ev.ran) == 0 {
		return ev, err
	}
	done, err := e.append(ctx, snap.ID, e.checked(ev.subject, ev.ran), nil, nil)
	if err != nil {
		return ev, err
	}
	checks := done.Snapshot.Records.Of(t.TaskID).Checks
	ev.checkID = fmt.Sprintf("k%d", checks[len(checks)-1].N)
	return ev, nil
}

// lastChecked is the newest record of what the engine ran on a task's newest version; it is empty if there is none.
func (e *Engine) lastChecked(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState) (plan.Checked, error) {
	for _, k := range slices.Backward(snap.Records.Of(t.TaskID).Checks) {
		if k.Version == t.Active {
			return e.documents(ctx, snap, t.TaskID).Check(k)
		}
	}
	return plan.Checked{}, nil
}

// Record records the person's verdict.
func (r *PersonReview) Record(ctx context.Context, o check.Opinion, author plan.Actor) (*gitstore.Appended, plan.Review,
	error) {
	o.CheckedBy = r.checkID
	who := cmp.Or(o.Agent, o.Reviewer)
	o.SelfMade = r.Subject.Artifact.Session == "" && r.Subject.Artifact.Agent == who
	if r.engine.Policy.FourEyes && o.SelfMade {
		return nil, plan.Review{}, &plan.RefusedError{Task: r.Subject.Task.TaskID,
			Reason: "the policy wants four eyes: " + who + " made this version"}
	}
	rev, err := check.ByPerson(r.Subject, r.Ran, o, r.engine.Now())
	if err != nil {
		return nil, rev, err
	}
	if ids := rev.AsAWhole(); r.engine.Policy.EachCriterion && len(ids) > 0 {
		return nil, rev, &plan.RefusedError{Task: rev.TaskID,
			Reason: "the policy wants a verdict on each criterion: " + strings.Join(ids, ", "),
			Hint:   "the same with --criterion " + strings.Join(ids, "=pass:EVIDENCE --criterion ") + "=pass:EVIDENCE"}
	}
	ev := plan.AddReview{Review: rev, Artifact: r.Subject.Artifact, Render: check.File, Author: author}
	done, err := r.engine.append(ctx, r.hold.plan, ev, r.hold, nil)
	if err != nil {
		return nil, rev, err
	}
	reviews := done.Snapshot.Records.Of(rev.TaskID).Reviews
	rev, err = export.ReadReview(ctx, r.engine.Store, done.Snapshot, rev.TaskID, reviews[len(reviews)-1])
	return done, rev, err
}

// End unlocks the version.
func (r *PersonReview) End() { r.engine.release(context.Background(), r.hold) }
