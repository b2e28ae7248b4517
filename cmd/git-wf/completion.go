package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/completion"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// completion prints the script of a shell, or the words that such a script asks for. No words or no repository is no
// error: nothing may be printed into the line that the user is typing.
func (e *env) completion(c *cli.Context) error {
	var words []string
	var read func(*gitstore.Store) error
	switch what := c.Args().First(); what {
	case "bash", "zsh", "fish":
		return completion.Script(e.stdout, e.app(), what)
	case "categories":
		fmt.Fprintln(e.stdout, strings.Join(plan.Note{}.Categories(), "\n"))
		return nil
	case "workflows":
		read = func(store *gitstore.Store) error { words = e.workflowNames(store); return nil }
	case "tasks":
		read = func(store *gitstore.Store) error {
			id, err := store.Active(c.Context)
			if err != nil {
				return err
			}
			snap, err := store.Snapshot(c.Context, id)
			if err != nil {
				return err
			}
			for _, t := range snap.Plan.Tasks {
				words = append(words, string(t.TaskID))
			}
			return nil
		}
	case "plans":
		read = func(store *gitstore.Store) error {
			refs, err := store.Plans(c.Context)
			for _, r := range refs {
				words = append(words, string(r.ID))
			}
			return err
		}
	default:
		return usage("completion: expected bash, zsh, fish, tasks, plans, workflows or categories, found %q", what)
	}
	if err := e.withStore(c.Context, read); err == nil && len(words) > 0 {
		fmt.Fprintln(e.stdout, strings.Join(words, "\n"))
	}
	return nil
}
