package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"gitwf/internal/audit"
	"gitwf/internal/each"
	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
	"gitwf/internal/secret"
	"gitwf/internal/shell"
)

// checkup is what doctor has found.
type checkup struct {
	findings []audit.Finding
	plans    []plan.ID
	sound    []plan.ID // those that can be read and appended to
	policy   bool      // there is one
	tries    []byte    // what others have tried to decide for a person
	unread   string    // why not all of the caller's ancestors are known
	waivers  []audit.Waiver
	lacking  []string // what remote-tracking refs have of plans and policy, and those here don't

	checkouts string // where those are in which changes are made
	held      int64  // bytes in them
}

func (e *env) doctor(c *cli.Context, store *gitstore.Store) error {
	say, end := func(string) {}, func() {}
	if m := e.meter(c); m != nil && e.interactive {
		say, end = m.Text, m.End
	}
	found, err := e.examine(c, store, say)
	end()
	if err != nil {
		return err
	}
	var fixErr error
	if c.Bool("fix") {
		fixErr = e.fixFindings(c.Context, store, found)
	}
	if c.Bool("mask") && fixErr == nil {
		fixErr = e.maskRecords(c.Context, store, found)
	}
	fixed := 0
	for _, f := range found.findings {
		if f.Fixed != "" {
			fixed++
		}
	}
	if !e.json {
		defer e.printAround(found)
	}
	err = e.printAs("checkup", found.findings, struct {
		Findings     []audit.Finding
		Waivers      []audit.Waiver
		Plans, Fixed int
	}{found.findings, found.waivers, len(found.plans), fixed})
	if err != nil || fixErr != nil {
		return errors.Join(err, fixErr)
	}
	if fixed < len(found.findings) {
		return errSaid
	}
	return nil
}

func (found *checkup) add(more []audit.Finding, err error) error {
	found.findings = append(found.findings, more...)
	return err
}

// examine looks at everything.
func (e *env) examine(c *cli.Context, store *gitstore.Store, progress func(string)) (*checkup, error) {
	ctx := c.Context
	found := &checkup{findings: []audit.Finding{}, unread: e.origin().Unread}
	for _, kind := range []string{".seen", ""} {
		data, _ := os.ReadFile(triesIn(store) + kind) // most have none
		found.tries = append(found.tries, data...)
	}
	if err := found.add(e.setup(store).Findings(ctx)); err != nil {
		return nil, err
	}
	var floors policy.Floors
	if policy, err := store.Policy(ctx); err == nil {
		floors, found.policy = policy.Floors, policy.Commit != ""
		if found.waivers, err = audit.Waivers(ctx, store, policy.Commit); err != nil {
			return nil, err
		}
	}
	if err := examinePlans(ctx, store, found, audit.Options{
		Floors: floors, Progress: progress, Secrets: func() secret.Mask { return e.mask(e.agentSet(c, store)) },
	}); err != nil {
		return nil, err
	}
	if err := found.add(policyFindings(ctx, store, found.sound, audit.Options{Progress: progress})); err != nil {
		return nil, err
	}
	v, err := e.views(store)
	if err != nil {
		return nil, err
	}
	if err := found.add(v.Findings(ctx, found.plans, found.sound)); err != nil {
		return nil, err
	}
	if found.lacking, err = lacking(ctx, store); err != nil {
		return nil, err
	}
	found.checkouts, found.held = (&engine.Engine{Store: store, Now: e.now}).Checkouts()
	return found, found.add(audit.Surroundings(ctx, store))
}

// examinePlans audits every plan, also those whose ref git skips.
func examinePlans(ctx context.Context, store *gitstore.Store, found *checkup, o audit.Options) error {
	refs, err := store.Plans(ctx)
	if err != nil {
		return err
	}
	ids := append(audit.BrokenPlans(store, refs), each.Of(refs, func(r gitstore.PlanRef) plan.ID { return r.ID })...)
	found.plans = ids
	for _, id := range ids {
		more, err := audit.Plan(ctx, store, id, o)
		if err != nil {
			return err
		}
		found.findings = append(found.findings, more...)
		readable := true
		for _, f := range more {
			switch f.Code {
			case "damaged", "unreadable", "not-a-commit", "too-large", audit.Newer:
				readable = false
			}
		}
		if readable {
			found.sound = append(found.sound, id)
		}
	}
	return nil
}

// policyFindings reports what the policy forbids, in its own history and in the plans'.
func policyFindings(ctx context.Context, store *gitstore.Store, plans []plan.ID, o audit.Options) ([]audit.Finding,
	error) {
	findings, err := audit.History(ctx, store, o)
	if err != nil {
		return nil, err
	}
	policy, err := store.Policy(ctx)
	if err != nil || !policy.FourEyes {
		return findings, nil // its audit has reported what is wrong
	}
	for _, id := range plans {
		tip, err := store.Tip(ctx, id)
		if err != nil {
			return nil, err
		}
		more, err := audit.FourEyes(ctx, store, id, "", tip)
		if err != nil {
			continue // the audit has reported what can't be read
		}
		findings = append(findings, more...)
	}
	return findings, nil
}

