package main

import (
	"context"
	"fmt"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// tidyUp has git pack what a run has written, as git's own commands do; after an interrupt the next run does it. A run
// does not fail if git can't.
func (p printer) tidyUp(ctx context.Context, store *gitstore.Store) {
	if ctx.Err() != nil {
		return
	}
	if err := store.Maintain(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(p.stderr, "warning: "+plain.Line(err.Error()))
	}
}
