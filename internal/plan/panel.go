package plan

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"gitwf/internal/each"
	"gitwf/internal/plain"
)

// How a version comes to its verdict: of each reviewer the newest review counts; any rejection rejects, a
// quorum of approvals approves, else it still awaits review and the verdict is "". In a plan of version 2
// also by seats that agree, in a bounded number of rounds, or because the rounds are used up and its CHECK
// takes what there is. All of it follows from the names of reviews.

// verdict is the verdict of a version, and the number of its newest review.
func (s *State) verdict(id TaskID, r *TaskRecords, version int) (Verdict, int) {
	reviews := r.reviewsOf(version)
	newest := newestOf(reviews).N
	if at := s.acceptance(id, r, version); at > 0 {
		later := slices.DeleteFunc(reviews, func(v ReviewRecord) bool { return v.N < at || s.judges(v.Reviewer) })
		for _, v := range newestByReviewer(later) {
			if v.Verdict == Rejected {
				return Rejected, newest
			}
		}
		return Approved, newest
	}
	return s.tallyReviews(id, reviews), newest
}

// reviewsOf are the reviews of a version in the order of their numbers.
func (r *TaskRecords) reviewsOf(version int) []ReviewRecord {
	return each.If(r.Reviews, func(v ReviewRecord) bool { return v.Version == version })
}

// newestByReviewer is the newest review of each reviewer.
func newestByReviewer(reviews []ReviewRecord) map[string]ReviewRecord {
	return each.By(reviews, func(v ReviewRecord) string { return v.Reviewer })
}

// judges reports whether a reviewer is a task that judges others.
func (s *State) judges(reviewer string) bool {
	t := s.Tasks[TaskID(reviewer)]
	return t != nil && t.Judges != nil
}

// tallyReviews is the verdict that the reviews of one version give. What accepts it is left out: see acceptance.
func (s *State) tallyReviews(id TaskID, reviews []ReviewRecord) Verdict {
	newest := newestByReviewer(reviews)
	panels := s.Plan.SchemaVersion > 1 // before, these names were a reviewer's like others
	if panels {
		delete(newest, reviewerAccepted)
	}
	check := s.CheckOf(id)
	if !panels || check == nil || check.Agree == nil {
		approvals := 0
		for name, v := range newest {
			if v.Verdict == Rejected {
				return Rejected
			}
			if !panels || name != reviewerOvertook && !s.judges(name) {
				approvals++
			}
		}
		if approvals > 0 && approvals >= s.Quorum(id) {
			return Approved
		}
		return ""
	}
	return s.tallySeats(id, *check.Agree, newest)
}

// tallySeats is the verdict of the seats. Who has no seat can only reject, and does so at once. The seats are heard
// to the end: what each of them says is what the next version is made from.
func (s *State) tallySeats(id TaskID, a Agree, newest map[string]ReviewRecord) Verdict {
	seats, taken := s.seats(id, newest)
	for name, v := range newest {
		if v.Verdict == Rejected && !slices.Contains(taken, name) {
			return Rejected
		}
	}
	approvals, sum, vetoed := 0, 0, false
	for i := range seats {
		v, spoken := newest[taken[i]]
		if !spoken {
			return ""
		}
		if v.Verdict == Approved {
			approvals++
		}
		sum += v.Score
		vetoed = vetoed || a.Veto > 0 && v.Score <= a.Veto
	}
	switch {
	case len(seats) == 0:
		return "" // validation refuses such a plan
	case vetoed || approvals < max(a.Approvals, s.Quorum(id)) || sum < a.Mean*len(seats):
		return Rejected
	}
	return Approved
}

// seats are the places of a task's panel, and the reviewer in each as records name it; "" while it is empty. The
// program's own reviews have none. The seat of any person is taken by the first that has no other.
func (s *State) seats(id TaskID, newest map[string]ReviewRecord) (seats, taken []string) {
	seats = Agree{}.Seats(s.Reviewers(id))
	taken = each.Of(seats, EscapeName)
	if i := slices.Index(seats, ReviewerPerson); i >= 0 {
		taken[i] = ""
		first := 0
		for name, v := range newest {
			isPerson := !builtIn(UnescapeName(name)) && !s.judges(name) && !slices.Contains(taken, name)
			if at := s.firstReview(id, v); isPerson && (first == 0 || at < first) {
				first, taken[i] = at, name
			}
		}
	}
	return seats, taken
}

