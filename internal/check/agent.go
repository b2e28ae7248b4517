package check

import (
	"fmt"
	"time"

	"gitwf/internal/plan"
)

// AgentOpinion is what a reviewing agent says of a version.
type AgentOpinion struct {
	Reviewer    string
	Agent       string // who speaks, where Reviewer is a role
	Session     string
	Verdict     plan.Verdict
	Score       int               // 0 to 100
	Criteria    map[string]Ruling // of those that no run line judges
	Ratings     plan.Ratings      // of a rubric's dimensions; then the score follows from them
	Suggestions []plan.Suggestion
	Summary     string
	CheckedBy   string // id of the record of what the engine ran, "" if none
	Usage       *plan.Usage
}

// ByAgent joins what the engine ran and an agent's opinion into a review. Of criteria with a run line the engine's word
// alone counts; an agent's approval of a version that fails a MUST, or that scores too little, is a rejection. What it
// did not judge is not passed.
func ByAgent(s Subject, ran []plan.CriterionResult, o AgentOpinion, now time.Time) plan.Review {
	r := s.review(o.Reviewer, o.Session, now)
	r.Criteria = s.Task.Results(ran, o.Reviewer, func(c plan.Criterion) (result, evidence string) {
		return o.Criteria[c.ID].Result, o.Criteria[c.ID].Evidence
	})
	r.Score, r.CheckID, r.Usage = o.Score, o.CheckedBy, o.Usage
	r.Agent = o.Agent
	r.SelfReviewed = r.By() == s.Artifact.Agent
	rejects := o.Verdict == plan.Rejected
	if s.Rubric != nil {
		var err error
		if r.Score, err = s.rate(&r, o.Ratings); err != nil {
			r.Ratings, r.Rubric = nil, nil // the contract asks for ratings; without them nothing is approved
		}
		rejects = rejects || err != nil || len(s.Rubric.Vetoed(o.Ratings)) > 0
	}
	r.Verdict = plan.Judge(r.Criteria, r.Score, s.MinScore)
	if rejects {
		r.Verdict = plan.Rejected
	}
	r.Suggestions = append(suggestions(r.Criteria), o.Suggestions...)
	r.Reason = o.Summary
	if r.Reason == "" || r.Verdict != o.Verdict {
		r.Reason = reason(r, s.MinScore)
		if !rejects && r.Verdict == plan.Rejected && r.Score < s.MinScore && len(r.FailedMust()) == 0 {
			r.Reason = fmt.Sprintf("Score %d is below %d.", r.Score, s.MinScore) // the score alone rejects
		}
	}
	return r
}
