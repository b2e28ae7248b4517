package main

import (
	"cmp"
	"errors"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// pruneReport is what prune prints with --json.
type pruneReport struct {
	PlanID  plan.ID        `json:"plan_id"`
	DryRun  bool           `json:"dry_run"`
	Commit  plan.OID       `json:"commit"`  // with which the new history begins; "" if none does
	Archive plan.OID       `json:"archive"` // the newest commit of the history before
	Keep    int            `json:"keep"`
	Events  int            `json:"events"`
	Dropped []plan.Dropped `json:"dropped"`
}

func (e *env) prune(c *cli.Context, store *gitstore.Store) error {
	if c.IsSet("keep") && c.Int("keep") < 1 {
		return usage("--keep %d: the newest version of a task always stays", c.Int("keep"))
	}
	id, err := planID(c, store)
	if err != nil {
		return err
	}
	if c.Bool("delete-archive") {
		return e.deleteArchive(c, store, id)
	}
	policy, err := store.Policy(c.Context)
	if err != nil {
		return err
	}
	keep := cmp.Or(c.Int("keep"), policy.Prune.Newest())
	r := pruneReport{PlanID: id, DryRun: c.Bool("dry-run"), Dropped: []plan.Dropped{}}
	doc, err := store.PlanPrune(c.Context, id, keep)
	if err == nil && len(doc.Dropped) == 0 && !c.Bool("history") {
		err = gitstore.ErrNothingToPrune
	}
	if err == nil && !r.DryRun {
		var done *gitstore.Appended
		if doc, done, err = store.Prune(c.Context, id, keep, e.now()); err == nil {
			r.Commit = done.Commit
		}
	}
	if errors.Is(err, gitstore.ErrNothingToPrune) {
		return e.say(r, "%s: nothing to prune: of each task the newest %s and all that was approved stay", id,
			plain.Count(keep, "version"))
	}
	if err != nil {
		return err
	}
	r.Archive, r.Keep, r.Events, r.Dropped = doc.Archive, doc.Keep, doc.Events, doc.Dropped
	return e.print("prune", r)
}

func (p printer) deleteArchive(c *cli.Context, store *gitstore.Store, id plan.ID) error {
	gone, err := store.GiveUp(c.Context, id)
	switch {
	case errors.Is(err, gitstore.ErrNoArchive):
		return fault.Refused("git wf prune", "%s: %v", id, gitstore.ErrNoArchive)
	case err != nil:
		return err
	}
	return p.say(struct {
		PlanID  plan.ID  `json:"plan_id"`
		Deleted plan.OID `json:"deleted"`
	}{id, gone}, "%s: the archive up to %.12s is deleted; what landed by it can't be verified here any more\n"+
		"next: git gc --prune=now frees the space; git update-ref %s %[2]s brings the archive back until then",
		id, gone, gitstore.ArchiveRefName(id))
}