// Seats are the seats of a list of reviewers: the program's own reviews have none.
func (Agree) Seats(reviewers []string) []string {
	var seats []string
	for _, name := range reviewers {
		if !builtIn(name) && !slices.Contains(seats, name) {
			seats = append(seats, name)
		}
	}
	return seats
}

// firstReview is the number of a reviewer's first review of a version.
func (s *State) firstReview(id TaskID, of ReviewRecord) int {
	for _, v := range s.Records.Of(id).Reviews {
		if v.Version == of.Version && v.Reviewer == of.Reviewer {
			return v.N
		}
	}
	return of.N
}

// builtIn reports whether a name is one that the program itself reviews under.
func builtIn(reviewer string) bool {
	switch reviewer {
	case ReviewerChecks, ReviewerPlan, ReviewerVerdicts, ReviewerDecision, reviewerAccepted, reviewerOvertook:
		return true
	}
	return false
}

// Panel gives the seats of a task's panel, and what each says of a version; the zero record while it has not spoken.
// There are none without agree.
func (s *State) Panel(id TaskID, version int) iter.Seq2[string, ReviewRecord] {
	return func(yield func(string, ReviewRecord) bool) {
		if c := s.CheckOf(id); c == nil || c.Agree == nil {
			return
		}
		newest := newestByReviewer(s.Records.Of(id).reviewsOf(version))
		seats, taken := s.seats(id, newest)
		for i, seat := range seats {
			if !yield(seat, newest[taken[i]]) {
				return
			}
		}
	}
}

// maxRounds is how many versions of a task may be rejected.
func (s *State) maxRounds(id TaskID) int {
	if c := s.CheckOf(id); c != nil && c.MaxRounds > 0 {
		return c.MaxRounds
	}
	return s.shape.limits.MaxAttempts
}

// exhausted says for people that no round is left.
func (s *State) exhausted(t *TaskState) string {
	n, of := s.Round(t)
	switch {
	case of == 0:
		return plain.Count(t.Rejected, "version") + " rejected"
	case t.Verdict != Rejected:
		return roundOf(n, of) + ", and no round is left"
	}
	reason := roundOf(n, of) + ", " + VersionID(t.Active) + " was rejected"
	if s.mayAccept(t, t.Active) {
		reason += ", git wf run accepts it"
	}
	return reason
}

func roundOf(n, of int) string { return fmt.Sprintf("round %d of %d", n, of) }

// Round is the round that a task is in, from 1, and how many it may have; zeros if its CHECK sets no max_rounds, or
// there is no version yet. A round ends with a rejected version. Of a GOAL in Repeats each part that is a GOAL is a
// round.
func (s *State) Round(t *TaskState) (n, of int) {
	if of = s.Repeats[t.TaskID]; of > 0 {
		for _, id := range s.Children(t.TaskID) {
			if s.Tasks[id].NodeType == Goal {
				n++
			}
		}
		return n, of
	}
	if c := s.CheckOf(t.TaskID); c == nil || c.MaxRounds == 0 || t.Active == 0 {
		return 0, 0
	}
	of = s.maxRounds(t.TaskID)
	return min(t.Rejected+1, of), of
}

// Drops reports whether a CHECK has its task abandoned when its rounds are used up.
func (t *Task) Drops() bool { return t.OnExhausted == onExhaustedDrop }

// AsksExhausted reports whether a CHECK has a person decide when its rounds are used up.
func (t *Task) AsksExhausted() bool {
	return t.OnExhausted != onExhaustedAccept && !t.Drops()
}

// onExhausted is what comes of a task once its rounds are used up. Never of one that would take effect on other tasks,
// or no longer does: a plan, verdicts or a decision.
func (s *State) onExhausted(id TaskID) string {
	t, c := s.Tasks[id], s.CheckOf(id)
	if t == nil || c == nil || t.Planning() || t.Judges != nil || t.Decides != nil || s.Plan.SchemaVersion < 2 {
		return ""
	}
	return c.OnExhausted
}

