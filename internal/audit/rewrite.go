package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strings"

	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
	"gitwf/internal/policy"
)

// checkPlanChange says why a commit may not change plan.json as it does; "" if it may, or changes
// nothing. What plan.json must be after an event follows from the one before it and from the records,
// computed by the functions of internal/plan that make the event.
func (a *auditor) checkPlanChange(s *step, kind string) (why string, err error) {
	at := -1
	for i, c := range s.changes {
		if c.path == planFile {
			at = i
		}
	}
	if at < 0 {
		if len(s.parents) == 0 {
			return "the history begins without a " + planFile, nil
		}
		return "", nil
	}
	c := s.changes[at]
	got, data, why, err := a.storedPlan(c)
	if err != nil || got == nil {
		a.chain.setPlan(nil)
		return why, err
	}
	want, why, err := a.expectedPlan(s, kind, got)
	a.chain.setPlan(got)
	if err != nil || why != "" || want == nil {
		return why, err
	}
	return unlike(data, want, fmt.Sprintf("is not what an event of the kind %s makes of it", kind)), nil
}

// unlike says how a plan.json differs from what it should be.
func unlike(data []byte, want *plan.Plan, wrong string) string {
	text, err := plandoc.Encode(want)
	switch {
	case err != nil:
		return planFile + ": " + err.Error()
	case !bytes.Equal(text, data):
		return fmt.Sprintf("%s: %s: %s", planFile, wrong, difference(data, text))
	}
	return ""
}

// storedPlan reads a plan.json.
func (a *auditor) storedPlan(c change) (p *plan.Plan, data []byte, why string, err error) {
	if c.status == "D" || c.mode != "100644" {
		return nil, nil, planFile + ": is no plain file any more", nil
	}
	sizes, err := a.store.Sizes(a.ctx, []plan.OID{c.oid})
	if err != nil {
		return nil, nil, "", err
	}
	if sizes[c.oid] > plandoc.MaxFileBytes {
		return nil, nil, fmt.Sprintf("%s: has %d bytes, and no plan has more than %d", planFile, sizes[c.oid],
			plandoc.MaxFileBytes), nil
	}
	data, err = a.store.ReadBlob(a.ctx, c.oid)
	if err != nil {
		return nil, nil, "", err
	}
	p, err = plandoc.Decode(data)
	if a.newerPlan(err) {
		a.chain.newer = true
		return nil, nil, "", nil
	}
	if err != nil {
		return nil, nil, fmt.Sprintf("%s: can't be read: %v", planFile, err), nil
	}
	return p, data, "", nil
}

// expectedPlan returns what plan.json must be after the event, or why there can be no such event; got is what it
// is. It is nil where something else compares it.
func (a *auditor) expectedPlan(s *step, kind string, got *plan.Plan) (want *plan.Plan, why string, err error) {
	task := plan.TaskID(s.trailers["Wf-Task"])
	switch kind {
	case plan.EventPruned, plan.EventDecision: // what a decision comes to is compared as a whole
		return nil, "", nil
	case plan.EventPlan:
		want, err = got.AfterBegin()
	case plan.EventReplan:
		var snap *gitstore.Snapshot
		if snap, err = a.before(s); err == nil {
			want, err = snap.State().AfterReplan(task, got)
		}
	case plan.EventGraft:
		want, err = a.afterGraft(s, task, got)
	default:
		return nil, planFile + ": only a graft or a re-plan changes it, and this is an event of the kind " + kind, nil
	}
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return nil, "", errors.Join(err, a.ctx.Err())
	}
	if err != nil {
		return nil, fmt.Sprintf("%s: %s", planFile, plain.Line(err.Error())), nil
	}
	return want, "", nil
}

// before is the state of the plan that an event was applied to.
func (a *auditor) before(s *step) (*gitstore.Snapshot, error) {
	if len(s.parents) == 0 {
		return nil, errors.New("there is no plan before it")
	}
	return a.store.SnapshotAt(a.ctx, a.id, s.parents[0])
}

func (a *auditor) afterGraft(s *step, task plan.TaskID, got *plan.Plan) (*plan.Plan, error) {
	snap, err := a.before(s)
	if err != nil {
		return nil, err
	}
	g := plan.Grafting{Task: task, Version: plan.VersionNumber(s.trailers["Wf-Artifact"])}
	t := snap.Plan.Task(task)
	rec, ok := snap.Records.Of(task).Version(g.Version)
	if t == nil || t.DeliverableSpec == nil || !ok {
		return nil, fmt.Errorf("%s has no version %q", task, s.trailers["Wf-Artifact"])
	}
	if !t.Planning() {
		return nil, fmt.Errorf("%s makes no plan", task)
	}
	if g.Made, err = export.ReadArtifact(a.ctx, a.store, snap, task, g.Version); err != nil {
		return nil, err
	}
	data, err := a.store.ReadFile(a.ctx, rec.Files, t.DeliverableSpec.Filename)
	if err != nil {
		return nil, err
	}
	made, err := expand.Made(a.ctx, a.store, snap, t, g.Made)
	if err != nil {
		return nil, err
	}
	if made != nil {
		if !bytes.Equal(made.Text, data) {
			return nil, fmt.Errorf("%s of %s is not what the plan's workflow makes: %s",
				plan.VersionID(g.Version), task, difference(data, made.Text))
		}
		g.Fills = expand.Fills(made)
	}
	name := task.Dir() + "/" + plan.Graft{TaskID: task, ArtifactID: plan.VersionID(g.Version)}.FeasibilityPath()
	for _, c := range s.changes {
		if c.path == name && c.status == "A" {
			if g.Feasibility, err = a.store.ReadBlob(a.ctx, c.oid); err != nil {
				return nil, err
			}
		}
	}
	// The policy's floors change; the gate holds every bundle against those of its time.
	state := snap.State()
	g.Candidate, err = plandoc.ParseCandidate(state, task, t.DeliverableSpec.Filename, data, policy.Floors{})
	if err != nil {
		return nil, err
	}
	return state.AfterGraft(g, got)
}

// difference names the first line in which a text is not what it should be.
func difference(got, want []byte) string {
	is, should := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(is), len(should)) {
		var a, b string
		if i < len(is) {
			a = is[i]
		}
		if i < len(should) {
			b = should[i]
		}
		if a != b || i >= len(is) || i >= len(should) {
			return fmt.Sprintf("line %d is %s, and should be %s", i+1, shorten(a), shorten(b))
		}
	}
	return "nothing"
}

func shorten(line string) string {
	return cmp.Or(plain.Clip(plain.Line(strings.TrimSpace(line)), 80), "missing")
}
