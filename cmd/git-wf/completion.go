package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/completion"
	"gitwf/internal/each"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// completion prints the script of a shell, or the words that such a script asks for. No words or no repository is no
// error: nothing may be printed into the line that the user is typing.
func (e *env) completion(c *cli.Context) error {
	what, words := c.Args().First(), []string(nil)
	switch what {
	case "bash", "zsh", "fish":
		return completion.Script(e.stdout, e.app(), what)
	case "categories":
		words = plan.Note{}.Categories()
	case "tasks", "plans", "workflows":
		_ = e.withStore(c.Context, func(store *gitstore.Store) (err error) {
			words, err = e.wordsOf(c.Context, store, what)
			return err
		})
	default:
		return usage("completion: expected bash, zsh, fish, tasks, plans, workflows or categories, found %q", what)
	}
	if len(words) > 0 {
		fmt.Fprintln(e.stdout, strings.Join(words, "\n"))
	}
	return nil
}

// wordsOf names the plans, the workflows, or the tasks of the active plan.
func (e *env) wordsOf(ctx context.Context, store *gitstore.Store, what string) ([]string, error) {
	switch what {
	case "workflows":
		return e.workflowNames(store), nil
	case "plans":
		refs, err := store.Plans(ctx)
		return each.Of(refs, func(r gitstore.PlanRef) string { return string(r.ID) }), err
	}
	id, err := store.Active(ctx)
	if err != nil {
		return nil, err
	}
	snap, err := store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return each.Of(snap.Plan.Tasks, func(t *plan.Task) string { return string(t.TaskID) }), nil
}