// exhaustedTo reports whether the newest version of a task is rejected, no round is left, and that is to come of it.
func (s *State) exhaustedTo(t *TaskState, what string) bool {
	return t.Active > 0 && t.Verdict == Rejected && t.Rejected >= s.maxRounds(t.TaskID) &&
		s.onExhausted(t.TaskID) == what
}

// acceptance is the number of the review that takes a version as it is, because the rounds are used up; 0 if there is
// none. It counts only where the reviews with lower numbers say that they were: nobody can write one to approve with.
func (s *State) acceptance(id TaskID, r *TaskRecords, version int) int {
	i := slices.IndexFunc(r.Reviews, func(v ReviewRecord) bool {
		return v.Version == version && v.Reviewer == reviewerAccepted && v.Verdict == Approved
	})
	if i < 0 || s.onExhausted(id) != onExhaustedAccept || !s.usedUp(id, r, version, r.Reviews[i].N) {
		return 0
	}
	return r.Reviews[i].N
}

// usedUp reports whether the reviews below a number reject a version, none of them is of a newer one, and as many
// versions as may be are rejected.
func (s *State) usedUp(id TaskID, r *TaskRecords, version, below int) bool {
	since := 0 // the newest reset of before; a later one names this review, or one after it
	for _, reset := range r.Resets {
		if reset.Review < below {
			since = max(since, reset.Review)
		}
	}
	of := map[int][]ReviewRecord{}
	for _, v := range r.Reviews {
		if v.N < below {
			of[v.Version] = append(of[v.Version], v)
		}
	}
	rounds := 0
	for v, reviews := range of {
		rejected := s.tallyReviews(id, reviews) == Rejected
		if v > version || v == version && !rejected {
			return false
		}
		if rejected && reviews[len(reviews)-1].N > since {
			rounds++
		}
	}
	return len(of[version]) > 0 && rounds >= s.maxRounds(id)
}

// mayAccept reports whether a version is to be taken as it is now: the newest, rejected, with no round left, and not
// taken before. A version that somebody rejects again is for a person to decide on.
func (s *State) mayAccept(t *TaskState, version int) bool {
	r := s.Records.Of(t.TaskID)
	accepted := slices.ContainsFunc(r.Reviews, func(v ReviewRecord) bool {
		return v.Version == version && v.Reviewer == reviewerAccepted
	})
	return version == t.Active && !accepted && s.exhaustedTo(t, onExhaustedAccept)
}

// ToAccept are the tasks whose newest version is to be taken as it is, in plan order.
func (s *State) ToAccept() []*TaskState {
	return each.If(s.order, func(t *TaskState) bool {
		return t.Status == StatusWaitingExternal && s.mayAccept(t, t.Active)
	})
}

// Accepted reports whether a version is approved only because its rounds were used up: with a warning.
func (s *State) Accepted(id TaskID, version int) bool {
	if s.Plan.SchemaVersion < 2 {
		return false
	}
	r := s.Records.Of(id)
	v, _ := s.verdict(id, r, version)
	return v == Approved && s.acceptance(id, r, version) > 0
}

// Counts reports whether a review has a part in the verdict: an acceptance only if it is one.
func (s *State) Counts(id TaskID, r ReviewRecord) bool {
	return s.Plan.SchemaVersion < 2 || r.Reviewer != reviewerAccepted || s.Accepted(id, r.Version)
}

// Delivers reports whether a version may leave the plan.
func (s *State) Delivers(id TaskID, version int) bool { return s.KeptBack(id, version) == "" }

// KeptBack says why a version may not leave the plan; "" if it may: it is approved, by every task that judges it, too,
// and not merely accepted, unless the plan delivers such versions.
func (s *State) KeptBack(id TaskID, version int) string {
	final := s.Root().FinalDeliverableSpec
	delivers := final != nil && final.DeliverAccepted
	switch judge := s.Unjudged(id, version); {
	case s.VersionVerdict(id, VersionID(version)) != Approved:
		return "is not approved"
	case judge != "":
		return "is not verified: " + string(judge) + " has not approved it"
	case !delivers && s.Accepted(id, version):
		return "was accepted with a warning, and the plan does not deliver such versions"
	}
	return ""
}

