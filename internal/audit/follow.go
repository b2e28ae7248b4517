package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// checkRejudged says why a waiver's event has a review that does not follow from the engine's last one and the waiver;
// "" if it does. Else a waiver would be a way to approve anything in the engine's name.
func (a *auditor) checkRejudged(s *step) (why string, err error) {
	var review, waiver change
	for _, c := range s.changes {
		_, rest, ok := plan.SplitPath(c.path)
		switch {
		case !ok || c.status != "A":
		case strings.HasPrefix(rest, "reviews/") && strings.HasSuffix(rest, "/review.json"):
			if review.path != "" {
				return review.path + ": a waiver makes one review anew, and this event has more", nil
			}
			review = c
		case strings.HasPrefix(rest, "waivers/"):
			waiver = c
		}
	}
	if review.path == "" {
		return "", nil
	}
	if waiver.path == "" {
		return review.path + ": the event has no waiver from which it could follow", nil
	}
	if why, err = a.orWhy(a.notFollowing(s, review, waiver)); why != "" {
		why = review.path + ": " + why
	}
	return why, err
}

// readAdded reads the document that an event adds.
func (a *auditor) readAdded(c change, into any) error {
	data, err := a.store.ReadBlob(a.ctx, c.oid)
	if err == nil {
		if err = json.Unmarshal(data, into); err != nil {
			err = fmt.Errorf("%s: %w", c.path, err)
		}
	}
	return err
}

// orWhy turns an error into a reason against an event, unless something is absent or the audit ends.
func (a *auditor) orWhy(why string, err error) (string, error) {
	if gitstore.IsAbsent(err) || a.ctx.Err() != nil {
		return "", errors.Join(err, a.ctx.Err())
	}
	if err != nil {
		why = plain.Line(err.Error())
	}
	return why, nil
}

func (a *auditor) notFollowing(s *step, review, waiver change) (why string, err error) {
	snap, err := a.before(s)
	if err != nil {
		return "", err
	}
	var got plan.Review
	var doc plan.WaiverDocument
	if err := errors.Join(a.readAdded(review, &got), a.readAdded(waiver, &doc)); err != nil {
		return "", err
	}
	id := plan.TaskID(s.trailers["Wf-Task"])
	t, version := snap.Plan.Task(id), plan.VersionNumber(s.trailers["Wf-Artifact"])
	v, ok := snap.Records.Of(id).Version(version)
	if t == nil || !ok {
		return fmt.Sprintf("%s has no version %q", id, s.trailers["Wf-Artifact"]), nil
	}
	var last *plan.ReviewRecord
	for _, r := range snap.Records.Of(id).Reviews {
		if r.Version == version && r.Reviewer == plan.ReviewerChecks {
			last = &r
		}
	}
	if last == nil || last.Verdict != plan.Rejected {
		return "the engine had not rejected that version, so that a waiver makes no review anew", nil
	}
	old, err := export.ReadReview(a.ctx, a.store, snap, id, *last)
	if err != nil {
		return "", err
	}
	want := got // the words, the number and the time are the event's own
	want.TaskID, want.ReviewedArtifactID, want.Tree, want.SpecHash = id, plan.VersionID(version), v.Files, t.SpecHash()
	want.Reviewer, want.Session, want.For = plan.ReviewerChecks, "", ""
	want.MinScore = snap.State().MinScore(id)
	want.Criteria = t.Rejudge(old.Criteria, doc.Criterion, doc.Decision)
	want.Score = plan.Score(want.Criteria)
	want.Verdict = plan.Judge(want.Criteria, want.Score, want.MinScore)
	if is, should := plan.Document(got), plan.Document(want); !bytes.Equal(is, should) {
		return "does not follow from the engine's last review and the waiver: " + difference(is, should), nil
	}
	return "", nil
}

