package main

import (
	"context"
	"fmt"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// tidyUp asks git to pack what a run has written, as git's own commands do; after an interrupt the next run will. That
// it can't be asked is no failure of the run.
func (p printer) tidyUp(ctx context.Context, store *gitstore.Store) {
	if ctx.Err() != nil {
		return
	}
	if err := store.Maintain(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(p.stderr, "warning: "+plan.OneLine(err.Error()))
	}
}
