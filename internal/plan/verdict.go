package plan

import (
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
)

// The names that stand for no person or agent in particular.
const (
	// ReviewerChecks is the engine's own judgement by the criteria's run lines.
	ReviewerChecks = "checks"
	// ReviewerPlan is the built-in plan review.
	ReviewerPlan = "plan-review"
	// ReviewerPerson, in a list of reviewers, stands for any person.
	ReviewerPerson = "person"
)

// shouldCost is what a failed SHOULD criterion takes from a score of 100.
const shouldCost = 10

// Score is 100 less ten for each failed SHOULD, and not below zero.
func Score(results []CriterionResult) int {
	score := 100
	for _, r := range results {
		if r.Severity != Must && r.Result == ResultFail {
			score -= shouldCost
		}
	}
	return max(score, 0)
}

// FailedMust returns the ids of the MUST criteria that are not passed.
func (r Review) FailedMust() []string { return failedMust(r.Criteria) }

func failedMust(results []CriterionResult) []string {
	return each.Pick(results, func(r CriterionResult) (string, bool) {
		return r.ID, r.Severity == Must && !r.Passed()
	})
}

// Judge is the verdict that follows from the results: a MUST that is not passed rejects whatever the score, and so
// does a score below the least one.
func Judge(results []CriterionResult, score, minScore int) Verdict {
	if len(failedMust(results)) > 0 || score < minScore {
		return Rejected
	}
	return Approved
}

// MinScore is the least score with which a version of the task can be approved.
func (s *State) MinScore(id TaskID) int {
	switch c := s.CheckOf(id); {
	case s.RubricOf(id) != nil:
		return max(c.Rubric.Pass, c.MinScore)
	case c != nil && c.MinScore > 0:
		return c.MinScore
	}
	return s.Plan.Limits().MinScore
}

// RubricOf is what the score of a review of the task is computed from, nil if reviewers state it.
func (s *State) RubricOf(id TaskID) *Rubric {
	if c := s.CheckOf(id); c != nil && s.Tasks[id].Judges == nil {
		return c.Rubric
	}
	return nil
}

// RubricOfJudge is what the scores of a judge's verdicts are computed from, nil if it states them. Its own review has
// none.
func (s *State) RubricOfJudge(id TaskID) *Rubric {
	if c := s.CheckOf(id); c != nil {
		return c.Rubric
	}
	return nil
}

// Reviewers are the names that may review a version of the task; empty means: the engine where it can judge every
// criterion, and any person.
func (s *State) Reviewers(id TaskID) []string {
	if c := s.CheckOf(id); c != nil && len(c.Reviewers) > 0 {
		return c.Reviewers
	}
	return s.Plan.Config.Reviewers
}

// MayReview reports whether a reviewer's verdict on the task counts. A list that names only the engine is open to
// every person when a criterion or a rubric needs one: otherwise nobody could ever approve. Under the names of what is
// accepted or overtaken, and of a task that judges, nobody reviews.
func (s *State) MayReview(id TaskID, reviewer string) bool {
	if reviewer == reviewerAccepted || reviewer == reviewerOvertook || s.judges(reviewer) {
		return false
	}
	switch reviewer {
	case ReviewerVerdicts:
		return s.Tasks[id].Judges != nil
	case ReviewerDecision:
		return s.Tasks[id].Decides != nil
	}
	names := s.Reviewers(id)
	if len(names) == 0 || slices.Contains(names, reviewer) {
		return true
	}
	if reviewer == ReviewerChecks {
		return false
	}
	onlyEngine := !slices.ContainsFunc(names, func(n string) bool { return n != ReviewerChecks })
	return slices.Contains(names, ReviewerPerson) || onlyEngine && (s.Tasks[id].hasManual() || s.RubricOf(id) != nil)
}

// AskPerson is the command with which one more person approves the task's version, and what lets them where its
// reviewers are others.
func (s *State) AskPerson(id TaskID) string {
	review := fmt.Sprintf("git wf review %s --approve", id)
	if c := s.CheckOf(id); c != nil && !s.MayReview(id, "") {
		review += fmt.Sprintf("; git wf plan --amend -f FILE puts %s among the reviewers of %s", ReviewerPerson,
			c.TaskID)
	}
	return review
}

