package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// OutageError says that an agent could not be asked: its service is down, limits its rate or refuses the key. Nothing
// is recorded, because that says nothing about the task.
type OutageError struct {
	Agent string
	Cause string // on one line
	agent.Outage
}

func (e *OutageError) Error() string { return e.Cause }

// Exit is that of a run that waits for somebody.
func (e *OutageError) Exit() (int, string) {
	return fault.ExitWaiting, "git wf run goes on; git wf agents test " + plain.Line(e.Agent) + " asks the agent"
}

// outage is how long a run has not been able to ask an agent, and when it tries again.
type outage struct {
	since, until time.Time
	wait         time.Duration
	last         *OutageError
}

// The pause before an agent is asked again doubles from first to most.
const (
	firstPause = 5 * time.Second
	mostPause  = 2 * time.Minute
)

// patienceKey is the setting of how long a run waits for an agent that can't be asked.
const patienceKey = "wf.patience"

const defaultPatience = 15 * time.Minute

// patience is how long a run waits for an agent that can't be asked.
func (e *Engine) patience(ctx context.Context) (time.Duration, error) {
	text, set, err := e.Store.Config(ctx, patienceKey)
	if err != nil || !set {
		return defaultPatience, err
	}
	patience, err := time.ParseDuration(text)
	if err != nil || patience < 0 {
		return 0, fault.Usage("git config "+patienceKey+" 15m", "%s: expected a time such as 15m, "+
			"or 0s to wait for nobody, found %q", patienceKey, plain.Line(text))
	}
	return patience, nil
}

// down notes that an agent could not be asked for work on a task.
func (r *run) down(ctx context.Context, task plan.TaskID, e *OutageError) error {
	now := r.Now()
	o := r.outages[e.Agent]
	if o == nil {
		o = &outage{since: now}
		r.outages[e.Agent] = o
	}
	o.last, o.wait = e, min(max(2*o.wait, firstPause), mostPause)
	pause := max(o.wait, e.After)
	o.until = now.Add(pause)
	patience, err := r.patience(ctx)
	if err != nil {
		return err
	}
	if e.Lasting || r.once {
		patience = 0
	}
	if o.until.After(o.since.Add(patience)) {
		o.until = time.Time{}
		return nil
	}
	r.report(task, fmt.Sprintf("%s; no attempt is counted, and the agent is asked again in %s", e.Cause, round(pause)))
	return nil
}

// outageRests reports whether an agent is not to be asked now.
func (r *run) outageRests(name string) bool {
	o := r.outages[name]
	return o != nil && (o.until.IsZero() || r.Now().Before(o.until))
}

// returns reports whether the time has come to ask an agent again.
func (r *run) returns() bool {
	return slices.ContainsFunc(r.stalled, func(name string) bool { return !r.outageRests(name) })
}

// stall is whether the run waits for agents that can't be asked, or the error of having waited for them long enough.
func (r *run) stall() (waits bool, err error) {
	all := []error{r.over}
	for _, name := range r.stalled {
		if o := r.outages[name]; o.until.IsZero() {
			all = append(all, o.last)
		} else {
			waits = true
		}
	}
	if waits {
		return true, nil
	}
	return false, errors.Join(all...)
}
