package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/plain"
)

// AddReview records a verdict on one version: the one that was locked when the review began, not the newest.
type AddReview struct {
	Review   Review              // ReviewID and CheckTaskID are assigned by Apply
	Artifact Artifact            // artifact.json of the version reviewed
	Render   func(Review) []byte // makes the review file
	Notes    []Note              // that came with it
	Author   Actor
}

// Apply is refused if the version does not exist or is another than was judged, if the reviewer may not judge it, or
// if the verdict does not follow from the results.
func (e AddReview) Apply(s *State) (Change, error) {
	rev := e.Review
	t, err := s.actionNamed(rev.TaskID)
	if err != nil {
		return Change{}, err
	}
	r := s.Records.Of(t.TaskID)
	version := VersionNumber(rev.ReviewedArtifactID)
	a, ok := r.Version(version)
	check := s.CheckOf(t.TaskID)
	accepts := rev.Reviewer == reviewerAccepted && e.Author.IsAgent()
	overtaken := rev.Reviewer == reviewerOvertook
	again := overtaken && t.redoable() // on a person's word
	switch {
	case t.Status == StatusAbandoned:
		return Change{}, refuse(t.TaskID, "is abandoned")
	case !ok || check == nil:
		return Change{}, refuse(t.TaskID, "has no version %q to review", rev.ReviewedArtifactID)
	case slices.Contains(r.Pruned, version):
		return Change{}, refuse(t.TaskID, "the files of %s are gone: a prune took them", VersionID(version))
	case a.Files != rev.Tree || a.Files != e.Artifact.Tree:
		return Change{}, refuse(t.TaskID, "%s is %s, but %s was judged", VersionID(version), a.Files, rev.Tree)
	case rev.Verdict == Approved && t.redoable() && r.Overtaken(version):
		return Change{}, &RefusedError{t.TaskID, VersionID(version) +
			" is set aside, and an approval does not bring it back",
			fmt.Sprintf("git wf run makes it again; git wf submit %s hands in the same files again, "+
				"where they still serve", t.TaskID)}
	case accepts && (t.Status != StatusWaitingExternal || !s.mayAccept(t, version)):
		return Change{}, refuse(t.TaskID, "%s can't be accepted: only a rejected version whose rounds "+
			"are used up, where "+
			"the CHECK says so", VersionID(version))
	case again && (rev.Verdict != Rejected || rev.For == "" ||
		s.VersionVerdict(t.TaskID, VersionID(version)) != Approved):
		return Change{}, refuse(t.TaskID, "%s can't be made again: only an approved version can, on a person's word",
			VersionID(version))
	case overtaken && !again && (rev.Verdict != Rejected || t.Planning() || r.hasActed(version)):
		return Change{}, refuse(t.TaskID, "%s can't be overtaken: only verdicts or a decision without effect can",
			VersionID(version))
	case rev.Agent != "" && rev.Verdict == Approved && r.reviewed(version, rev.Reviewer):
		return Change{}, refuse(t.TaskID, "the seat %s has spoken on %s; only a rejection can follow", rev.Reviewer,
			VersionID(version))
	case rev.Reviewer == reviewerAccepted && !accepts: // which no document shows
		return Change{}, refuse(t.TaskID, "%s is not among its reviewers (%s)", rev.Reviewer,
			strings.Join(s.Reviewers(t.TaskID), ", "))
	case rev.Verdict != Approved && rev.Verdict != Rejected || rev.Score < 0 || rev.Score > 100 || rev.Reviewer == "":
		return Change{}, refuse(t.TaskID, "a review by %s with verdict %q and score %d is none", rev.Reviewer,
			string(rev.Verdict), rev.Score)
	case accepts && (rev.Verdict != Approved || rev.Score != r.reviewsOf(version)[len(r.reviewsOf(version))-1].Score):
		return Change{}, refuse(t.TaskID, "what is accepted has the score of its last review")
	}
	rev.MinScore, rev.Throwaway = s.MinScore(t.TaskID), s.Plan.PlanID.Throwaway()
	n := nextNumber(r.Reviews)
	rec := ReviewRecord{n, version, rev.Score, EscapeName(rev.Reviewer), rev.Verdict}
	rev.ReviewID, rev.CheckTaskID = "r"+strconv.Itoa(n), check.TaskID
	dir := t.TaskID.Dir() + "/"
	verb := map[Verdict]string{Approved: "approve", Rejected: "reject"}[rev.Verdict]
	if accepts {
		verb = "accept"
	}
	tr := trailers(eventReview, t.TaskID, "Wf-Artifact", rev.ReviewedArtifactID, "Wf-Review", rev.ReviewID,
		"Wf-Verdict", string(rev.Verdict), "Wf-Score", strconv.Itoa(rev.Score), "Wf-Agent", rev.By())
	as := ""
	if rev.Agent != "" {
		tr, as = append(tr, Trailer{"Wf-Seat", rev.Reviewer}), " as "+rev.Reviewer
	}
	c := Change{
		Subject:  fmt.Sprintf("%s: %s %s%s%s", t.TaskID, verb, rev.ReviewedArtifactID, as, s.outcomeOf(t, rev)),
		Body:     rev.Reason,
		Trailers: tr,
		Author:   e.Author,
		Add: append([]Entry{
			{Path: dir + rec.Text(), Data: e.Render(rev)},
			{Path: dir + rec.Path(), Data: Document(rev)},
		}, s.notesOf(e.Notes, rev.Who(), string(t.TaskID)+" "+rev.ReviewID, rev.CreatedAt)...),
		Beside: map[string]any{dir + a.Path(): &e.Artifact},
	}
	if again { // what it took to get here says nothing of the work that begins
		c.Subject = fmt.Sprintf("%s: %s is to be made again", t.TaskID, rev.ReviewedArtifactID)
		c.Add = append(c.Add, r.resetEntry(t.TaskID, n,
			Decision{By: rev.For, CreatedAt: rev.CreatedAt, Reason: rev.Reason}))
	}
	return c, nil
}