// printAround prints what is no finding, but worth knowing.
func (p printer) printAround(found *checkup) {
	p.printTries("refused: ", found.tries)
	if found.unread != "" {
		fmt.Fprintln(p.stderr, plain.Line("note: an agent further above this command is not seen: "+found.unread))
	}
	for _, l := range found.lacking {
		fmt.Fprintln(p.stderr, "note: "+plain.Line(l))
	}
	const much = 100 << 20
	if found.held >= much {
		fmt.Fprintf(p.stderr,
			"note: the checkouts in which changes are made have %d MB; while no run is at work: rm -rf %s\n",
			found.held>>20, shell.Word(found.checkouts))
	}
	if len(found.plans) > 0 && !found.policy {
		fmt.Fprintf(p.stderr, "note: no policy binds these plans: only %s/ is protected, and nothing else "+
			"is demanded; "+
			"git wf policy set FILE makes one\n", policy.DefaultRoot)
	}
}

// lacking says which plans, or the policy, stand otherwise at a remote: somebody has moved them back, or has gone on.
func lacking(ctx context.Context, store *gitstore.Store) (said []string, err error) {
	const fetched = "refs/workflow-remotes/"
	refs, err := store.Refs(ctx, "refs/workflow", strings.TrimSuffix(fetched, "/"))
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		remote, what := path.Split(strings.TrimPrefix(name, fetched))
		own := refs["refs/workflow/"+what]
		if !strings.HasPrefix(name, fetched) || own == "" || own == refs[name] {
			continue
		}
		beside, err := store.Beside(ctx, strings.TrimSuffix(remote, "/"), plan.ID(what), own, refs[name])
		if line := beside.String(); err == nil && line != "" { // what can't be read is a finding
			said = append(said, what+": "+line)
		}
	}
	return said, err
}

// fixFindings fixes what harms nobody, marks those findings, and records it in the active plan or another readable one.
func (e *env) fixFindings(ctx context.Context, store *gitstore.Store, found *checkup) error {
	home, err := recordPlan(ctx, store, found.sound)
	if err != nil {
		return err
	}
	var by plan.Actor
	if home != "" {
		if by, err = store.Person(ctx); err != nil {
			return err // before a fix that could not be recorded
		}
	}
	var mended []plan.Mended
	for i := range found.findings {
		f := &found.findings[i]
		if f.Fix == nil {
			continue
		}
		did, err := f.Fix(ctx)
		if ctx.Err() != nil {
			break // what was done so far is still recorded
		}
		if err != nil {
			fmt.Fprintf(e.stderr, "warning: %s %s: not fixed: %s\n", f.Code, plain.Line(f.Place),
				plain.Line(err.Error()))
			continue
		}
		f.Fixed = did
		place := f.Place
		if filepath.IsAbs(place) {
			place = filepath.Base(place) // the history is public, this machine's directories are not
		}
		mended = append(mended, plan.Mended{Code: f.Code, PlanID: f.PlanID, Place: place, Did: did})
	}
	if len(mended) == 0 {
		return ctx.Err()
	}
	if home == "" {
		fmt.Fprintln(e.stderr, "note: there is no plan that can be read, and so no history to say in what was fixed")
		return ctx.Err()
	}
	now := e.now()
	ev := plan.Mend{Mended: mended, By: by.Name, CreatedAt: plan.Second(now)}
	done, err := store.Append(context.WithoutCancel(ctx), home, ev, gitstore.AppendOptions{Now: now})
	if err != nil {
		return fmt.Errorf("record what was fixed: %w", err)
	}
	fmt.Fprintf(e.stderr, "recorded in workflow/%s, %.12s\n", home, done.Commit)
	return ctx.Err()
}

// recordPlan is the plan whose history records the fixes, "" if there is none.
func recordPlan(ctx context.Context, store *gitstore.Store, sound []plan.ID) (plan.ID, error) {
	active, err := store.Active(ctx)
	switch {
	case err == nil && slices.Contains(sound, active):
		return active, nil
	case len(sound) == 0:
		return "", ctx.Err()
	}
	return sound[0], ctx.Err()
}

// maskRecords masks the secrets that were found in the newest records, with one event for each plan.
func (e *env) maskRecords(ctx context.Context, store *gitstore.Store, found *checkup) error {
	for _, id := range found.sound {
		var ev secret.MaskRecords
		for _, f := range found.findings {
			if f.PlanID == id && f.Masking != nil {
				ev.Records = append(ev.Records, *f.Masking)
			}
		}
		if len(ev.Records) == 0 {
			continue
		}
		done, err := store.Append(ctx, id, ev, gitstore.AppendOptions{Now: e.now()})
		if err != nil {
			return err
		}
		fmt.Fprintf(e.stderr, "masked in workflow/%s, %.12s; the history before still has it: revoke the key\n", id,
			done.Commit)
		for i := range found.findings {
			if f := &found.findings[i]; f.PlanID == id && f.Masking != nil {
				f.Fixed = "masked it"
			}
		}
	}
	return nil
}
