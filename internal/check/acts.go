package check

import (
	"fmt"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// OfAct is the built-in review of a document that acts on other tasks, such as verdicts. by is the name of the review.
// Findings say why it can't take effect; then it fails every criterion. Without one the criteria that no command judges
// pass: the document keeps the rules, and what it says is the judge's own.
func OfAct(s Subject, by string, ran []plan.CriterionResult, findings []string, now time.Time) plan.Review {
	r := s.about(plan.Review{Reviewer: by}, now)
	if len(findings) > 0 {
		text := strings.Join(findings, "\n")
		for _, c := range s.Task.AcceptanceCriteria {
			r.Criteria = append(r.Criteria, c.NewResult(by, plan.ResultFail, text))
		}
		for _, f := range findings {
			r.Suggestions = append(r.Suggestions, plan.Suggestion{Priority: "HIGH", Text: f})
		}
		r.Verdict, r.Reason = plan.Rejected, "It can't take effect:\n"+text
		return r
	}
	s.conclude(&r, s.Task.Results(ran, by, func(plan.Criterion) (result, evidence string) {
		return plan.ResultPass, "the document keeps every rule and names what is approved now"
	}))
	return r
}

// Excuse passes the run lines of a judge that failed where its verdicts reject a task, or approve none: what failed is
// judged, not the judge. rejected names the tasks.
func Excuse(results []plan.CriterionResult, rejected []plan.TaskID, approves bool) {
	why := "failed, and nothing is approved"
	if len(rejected) > 0 {
		why = fmt.Sprintf("failed, and %s is rejected", plan.JoinIDs(rejected))
	}
	for i, r := range results {
		if r.Result == plan.ResultFail && (len(rejected) > 0 || !approves) {
			results[i].Result = plan.ResultPass
			results[i].Evidence = why + "\n" + r.Evidence
		}
	}
}