// outcomeOf is how the line about a review ends: a reservation, if it does not approve without one, and
// its score.
func (s *State) outcomeOf(t *TaskState, rev Review) string {
	n, of := s.Round(t)
	switch r := rev.Rubric; {
	case rev.Reviewer == reviewerAccepted && of > 0:
		return fmt.Sprintf(" with a warning, %s%s", roundOf(n, of), rev.Why())
	case rev.Reviewer == reviewerAccepted:
		return " with a warning" + rev.Why()
	case r != nil && rev.Verdict == Approved && rev.Score < r.Clear:
		return " with concerns" + rev.Why()
	}
	return rev.Why()
}

// Worth is what a line adds after the reviewer's name if the review counts for less than another's.
func (r Review) Worth() (text string) {
	if r.SelfReviewed {
		text = ", self-reviewed"
	}
	if r.Throwaway {
		text += ", in a throwaway repository"
	}
	return text
}

// Taken reports whether the review takes a version as it is, because its rounds are used up.
func (r Review) Taken() bool { return r.Reviewer == reviewerAccepted && r.Verdict == Approved }

// Take is the review that takes the version of a rejection as it is: it says all that the rejection said, and is
// nobody's, so that no judge is behind it.
func (r Review) Take(at time.Time) Review {
	last := r
	r.Verdict, r.Reviewer, r.For, r.Session, r.SelfReviewed, r.Usage = Approved, reviewerAccepted, "", "", false, nil
	r.Agent, r.JudgedBy, r.Cause = "", nil, ""
	r.CreatedAt = Second(at)
	r.Reason = fmt.Sprintf("Its rounds are used up, and its CHECK takes what there is then. %s rejected it (%s).",
		last.Reviewer, last.ReviewID)
	return r
}

// AddCheck records what the engine ran on a version, while a person's part of the review is awaited.
type AddCheck struct {
	Checked Checked // CheckID is assigned by Apply
	Author  Actor
}