// Concerns reports whether a version is approved with a score below that from which it is clear: of seats, the mean;
// else the lowest of those that approve it.
func (s *State) Concerns(id TaskID, version int) bool {
	c := s.CheckOf(id)
	if c == nil || c.Rubric == nil || c.Rubric.Clear == 0 || s.VersionVerdict(id, VersionID(version)) != Approved {
		return false
	}
	sum, n, least := 0, 0, 100
	for _, v := range newestByReviewer(s.Records.Of(id).reviewsOf(version)) {
		if !s.judges(v.Reviewer) && v.Reviewer != reviewerAccepted && v.Verdict == Approved {
			least = min(least, v.Score)
		}
	}
	for _, v := range s.Panel(id, version) {
		sum, n = sum+v.Score, n+1
	}
	if n > 0 {
		return sum < n*c.Rubric.Clear
	}
	return least < c.Rubric.Clear
}

// JudgedUnclear reports whether a judge approved the version with less than the clear of its rubric.
func (s *State) JudgedUnclear(id TaskID, version int) bool {
	for _, v := range newestByReviewer(s.Records.Of(id).reviewsOf(version)) {
		if s.judges(v.Reviewer) && v.Verdict == Approved {
			if r := s.RubricOfJudge(TaskID(v.Reviewer)); r != nil && v.Score < r.Clear {
				return true
			}
		}
	}
	return false
}

// Repeating is the state with Repeats, which says nothing about what may happen and is only shown.
func (s *State) Repeating(most map[TaskID]int) *State {
	if len(most) == 0 {
		return s
	}
	shown := *s // others may read s
	shown.Repeats = most
	return &shown
}

// StandingNotes say in a few words how a task stands with its reviewers: its round, the seats that have spoken, and
// whether its version is approved without reserve. Of a GOAL they say its round.
func (s *State) StandingNotes(t *TaskState) []string {
	if n, of := s.Round(t); t.NodeType == Goal && n > 0 {
		return []string{roundOf(n, of)}
	}
	if s.Plan.SchemaVersion < 2 || t.NodeType != Action || t.Active == 0 {
		return nil
	}
	var notes []string
	if n, of := s.Round(t); of > 0 && t.Status != StatusDone && t.Status != StatusWaitingExternal {
		notes = append(notes, roundOf(n, of))
	}
	if seats := s.seatNote(t); seats != "" {
		notes = append(notes, seats)
	}
	if s.Accepted(t.TaskID, t.Approved) {
		notes = append(notes, "accepted with a warning")
	} else if s.Concerns(t.TaskID, t.Approved) || s.JudgedUnclear(t.TaskID, t.Approved) {
		notes = append(notes, "approved with concerns")
	}
	if len(s.JudgesOf(t.TaskID)) > 0 && t.Status == StatusDone {
		if judge := s.Unjudged(t.TaskID, t.Approved); judge != "" {
			notes = append(notes, "to be judged by "+string(judge))
		} else {
			notes = append(notes, "verified")
		}
	}
	return notes
}

// seatNote says how many seats have spoken on the newest version, and what, while it has no verdict: "1 of 2 seats
// (risk 90)". It is empty without seats.
func (s *State) seatNote(t *TaskState) string {
	if s.Plan.SchemaVersion < 2 || t.NodeType != Action || t.Active == 0 || t.Verdict != "" {
		return ""
	}
	var said []string
	seats := 0
	add := func(seat string, v ReviewRecord) {
		seats++
		if v.N == 0 {
			return
		}
		verdict := ""
		if v.Verdict == Rejected {
			verdict = " rejects"
		}
		said = append(said, fmt.Sprintf("%s%s %d", plain.Line(seat), verdict, v.Score))
	}
	for seat, v := range s.Panel(t.TaskID, t.Active) {
		add(seat, v)
	}
	if seats == 0 && t.Status == StatusReadyToCheck {
		newest := newestByReviewer(s.Records.Of(t.TaskID).reviewsOf(t.Active))
		for _, seat := range s.Seats(t.TaskID) {
			add(seat, newest[EscapeName(seat)])
		}
	}
	if seats == 0 {
		return ""
	}
	note := fmt.Sprintf("%d of %s", len(said), plain.Count(seats, "seat"))
	if len(said) > 0 {
		note += " (" + strings.Join(said, ", ") + ")"
	}
	return note
}