// Seats are those of a task's reviewers that are roles of the plan. Each is one reviewer, whoever speaks for it.
func (s *State) Seats(id TaskID) []string {
	if len(s.Plan.Roles) == 0 {
		return nil
	}
	var seats []string
	for _, name := range s.Reviewers(id) {
		if s.isSeat(id, name) && !slices.Contains(seats, name) {
			seats = append(seats, name)
		}
	}
	return seats
}

// OpenSeats are the seats that have not spoken on the task's newest version.
func (s *State) OpenSeats(id TaskID) []string {
	return slices.DeleteFunc(s.Seats(id), func(seat string) bool { return s.reviewedBy(id, seat) })
}

// SeatFor is the seat that a person's review of the task's newest version takes: the one that they name, else the only
// open one, unless the person is a reviewer without it. "" is none.
func (s *State) SeatFor(id TaskID, person, as string) (string, error) {
	open := s.OpenSeats(id)
	command := "git wf review " + string(id) + " --as "
	switch {
	case as != "" && !s.isSeat(id, as):
		return "", &RefusedError{id, plain.Line(as) + " is no role among its reviewers", "git wf show " + string(id)}
	case as != "" || s.MayReview(id, person):
		return as, nil
	case len(open) == 1:
		return open[0], nil
	case len(open) > 1:
		return "", &RefusedError{id, "its reviewers are roles: " + plain.Line(strings.Join(open, ", ")) +
			" have not spoken yet", command + open[0]}
	}
	return "", nil
}

func (s *State) isSeat(id TaskID, reviewer string) bool {
	return s.Plan.HasRole(reviewer) && slices.Contains(s.Reviewers(id), reviewer)
}

func (t *Task) hasManual() bool {
	return slices.ContainsFunc(t.AcceptanceCriteria, Criterion.Manual)
}

// HasRun reports whether any of the task's criteria has a command.
func (t *Task) HasRun() bool {
	return slices.ContainsFunc(t.AcceptanceCriteria, func(c Criterion) bool { return !c.Manual() })
}

// What the review of a task's newest version needs next.
const (
	StepRunChecks = "run the checks"  // the engine runs the criteria's run lines
	StepPerson    = "ask a person"    // git wf review
	StepPlan      = "review the plan" // the built-in plan review
)

// NextReviewStep says who has the next word on the task's newest version; "" if none awaits review. The engine's run
// lines come first: their failure spares a person the reading. After that the engine approves alone only what it can
// judge whole.
func (s *State) NextReviewStep(id TaskID) string {
	t := s.Tasks[id]
	if t.Status != StatusReadyToCheck || t.Verdict != "" {
		return ""
	}
	if t.Planning() && slices.Contains(s.Reviewers(id), ReviewerPlan) && !s.reviewedBy(id, ReviewerPlan) {
		return StepPlan
	}
	r := s.Records.Of(id)
	ran := s.reviewedBy(id, ReviewerChecks) ||
		slices.ContainsFunc(r.Checks, func(c CheckRecord) bool { return c.Version == t.Active })
	if t.HasRun() && !ran {
		return StepRunChecks
	}
	if t.Judges != nil && !s.reviewedBy(id, ReviewerVerdicts) {
		return ReviewerVerdicts
	}
	if t.Decides != nil && !s.reviewedBy(id, ReviewerDecision) {
		return ReviewerDecision
	}
	return StepPerson
}

func (s *State) reviewedBy(id TaskID, reviewer string) bool {
	return s.Records.Of(id).reviewed(s.Tasks[id].Active, reviewer)
}

func (t *TaskRecords) reviewed(version int, reviewer string) bool {
	return slices.ContainsFunc(t.Reviews, func(r ReviewRecord) bool {
		return r.Version == version && r.Reviewer == EscapeName(reviewer)
	})
}

// AsAWhole is the evidence of a criterion that passes because a person approved a version without a word about it.
const AsAWhole = "not looked at one by one"

