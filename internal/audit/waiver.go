package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// rejudged says why the review in the event of a waiver does not follow from the engine's last review of that version
// and the waiver; "" if it does, or if there is none. Without this, a waiver would be a way to approve anything in the
// engine's name.
func (a *auditor) rejudged(s *step) (why string, err error) {
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

// orWhy turns the error of making an event again into a reason against it, unless something is absent here or the audit
// is interrupted.
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
	for c, into := range map[change]any{review: &got, waiver: &doc} {
		data, err := a.store.ReadBlob(a.ctx, c.oid)
		if err != nil {
			return "", err
		}
		if err := json.Unmarshal(data, into); err != nil {
			return "", fmt.Errorf("%s: %w", c.path, err)
		}
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
