package plan

import (
	"testing"
	"time"
)

func TestClaimTimes(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(started, expires time.Duration) Claim {
		return Claim{Agent: "a", Host: "here", Started: now.Add(started), Expires: now.Add(expires)}
	}
	tests := []struct {
		name     string
		claim    Claim
		misdated bool
		here     bool // holds, seen from its own host
		there    bool // holds, seen from another
	}{
		{"held", at(-time.Minute, time.Minute), false, true, true},
		{"just expired", at(-time.Hour, -time.Second), false, false, true},
		{"expired", at(-time.Hour, -clockTolerance), false, false, false},
		{"a clock a little ahead", at(clockTolerance, 6*time.Minute), false, true, true},
		{"a clock far ahead", at(time.Hour, time.Hour+5*time.Minute), true, true, true},
		{"renewed for ever", at(-time.Hour, 1000*time.Hour), true, true, true},
		{"the longest lease", at(0, MaxLease), false, true, true},
		{"given back", Claim{Number: 3}, false, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.claim.Misdated(now); got != tt.misdated {
				t.Errorf("misdated: %v", got)
			}
			if got := now.Before(tt.claim.Until("here")); got != tt.here {
				t.Errorf("holds here: %v", got)
			}
			if got := now.Before(tt.claim.Until("there")); got != tt.there {
				t.Errorf("holds there: %v", got)
			}
		})
	}
}

// Each way in which a claim ends adds one to the number that the next one is above.
func TestClaimsEnded(t *testing.T) {
	p := &Plan{PlanID: "WFS-p", RootTaskID: "GOAL-1", Tasks: []*Task{
		{TaskID: "GOAL-1", NodeType: Goal}, {TaskID: "IMPL-1", NodeType: Action, ParentTaskID: "GOAL-1"},
		{TaskID: "CHECK-IMPL-1", NodeType: Check, ParentTaskID: "GOAL-1", ReviewTargetTaskID: "IMPL-1"},
	}}
	r := Records{Tasks: map[TaskID]*TaskRecords{"IMPL-1": {
		Artifacts: []ArtifactRecord{{Version: 1}},
		Attempts:  []AttemptRecord{{N: 1, Kind: AttemptLost}, {N: 2, Version: 1, Kind: AttemptError}},
		Reviews:   []ReviewRecord{{N: 1, Version: 1, Verdict: Rejected, Reviewer: "ann"}},
		Checks:    []CheckRecord{{N: 1, Version: 1}},
	}}}
	s := Derive(p, r, nil, time.Time{})
	for id, want := range map[TaskID]int{"IMPL-1": 2, "CHECK-IMPL-1": 3, "GOAL-1": 0, "NONE-1": 0} {
		if got := s.ClaimsEnded(id); got != want {
			t.Errorf("%s: %d, want %d", id, got, want)
		}
	}
}