// AsAWhole lists the criteria that passed because somebody approved the version as a whole.
func (r Review) AsAWhole() (ids []string) {
	for _, c := range r.Criteria {
		if c.Result == ResultPass && c.By == r.Reviewer &&
			(c.Evidence == AsAWhole || c.Evidence == "approved as a whole") { // as it was recorded once
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// HasScore reports whether the review's score says anything. Where a MUST is not passed it is what the other criteria
// leave.
func (r Review) HasScore() bool {
	return r.Verdict != Rejected && !r.Taken() || len(r.FailedMust()) == 0
}

// Why is what a line about a review ends in, after who rejected or approved what: its score or, where a MUST is not
// passed, which ones failed. What nobody judged did not fail.
func (r Review) Why() string {
	if r.HasScore() {
		return fmt.Sprintf(" (score %d)", r.Score)
	}
	judged := slices.DeleteFunc(slices.Clone(r.Criteria),
		func(c CriterionResult) bool { return c.Result == ResultNotJudged })
	failed := failedMust(judged)
	if len(failed) == 0 {
		return ""
	}
	const most = 5
	if more := len(failed) - most; more > 0 {
		failed = append(failed[:most:most], fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf(": [%s] failed", strings.Join(failed, " "))
}

// Word is a review in a few words, as far as its name tells: "v1 approved 100". The score of a rejection is in it where
// it may be the reason.
func (s *State) Word(id TaskID, r ReviewRecord) string {
	text := VersionID(r.Version) + " " + strings.ToLower(string(r.Verdict))
	switch {
	case !s.Counts(id, r):
		return VersionID(r.Version) + " not accepted: no run did so"
	case r.Reviewer == reviewerOvertook && s.Tasks[id].redoable():
		return VersionID(r.Version) + " set aside"
	case r.Reviewer == reviewerAccepted && s.Accepted(id, r.Version):
		return VersionID(r.Version) + " accepted"
	}
	if r.Verdict == Rejected && r.Score >= s.MinScore(id) {
		return text
	}
	return fmt.Sprintf("%s %d", text, r.Score)
}

// Progress counts the deliverables that are DONE, and all of them.
func (s *State) Progress() (done, all int) {
	leaves := s.Leaves(s.Plan.RootTaskID)
	for _, id := range leaves {
		if s.Tasks[id].Status == StatusDone {
			done++
		}
	}
	return done, len(leaves)
}

// Unread lists the approved deliverables that nobody has read: their run lines alone have passed them.
func (s *State) Unread() (ids []TaskID) {
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		t := s.Tasks[id]
		read := slices.ContainsFunc(s.Records.Of(id).Reviews, func(r ReviewRecord) bool {
			return r.Version == t.Approved && !builtIn(r.Reviewer)
		})
		if t.Approved > 0 && t.Judges == nil && t.Decides == nil && !read {
			ids = append(ids, id)
		}
	}
	return ids
}

// Notes are what follows a task's status where tasks are listed: the newest review, or the seats that have spoken; what
// was waived, what the caller knows of its proof, what it waits for, why it is stale, and what failed. Empty ones are
// left out.
func (s *State) Notes(t *TaskState, proof []string, stale string) string {
	var notes []string
	if reviews := s.Records.Of(t.TaskID).Reviews; len(reviews) > 0 {
		last := reviews[len(reviews)-1]
		for _, r := range reviews { // the newest of those that made the verdict
			if r.Version == t.Active && r.Verdict == t.Verdict {
				last = r
			}
		}
		if last.Version != t.Active || s.seatNote(t) == "" {
			notes = append(notes, s.Word(t.TaskID, last))
		}
	}
	if waived := s.WaivedNote(t.TaskID); waived != "" {
		notes = append(notes, waived)
	}
	notes = append(notes, s.StandingNotes(t)...)
	notes = append(notes, proof...)
	if why := s.Reason(t); why != "" && t.Status != StatusDone {
		notes = append(notes, plain.Line(why))
	}
	if stale != "" && !strings.Contains(t.reason, stale) {
		notes = append(notes, "stale: "+stale)
	}
	if t.Attempts > 0 {
		notes = append(notes, plain.Count(t.Attempts, "attempt")+" failed")
	}
	if t.Lost > 0 && t.Status != StatusWaitingExternal {
		notes = append(notes, plain.Count(t.Lost, "worker")+" lost")
	}
	return strings.Join(notes, "; ")
}
