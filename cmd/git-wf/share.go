package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"gitwf/internal/engine"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
)

// share publishes a plan: from then on it is shared, and what is recorded in it is pushed at once.
func (e *env) share(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) error {
	remote, err := eng.Store.MainRemote(c.Context)
	switch {
	case err != nil:
		return err
	case remote == "":
		return fault.Usage("git remote add origin URL, or git config wf.remote NAME",
			"nothing says with which remote plans are shared")
	case snap.ID.Throwaway():
		return fault.Refused("git wf plan -f FILE, elsewhere", "%s counts in this repository alone", snap.ID)
	}
	eng.Store.Asked = true
	if err := eng.Store.Share(c.Context, remote, snap.ID); err != nil {
		return err
	}
	return e.say(map[string]any{"plan_id": snap.ID, "remote": remote}, "%s is shared with %s", snap.ID,
		plain.Line(remote))
}

// findPlans takes over the plans and the policy of the remote that are not here yet, and says what it found.
func (e *env) findPlans(c *cli.Context, store *gitstore.Store) (next string, err error) {
	remote, err := store.MainRemote(c.Context)
	if err != nil || remote == "" {
		return "git wf plan -f FILE", err
	}
	active, activeErr := store.Active(c.Context) // one plan alone is, until others come
	found, err := store.Adopt(c.Context, remote)
	if err == nil && activeErr == nil {
		err = store.SetActive(c.Context, active)
	}
	if err == nil {
		err = e.setup(store).Follow(c.Context)
	}
	if err != nil || len(found) == 0 {
		return "git wf plan -f FILE", err
	}
	fmt.Fprintf(e.stdout, "%s found at %s\n", plain.Count(len(found), "plan"), plain.Line(remote))
	if _, err := store.Active(c.Context); err != nil {
		return "git wf plans, git wf switch PLAN", nil //nolint:nilerr // it says which plans there are
	}
	return "git wf status", nil
}
