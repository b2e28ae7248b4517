package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"gitwf/internal/estimate"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Cost is what agents report about one piece of work.
type Cost struct {
	Task  plan.TaskID `json:"task_id"`
	Agent string      `json:"agent"`
	What  string      `json:"what"` // the record: v1, r2, a3
	plan.Usage
}

// Costs lists the reported cost of each version, review and attempt, in plan order. It omits work without a report, and
// work of people.
func (e *Engine) Costs(ctx context.Context, snap *gitstore.Snapshot) ([]Cost, error) {
	all := []Cost{}
	for _, t := range snap.Plan.Tasks {
		docs := e.documents(ctx, snap, t.TaskID)
		work, err := docs.Work()
		if err != nil {
			return nil, err
		}
		costs, err := taskCosts(snap.Plan, t.TaskID, docs, work)
		if err != nil {
			return nil, err
		}
		all = append(all, costs...)
	}
	return all, nil
}

// taskCosts are the Costs of one task.
func taskCosts(p *plan.Plan, id plan.TaskID, docs export.Documents, work export.Work) (all []Cost, err error) {
	add := func(agent, what string, u *plan.Usage) {
		if u != nil {
			all = append(all, Cost{id, agent, what, *u})
		}
	}
	for _, a := range work.Artifacts {
		add(a.Agent, a.ArtifactID, a.Usage)
	}
	for n, g := range p.Grafts {
		if g.TaskID != id {
			continue
		}
		var f estimate.Record
		err := docs.Read(g.FeasibilityPath(), &f)
		if errors.Is(err, fs.ErrNotExist) {
			continue // no agent estimated it
		}
		if err != nil {
			return nil, err
		}
		add(f.Agent, fmt.Sprintf("graft %d", n+1), f.Usage)
	}
	for _, a := range work.Attempts {
		add(a.Agent, a.AttemptID, a.Usage)
	}
	for _, rev := range work.Reviews {
		add(rev.By(), rev.ReviewID, rev.Usage)
	}
	return all, nil
}

// spent is what is recorded of an agent's conversation, which is about one task or about all of a role.
func (e *Engine) spent(ctx context.Context, snap *gitstore.Snapshot, t *plan.TaskState, thread string) (plan.Usage,
	error) {
	var sum plan.Effort
	for _, other := range snap.Plan.Tasks {
		if thread == "" || other.TaskID != t.TaskID && (t.Role == "" || other.Role != t.Role) {
			continue
		}
		work, err := e.documents(ctx, snap, other.TaskID).Work()
		if err != nil {
			return plan.Usage{}, err
		}
		for _, a := range work.Artifacts {
			if a.Thread == thread {
				sum.AddUsage(a.Usage)
			}
		}
		for _, a := range work.Attempts {
			if a.Thread == thread {
				sum.AddUsage(a.Usage)
			}
		}
	}
	return plan.Usage{InputTokens: sum.InputTokens, CachedTokens: sum.CachedTokens, OutputTokens: sum.OutputTokens,
		CostUSD: sum.CostUSD}, nil
}
