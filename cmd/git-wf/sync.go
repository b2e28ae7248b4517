package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// syncReport is what git wf sync did, by plan, of those that are here and at the remote.
type syncReport struct {
	Remote string                  `json:"remote"`
	Plans  map[plan.ID]*syncedPlan `json:"plans"`
	aside  int
	failed error
}

type syncedPlan struct {
	Did   string          `json:"did"` // or why it could not
	Tip   plan.OID        `json:"tip,omitempty"`
	Aside []plan.SetAside `json:"aside"`
}

func (e *env) sync(c *cli.Context, store *gitstore.Store) error {
	remote, err := store.MainRemote(c.Context)
	r := syncReport{Remote: cmp.Or(c.String("remote"), remote), Plans: map[plan.ID]*syncedPlan{}}
	if r.Remote == "" {
		return cmp.Or(err, usage("sync: expected --remote NAME, since nothing says which remote has the plans"))
	}
	for range 5 { // others may push at the same time
		var specs []string
		if specs, err = e.joinFetched(c.Context, store, &r); err != nil || len(specs) == 0 {
			break
		}
		push := append([]string{"push", "-q", "--atomic", "--end-of-options", r.Remote}, specs...)
		if _, err = store.Git(c.Context, push...); err == nil {
			break
		}
	}
	if err = cmp.Or(err, e.print("sync", r), r.failed); err == nil && r.aside > 0 {
		err = fault.Waiting("the commands above make it again", "%s of yours set aside", plain.Count(r.aside, "thing"))
	}
	return err
}

// joinFetched fetches what the remote has of the plans, joins each with what is here, and returns what is to be pushed.
func (e *env) joinFetched(ctx context.Context, store *gitstore.Store, r *syncReport) (specs []string, err error) {
	r.failed = nil
	fetched := "refs/workflow-remotes/" + r.Remote + "/"
	if _, err := store.Git(ctx, "fetch", "-q", "--no-tags", "--no-write-fetch-head", "--end-of-options", r.Remote,
		"+refs/workflow/*:"+fetched+"*"); err != nil {
		return nil, err
	}
	refs, err := store.AllPlanRefs(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(refs)) {
		own, first := refs[id].Own, refs[id].Fetched[fetched+string(id)]
		if !id.Valid() || first == "" || own == "" {
			continue
		}
		p := cmp.Or(r.Plans[id], &syncedPlan{Did: "nothing new", Aside: []plan.SetAside{}})
		r.Plans[id] = p
		done, err := store.Join(ctx, id, first, e.now())
		switch p.Tip = done.Tip; {
		case err != nil:
			p.Did, r.failed = plain.Line(err.Error()), errors.Join(r.failed, err)
			continue
		case done.Second != "":
			p.Did = done.Change.Subject
		case done.Tip != own:
			p.Did = "moved to what " + r.Remote + " has"
		case done.Tip != first && p.Did == "nothing new":
			p.Did = "pushed"
		}
		p.Aside, r.aside = append(p.Aside, done.Aside...), r.aside+len(done.Aside)
		if done.Tip != first {
			specs = append(specs, gitstore.RefName(id)+":"+gitstore.RefName(id))
		}
	}
	return specs, ctx.Err()
}
