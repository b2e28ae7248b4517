package gate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/plan"
	"gitwf/internal/shell"
	"gitwf/internal/threeway"
)

// The codes of findings about protected code.
const (
	codeUnapproved = "unapproved-change"
	codePart       = "part-of-change"
	codeMerge      = "unapproved-merge"
)

// report reports what explains a commit, or the paths that nothing explains.
func (c *code) report(ctx context.Context, d *coded, o *outcome, r *Report) error {
	if o == nil {
		return c.reportConflict(ctx, d, r)
	}
	for _, path := range o.left {
		f, err := c.finding(ctx, d, o, path)
		if err != nil {
			return err
		}
		r.Findings = append(r.Findings, f)
	}
	if len(o.left) > 0 {
		return nil
	}
	if err := c.reportWaived(ctx, d, r); err != nil {
		return err
	}
	for _, ch := range o.used {
		l := Landed{
			Commit: d.commit, PlanID: ch.plan, TaskID: ch.task, Version: plan.VersionID(ch.version), Reverted: o.back,
			Signatures: ch.evidence.Word(), change: ch,
		}
		for _, a := range ch.evidence.Of(ch.task, l.Version) {
			l.SignedBy = append(l.SignedBy, a.SignedBy)
		}
		slices.Sort(l.SignedBy)
		l.SignedBy = slices.Compact(l.SignedBy)
		if ch.overturned && !o.back {
			held, err := c.heldCode(ctx, d, ch)
			if err != nil {
				return err
			}
			if held {
				r.Findings = append(r.Findings, Finding{
					Code: "overturned", Commit: d.commit, Path: ch.paths[0], PlanID: ch.plan, TaskID: ch.task, Version: l.Version,
					Message: fmt.Sprintf("%s was approved, but a later review rejected it", ch),
					Hint:    "git wf show " + string(ch.task),
				})
				continue
			}
			l.Overturned = true
		}
		r.Changes = append(r.Changes, l)
	}
	return nil
}

// heldCode reports whether a tip brings a version that the branch did not have.
func (c *code) heldCode(ctx context.Context, d *coded, ch *change) (bool, error) {
	if d.ends == nil {
		return true, nil
	}
	has := func(root plan.OID) (bool, error) {
		s, _, err := c.apply(ctx, &state{root: root}, ch, true)
		return s != nil, err
	}
	if c.before != "" {
		root, err := c.store.TreeOf(ctx, c.before)
		if err == nil && root != "" {
			if had, err := has(root); had || err != nil {
				return false, err
			}
		}
	}
	for _, root := range d.ends {
		if held, err := has(root); held || err != nil {
			return held, err
		}
	}
	return false, nil
}

// reportWaived reports what passes only because of a waiver.
func (c *code) reportWaived(ctx context.Context, d *coded, r *Report) error {
	for _, path := range d.paths {
		e, err := c.entryAt(ctx, d.root, path)
		if err != nil {
			return err
		}
		if c.waived(path, e) {
			c.add(r, Finding{Code: codeUnapproved, Commit: d.commit, Path: path, Message: "not what an approved change makes"},
				Change{Path: path, Mode: e.Mode, OID: e.OID})
		}
	}
	return nil
}

// reportConflict reports a merge whose parents have no clean merge.
func (c *code) reportConflict(ctx context.Context, d *coded, r *Report) error {
	for _, path := range d.paths {
		e, err := c.entryAt(ctx, d.root, path)
		if err != nil {
			return err
		}
		c.add(r, Finding{
			Code: codeMerge, Commit: d.commit, Path: path,
			Message: "the merged commits conflict, and how this solves it is a change that nobody has approved",
			Hint:    "git merge --abort; land one side's changes anew on the other: git wf land TASK",
		}, Change{Path: path, Mode: e.Mode, OID: e.OID})
	}
	return nil
}

