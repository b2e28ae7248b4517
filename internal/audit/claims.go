package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// claims checks every claim: whether it is one, on a task that exists. Whether somebody still works on it concerns the
// next run, which takes over what nobody holds any more.
func (s *surroundings) claims() error {
	byPlan := map[plan.ID][]ref{}
	for _, r := range s.all {
		name, ok := strings.CutPrefix(r.name, claimRefs)
		if !ok || r.symref != "" {
			continue
		}
		id, task, _ := strings.Cut(name, "/")
		if !plan.ID(id).Valid() || !plan.TaskID(task).Valid() {
			s.finding(orphan, r, "", "no task can have this name")
			continue
		}
		byPlan[plan.ID(id)] = append(byPlan[plan.ID(id)], r)
	}
	for _, id := range slices.Sorted(maps.Keys(byPlan)) {
		if err := s.claimsOf(id, byPlan[id]); err != nil {
			return err
		}
	}
	return nil
}

func (s *surroundings) claimsOf(id plan.ID, refs []ref) error {
	snap, err := s.store.Snapshot(s.ctx, id)
	if errors.Is(err, gitstore.ErrNoPlan) {
		for _, r := range refs {
			s.finding(orphan, r, id, "there is no plan "+string(id))
		}
		return s.ctx.Err()
	}
	if err != nil {
		return s.ctx.Err() // what is wrong with the plan is found by its own audit
	}
	tasks := snap.Plan.Index()
	for _, r := range refs {
		task := plan.TaskID(path.Base(r.name))
		why, err := CheckClaim(s.ctx, s.store, r.name, r.oid)
		switch {
		case err != nil:
			return fmt.Errorf("read %s: %w", r.name, err)
		case tasks.Task(task) == nil:
			s.finding(orphan, r, id, fmt.Sprintf("%s has no task %s", id, task))
		case why != "":
			s.finding("bad-claim", r, id, "holds no claim, and counts as expired: "+why)
		}
	}
	return nil
}

// CheckClaim returns why what a claim's ref holds, or is to hold, is neither a claim nor what was handed in under one,
// "" if it is one of them.
func CheckClaim(ctx context.Context, store *gitstore.Store, ref string, oid plan.OID) (why string, err error) {
	why, id, err := store.CheckClaim(ctx, ref, oid)
	if id == "" || err != nil {
		return why, err
	}
	tip, err := store.Tip(ctx, id)
	if errors.Is(err, gitstore.ErrNoPlan) {
		return "a commit, and there is no plan " + string(id), ctx.Err()
	}
	fork, err := store.Fork(ctx, tip, oid)
	if err != nil || fork == "" {
		return "a commit, of another history than " + string(id), err
	}
	findings, err := Move(ctx, store, gitstore.RefName(id), fork, oid)
	for _, f := range findings {
		return fmt.Sprintf("a commit without a legal history: %s: %s", f.Place, f.Message), err
	}
	return "", err
}

// finding reports a claim's ref that holds none, or a claim on a task that does not exist. The fix deletes no commit or
// tree in the place of a claim: it may be somebody's work.
func (s *surroundings) finding(code string, r ref, id plan.ID, why string) {
	f := s.report(code, r.name, deleteCommand(r.name, r.oid), "%s", why)
	f.PlanID = id
	kind, err := s.store.Git(s.ctx, "cat-file", "-t", string(r.oid))
	if code == orphan || err == nil && kind == "blob" {
		f.Fix = func(ctx context.Context) (string, error) {
			_, err := s.store.Git(ctx, "update-ref", "-d", r.name, string(r.oid))
			return "deleted the claim " + string(r.oid[:12]), err
		}
	}
}

const orphan = "orphan-claim"
