package audit

import (
	"context"
	"fmt"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Finding is one thing that is wrong with a plan's ref.
type Finding struct {
	Code    string  `json:"code"`
	PlanID  plan.ID `json:"plan_id"`
	Place   string  `json:"place"` // a commit and a path, or a path of the newest commit
	Message string  `json:"message"`
	Mend    string  `json:"mend,omitempty"` // the command that helps
}

// Plan audits one plan: every commit of its history, and every record of its newest tree.
func Plan(ctx context.Context, store *gitstore.Store, id plan.ID) ([]Finding, error) {
	a := auditor{ctx: ctx, store: store, id: id}
	if err := a.history(gitstore.RefName(id)); err != nil {
		return nil, err
	}
	if err := a.whole(gitstore.RefName(id)); err != nil {
		return nil, err
	}
	snap, err := store.Snapshot(ctx, id)
	if gitstore.IsAbsent(err) {
		return nil, err
	}
	if err != nil {
		a.find("unreadable", "plan.json", "git log workflow/"+string(id), "%v", err)
		return a.findings, nil
	}
	return a.findings, a.records(snap)
}

type auditor struct {
	ctx      context.Context
	store    *gitstore.Store
	id       plan.ID
	snap     *gitstore.Snapshot
	findings []Finding
	said     map[string]bool // places of which a commit's change was found already
}

func (a *auditor) find(code, place, mend, format string, args ...any) {
	a.findings = append(a.findings, Finding{code, a.id, place, fmt.Sprintf(format, args...), mend})
}

// records checks everything that the plan's tree holds at one commit.
func (a *auditor) records(snap *gitstore.Snapshot) error {
	a.snap = snap
	for _, f := range snap.Plan.Validate(plan.Floors{}) {
		a.find("bad-plan", "plan.json", "", "%v", f)
	}
	for _, t := range snap.Plan.Tasks {
		if err := a.task(t); err != nil {
			return err
		}
	}
	a.strangers()
	return a.strays()
}

// whole reports a history of which a shallow clone has the end alone: what is below was not looked at.
func (a *auditor) whole(ref string) error {
	cut, err := a.store.Cut(a.ctx, ref)
	if err == nil && len(cut) > 0 {
		a.find("shallow", fmt.Sprintf("%.12s", cut[0]), gitstore.Unshallow, "this clone is shallow: what is below this commit was not looked at")
	}
	return err
}

// history checks that every commit that the revisions select only adds paths to each of its parents; plan.json, or
// policy.json, alone may change. Each parent counts, because what a merge leaves out may be in any of them; so no commit
// can lose what any commit before it recorded.
func (a *auditor) history(revs ...string) error {
	if err := a.store.PrefetchTrees(a.ctx, revs...); err != nil {
		return fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	out, err := a.store.GitIn(a.ctx, gitstore.Invocation{Args: append([]string{
		"log", "--reverse", "--diff-merges=separate", "--root", "-r", "--name-status", "--no-renames", "-z", "--format=%x01%H",
	}, revs...)})
	if err != nil {
		return fmt.Errorf("read the history of %s: %w", a.id, err)
	}
	for _, commit := range strings.Split(string(out), "\x01")[1:] {
		fields := strings.Split(strings.Trim(commit, "\x00\n"), "\x00")
		for i := 1; i+1 < len(fields); i += 2 {
			a.recorded(strings.TrimSpace(fields[i]), fields[i+1], plan.OID(fields[0]))
		}
	}
	return nil
}

// recorded takes up what a commit does to one path; git says how, by a letter. What it does to several parents is said once.
func (a *auditor) recorded(status, path string, commit plan.OID) {
	place := fmt.Sprintf("%.12s: %s", commit, path)
	if status != "A" && path != "plan.json" && path != "policy.json" && !a.said[place] {
		if a.said == nil {
			a.said = map[string]bool{}
		}
		a.said[place] = true
		a.find("rewritten", place, "git log "+string(commit)+" -- '"+path+"'",
			"the commit changes what was recorded (%s); records are written once", status)
	}
}

// task checks the records of one task against each other. It fails only where they can't be read here.
func (a *auditor) task(t *plan.Task) error {
	r := a.snap.Records.Of(t.TaskID)
	for _, name := range r.Foreign {
		a.find("foreign", t.TaskID.Dir()+"/"+name, "", "no record has this name; it counts for nothing")
	}
	for i, rec := range r.Artifacts {
		if rec.Version != i+1 {
			a.find("version-gap", t.TaskID.Dir()+"/artifacts", "", "%s follows version %d", plan.VersionID(rec.Version), i)
		}
		if _, err := export.ReadArtifact(a.ctx, a.store, a.snap, t.TaskID, rec.Version); gitstore.IsAbsent(err) {
			return err
		} else if err != nil {
			a.find("bad-artifact", t.TaskID.Dir(), "git wf show "+string(t.TaskID), "%v", err)
		}
	}
	for _, rec := range r.Reviews {
		if _, ok := r.Version(rec.Version); !ok {
			a.find("review-of-nothing", t.TaskID.Dir()+"/reviews/"+rec.Dir(), "", "%s has no such version", t.TaskID)
			continue
		}
		if _, err := export.ReadReview(a.ctx, a.store, a.snap, t.TaskID, rec); gitstore.IsAbsent(err) {
			return err
		} else if err != nil {
			a.find("bad-review", t.TaskID.Dir()+"/reviews/"+rec.Dir(), "", "%v", err)
		}
	}
	return nil
}

// strangers reports records of tasks that the plan does not have.
func (a *auditor) strangers() {
	known := map[plan.TaskID]bool{}
	for _, t := range a.snap.Plan.Tasks {
		known[t.TaskID] = true
	}
	for id := range a.snap.Records.Tasks {
		if !known[id] {
			a.find("unknown-task", id.Dir(), "", "plan.json has no task %s", id)
		}
	}
}

// strays reports what is in the plan's tree where no record can be.
func (a *auditor) strays() error {
	entries, err := a.store.ListTree(a.ctx, a.snap.Commit, "")
	if err != nil {
		return fmt.Errorf("list the tree of %s: %w", a.id, err)
	}
	seen := map[string]bool{}
	for _, e := range entries {
		place, known := placeOf(e.Path)
		if known || seen[place] {
			continue
		}
		seen[place] = true
		a.find("foreign", place, "", "no record belongs here; it counts for nothing")
	}
	return nil
}

// placeOf returns the part of a path that says whose it is, and whether the format knows that place.
func placeOf(path string) (place string, known bool) {
	parts := strings.SplitN(path, "/", 4)
	switch {
	case path == "plan.json", len(parts) == 2 && (parts[0] == "session" || parts[0] == "notes"):
		return path, true
	case parts[0] == "tasks" && len(parts) == 4:
		place = strings.Join(parts[:3], "/")
		return place, plan.TaskID(parts[2]).Valid() && plan.TaskID(parts[2]).Dir() == place
	}
	return path, false
}
