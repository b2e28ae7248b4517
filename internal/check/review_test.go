package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
)

// graded is a task with criteria as the letters say: M and S have a run line, m and s need a person; the result of the
// engine stands behind it.
func graded(criteria string) (*plan.Task, []plan.CriterionResult) {
	results := map[byte]string{'+': plan.ResultPass, '-': plan.ResultFail, 'w': plan.ResultWaived,
		'?': plan.ResultNotJudged}
	t := &plan.Task{TaskID: "IMPL-1"}
	var ran []plan.CriterionResult
	for i, word := range strings.Fields(criteria) {
		c := plan.Criterion{ID: fmt.Sprintf("A%d", i+1), Statement: "is good", Severity: plan.Must}
		if strings.ContainsAny(word[:1], "Ss") {
			c.Severity = plan.Should
		}
		if strings.ContainsAny(word[:1], "MS") {
			c.Run = "true"
		}
		t.AcceptanceCriteria = append(t.AcceptanceCriteria, c)
		if len(word) > 1 {
			ran = append(ran, c.NewResult(plan.ReviewerChecks, results[word[1]], "seen"))
		}
	}
	slices.Reverse(ran) // the order of the review is that of the task
	return t, ran
}

var aTime = time.Date(2026, 3, 4, 5, 6, 7, 8, time.FixedZone("", 3600))

func TestByEngine(t *testing.T) {
	tests := []struct {
		name, criteria string
		score          int
		verdict        plan.Verdict
		reason         string
		asked          string // for these changes
	}{
		{"all passed", "M+ S+", 100, plan.Approved, "Every criterion passed.", ""},
		{"a SHOULD costs ten", "M+ S-", 90, plan.Approved, "Every MUST criterion passed; 1 of 2 criteria failed.", "MED A2"},
		{"two cost twenty", "M+ S- S-", 80, plan.Rejected, "Score 80 is below 90.", "MED A2 MED A3"},
		{"a MUST rejects whatever the score", "M- S+", 100, plan.Rejected, "A1 failed.", "HIGH A1"},
		{"a MUST and a SHOULD", "M- S-", 90, plan.Rejected, "A1, A2 failed.", "HIGH A1 MED A2"},
		{"the score has a bottom", "M+" + strings.Repeat(" S-", 12), 0, plan.Rejected, "Score 0 is below 90.", ""},
		{"waived", "Mw Sw", 100, plan.Approved, "Every criterion passed.", ""},
		{"not judged is not passed", "M? S+", 100, plan.Rejected, "Rejected without a failed criterion.", ""},
		{"nobody judged the person's part", "M- m", 100, plan.Rejected, "A1 failed.", "HIGH A1"},
		{"a MUST of a person's is not passed", "M+ m", 100, plan.Rejected, "Rejected without a failed criterion.", ""},
		{"a SHOULD that nobody judged costs nothing", "M+ s", 100, plan.Approved,
			"What was judged passed; not judged: A2.", ""},
		{"no criteria", "", 100, plan.Approved, "Every criterion passed.", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task, ran := graded(tt.criteria)
			s := Subject{Task: task, Artifact: plan.Artifact{ArtifactID: "v2", Tree: "4b82"}, MinScore: 90}
			r := ByEngine(s, ran, "session", aTime)
			if r.Score != tt.score || r.Verdict != tt.verdict || r.Reason != tt.reason {
				t.Errorf("%d, %s, %q", r.Score, r.Verdict, r.Reason)
			}
			var asked []string
			for _, s := range r.Suggestions {
				asked = append(asked, s.Priority+" "+strings.TrimSuffix(strings.TrimPrefix(s.Text, "Make "), " hold: is good"))
			}
			if got := strings.Join(asked, " "); got != tt.asked && tt.asked != "" || tt.asked == "" && tt.score == 100 &&
				got != "" {
				t.Errorf("asks for %q", got)
			}
			checkReview(t, s, r)
			if r.Reviewer != plan.ReviewerChecks || r.Session != "session" {
				t.Errorf("by %s in session %s", r.Reviewer, r.Session)
			}
		})
	}
}

