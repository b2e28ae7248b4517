package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/completion"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// completion prints the script of a shell, or the words that such a script asks for.
func (e *env) completion(c *cli.Context) error {
	switch what := c.Args().First(); what {
	case "bash", "zsh", "fish":
		return completion.Script(e.stdout, e.app(), what)
	case "tasks":
		e.completeIDs(c, taskIDs)
	case "plans":
		e.completeIDs(c, planIDs)
	case "categories":
		fmt.Fprintln(e.stdout, strings.Join(plan.Note{}.Categories(), "\n"))
	case "workflows":
		e.completeIDs(c, func(e *env, _ *cli.Context, store *gitstore.Store) ([]string, error) {
			return e.workflowNames(store), nil
		})
	default:
		return usage("completion: expected bash, zsh, fish, tasks, plans, workflows or categories, found %q", what)
	}
	return nil
}

// completeIDs prints ids, one a line. No ids or no repository is no error: nothing may be printed into the line that
// the user is typing.
func (e *env) completeIDs(c *cli.Context, list func(*env, *cli.Context, *gitstore.Store) ([]string, error)) {
	var ids []string
	err := e.withStore(c.Context, func(store *gitstore.Store) (err error) {
		ids, err = list(e, c, store)
		return err
	})
	if err == nil && len(ids) > 0 {
		io.WriteString(e.stdout, strings.Join(ids, "\n")+"\n")
	}
}

func taskIDs(e *env, c *cli.Context, store *gitstore.Store) ([]string, error) {
	id, err := store.Active(c.Context)
	if err != nil {
		return nil, err
	}
	snap, err := store.Snapshot(c.Context, id)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(snap.Plan.Tasks))
	for _, t := range snap.Plan.Tasks {
		ids = append(ids, string(t.TaskID))
	}
	return ids, nil
}

func planIDs(e *env, c *cli.Context, store *gitstore.Store) ([]string, error) {
	refs, err := store.Plans(c.Context)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(refs))
	for _, r := range refs {
		ids = append(ids, string(r.ID))
	}
	return ids, nil
}
