package check

import (
	"time"

	"gitwf/internal/plan"
)

// Again is the review after which an approved version is made again, as a person wants it. It judges nothing.
func Again(s Subject, person, reason string, now time.Time) plan.Review {
	r := s.about(plan.Review{}, now).Overtaken()
	r.For, r.Reason = person, reason
	r.Criteria = s.Task.Results(nil, r.Reviewer, nil)
	r.Suggestions = []plan.Suggestion{{Priority: "HIGH", Text: "Make it again, for what the task asks " +
		"and what the repository is now."}}
	return r
}