// Apply is refused if the version does not exist or is another than was run.
func (e AddCheck) Apply(s *State) (Change, error) {
	k := e.Checked
	t, err := s.actionNamed(k.TaskID)
	if err != nil {
		return Change{}, err
	}
	r := s.Records.Of(t.TaskID)
	version := VersionNumber(k.ReviewedArtifactID)
	if a, ok := r.Version(version); !ok || a.Files != k.Tree || slices.Contains(r.Pruned, version) {
		return Change{}, refuse(t.TaskID, "%s is not the version that was checked", k.ReviewedArtifactID)
	}
	rec := CheckRecord{N: nextNumber(r.Checks), Version: version}
	k.CheckID = "k" + strconv.Itoa(rec.N)
	failed := 0
	for _, c := range k.Criteria {
		if c.Result == ResultFail {
			failed++
		}
	}
	return Change{
		Subject: fmt.Sprintf("%s: ran %s on %s, %d failed", t.TaskID,
			plain.Count(len(k.Criteria), "check"), k.ReviewedArtifactID, failed),
		Trailers: trailers(eventCheck, t.TaskID, "Wf-Artifact", k.ReviewedArtifactID, "Wf-Agent", ReviewerChecks),
		Author:   e.Author,
		Add:      []Entry{{Path: t.TaskID.Dir() + "/" + rec.Path(), Data: Document(k)}},
	}, nil
}

// conflicts reports whether the engine rejects a change that can't be joined with others, whoever its reviewers are.
func (s *State) conflicts(t *TaskState, rev Review) bool {
	return s.Plan.SchemaVersion > 1 && t.Changes() && rev.Reviewer == ReviewerChecks && rev.Verdict == Rejected
}

// WaiverDocument is the content of waivers/wN-vM-CRITERION.json.
type WaiverDocument struct {
	TaskID     TaskID `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
	Tree       OID    `json:"tree"`
	Criterion  string `json:"criterion"`
	Decision
}

// Waive passes one criterion of one version on a person's word. Rejudged, if there is one, is the review that follows
// from the engine's last one with the waiver taken into account: both are one event, so that a version is never left
// rejected for a reason that no longer holds.
type Waive struct {
	Task      TaskID
	Version   int
	Criterion string
	Decision  Decision
	Rejudged  *AddReview
}

// Apply is refused if there is no such version or criterion, or if it is waived already.
func (e Waive) Apply(s *State) (Change, error) {
	if _, err := s.actionNamed(e.Task); err != nil {
		return Change{}, err
	}
	r := s.Records.Of(e.Task)
	a, ok := r.Version(e.Version)
	switch {
	case !ok:
		return Change{}, refuse(e.Task, "has no version %d", e.Version)
	case r.Waived(e.Version, e.Criterion):
		return Change{}, refuse(e.Task, "%s of %s is waived already", e.Criterion, VersionID(e.Version))
	}
	rec := WaiverRecord{N: nextNumber(r.Waivers), Version: e.Version, Criterion: EscapeName(e.Criterion)}
	c := Change{
		Subject:  fmt.Sprintf("%s: waive %s of %s", e.Task, e.Criterion, VersionID(e.Version)),
		Body:     e.Decision.Reason,
		Trailers: trailers(EventWaiver, e.Task, "Wf-Artifact", VersionID(e.Version), "Wf-Criterion", e.Criterion),
		Add: []Entry{{Path: e.Task.Dir() + "/" + rec.Path(), Data: Document(WaiverDocument{
			TaskID: e.Task, ArtifactID: VersionID(e.Version), Tree: a.Files, Criterion: e.Criterion,
			Decision: e.Decision,
		})}},
	}
	if e.Rejudged == nil {
		return c, nil
	}
	review, err := e.Rejudged.Apply(s)
	if err != nil {
		return Change{}, err
	}
	c.Add, c.Beside = append(c.Add, review.Add...), review.Beside
	c.Trailers = append(c.Trailers, review.Trailers[3:]...) // the event, the task and the version are the waiver's
	return c, nil
}

// Rejudge returns the results of the task's criteria after a waiver of one: those of the engine's last review, in
// the task's order, with that one waived. A criterion that the review did not have is not judged.
func (t *Task) Rejudge(last []CriterionResult, criterion string, d Decision) []CriterionResult {
	results := t.Results(last, ReviewerChecks, nil)
	for i, r := range results {
		if r.ID == criterion && slices.ContainsFunc(last, func(x CriterionResult) bool { return x.ID == r.ID }) {
			r.Result, r.By, r.Evidence = ResultWaived, d.By, "waived: "+d.Reason
			r.ExitCode, r.DurationMS = nil, 0
			results[i] = r
		}
	}
	return results
}
