package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"gitwf/internal/agent"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// attempt has a task's agent make its next version, and records the version or why there is none.
func (e *Engine) attempt(ctx context.Context, id plan.ID, t *plan.TaskState) error {
	worker, err := agent.Lookup(agent.Name(t.Task))
	if err != nil {
		return err
	}
	h, work, err := e.claim(ctx, id, t.TaskID, t.Agent)
	if err != nil {
		return err
	}
	defer e.letGo(ctx, id, h)
	snap, state, t, err := e.afterClaim(ctx, id, h, t.TaskID)
	if err != nil || t == nil {
		return err
	}
	g, err := e.prepare(work, snap, t, agent.RoleAction, approvedInputs(snap, state, t.TaskID))
	if err != nil {
		return err
	}
	defer g.remove()

	e.report(t.TaskID, "started by "+t.Agent)
	began := e.Now()
	var log bytes.Buffer
	job := g.job(snap, t, &log)
	job.Environ = e.Environ
	res, err := worker.Run(work, job)
	if work.Err() != nil {
		// Interrupted, or the claim was lost: this says nothing about the task, so it is no attempt.
		return errors.Join(ctx.Err(), errClaimLost(ctx))
	}
	if err != nil && res.Message == "" {
		res = agent.Result{Kind: agent.Error, Message: err.Error()}
	}
	if res.Kind == agent.Artifact {
		var refused *agent.CollectError
		files, err := agent.Collect(g.out, t.DeliverableSpec, snap.Plan.Limits())
		if err == nil {
			return e.deliver(ctx, snap, t, h, g, files, res, e.Now().Sub(began))
		}
		if !errors.As(err, &refused) {
			return err
		}
		res.Kind, res.Message = agent.Error, err.Error()
	}
	return e.fail(ctx, id, t.TaskID, 0, h, res, e.Now().Sub(began), log.Bytes())
}

// errClaimLost tells a lost claim from an interrupt: the user's own context is still good.
func errClaimLost(ctx context.Context) error {
	if ctx.Err() == nil {
		return gitstore.ErrClaimed
	}
	return nil
}

// afterClaim looks at the plan again now that nobody else can work on the task; a nil task means that there is nothing
// left to do. A claim that was taken over is recorded as a lost attempt first, so that a task that kills its worker
// can't go on for ever.
func (e *Engine) afterClaim(ctx context.Context, id plan.ID, h *hold, task plan.TaskID) (*gitstore.Snapshot, *plan.State, *plan.TaskState, error) {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, nil, nil, err
	}
	state := snap.State()
	if h.claim.Number > 1 {
		version := 0
		if t := state.Tasks[task]; t != nil && t.NodeType == plan.Check {
			version = t.Active
		}
		lost := plan.AddAttempt{Version: version, Author: agentActor(h.claim.Agent), Attempt: plan.Attempt{
			TaskID: task, Kind: plan.AttemptLost, Agent: h.claim.Agent, CreatedAt: plan.Second(e.Now()),
			Message: fmt.Sprintf("the worker that held claim %d did not come back", h.claim.Number-1),
		}}
		done, err := e.Store.Append(context.WithoutCancel(ctx), id, lost, gitstore.AppendOptions{Now: e.Now()})
		if err != nil {
			return nil, nil, nil, err
		}
		snap = done.Snapshot
		state = snap.State()
	}
	for _, t := range state.Ready() {
		if t.TaskID == task {
			return snap, state, t, nil
		}
	}
	return snap, state, nil, nil
}

// deliver records a new version.
func (e *Engine) deliver(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, h *hold, g *ground, files []agent.File, res agent.Result, took time.Duration) error {
	batch := e.Store.NewBatch()
	tree, infos, err := batch.AddDir(ctx, g.out, fileRefs(files))
	if err != nil {
		return err
	}
	a := plan.Artifact{
		TaskID: t.TaskID, Tree: tree, Agent: t.Agent, Session: h.claim.Session, CreatedAt: plan.Second(e.Now()),
		SourceCommit: g.source, Inputs: g.inputs, Files: infos, Size: totalSize(infos),
		DurationMS: took.Milliseconds(), Summary: res.Summary,
	}
	done, err := e.append(ctx, snap.ID, plan.NewVersion{Artifact: a, Author: agentActor(t.Agent)}, h, batch)
	if err != nil {
		return err
	}
	e.report(t.TaskID, fmt.Sprintf("%s by %s, %s, in %s", artifactOf(done.Change), t.Agent, countFiles(infos), round(took)))
	return nil
}

// fail records an attempt without a result.
func (e *Engine) fail(ctx context.Context, id plan.ID, task plan.TaskID, version int, h *hold, res agent.Result, took time.Duration, log []byte) error {
	ev := plan.AddAttempt{
		Attempt: plan.Attempt{
			TaskID: task, Kind: res.Kind.Attempt(), Agent: h.claim.Agent, Session: h.claim.Session, CreatedAt: plan.Second(e.Now()),
			DurationMS: took.Milliseconds(), ExitCode: res.ExitCode, Message: res.Message,
		},
		Version: version, Log: log, Author: agentActor(h.claim.Agent),
	}
	done, err := e.append(ctx, id, ev, h, nil)
	if err != nil {
		return err
	}
	e.report(task, fmt.Sprintf("%s: %s", what(done.Change), firstLine(res.Message)))
	return nil
}
