package main

import (
	"fmt"
	"io"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// standingSummary is how a task stands with its reviewers. All of it is left out of a plan without rounds, panels and
// rubrics.
type standingSummary struct {
	Round     int           `json:"round,omitempty"`      // of its review; of a GOAL, the newest of the rounds below it
	MaxRounds int           `json:"max_rounds,omitempty"` // as its CHECK says, or the workflow
	Seats     []seatSummary `json:"seats,omitempty"`      // of the newest version
	Accepted  bool          `json:"accepted,omitempty"`   // the approved version is so because its rounds were used up
	Concerns  bool          `json:"concerns,omitempty"`   // it is approved with concerns
}

// seatSummary is what one of a panel says; the verdict is empty until it has spoken.
type seatSummary struct {
	Seat    string       `json:"seat"`
	Verdict plan.Verdict `json:"verdict,omitempty"`
	Score   int          `json:"score,omitempty"`
}

func standingOf(s *plan.State, t *plan.TaskState) (sum standingSummary) {
	if sum.Round, sum.MaxRounds = s.Round(t); t.NodeType != plan.Action {
		return sum
	}
	for name, r := range s.Panel(t.TaskID, t.Active) {
		sum.Seats = append(sum.Seats, seatSummary{name, r.Verdict, r.Score})
	}
	sum.Accepted = s.Accepted(t.TaskID, t.Approved)
	sum.Concerns = !sum.Accepted && s.Concerns(t.TaskID, t.Approved)
	return sum
}

// verdictOn is the verdict of a version with what is to be said of it.
func verdictOn(s *plan.State, id plan.TaskID, version string) string {
	switch verdict := s.VersionVerdict(id, version); {
	case verdict == "":
		return "awaits review"
	case verdict == plan.Rejected && s.LastingVerdict(id, version) == plan.Approved:
		return string(plan.Approved) + ", and set aside"
	case s.Accepted(id, plan.VersionNumber(version)):
		return string(verdict) + " with a warning: its rounds were used up"
	case s.Concerns(id, plan.VersionNumber(version)):
		return string(verdict) + " with concerns"
	default:
		return string(verdict)
	}
}

// printPanel shows what each seat says of a version.
func printPanel(w io.Writer, s *plan.State, id plan.TaskID, version int) {
	for name, r := range s.Panel(id, version) {
		said := "has not spoken"
		if r.N > 0 {
			said = fmt.Sprintf("%s %d", r.Verdict, r.Score)
		}
		fmt.Fprintf(w, "    seat %s  %s\n", plain.Line(name), said)
	}
}

// printRatings shows what a score was computed from.
func printRatings(w io.Writer, r plan.Review) {
	if r.Rubric == nil || len(r.Ratings) == 0 {
		return
	}
	fmt.Fprint(w, "      rated ")
	for i, name := range r.Rubric.Names() {
		if i > 0 {
			fmt.Fprint(w, ", ")
		}
		said := "does not apply"
		if n := r.Ratings[name]; n != nil {
			said = fmt.Sprint(*n)
		}
		fmt.Fprintf(w, "%s %s", plain.Line(name), said)
	}
	fmt.Fprintln(w)
}
