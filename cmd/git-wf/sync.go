package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// syncReport is what git wf sync did, by plan, of those that are at the remote.
type syncReport struct {
	Remote string                  `json:"remote"`
	Plans  map[plan.ID]*syncedPlan `json:"plans"`
}

type syncedPlan struct {
	Did   string          `json:"did"` // or why it could not
	Tip   plan.OID        `json:"tip,omitempty"`
	Aside []plan.SetAside `json:"aside"`
}

func (e *env) sync(c *cli.Context, store *gitstore.Store) error {
	remote, err := store.MainRemote(c.Context)
	if remote = cmp.Or(c.String("remote"), remote); remote == "" {
		return cmp.Or(err, usage("sync: expected --remote NAME, since nothing says which remote has the plans"))
	}
	store.Asked = true
	before, err := store.AllPlanRefs(c.Context)
	if err != nil {
		return err
	}
	done, err := store.Sync(c.Context, remote)
	if err == nil {
		_, err = e.setup(store).Settle(c.Context)
	}
	if err == nil {
		err = e.setup(store).Follow(c.Context)
	}
	if err == nil && e.decideAgain(c.Context, done) {
		_, err = store.Sync(c.Context, remote) // pushes it
	}
	if err != nil {
		return err
	}
	r := syncReport{Remote: remote, Plans: map[plan.ID]*syncedPlan{}}
	aside, failed := 0, []error(nil)
	for _, id := range slices.Sorted(maps.Keys(done)) {
		j := done[id]
		p := &syncedPlan{Tip: j.Tip, Aside: append([]plan.SetAside{}, j.Aside...)}
		switch failed = append(failed, j.Failed); {
		case j.Failed != nil:
			p.Did = plain.Line(j.Failed.Error())
		case j.Second != "":
			p.Did = j.Change.Subject
		case j.Pushed:
			p.Did = "pushed"
		case j.Tip != before[id].Own:
			p.Did = "moved to what " + remote + " has"
		default:
			p.Did = "nothing new"
		}
		for _, a := range p.Aside {
			if !a.Made {
				aside++
			}
		}
		r.Plans[id] = p
	}
	if err = errors.Join(append(failed, e.print("sync", r))...); err == nil && aside > 0 {
		err = fault.Waiting("the commands above make it again", "%s of yours set aside", plain.Count(aside, "thing"))
	}
	return err
}

// decideAgain carries out the commands that decide again what a join has set aside, and reports whether one did.
func (e *env) decideAgain(ctx context.Context, done map[plan.ID]gitstore.Joined) (did bool) {
	for _, id := range slices.Sorted(maps.Keys(done)) {
		for _, decision := range done[id].Again {
			again := *e
			again.stdout, again.stderr = io.Discard, io.Discard // what fails is named, with its command
			again.json, again.interactive = false, false
			if again.run(ctx, append(decision.Args, "--plan", string(id))) != fault.ExitDone {
				continue
			}
			did = true
			for i, a := range done[id].Aside {
				done[id].Aside[i].Made = a.Made || a.Command == decision.Command
			}
		}
	}
	return did
}
