package engine

import (
	"context"
	"crypto/rand"
	"time"

	"gitwf/internal/check"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// early checks a version while it is being recorded, so that one flush covers the version and its verdict. Checks that
// are not quick go on while the version is recorded alone, and their outcome follows under a claim on the CHECK. Only a
// run with a single job does so: with more, one flush covers many tasks anyway, and their checks must not queue.
type early struct {
	engine *Engine
	task   plan.TaskID
	ctx    context.Context // of the checks
	cancel context.CancelFunc

	done    chan struct{} // closed when the checks have ended; nil if they never began
	subject check.Subject
	results []plan.CriterionResult
	err     error
	says    func(plan.Change) string // of the verdict
}

const (
	// A version waits this long for its verdict. Other processes that write to the plan wait, too.
	quickChecks = 20 * time.Millisecond
	// An attempt that took longer would gain nothing, and its version is too dear to wait.
	quickAttempt = time.Second
)

// early prepares to check the next version of a task; nil if that is to be recorded alone.
func (e *Engine) early(ctx context.Context, h *hold) *early {
	if !e.inTurn || e.took(h) > quickAttempt || len(h.state.Windows(h.task.TaskID)) > 0 {
		return nil // in a window, others may begin before there is a claim on the CHECK
	}
	x := &early{engine: e, task: h.task.TaskID}
	x.ctx, x.cancel = context.WithCancel(ctx)
	return x
}

// end stops the checks and waits for them: they use the run's scratch directory.
func (x *early) end() {
	if x == nil {
		return
	}
	x.cancel()
	if x.done != nil {
		<-x.done
	}
}

// next is what gitstore.AppendOptions.Next has to be for the version.
func (x *early) next() func(context.Context, *gitstore.Snapshot) plan.Event {
	if x == nil {
		return nil
	}
	return func(_ context.Context, after *gitstore.Snapshot) plan.Event { return x.verdict(after) }
}

// verdict begins the checks, and returns the event with their outcome if they were quick.
func (x *early) verdict(after *gitstore.Snapshot) plan.Event {
	e, s := x.engine, after.State()
	t := s.Tasks[x.task]
	if x.done != nil || s.MayBegin() != nil || s.NextReviewStep(x.task) != plan.StepRunChecks ||
		!e.Trust.AllCriteria(t.Task) {
		return nil
	}
	if taken, err := e.Store.Claimed(x.ctx, after.ID, checkOf(after.Plan, x.task)); taken || err != nil {
		return nil // somebody's lost work on the CHECK may have to be recorded first
	}
	x.done = make(chan struct{})
	go func() {
		defer close(x.done)
		x.subject, x.results, x.err = e.Examine(x.ctx, after, s, x.task, t.Active)
	}()
	select {
	case <-x.done:
	case <-time.After(quickChecks):
		return nil
	}
	if x.err != nil {
		return nil
	}
	var ev plan.Event
	ev, x.says = e.conclusion(s, x.subject, x.results, rand.Text())
	return e.mask().Event(ev)
}

// finish reports the verdict that was recorded with the version. If checks have begun and theirs was not, it does the
// rest of the review.
func (x *early) finish(ctx context.Context, id plan.ID, t *plan.TaskState, done *gitstore.Appended) error {
	switch {
	case x == nil || x.done == nil:
		return nil
	case done.Next != nil:
		x.engine.report(x.task, x.says(*done.Next))
		return nil
	}
	enter(ctx, reviews)
	return x.engine.reviewWith(ctx, id, t, x.outcome)
}

// outcome waits for the checks. If they failed to run, or were about something else, it runs them in the usual way.
func (x *early) outcome(h *hold) (check.Subject, []plan.CriterionResult, error) {
	select {
	case <-x.done:
	case <-h.work.Done():
		return check.Subject{}, nil, h.work.Err()
	}
	now, err := x.engine.subject(h.work, h.snap, h.state, x.task, h.task.Active)
	if err != nil {
		return now, nil, err
	}
	if x.err != nil || x.subject.Artifact.ArtifactID != now.Artifact.ArtifactID ||
		x.subject.Artifact.Tree != now.Artifact.Tree || x.subject.Task.SpecHash() != now.Task.SpecHash() {
		return x.engine.Examine(h.work, h.snap, h.state, x.task, h.task.Active)
	}
	return now, x.results, nil
}
