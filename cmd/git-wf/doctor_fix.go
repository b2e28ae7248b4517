package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/secret"
)

// fix fixes what harms nobody, marks those findings, and records it in the history of one plan: the active one, or else
// the first that can be read.
func (e *env) fix(ctx context.Context, store *gitstore.Store, found *checkup) error {
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
	if err == nil && slices.Contains(sound, active) {
		return active, nil
	}
	if err != nil && !errors.Is(err, gitstore.ErrNoActive) && ctx.Err() != nil {
		return "", ctx.Err()
	}
	if len(sound) == 0 {
		return "", nil
	}
	return sound[0], nil
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
