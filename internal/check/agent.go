package check

import (
	"fmt"
	"time"

	"gitwf/internal/plan"
)

// ByAgent joins what the engine ran and what an agent says into a review. said has who the agent is, its verdict,
// score, ratings, suggestions and reason; rulings are on the criteria that no run line judges. Of the others the
// engine's word alone counts; an agent's approval of a version that fails a MUST, or that scores too little, is a
// rejection. What it did not judge is not passed.
func ByAgent(s Subject, ran []plan.CriterionResult, said plan.Review, rulings map[string]Ruling,
	now time.Time) plan.Review {
	r := s.about(said, now)
	r.Criteria = s.Task.Results(ran, r.Reviewer, func(c plan.Criterion) (result, evidence string) {
		return rulings[c.ID].Result, rulings[c.ID].Evidence
	})
	r.Ratings, r.SelfReviewed = nil, r.By() == s.Artifact.Agent
	rejects := said.Verdict == plan.Rejected
	if s.Rubric != nil {
		var err error
		if r.Score, err = s.rate(&r, said.Ratings); err != nil {
			r.Ratings, r.Rubric = nil, nil // the contract asks for ratings; without them nothing is approved
		}
		rejects = rejects || err != nil || len(s.Rubric.Vetoed(said.Ratings)) > 0
	}
	r.Verdict = plan.Judge(r.Criteria, r.Score, s.MinScore)
	if rejects {
		r.Verdict = plan.Rejected
	}
	r.Suggestions = append(suggestions(r.Criteria), said.Suggestions...)
	if r.Reason == "" || r.Verdict != said.Verdict {
		r.Reason = reason(r, s.MinScore)
		if !rejects && r.Verdict == plan.Rejected && r.Score < s.MinScore && len(r.FailedMust()) == 0 {
			r.Reason = fmt.Sprintf("Score %d is below %d.", r.Score, s.MinScore) // the score alone rejects
		}
	}
	return r
}
