package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/each"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// review runs the criteria of a task's newest version and records the outcome: a verdict if the engine can judge alone,
// else what it saw, for the person who has the last word. It locks the version when the review begins.
func (e *Engine) review(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	return e.reviewLocked(ctx, id, t, plan.StepRunChecks, plan.ReviewerChecks, func(h *hold) error {
		subject, err := e.subject(h.work, h.snap, h.state, t.TaskID, h.task.Active)
		var results []plan.CriterionResult
		if err == nil {
			results, err = e.examine(h.work, h.snap, h.state, subject)
		}
		if err != nil && h.work.Err() != nil {
			return e.broken(ctx, h)
		}
		if err != nil {
			return e.failWith(ctx, h, err)
		}
		ev, says := e.conclusion(h.state, subject, results, h.claim.Session)
		return e.record(ctx, id, t.TaskID, ev, h, nil, says)
	})
}

// reviewLocked claims the CHECK of a task for a reviewer, which locks the version, and does the review,
// if its next step is still the expected one.
func (e *Engine) reviewLocked(ctx context.Context, id plan.ID, t *plan.TaskState, step, by string,
	do func(*hold) error) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	due := func(h *hold) bool { return h.isReady() && h.state.NextReviewStep(h.task.TaskID) == step }
	return e.underClaim(ctx, id, plan.Claim{Task: checkOf(snap.Plan, t.TaskID), Agent: by}, due, do)
}

// reviewPlanAlone runs the built-in review of a plan under a claim.
func (e *Engine) reviewPlanAlone(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	return e.reviewLocked(ctx, id, t, plan.StepPlan, plan.ReviewerPlan, func(h *hold) error {
		if err := e.reviewPlan(h); err == nil || h.work.Err() == nil {
			return err
		}
		return e.broken(ctx, h)
	})
}

// reviewAct has a built-in review judge the newest version of a task that acts on others. findings says
// why that can't take effect; outdated, whether what it judges has changed since it was made.
func (e *Engine) reviewAct(ctx context.Context, id plan.ID, t *plan.TaskState, by string,
	findings func(*hold, plan.Artifact) (found []string, outdated bool, err error)) error {
	return e.reviewLocked(ctx, id, t, by, by, func(h *hold) error {
		ev, err := e.evidence(h.work, h.snap, h.state, h.task)
		if err != nil && h.work.Err() != nil {
			return e.broken(ctx, h)
		}
		if err != nil {
			return err
		}
		found, outdated, err := findings(h, ev.subject.Artifact)
		if err != nil {
			return err
		}
		rev := check.OfAct(ev.subject, by, ev.ran, found, e.Now())
		if len(found) > 0 && outdated {
			rev = rev.Overtaken()
		}
		return e.recordReview(ctx, id, rev, ev.subject, h, found)
	})
}

// overtake rejects the approved version of a task that acts on others: it can't take effect any more.
func (e *Engine) overtake(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID, by string,
	findings []string) error {
	subject, err := e.subject(ctx, snap, snap.State(), id, snap.State().Tasks[id].Active)
	if err != nil {
		return err
	}
	rev := check.OfAct(subject, by, nil, findings, e.Now()).Overtaken()
	return e.recordReview(ctx, snap.ID, rev, subject, nil, findings)
}

// checkOf is the id of the CHECK bound to an ACTION, or the one that it would have.
func checkOf(p *plan.Plan, action plan.TaskID) plan.TaskID {
	for _, t := range p.Tasks {
		if t.NodeType == plan.Check && t.ReviewTargetTaskID == action {
			return t.TaskID
		}
	}
	return action.CheckID()
}

