package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
	"gitwf/internal/secret"
)

// Finding is one thing that is wrong with a plan's ref, or around it.
type Finding struct {
	Code    string  `json:"code"`
	PlanID  plan.ID `json:"plan_id"`
	Place   string  `json:"place"` // a commit and a path, a path of the newest commit, a ref, or a file
	Message string  `json:"message"`
	Mend    string  `json:"mend,omitempty"`  // the command that helps
	Fixed   string  `json:"fixed,omitempty"` // what was done about it

	// Fix does what Mend says, and says what it did. It is nil where that could lose something that somebody may want.
	Fix func(context.Context) (did string, err error) `json:"-"`

	Masking *secret.Masking `json:"-"` // of a secret: what takes it out
}

// Options say how a plan is audited.
type Options struct {
	Floors   policy.Floors      // of the policy: a plan may only be stricter
	Secrets  func() secret.Mask // what must not be recorded; nil: it is not looked for
	Progress func(text string)  // reports progress; may be nil
}

// Plan audits one plan: its objects, every commit of its history, and every record of its newest tree. If the history
// is damaged, it reports how far it is sound and audits that part.
func Plan(ctx context.Context, store *gitstore.Store, id plan.ID, o Options) ([]Finding, error) {
	first := auditor{ctx: ctx, store: store, id: id, options: o}
	tip, err := first.newestSound(gitstore.RefName(id))
	before := first.findings
	if err != nil || tip == "" {
		return before, err
	}
	a := auditor{ctx: ctx, store: store, id: id, options: o, tip: tip}
	auditErr := a.auditAll()
	damaged := slices.ContainsFunc(before, func(f Finding) bool { return f.Code == "damaged" })
	var absent *gitstore.AbsentError
	switch {
	case errors.As(auditErr, &absent) && len(before) == 0:
		a.report("promisor", gitstore.RefName(id), absent.Hint, "%v", absent)
	case absent != nil: // which has been said
	case auditErr != nil:
		return nil, auditErr
	}
	if err = ctx.Err(); err == nil && !damaged { // else the ref is not what it was audited at, and goes back first
		err = a.setWayBack()
	}
	for i := range a.findings {
		if damaged && strings.HasPrefix(a.findings[i].Mend, back) {
			a.findings[i].Mend = ""
		}
	}
	return append(before, a.findings...), err
}

// reportThrowaway finds a plan that does not count in this repository.
func (a *auditor) reportThrowaway() {
	if f := a.store.Discounts(a.ctx, a.id); f != nil {
		a.report("throwaway", string(a.id), f.Hint, "%v", f)
	}
}

// auditAll audits a history whose objects are whole.
func (a *auditor) auditAll() error {
	tip := string(a.tip)
	for _, step := range []func() error{
		func() error { return a.history(tip) },
		func() error { return a.reportShallow(tip) },
		a.checkRemote,
		a.pruned,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	snap, err := a.store.SnapshotAt(a.ctx, a.id, a.tip)
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return errors.Join(err, a.ctx.Err())
	}
	if a.newerPlan(err) {
		return nil
	}
	if err != nil {
		a.report("unreadable", planFile, a.goBackTo(planFile), "%v", err)
		return nil
	}
	entries, err := a.store.ListTree(a.ctx, snap.Commit)
	if err != nil {
		return fmt.Errorf("list the tree of %s: %w", a.id, err)
	}
	a.snap = snap
	a.reportThrowaway()
	if a.bindings() {
		a.floors()
	}
	return a.records(entries)
}

// Newer is the code of findings about records of a newer program: they are kept and have no effect
// here, and only that program can do something about them.
const Newer = "newer"

// newerPlan reports a plan.json of a later format, if that is what the error says.
func (a *auditor) newerPlan(err error) bool {
	var version *plandoc.VersionError
	if errors.As(err, &version) {
		a.report(Newer, planFile, fault.UpgradeHint, "%v", version)
	}
	return version != nil
}

const planFile, policyFile = "plan.json", "policy.json"

type auditor struct {
	ctx      context.Context
	store    *gitstore.Store
	id       plan.ID
	options  Options
	tip      plan.OID
	snap     *gitstore.Snapshot // whose records are looked at
	tasks    plan.Index         // of its plan
	findings []Finding
	said     map[plan.TaskID]bool // tasks that the plan does not have, and that have a finding already

	chain   *chain            // what is known of the history at the commit that was audited last
	made    map[string]made   // by id and path: what the records that they added were made under
	briefs  map[string]any    // by path: what documents say that others are held against
	cut     map[plan.OID]bool // commits whose parents a shallow clone does not have
	roots   []plan.OID        // with which the audited histories begin
	illegal map[plan.OID]bool // commits that are no legal events
	held    map[string]int    // how many findings there were, by code
}

// mostOfACode bounds the listed findings of one kind: thousands of them must not hide the others.
const mostOfACode = 200

// report adds a finding, and returns it. Beyond mostOfACode of one kind it says so once, and lists no more.
func (a *auditor) report(code, place, mend, format string, args ...any) *Finding {
	if a.held == nil {
		a.held = map[string]int{}
	}
	a.held[code]++
	f := Finding{Code: code, PlanID: a.id, Place: place, Message: fmt.Sprintf(format, args...), Mend: mend}
	switch n := a.held[code]; {
	case n < mostOfACode:
		a.findings = append(a.findings, f)
		return &a.findings[len(a.findings)-1]
	case n == mostOfACode:
		a.findings = append(a.findings, Finding{Code: code, PlanID: a.id, Place: place,
			Message: fmt.Sprintf("and more of the same: no more than %d are listed", mostOfACode),
			Mend:    "git wf doctor, after these are mended"})
	}
	return &f
}

func (a *auditor) progress(format string, args ...any) {
	if a.options.Progress != nil {
		a.options.Progress(fmt.Sprintf(format, args...))
	}
}

// reportShallow reports that a shallow clone lacks the older part of a history, which was not audited.
func (a *auditor) reportShallow(rev string) error {
	cut, err := a.store.Cut(a.ctx, rev)
	if err == nil && len(cut) > 0 {
		a.report("shallow", fmt.Sprintf("%.12s", cut[0]), gitstore.Unshallow,
			"this clone is shallow: what is below this commit was not looked at")
	}
	return err
}

// pruned audits a pruned history's first commit and what was archived, which has no ref to go back.
func (a *auditor) pruned() error {
	defer func(tip plan.OID) { a.tip = tip }(a.tip)
	a.tip = ""
	return a.checkPrunes("")
}

// placeOf returns the part of a path that says whose it is, and whether the format knows that place.
func placeOf(name string) (place string, known bool) {
	if name == planFile {
		return name, true
	}
	if parts := strings.SplitN(name, "/", 4); parts[0] == "tasks" && len(parts) == 4 {
		_, _, known = plan.SplitPath(name)
		return strings.Join(parts[:3], "/"), known
	}
	dir, rest, _ := strings.Cut(name, "/")
	k := plan.KindOf(dir, true)
	return name, k != nil && k.Known(rest)
}
