package gate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
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
	codeLapsed     = "overturned"
)

// report reports what explains a commit, or the paths that nothing explains.
func (c *code) report(ctx context.Context, d *coded, o *outcome, r *Report) error {
	switch {
	case o.steps == nil && o.dispute != nil:
		return c.reportMerge(ctx, d, o, r)
	case o.steps == nil:
		for _, path := range o.left {
			f, err := c.finding(ctx, d, o, path)
			if err != nil {
				return err
			}
			r.Findings = append(r.Findings, f)
		}
		return nil
	}
	if err := c.reportWaived(ctx, d, r); err != nil {
		return err
	}
	for _, s := range o.steps[1:] {
		if err := c.prove(ctx, s.change); err != nil {
			return err
		}
		l := Landed{
			Commit: d.commit, PlanID: s.plan, TaskID: s.task, Version: plan.VersionID(s.version), Reverted: s.back,
			Signatures: s.evidence.SignedWord(), change: s.change,
		}
		l.SignedBy = signersOf(s.evidence, s.task, l.Version)
		r.Changes = append(r.Changes, l)
	}
	return nil
}

// lapsedFinding is the finding that a branch would have newly what is not in force.
func (c *code) lapsedFinding(ctx context.Context, commit plan.OID, l *landing) Finding {
	return Finding{
		Code: codeLapsed, Commit: commit, Path: l.paths[0], PlanID: l.plan, TaskID: l.task,
		Version: plan.VersionID(l.version), Message: fmt.Sprintf("%s %s", l.change, l.change.lapsed),
		Hint: c.remakeHint(ctx, l.change),
	}
}

// remakeHint is the commands that make a newer version of a change, also of a task that is done, and land it.
func (c *code) remakeHint(ctx context.Context, ch *change) string {
	hint := fmt.Sprintf("git wf run --plan %s && %s", ch.plan, c.landHint(ctx, ch))
	if snap, err := c.at(ctx, ch.plan, ch.tip); err == nil && snap.State().Tasks[ch.task].Approved > 0 {
		hint = fmt.Sprintf("git wf rerun --plan %s %s && %s", ch.plan, ch.task, hint)
	}
	return hint
}

// approveHint is the commands that make a version, or a newer one, count that never did.
func (c *code) approveHint(ctx context.Context, ch *change) string {
	switch {
	case ch.never == whyRejected:
		return c.remakeHint(ctx, ch)
	case ch.never == whyUnreviewed || strings.HasPrefix(ch.never, whyLacks):
		return fmt.Sprintf("git wf review --plan %s %s --approve", ch.plan, ch.task)
	}
	return fmt.Sprintf("git wf show --plan %s %s", ch.plan, ch.task)
}

// landHint is the command that lands a change on the branch that is judged.
func (c *code) landHint(ctx context.Context, ch *change) string {
	on := ""
	if trunk, _, err := c.store.Trunk(ctx); err == nil && c.branch != "" && c.branch != trunk {
		on = " --branch " + shell.Word(c.branch)
	}
	return fmt.Sprintf("git wf land --plan %s%s %s", ch.plan, on, ch.task)
}

// reportWaived reports what passes only because of a waiver.
func (c *code) reportWaived(ctx context.Context, d *coded, r *Report) error {
	for _, path := range d.paths {
		e, err := c.entryAt(ctx, d.root, path)
		if err != nil {
			return err
		}
		if c.waived(path, e) {
			c.add(r, Finding{Code: codeUnapproved, Commit: d.commit, Path: path,
				Message: "not what an approved change makes"}, Change{Path: path, Mode: e.Mode, OID: e.OID})
		}
	}
	return nil
}

// reportMerge reports a merge that is not what merging the protected parts of its parents makes.
func (c *code) reportMerge(ctx context.Context, d *coded, o *outcome, r *Report) error {
	for _, path := range o.left {
		e, err := c.entryAt(ctx, d.root, path)
		if err != nil {
			return err
		}
		f := Finding{Code: codeMerge, Commit: d.commit, Path: path, Hint: c.mergeHint(ctx, d)}
		tasks := each.Of(o.dispute.tasks, func(t changeName) string { return string(t.task) })
		switch {
		case len(d.parents) > 2:
			f.Message = "a merge of several branches must have no conflict in protected code: merge them one by one"
		case slices.Contains(o.dispute.paths, path):
			f.Message = "the merged commits conflict, and how this solves it is a change that nobody has approved"
		case len(tasks) > 0:
			f.Message = fmt.Sprintf("the merged commits disagree about %s, and this is what neither of them has",
				strings.Join(tasks, ", "))
		default:
			f.Message = "not what merging the protected code makes of it"
		}
		c.add(r, f, Change{Path: path, Mode: e.Mode, OID: e.OID})
	}
	return nil
}

// mergeHint is the commands that make the merge that is legal.
func (c *code) mergeHint(ctx context.Context, d *coded) string {
	hint := ""
	if d.commit == "" {
		hint = "git merge --abort"
	}
	for _, p := range d.parents[1:] {
		name, err := c.store.Git(ctx, "for-each-ref", "--count=1", "--format=%(refname:short)",
			"--points-at="+string(p), "refs/heads", "refs/remotes")
		if err != nil || name == "" {
			name = string(p)
		}
		if hint != "" {
			hint += " && "
		}
		hint += "git wf land --merge " + shell.Word(name)
	}
	return hint
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
	why, land := "", ""
	if ch != nil {
		land = c.landHint(ctx, ch)
		f.PlanID, f.TaskID, f.Version = ch.plan, ch.task, plan.VersionID(ch.version)
		why = cmp.Or(ch.never, o.tried[ch])
	}
	out := d.mend("git restore --staged -- " + shell.Quote(path))
	switch {
	case why == whyForbidden:
		f.Message = fmt.Sprintf("takes %s back, which the policy forbids", ch)
		f.Hint = fmt.Sprintf("%s; git wf undo --plan %s %s", out, ch.plan, ch.task)
	case why == whyUndone:
		f.Message, f.Hint = fmt.Sprintf("%s %s", ch, why), c.remakeHint(ctx, ch)
	case why == whyThere:
		f.Message, f.Hint = fmt.Sprintf("not what %s makes of it, which %s", ch, why), out
	case why != "" && ch.never != "":
		f.Message = fmt.Sprintf("%s, which %s", ch, why)
		if why == whyRejected || why == whyUnreviewed {
			f.Message = "has what " + ch.String() + " makes of it, which " + why
		}
		f.Hint = c.approveHint(ctx, ch)
	case why != "":
		f.Message, f.Hint = fmt.Sprintf("%s %s", ch, why), land
	case exact != nil:
		f.Code, f.Hint = codePart, land
		f.Message = fmt.Sprintf("belongs to %s, of which other paths are missing or different: a change lands whole",
			ch)
	case touching != nil && want.OID != "":
		f.Message = fmt.Sprintf("not what %s makes of it", ch)
		f.Hint = land + " makes it; " + out + " takes this out"
	case len(c.lib.absent) > 0:
		id := c.lib.absent[0]
		f.Code, f.PlanID = "no-plan", id
		f.Message = fmt.Sprintf(
			"plan %s, which the commit names, is not in this repository, so nothing proves the change", id)
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
		case tried && ch.never == "":
			return 0
		case ch.never == "":
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
		if t.New == want && better(ch, exact) {
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