// conclusion is the engine's verdict or, if a person has the last word and no MUST failed, what it saw; says describes
// the event once it is recorded. Where no list names the engine and the policy wants people, a person has it.
func (e *Engine) conclusion(s *plan.State, subject check.Subject, results []plan.CriterionResult,
	session string) (ev plan.Event, says func(plan.Change) string) {
	t := s.Tasks[subject.Task.TaskID]
	alone := len(results) == len(t.AcceptanceCriteria) && s.RubricOf(t.TaskID) == nil && t.Judges == nil &&
		!e.isRead(s, t, subject.Artifact) && (len(s.Reviewers(t.TaskID)) > 0 || e.people(t.Task) == 0)
	if !s.MayReview(t.TaskID, plan.ReviewerChecks) || !alone && !failedAny(results) {
		return e.checked(subject, results), func(c plan.Change) string {
			return what(c) + "; a reviewer has the last word"
		}
	}
	rev := check.ByEngine(subject, results, session, e.Now())
	return reviewEvent(rev, subject), func(plan.Change) string { return describeReview(rev, nil) }
}

// isRead reports whether a reviewing agent reads a version although run lines judge all of it: what a model made can
// be empty all the same. A list of reviewers, and a machine without a reviewer, leave it at the run lines.
func (e *Engine) isRead(s *plan.State, t *plan.TaskState, made plan.Artifact) bool {
	if made.Session == "" || made.Agent == agent.NameExec || len(s.Reviewers(t.TaskID)) > 0 {
		return false
	}
	_, ok := e.reviewingAgent(s, t)
	return ok
}

// accept takes a version as it is: its rounds are used up, and its CHECK says so.
func (e *Engine) accept(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	want := plan.Claim{Task: checkOf(snap.Plan, t.TaskID), Agent: plan.AgentWorkflow}
	due := func(h *hold) bool { return among(h.state.ToAccept(), t.TaskID) }
	return e.underClaim(ctx, id, want, due, func(h *hold) error {
		var last plan.ReviewRecord
		for _, r := range h.snap.Records.Of(t.TaskID).Reviews {
			if r.Version == h.task.Active {
				last = r
			}
		}
		rejected, err := export.ReadReview(h.work, e.Store, h.snap, t.TaskID, last)
		if err != nil {
			return err
		}
		subject, err := e.subject(h.work, h.snap, h.state, t.TaskID, h.task.Active)
		if err != nil {
			return err
		}
		return e.record(ctx, id, t.TaskID, reviewEvent(rejected.Take(e.Now()), subject), h, nil, what)
	})
}

// drop takes a task whose rounds are used up out of the plan, with what has nothing else to build on.
func (e *Engine) drop(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	return e.giveUp(ctx, id, (*plan.State).ToDrop, plan.Abandon{Task: t.TaskID, Drops: true}, plan.AgentWorkflow,
		fmt.Sprintf("%s %s was rejected, and no round is left", t.TaskID, plan.VersionID(t.Active)))
}

// giveUp records that a task is given up, if it is still one of those that are to be.
func (e *Engine) giveUp(ctx context.Context, id plan.ID, toGiveUp func(*plan.State) []*plan.TaskState, ev plan.Abandon,
	by, why string) error {
	due := func(h *hold) bool { return among(toGiveUp(h.state), ev.Task) }
	return e.underClaim(ctx, id, plan.Claim{Task: ev.Task, Agent: by}, due, func(h *hold) error {
		ev.Author, ev.Decision = AgentActor(by), plan.Decision{By: by, CreatedAt: plan.Second(e.Now()), Reason: why}
		return e.record(ctx, id, ev.Task, ev, h, nil, what)
	})
}

// failedAny reports whether a MUST criterion was run and failed.
func failedAny(results []plan.CriterionResult) bool {
	return slices.ContainsFunc(results, func(r plan.CriterionResult) bool {
		return r.Severity == plan.Must && r.Result == plan.ResultFail
	})
}

// describeReview is a review in one line. If there are findings, it has the first.
func describeReview(r plan.Review, findings []string) string {
	if len(findings) > 0 {
		why := firstLine(findings[0])
		text := fmt.Sprintf("%s REJECTED by %s: %s", r.ReviewedArtifactID, r.Who(), why)
		if more := len(findings) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		return text
	}
	verdict := map[plan.Verdict]string{plan.Approved: "approved", plan.Rejected: "REJECTED"}[r.Verdict]
	return fmt.Sprintf("%s %s by %s%s%s", r.ReviewedArtifactID, verdict, r.Who(), r.Why(), r.Worth())
}