// checkReview checks what every review says: which version, by which rules, and something of each criterion in order.
func checkReview(t *testing.T, s Subject, r plan.Review) {
	t.Helper()
	if r.TaskID != "IMPL-1" || r.ReviewedArtifactID != "v2" || r.Tree != "4b82" || r.MinScore != s.MinScore ||
		r.SpecHash != s.Task.SpecHash() || !r.CreatedAt.Equal(time.Date(2026, 3, 4, 4, 6, 7, 0, time.UTC)) {
		t.Errorf("it speaks of %+v", r)
	}
	if len(r.Criteria) != len(s.Task.AcceptanceCriteria) {
		t.Fatalf("%d results for %d criteria", len(r.Criteria), len(s.Task.AcceptanceCriteria))
	}
	for i, c := range s.Task.AcceptanceCriteria {
		if got := r.Criteria[i]; got.ID != c.ID || got.Severity != c.Severity || got.Statement != c.Statement {
			t.Errorf("result %d is of %s", i, got.ID)
		}
	}
}

func TestByPerson(t *testing.T) {
	number := func(n int) *int { return &n }
	tests := []struct {
		name, criteria string
		opinion        Opinion
		score          int
		results        string // of each criterion, by whom
		reason         string
	}{
		{"approved as a whole", "M+ m s", Opinion{Verdict: plan.Approved}, 100, "pass:checks pass:ann pass:ann",
			"Approved as a whole; not looked at one by one: A2, A3."},
		{"approved, each by itself", "M+ m s", Opinion{Verdict: plan.Approved,
			Criteria: map[string]Ruling{"A2": {plan.ResultPass, "read"}, "A3": {plan.ResultPass, ""}}}, 100,
			"pass:checks pass:ann pass:ann", "Every criterion passed."},
		{"a SHOULD left open", "M+ m s", Opinion{Verdict: plan.Approved,
			Criteria: map[string]Ruling{"A2": {plan.ResultPass, "read"}, "A3": {plan.ResultNotJudged, "no time"}}}, 100,
			"pass:checks pass:ann not_judged:ann", "What was judged passed; not judged: A3."},
		{"approved but for one", "M+ m s", Opinion{Verdict: plan.Approved,
			Criteria: map[string]Ruling{"A3": {plan.ResultFail, "dull"}}}, 90,
			"pass:checks pass:ann fail:ann", "Every MUST criterion passed; 1 of 3 criteria failed."},
		{"what the engine saw stays", "S- m", Opinion{Verdict: plan.Approved}, 90, "fail:checks pass:ann",
			"Every MUST criterion passed; 1 of 2 criteria failed."},
		{"a waiver stays", "Mw m", Opinion{Verdict: plan.Approved}, 100, "waived:checks pass:ann",
			"Approved as a whole; not looked at one by one: A2."},
		{"a run line that did not run is not approved along", "M m", Opinion{Verdict: plan.Approved}, 100,
			"not_judged:ann pass:ann", "Approved as a whole; not looked at one by one: A2."},
		{"a score of one's own", "m", Opinion{Verdict: plan.Approved, Score: number(95)}, 95, "pass:ann",
			"Approved as a whole; not looked at one by one: A1."},
		{"rejected for what the engine saw", "M- m", Opinion{Verdict: plan.Rejected}, 0, "fail:checks not_judged:ann",
			"A1 failed."},
		{"rejected for a MUST", "M+ m", Opinion{Verdict: plan.Rejected, Criteria: map[string]Ruling{"A2": {plan.ResultFail, "no"}}}, 0,
			"pass:checks fail:ann", "A2 failed."},
		{"rejected though every MUST passed", "M+ m", Opinion{Verdict: plan.Rejected, Message: "Dull.",
			Criteria: map[string]Ruling{"A2": {plan.ResultPass, ""}}}, 89,
			"pass:checks pass:ann", "Dull."},
		{"rejected for SHOULDs", "M+ s s", Opinion{Verdict: plan.Rejected,
			Criteria: map[string]Ruling{"A2": {plan.ResultFail, ""}, "A3": {plan.ResultFail, ""}}}, 80,
			"pass:checks fail:ann fail:ann", "Score 80 is below 90."},
		{"rejected with a score", "m", Opinion{Verdict: plan.Rejected, Score: number(62), Message: "Dull."}, 62,
			"not_judged:ann", "Dull."},
		{"with words", "m", Opinion{Verdict: plan.Rejected, Message: "No."}, 0, "not_judged:ann", "No."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			task, ran := graded(tt.criteria)
			s := Subject{Task: task, Artifact: plan.Artifact{ArtifactID: "v2", Tree: "4b82"}, MinScore: 90}
			tt.opinion.Reviewer, tt.opinion.SelfMade, tt.opinion.CheckedBy = "ann", true, "k3"
			r, err := ByPerson(s, ran, tt.opinion, aTime)
			if err != nil {
				t.Fatal(err)
			}
			var results []string
			for _, c := range r.Criteria {
				results = append(results, c.Result+":"+c.By)
			}
			if got := strings.Join(results, " "); got != tt.results || r.Score != tt.score || r.Verdict != tt.opinion.Verdict ||
				r.Reason != tt.reason {
				t.Errorf("%s, score %d, %s, %q", got, r.Score, r.Verdict, r.Reason)
			}
			checkReview(t, s, r)
			if r.Reviewer != "ann" || r.Session != "" || !r.SelfReviewed || r.CheckID != "k3" {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A rejection never has a score that would have been enough, whatever is enough.
func TestRejectionScoresBelowMinimum(t *testing.T) {
	for _, least := range []int{0, 1, 90, 100} {
		task, ran := graded("M+")
		r, err := ByPerson(Subject{Task: task, MinScore: least}, ran, Opinion{Reviewer: "ann", Verdict: plan.Rejected,
			Message: "No."}, aTime)
		if err != nil || r.Score != max(least-1, 0) {
			t.Errorf("at least %d: %d, %v", least, r.Score, err)
		}
	}
}

// Nobody learns anything from an approval that leaves a MUST open, or from a rejection without a reason.
func TestOpinionThatSaysTooLittle(t *testing.T) {
	open := map[string]Ruling{"A2": {plan.ResultNotJudged, "no time"}}
	for _, tt := range []struct {
		criteria, want string
		opinion        Opinion
	}{
		{"M+ m", "IMPL-1: can't be approved while A2 is not judged: it is a MUST",
			Opinion{Verdict: plan.Approved, Criteria: open}},
		{"M+ mw", "", Opinion{Verdict: plan.Approved, Criteria: open}},
		{"M+ m", "IMPL-1: a rejection says why: whoever makes it again has nothing else to go by",
			Opinion{Verdict: plan.Rejected, Criteria: open}},
	} {
		task, ran := graded(tt.criteria)
		tt.opinion.Reviewer = "ann"
		_, err := ByPerson(Subject{Task: task, MinScore: 90}, ran, tt.opinion, aTime)
		if err == nil && tt.want != "" || err != nil && err.Error() != tt.want {
			t.Errorf("%s: %v, want %q", tt.criteria, err, tt.want)
		}
	}
}

func TestOpinionThatDoesNotFit(t *testing.T) {
	task, ran := graded("M- m")
	for id, want := range map[string]string{
		"A9": `IMPL-1: has no criterion "A9"`,
		"A1": "IMPL-1: criterion A1 is judged by its run line; a person can't rule on it",
	} {
		o := Opinion{Reviewer: "ann", Verdict: plan.Approved}
		if err := o.Rule(id, plan.ResultPass, "I know better"); err != nil {
			t.Fatal(err)
		}
		r, err := ByPerson(Subject{Task: task, MinScore: 90}, ran, o, aTime)
		if err == nil || err.Error() != want || r.Verdict != "" {
			t.Errorf("%s: %v, verdict %q", id, err, r.Verdict)
		}
	}
}

func TestOfPlan(t *testing.T) {
	task := &plan.Task{TaskID: "IMPL-1", AcceptanceCriteria: plan.PlanCriteria()}
	s := Subject{Task: task, Artifact: plan.Artifact{ArtifactID: "v2", Tree: "4b82"}, MinScore: 90}
	r := OfPlan(s, nil, plan.Findings{{Code: "cycle", TaskID: "A-1", Message: "a cycle"}}, nil, aTime)
	checkReview(t, s, r)
	if r.Verdict != plan.Rejected || r.Score != 0 || r.Reason != "The plan breaks hard rules:\nA-1: a cycle" ||
		len(r.FailedMust()) == 0 {
		t.Errorf("of a plan that breaks rules: %+v", r)
	}
}
