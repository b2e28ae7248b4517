package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

func (e *env) inbox(c *cli.Context, eng *engine.Engine) error {
	items, err := e.inboxItems(c.Context, eng, "")
	if err != nil {
		return err
	}
	return e.print("inbox", items)
}

// inboxItems lists what waits for a person, the oldest first: in all plans that are not completed, or in one.
// A plan that can't be read is named in a warning.
func (e *env) inboxItems(ctx context.Context, eng *engine.Engine, only plan.ID) ([]engine.Item, error) {
	refs, err := eng.Store.Plans(ctx)
	if err != nil {
		return nil, err
	}
	all := []engine.Item{}
	for _, ref := range refs {
		if only != "" && ref.ID != only {
			continue
		}
		items, err := e.planItems(ctx, eng, ref)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			warning := fmt.Sprintf("warning: %s is left out: %v; git wf doctor says more", ref.ID, err)
			fmt.Fprintln(e.stderr, plain.Line(warning))
		}
		all = append(all, items...)
	}
	each.Sort(all, func(a, b engine.Item) int { return a.Since.Compare(b.Since) })
	return all, nil
}

func (e *env) planItems(ctx context.Context, eng *engine.Engine, ref gitstore.PlanRef) ([]engine.Item, error) {
	snap, err := eng.Store.SnapshotAt(ctx, ref.ID, ref.Tip)
	if err != nil || snap.State().SessionStatus() == plan.SessionCompleted {
		return nil, err
	}
	x, err := e.explain(ctx, eng, snap)
	if err != nil {
		return nil, err
	}
	return eng.Items(ctx, snap, x.State, slices.Concat(x.Waits, x.Asks))
}