// checkVerdicts says why an event does not follow from the verdicts that it applies; "" if it does. Without this, a
// commit could approve or reject anything in a judge's name.
func (a *auditor) checkVerdicts(s *step) (why string, err error) {
	snap, err := a.before(s)
	if err != nil {
		return "", err
	}
	state := snap.State()
	ev := plan.ApplyVerdicts{Render: func(plan.Review) []byte { return nil }}
	for _, c := range s.changes {
		task, rest, ok := plan.SplitPath(c.path)
		if !ok || c.status != "A" || !strings.HasPrefix(rest, "acts/") {
			continue
		}
		var act plan.Decision
		if err := a.readAdded(c, &act); err != nil {
			return "", err
		}
		ev.Judges, ev.Time = append(ev.Judges, task), act.CreatedAt
	}
	slices.SortFunc(ev.Judges, func(x, y plan.TaskID) int { return state.Place(x) - state.Place(y) })
	if len(ev.Judges) == 0 || string(ev.Judges[0]) != s.trailers["Wf-Task"] {
		return "applies verdicts, and has no act of " + shorten(s.trailers["Wf-Task"]), nil
	}
	ev.Make = func(*plan.State) (reviews []plan.Review, asks []plan.Question, err error) {
		for _, judge := range ev.Judges {
			made, err := export.ReadArtifact(a.ctx, a.store, snap, judge, state.Tasks[judge].Active)
			if err != nil {
				return nil, nil, err
			}
			v, err := export.ReadVerdicts(a.ctx, a.store, snap, made)
			if err != nil {
				return nil, nil, err
			}
			r, q, err := v.Outcome(state, ev.Time)
			if err != nil {
				return nil, nil, err
			}
			reviews, asks = append(reviews, r...), append(asks, q...)
		}
		return reviews, asks, nil
	}
	want, err := ev.Apply(state)
	if err != nil {
		return "", err
	}
	return a.sameRecords(s, want.Add, "the verdicts")
}

// sameRecords names the first record that should be another, but for texts for people; "" if none.
func (a *auditor) sameRecords(s *step, want []plan.Entry, of string) (string, error) {
	should := map[string][]byte{}
	for _, e := range want {
		should[e.Path] = e.Data
	}
	for _, c := range s.changes {
		if c.path == planFile {
			continue
		}
		data, ok := should[c.path]
		if !ok || c.status != "A" {
			return c.path + ": does not follow from " + of, nil
		}
		delete(should, c.path)
		if strings.HasSuffix(c.path, ".md") {
			continue
		}
		is, err := a.store.ReadBlob(a.ctx, c.oid)
		if err != nil {
			return "", err
		}
		if !bytes.Equal(is, data) {
			return c.path + ": does not follow from " + of + ": " + difference(is, data), nil
		}
	}
	for _, path := range slices.Sorted(maps.Keys(should)) {
		return path + ": follows from " + of + ", and is not there", nil
	}
	return "", nil
}

// checkDecision says why an event does not follow from the decision that it applies; "" if it does. Without this, a
// commit could order, answer or end anything in the name of who decides.
func (a *auditor) checkDecision(s *step) (why string, err error) {
	snap, err := a.before(s)
	if err != nil {
		return "", err
	}
	t := snap.State().Tasks[plan.TaskID(s.trailers["Wf-Task"])]
	if t == nil || t.Decides == nil || t.Active == 0 {
		return shorten(s.trailers["Wf-Task"]) + " decides nothing", nil
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
	amends, got, why, err := a.readChoices(s, t.TaskID, &ev)
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
		is, err := plandoc.Encode(got)
		if why := unlike(is, want.Plan, "does not follow from the decision"); why != "" || err != nil {
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

// readChoices reads what the event's maker was free to choose: its time, and how its plan is recorded.
func (a *auditor) readChoices(s *step, by plan.TaskID, ev *plan.ApplyDecision) (amends plan.TaskID, got *plan.Plan,
	why string, err error) {
	for _, c := range s.changes {
		task, rest, ok := plan.SplitPath(c.path)
		switch {
		case c.path == planFile:
			if got, _, why, err = a.storedPlan(c); err != nil || why != "" {
				return "", nil, why, err
			}
		case !ok || c.status != "A":
		case task == by && strings.HasPrefix(rest, "acts/"):
			var act plan.Decision
			err = a.readAdded(c, &act)
			ev.Time = act.CreatedAt
		case rest == "artifacts/v1/artifact.json":
			amends, err = task, a.readAdded(c, &ev.Amended)
		}
		if err != nil {
			return "", nil, "", err
		}
	}
	return amends, got, "", nil
}
