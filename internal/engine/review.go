package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/check"
	"gitwf/internal/contract"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/process"
)

// review runs the criteria of a task's newest version and records the outcome: a verdict if the engine can judge alone,
// else what it saw, for the person who has the last word. It locks the version when the review begins.
func (e *Engine) review(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	checkID := checkOf(snap.Plan, t.TaskID)
	h, work, err := e.claim(ctx, id, checkID, plan.ReviewerChecks)
	if err != nil {
		return err
	}
	defer e.release(ctx, id, h)
	snap, state, c, err := e.afterClaim(ctx, id, checkID)
	if err != nil || c == nil {
		return err
	}
	t = state.Tasks[c.ReviewTargetTaskID]
	if state.NextReviewStep(t.TaskID) != plan.StepRunChecks {
		return nil
	}
	began := e.Now()
	subject, results, err := e.Examine(work, snap, state, t.TaskID, t.Active)
	if err != nil && work.Err() != nil {
		return e.broken(ctx, h)
	}
	if err != nil {
		res := agent.Result{Kind: agent.Error, Message: err.Error()}
		return e.fail(ctx, id, checkID, t.Active, h, res, e.Now().Sub(began), nil)
	}
	return e.conclude(ctx, snap, state, subject, results, h)
}

// reviewPlanAlone runs the built-in review of a plan under a claim.
func (e *Engine) reviewPlanAlone(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	checkID := checkOf(snap.Plan, t.TaskID)
	h, work, err := e.claim(ctx, id, checkID, plan.ReviewerPlan)
	if err != nil {
		return err
	}
	defer e.release(ctx, id, h)
	_, state, c, err := e.afterClaim(ctx, id, checkID)
	if err != nil || c == nil || state.NextReviewStep(c.ReviewTargetTaskID) != plan.StepPlan {
		return err
	}
	if err := e.reviewPlan(work, id, state.Tasks[c.ReviewTargetTaskID]); err == nil || work.Err() == nil {
		return err
	}
	return e.broken(ctx, h)
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

// conclude records the engine's verdict or, if a person has the last word and no MUST failed, what it saw.
func (e *Engine) conclude(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, subject check.Subject,
	results []plan.CriterionResult, h *hold) error {
	t := s.Tasks[subject.Task.TaskID]
	alone := len(results) == len(t.AcceptanceCriteria) && s.MayReview(t.TaskID, plan.ReviewerChecks)
	failed := failedAny(results)
	if !alone && (!failed || !s.MayReview(t.TaskID, plan.ReviewerChecks)) {
		return e.recordCheck(ctx, snap, subject, results, h)
	}
	rev := check.ByEngine(subject, results, h.claim.Session, e.Now())
	ev := plan.AddReview{Review: rev, Artifact: subject.Artifact, Render: check.File,
		Author: agentActor(plan.ReviewerChecks)}
	done, err := e.append(ctx, snap.ID, ev, h, nil)
	if err != nil {
		return err
	}
	e.report(t.TaskID, describeReview(rev, done.Change))
	return nil
}

// failedAny reports whether a MUST criterion was run and failed.
func failedAny(results []plan.CriterionResult) bool {
	for _, r := range results {
		if r.Severity == plan.Must && r.Result == plan.ResultFail {
			return true
		}
	}
	return false
}

func describeReview(r plan.Review, c plan.Change) string {
	verdict := map[plan.Verdict]string{plan.Approved: "approved", plan.Rejected: "REJECTED"}[r.Verdict]
	return fmt.Sprintf("%s %s by %s%s", r.ReviewedArtifactID, verdict, r.Reviewer, r.Why())
}

func (e *Engine) recordCheck(ctx context.Context, snap *gitstore.Snapshot, s check.Subject,
	results []plan.CriterionResult, h *hold) error {
	k := plan.Checked{
		TaskID: s.Task.TaskID, ReviewedArtifactID: s.Artifact.ArtifactID, Tree: s.Artifact.Tree,
		CreatedAt: plan.Second(e.Now()), Criteria: results, SpecHash: s.Task.SpecHash(),
	}
	done, err := e.append(ctx, snap.ID, plan.AddCheck{Checked: k, Author: agentActor(plan.ReviewerChecks)}, h, nil)
	if err != nil {
		return err
	}
	e.report(s.Task.TaskID, what(done.Change)+"; a reviewer has the last word")
	return nil
}

// Examine runs the criteria with a run line on one version of a task.
func (e *Engine) Examine(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, id plan.TaskID,
	version int) (check.Subject, []plan.CriterionResult, error) {
	subject, err := e.subject(ctx, snap, s, id, version)
	if err != nil {
		return subject, nil, err
	}
	t := s.Tasks[id]
	g, err := e.prepare(ctx, snap, t, contract.RoleCheck, subject.Artifact.Inputs)
	if err != nil {
		return subject, nil, err
	}
	defer g.remove()
	environ, err := e.commandEnv()
	if err != nil {
		return subject, nil, err
	}
	results, err := check.Run(ctx, t.AcceptanceCriteria, check.Ground{
		Candidate: func(ctx context.Context, dir string) error { return e.Store.Export(ctx, subject.Artifact.Tree, dir) },
		Bundle:    func(ctx context.Context, dir string) error { return e.preview(ctx, snap, s, subject.Artifact, dir) },
		Scratch:   g.dir,
		Discard:   g.place.discard,
		Environ:   process.Environ(environ, g.environ(snap, t)...),
		Timeout:   time.Duration(snap.Plan.Limits().CheckTimeoutSeconds) * time.Second,
	})
	return subject, results, err
}

// subject reads what a review of a version is about.
func (e *Engine) subject(ctx context.Context, snap *gitstore.Snapshot, s *plan.State, id plan.TaskID,
	version int) (check.Subject, error) {
	a, err := export.ReadArtifact(ctx, e.Store, snap, id, version)
	if err != nil {
		return check.Subject{}, err
	}
	return check.Subject{Task: s.Tasks[id].Task, Artifact: a, MinScore: s.MinScore(id)}, nil
}

// preview lays out the bundle as if the candidate were approved: every approved deliverable, with the candidate in its
// place.
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
