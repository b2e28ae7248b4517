package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// claims checks every claim: whether its task exists, and whether somebody still works on it.
func (s *surroundings) claims() error {
	byPlan := map[plan.ID][]ref{}
	for _, r := range s.all {
		name, ok := strings.CutPrefix(r.name, claimRefs)
		if !ok || r.symref != "" {
			continue
		}
		id, task, _ := strings.Cut(name, "/")
		if !plan.ID(id).Valid() || !plan.TaskID(task).Valid() {
			s.orphan(r, "", "no task can have this name")
			continue
		}
		byPlan[plan.ID(id)] = append(byPlan[plan.ID(id)], r)
	}
	ids := make([]plan.ID, 0, len(byPlan))
	for id := range byPlan {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
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
			s.orphan(r, id, "there is no plan "+string(id))
		}
		return s.ctx.Err()
	}
	if err != nil {
		return s.ctx.Err() // what is wrong with the plan is found by its own audit
	}
	var sound []ref
	tasks := snap.Plan.Index()
	for _, r := range refs { // before the claims are read, which makes room where one is broken
		task := plan.TaskID(path.Base(r.name))
		why, err := s.store.CheckClaim(s.ctx, r.name, r.oid)
		switch {
		case err != nil:
			return fmt.Errorf("read %s: %w", r.name, err)
		case tasks.Task(task) == nil:
			s.orphan(r, id, fmt.Sprintf("%s has no task %s", id, task))
		case why != "":
			s.badClaim(r, id, why)
		default:
			sound = append(sound, r)
		}
	}
	held, err := s.store.Claims(s.ctx, id)
	if err != nil {
		return fmt.Errorf("read the claims of %s: %w", id, err)
	}
	for _, r := range sound {
		if c, ok := held[plan.TaskID(path.Base(r.name))]; ok {
			s.claim(r, snap, c)
		}
	}
	return nil
}

// badClaim reports a ref for claims that holds no claim. Such a ref counts as a claim that expired long
// ago. The fix deletes it only if it holds a blob: a commit or a tree may be somebody's work, so a
// person decides.
func (s *surroundings) badClaim(r ref, id plan.ID, why string) {
	f := s.report("bad-claim", r.name, deleteCommand(r.name, r.oid), "holds no claim, and counts as expired: %s", why)
	f.PlanID = id
	if kind, err := s.store.Git(s.ctx, "cat-file", "-t", string(r.oid)); err == nil && kind == "blob" {
		f.Fix = s.drop(r)
	}
}

// orphan reports a claim on a task that does not exist. Deleting it harms nobody: nothing can be
// recorded under it.
func (s *surroundings) orphan(r ref, id plan.ID, why string) {
	f := s.report("orphan-claim", r.name, deleteCommand(r.name, r.oid), "%s", why)
	f.PlanID = id
	f.Fix = s.drop(r)
}

// drop is the fix that deletes a claim's ref, as long as it holds what was found there.
func (s *surroundings) drop(r ref) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		_, err := s.store.Git(ctx, "update-ref", "-d", r.name, string(r.oid))
		return "deleted the claim " + string(r.oid[:12]), err
	}
}

// claim reports a claim whose owner is gone, unless it was given back and only keeps its number.
func (s *surroundings) claim(r ref, snap *gitstore.Snapshot, c plan.Claim) {
	code, why := "", ""
	_, stands := s.Standing(plan.Claims{c.Task: c})[c.Task]
	switch {
	case c.Vacant() || stands:
		return
	case s.Now.Before(c.Expires):
		code, why = "dead-claim", fmt.Sprintf("held by %s, process %d of this host, which is gone", plain.Line(c.Agent),
			c.PID)
	default:
		code = "expired-claim"
		why = fmt.Sprintf("held by %s on %s until %s", plain.Line(c.Agent), plain.Line(c.Host),
			c.Expires.UTC().Format(time.RFC3339))
		if runs(c) {
			why += fmt.Sprintf("; its process %d is still there, and may hang", c.PID)
		}
	}
	f := s.report(code, r.name, "git wf doctor --fix", "%s", why)
	f.PlanID = snap.ID
	if code == "expired-claim" && runs(c) {
		f.Mend = fmt.Sprintf("kill %d && git wf doctor --fix", c.PID)
		return
	}
	f.Fix = func(ctx context.Context) (string, error) { return s.release(ctx, snap, r, c) }
}

// release gives a claim up as a worker that takes it over does. It records the attempt as lost, so that a task that
// kills its worker is not retried for ever.
func (s *surroundings) release(ctx context.Context, snap *gitstore.Snapshot, r ref, c plan.Claim) (string, error) {
	lost := plan.AddAttempt{Attempt: plan.Attempt{
		TaskID: c.Task, Kind: plan.AttemptLost, Agent: c.Agent, Session: c.Session, CreatedAt: plan.Second(s.Now),
		Message: fmt.Sprintf("the worker that held claim %d did not come back", c.Number),
	}}
	t := snap.Plan.Task(c.Task)
	if t.NodeType == plan.Check {
		lost.Version = snap.Records.Of(t.ReviewTargetTaskID).Active()
	}
	_, unfit := lost.Apply(snap.State())
	if c.Vacant() || unfit != nil { // nobody's, or of a task that has no attempts
		return s.drop(r)(ctx)
	}
	done, err := s.store.Append(ctx, snap.ID, lost, gitstore.AppendOptions{Now: s.Now, Claim: &c})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("recorded the attempt as lost (%.12s) and gave the claim up", done.Commit), nil
}

// runs reports whether there is a process on this host that may be a claim's owner.
func runs(c plan.Claim) bool {
	host, err := os.Hostname()
	return err == nil && c.Host == host && alive(c.PID)
}

// alive reports whether there is a process of that number, as far as can be known.
func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // Windows finds no process that has ended
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
