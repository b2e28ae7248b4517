package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
)

// Works says how a worker works: a run that shares a plan with others by way of a git server alone, in a clone of its
// own (gitstore.Store.Works).
type Works struct {
	Once bool          // it does one task, with its review
	Idle time.Duration // how long it waits for work; zero: as long as others work

	only  plan.TaskID // that it works on; when there is nothing more to do, it hands in and looks again
	begun bool        // it has recorded something of that
	again bool        // there is something to look at
	tries int         // claims in a row that others had
	since time.Time   // when it had nothing to do, zero if it has
	lost  time.Time   // when the remote stopped answering, zero if it answers
}

// mostLost is how long a worker tries to reach a remote that does not answer, and lostPause how long it rests between.
const (
	mostLost  = 5 * time.Minute
	lostPause = 2 * time.Second
)

// Work carries the plan out beside other workers, and reports whether it did something.
func (e *Engine) Work(ctx context.Context, id plan.ID, w Works) (did bool, err error) {
	r := e.newRun(id)
	r.works = &w
	_, err = r.loop(ctx)
	return r.started > 0, err
}

// order is the order in which work is chosen. Workers choose at random, since each claim can be had once, but reviews
// first: others wait for these.
func (r *run) order(ready []*plan.TaskState) []*plan.TaskState {
	if r.works == nil {
		return ready
	}
	ready = slices.Clone(ready)
	rand.Shuffle(len(ready), func(i, j int) { ready[i], ready[j] = ready[j], ready[i] })
	slices.SortStableFunc(ready, func(a, b *plan.TaskState) int { return cmp.Compare(b.NodeType, a.NodeType) })
	return ready
}

// idle reports whether a worker that has nothing to do ends. It joins what others have handed in.
func (r *run) idle(ctx context.Context, s *plan.State) (over bool, err error) {
	w := r.works
	if w.since.IsZero() {
		w.since = r.Now()
	}
	did := w.only != ""
	moved, waits, err := r.Store.Turn(ctx, r.id)
	if err != nil {
		if err = r.bearLoss(err); err == nil {
			err = gitstore.Pause(ctx, lostPause)
		}
		return err != nil, err
	}
	w.only, w.begun, w.lost, w.again = "", false, time.Time{}, did || moved
	waited := r.Now().Sub(w.since)
	switch {
	case did && w.Once:
		return true, nil
	case w.again:
		return false, nil
	case s.MayBegin() != nil, s.Root().Status == plan.StatusDone:
		return true, nil
	case w.Idle > 0:
		return waited >= w.Idle, nil
	}
	return !waits && !r.othersWork(), nil
}

// missed gives up a task that somebody else has. The more often that happens, the longer a worker rests: others look
// for the same few tasks.
func (w *Works) missed(ctx context.Context) {
	if !w.begun {
		w.only = ""
	}
	const first, most = 200 * time.Millisecond, 5
	_ = gitstore.Pause(ctx, rand.N(first<<min(w.tries, most)))
	w.tries++
}

// bearLoss returns an error, unless it is a remote that did not answer and may still do so.
func (r *run) bearLoss(err error) error {
	w := r.works
	switch {
	case !errors.Is(err, gitstore.ErrLost):
		w.lost = time.Time{}
		return err
	case w.lost.IsZero():
		w.lost = r.Now()
		r.report("", err.Error())
	case r.Now().Sub(w.lost) > mostLost:
		return err
	}
	return nil
}

// wants are the labels that a task wants of the machine and that this one does not have (docs/tasks.md).
func (e *Engine) wants(t *plan.Task) (labels []string) {
	list, _ := t.Meta["labels"].([]any)
	var own []string
	if len(list) > 0 && e.Labels != nil {
		own = e.Labels()
	}
	for _, l := range list {
		if text, ok := l.(string); ok && !slices.Contains(own, text) {
			labels = append(labels, text)
		}
	}
	return labels
}

// waitForLabels is the wait for a machine that has what a task wants; ok is false if this one has.
func (e *Engine) waitForLabels(t *plan.Task) (w Wait, ok bool) {
	labels := plain.Line(strings.Join(e.wants(t), ","))
	text := fmt.Sprintf("wants a machine with the labels %s (git config wf.labels says what this one has)", labels)
	return Wait{Text: text, Command: "git wf worker --remote URL --labels " + shell.Word(labels)}, labels != ""
}