// textsOf are findings as they are shown.
func textsOf(fs plan.Findings) []string {
	return each.Of(fs, plan.Finding.Error)
}

// checked is the record of what the engine ran on a version and saw.
func (e *Engine) checked(s check.Subject, results []plan.CriterionResult) plan.AddCheck {
	return plan.AddCheck{Author: AgentActor(plan.ReviewerChecks), Checked: plan.Checked{
		TaskID: s.Task.TaskID, ReviewedArtifactID: s.Artifact.ArtifactID, Tree: s.Artifact.Tree,
		CreatedAt: plan.Second(e.Now()), Criteria: results, SpecHash: s.Task.SpecHash(),
	}}
}

// examine runs the criteria with a run line on a version that may not be recorded yet.
func (e *Engine) examine(ctx context.Context, snap *gitstore.Snapshot, s *plan.State,
	subject check.Subject) ([]plan.CriterionResult, error) {
	t, a := s.Tasks[subject.Task.TaskID], subject.Artifact
	w, err := e.prepare(ctx, snap, t, contract.RoleCheck, a.Inputs)
	if err != nil {
		return nil, err
	}
	defer w.remove()
	environ, err := e.commandEnv()
	if err != nil {
		return nil, err
	}
	setup := check.Setup{
		Candidate: func(ctx context.Context, dir string) error {
			return e.Store.Export(ctx, a.Tree, dir)
		},
		Bundle: func(ctx context.Context, dir string) error {
			return e.preview(ctx, snap, s, a, dir)
		},
		Expands: func(ctx context.Context) (string, string, error) { return e.expands(ctx, snap, s, subject) },
		Dir:     t.DeliverableSpec.OutputDir,
		Scratch: w.dir,
		Discard: w.place.discard,
		Environ: process.Environ(environ, w.environ()...),
		Timeout: time.Duration(snap.Plan.Limits().CheckTimeoutSeconds) * time.Second,
	}
	var leave func()
	switch {
	case t.Changes():
		leave, err = e.checkChange(ctx, &setup, snap, t.Task, a)
	case t.Judges != nil:
		return e.examineJudge(ctx, &setup, snap, t, subject)
	default:
		setup.Repo, leave, err = e.cleanRepo(ctx, w.dir, t.AcceptanceCriteria)
	}
	if err != nil {
		return nil, err
	}
	defer leave()
	results, err := check.Run(ctx, t.AcceptanceCriteria, setup)
	if err == nil && failedAny(results) {
		err = w.place.hasRoom()
	}
	return results, err
}

// subject reads what a review of a version is about.
func (e *Engine) subject(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, id plan.TaskID,
	version int) (check.Subject, error) {
	a, err := export.ReadArtifact(ctx, e.Store, snap, id, version)
	if err != nil {
		return check.Subject{}, err
	}
	if s.Tasks[id].DeliverableSpec == nil { // in a plan that no rule has checked
		return check.Subject{}, &plan.RefusedError{Task: id, Reason: "declares no deliverable", Hint: "git wf doctor"}
	}
	return check.Subject{Task: s.Tasks[id].Task, Artifact: a, MinScore: s.MinScore(id), Rubric: s.RubricOf(id)}, nil
}

// preview lays out the bundle as if the candidate were approved, with every other approved deliverable.
func (e *Engine) preview(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, candidate plan.Artifact,
	dir string) error {
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		t := s.Tasks[id]
		tree := candidate.Tree
		if id != candidate.TaskID {
			v, ok := snap.Records.Of(id).Version(t.Approved)
			if !ok {
				continue
			}
			tree = v.Files
		}
		target := filepath.Join(dir, export.Dir(t.Task))
		if err := os.Mkdir(target, 0o777); err != nil {
			return err
		}
		if err := e.Store.Export(ctx, tree, target); err != nil {
			return err
		}
	}
	return nil
}