// finding says why a path is not what approved changes make of it, and which command helps.
func (c *code) finding(ctx context.Context, d *coded, o *outcome, path string) (Finding, error) {
	f := Finding{Code: codeUnapproved, Commit: d.commit, Path: path}
	want, err := c.entryAt(ctx, d.root, path)
	if err != nil {
		return f, err
	}
	exact, touching := c.suspects(o, path, want)
	ch := exact
	if ch == nil {
		ch = touching
	}
	if ch != nil {
		f.PlanID, f.TaskID, f.Version = ch.plan, ch.task, plan.VersionID(ch.version)
	}
	land := fmt.Sprintf("git wf land --plan %s %s", f.PlanID, f.TaskID)
	out := d.mend("git restore --staged -- " + shell.Quote(path))
	switch {
	case o.forbidden && ch != nil:
		f.Message = fmt.Sprintf("takes %s back, which the policy forbids", ch)
		f.Hint = out + "; a task of its own may change it again (git wf policy land.revert no)"
	case ch != nil && ch.why != "":
		f.Message = fmt.Sprintf("%s %s", ch, ch.why)
		if !strings.HasPrefix(ch.why, "was") && !strings.HasPrefix(ch.why, "nobody") {
			f.Message = fmt.Sprintf("%s, which %s", ch, ch.why)
		} else {
			f.Message = fmt.Sprintf("has what %s makes of it, which %s", ch, ch.why)
		}
		f.Hint = fmt.Sprintf("git wf show --plan %s %s", f.PlanID, f.TaskID)
	case ch != nil && o.tried[ch] != "":
		f.Message, f.Hint = fmt.Sprintf("%s %s", ch, o.tried[ch]), land
	case exact != nil:
		f.Code, f.Hint = codePart, land
		f.Message = fmt.Sprintf("belongs to %s, of which other paths are missing or different: a change lands whole", ch)
	case touching != nil && want.OID != "":
		f.Message = fmt.Sprintf("not what %s makes of it", ch)
		f.Hint = land + " makes it; " + out + " takes this out"
	case len(c.lib.absent) > 0:
		id := c.lib.absent[0]
		f.Code, f.PlanID = "no-plan", id
		f.Message = fmt.Sprintf("plan %s, which the commit names, is not in this repository, so nothing proves the change",
			id)
		f.Hint = fmt.Sprintf("git fetch %s refs/workflow/%s:refs/workflow/%s", c.remote(ctx), id, id)
	case want.OID == "":
		f.Message = "deleted, and no approved change deletes it"
	default:
		f.Message = "not what any approved change makes of it"
	}
	if f.Hint == "" {
		f.Hint = out + "; what is to stay becomes a task of format: change: git wf plan -f FILE, or git wf start TASK"
	}
	return f, nil
}

// suspects finds the change that makes exactly this of a path, and one that touches the path: best one that was tried.
func (c *code) suspects(o *outcome, path string, want threeway.Entry) (exact, touching *change) {
	rank := func(ch *change) int {
		_, tried := o.tried[ch]
		switch {
		case tried || slices.Contains(o.used, ch):
			return 0
		case ch.why == "":
			return 1
		}
		return 2
	}
	better := func(a, b *change) bool { return b == nil || rank(a) < rank(b) }
	for _, ch := range c.lib.all {
		t, ok := ch.turns[path]
		if !ok {
			continue
		}
		if t.new == want && better(ch, exact) {
			exact = ch
		}
		if rank(ch) < 2 && better(ch, touching) {
			touching = ch
		}
	}
	return exact, touching
}

// approval is the commit that recorded the newest approval of a change: with it, a repository has what proves it.
func (c *code) approval(ctx context.Context, l Landed) (plan.OID, error) {
	commit, err := export.RecordedApproval(ctx, c.store, l.change.snap, l.TaskID, l.change.version)
	if commit == "" && err == nil {
		commit = l.change.snap.Commit
	}
	return commit, err
}
