package check

import (
	"testing"

	"gitwf/internal/plan"
)

// An agent that approves with a score below what is asked for rejects; the maker is told that it was the score.
func TestScoreBelow(t *testing.T) {
	task, ran := graded("M+ s")
	s := Subject{Task: task, Artifact: plan.Artifact{ArtifactID: "v1", Tree: "4b82"}, MinScore: 90}
	said := plan.Review{Reviewer: "critic", Verdict: plan.Approved, Score: 85, Reason: "Good."}
	rulings := map[string]Ruling{"A2": {plan.ResultPass, "seen"}}
	r := ByAgent(s, ran, said, rulings, aTime)
	if r.Verdict != plan.Rejected || r.Reason != "Score 85 is below 90." {
		t.Errorf("%s, %q", r.Verdict, r.Reason)
	}
	said.Verdict = plan.Rejected
	if r := ByAgent(s, ran, said, rulings, aTime); r.Reason != "Good." {
		t.Errorf("its own words are gone: %q", r.Reason)
	}
}
