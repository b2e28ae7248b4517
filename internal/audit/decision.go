package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"time"

	"gitwf/internal/export"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// decided says why an event does not follow from the decision that it applies; "" if it does. Without this, a commit
// could order, answer or end anything in the name of who decides.
func (a *auditor) decided(s *step) (why string, err error) {
	snap, err := a.before(s)
	if err != nil {
		return "", err
	}
	t := snap.State().Tasks[plan.TaskID(s.trailers["Wf-Task"])]
	if t == nil || t.Decides == nil || t.Active == 0 {
		return short(s.trailers["Wf-Task"]) + " decides nothing", nil
	}
	made, err := export.ReadArtifact(a.ctx, a.store, snap, t.TaskID, t.Active)
	if err != nil {
		return "", err
	}
	d, err := export.ReadDecided(a.ctx, a.store, snap, made)
	if err != nil {
		return "", err
	}
	ev := d.Deciding.Apply(d.Decision, made.Agent)
	ev.Holds = func(*plan.State) error {
		if len(d.Broken) > 0 {
			return d.Broken
		}
		return d.Deciding.Findings(d.Decision).Err()
	}
	amends, got, why, err := a.chosen(s, t.TaskID, &ev)
	if err != nil || why != "" {
		return why, err
	}
	if (d.DevPlan() != nil) != (amends != "") || (got != nil) != (amends != "") {
		return "the plan is amended where the decision has a plan, and only there", nil
	}
	want, err := ev.After(snap.State(), amends, got)
	if err != nil {
		return "", err
	}
	if got != nil {
		if why, err := samePlan(got, want.Plan); why != "" || err != nil {
			return why, err
		}
	}
	for i, e := range want.Add {
		if e.OID != "" { // the directory of the amended plan, which has one file
			name := want.Plan.Task(amends).DeliverableSpec.Filename
			want.Add[i] = plan.Entry{Path: path.Join(e.Path, name), Data: d.DevPlan()}
		}
	}
	return a.sameRecords(s, want.Add, "the decision")
}

// chosen reads what an event may choose: when it happened, and how the plan that it brings is recorded.
func (a *auditor) chosen(s *step, by plan.TaskID, ev *plan.ApplyDecision) (amends plan.TaskID, got *plan.Plan,
	why string, err error) {
	for _, c := range s.changes {
		task, rest, ok := plan.SplitPath(c.path)
		var into any
		var act struct {
			CreatedAt time.Time `json:"created_at"`
		}
		switch {
		case c.path == planFile:
			if got, _, why, err = a.storedPlan(c); err != nil || why != "" {
				return "", nil, why, err
			}
		case !ok || c.status != "A":
		case task == by && strings.HasPrefix(rest, "acts/"):
			into = &act
		case rest == "artifacts/v1/artifact.json":
			amends, into = task, &ev.Amended
		}
		if into == nil {
			continue
		}
		data, err := a.store.ReadBlob(a.ctx, c.oid)
		if err != nil {
			return "", nil, "", err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return "", nil, "", fmt.Errorf("%s: %w", c.path, err)
		}
		if into == &act {
			ev.Time = act.CreatedAt
		}
	}
	return amends, got, "", nil
}

// samePlan compares plan.json with what it should be.
func samePlan(got, want *plan.Plan) (string, error) {
	is, err := plandoc.Encode(got)
	if err != nil {
		return "", err
	}
	should, err := plandoc.Encode(want)
	if err != nil {
		return "", err
	}
	if !bytes.Equal(is, should) {
		return planFile + ": does not follow from the decision: " + difference(is, should), nil
	}
	return "", nil
}
