package check

import (
	"time"

	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// OfPlan is the built-in review of a plan, the deliverable of a planning task. A candidate that breaks hard rules has
// findings instead of a plan, and fails every criterion: nothing else about it can be judged. The first one has them as
// evidence; a maker need not read them once for each.
func OfPlan(s Subject, candidate *plan.Plan, findings plan.Findings, days plandoc.Days, now time.Time) plan.Review {
	r := s.about(plan.Review{Reviewer: plan.ReviewerPlan}, now)
	if len(findings) > 0 {
		evidence := findings.Error()
		for _, c := range s.Task.AcceptanceCriteria {
			r.Criteria = append(r.Criteria, c.NewResult(plan.ReviewerPlan, plan.ResultFail, evidence))
			evidence = "not judged, as the plan breaks hard rules"
		}
		for _, f := range findings {
			r.Suggestions = append(r.Suggestions, plan.Suggestion{Priority: "HIGH", Text: f.Error()})
		}
		r.Verdict, r.Reason = plan.Rejected, "The plan breaks hard rules."
		return r
	}
	judged := plandoc.ReviewPlan(candidate, days)
	r.Score = judged.Score
	r.Criteria = s.Task.Results(judged.Criteria, plan.ReviewerPlan, nil)
	r.Verdict = plan.Judge(r.Criteria, r.Score, s.MinScore)
	for _, sug := range judged.Suggestions {
		text := sug.Text
		if sug.TaskID != "" {
			text = string(sug.TaskID) + ": " + text
		}
		r.Suggestions = append(r.Suggestions, plan.Suggestion{Priority: sug.Priority, Text: text})
	}
	r.Reason = reason(r, s.MinScore)
	return r
}
