package estimate_test

import (
	"math"
	"strings"
	"testing"

	"gitwf/internal/estimate"
	"gitwf/internal/plan"
)

func TestCombine(t *testing.T) {
	yes, no := true, false
	tests := []struct {
		name           string
		planner, agent *estimate.Judgement
		rule           float64
		days           float64
		pass           bool
		why            string
		correction     string // its reason, "" for none
	}{
		{"the rule is larger", &estimate.Judgement{Days: 1}, &estimate.Judgement{Days: 2, OneShotPass: &yes}, 3, 2, true,
			"the agent says 2", "the agent says 2"},
		{"far apart", &estimate.Judgement{Days: 1}, nil, 11.2, 1, true,
			"the planner says 1; the rule says 11.2, which is far apart", ""},
		{"the agent is larger", &estimate.Judgement{Days: 1}, &estimate.Judgement{Days: 4, Why: "two\nviews"}, 3, 4, true,
			"the agent says 4: two views", "the agent says 4: two views"},
		{"left out, the planner's number stays", &estimate.Judgement{Days: 5}, nil, 3, 5, true, "the planner says 5", ""},
		{"left out, the rule is larger", &estimate.Judgement{Days: 1}, nil, 3, 1, true, "the planner says 1", ""},
		{"nobody but the rule", nil, nil, 3, 3, true, "the rule says 3", "the rule says 3"},
		{"at the threshold", nil, &estimate.Judgement{Days: 10}, 1, 10, true, "the agent says 10", "the agent says 10"},
		{"above it", &estimate.Judgement{Days: 10.1}, nil, 1, 10.1, false,
			"the planner says 10.1; more than the threshold of 10", ""},
		{"a yes does not outweigh it", nil, &estimate.Judgement{Days: 12, OneShotPass: &yes}, 1, 12, false,
			"the agent says 12; more than the threshold of 10", "the agent says 12"},
		{"a no counts below it", &estimate.Judgement{Days: 3}, &estimate.Judgement{Days: 3, OneShotPass: &no,
			Why: "two skills"}, 1, 3, false,
			"the agent says 3: two skills; the agent says that it can't be done in one piece", ""},
		{"a no counts beside the rule", nil, &estimate.Judgement{Days: 1, OneShotPass: &no, Why: "two skills"}, 3, 1, false,
			"the agent says 1: two skills; the agent says that it can't be done in one piece",
			"the agent says 1: two skills"},
		{"no number from the agent", &estimate.Judgement{Days: 2}, &estimate.Judgement{Days: math.NaN()}, 1, 2, true,
			"the planner says 2", ""},
		{"without end", nil, &estimate.Judgement{Days: math.Inf(1)}, 1, estimate.Most, false,
			"the agent says 100000; more than the threshold of 10", "the agent says 100000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rule := estimate.Estimate{Days: tt.rule, Why: []string{"1 task"}}
			r := estimate.Combine(tt.planner, tt.agent, rule, 10)
			if r.Days != tt.days || r.OneShotPass != tt.pass || r.Why != tt.why {
				t.Errorf("got %v, %v, %q", r.Days, r.OneShotPass, r.Why)
			}
			if r.Sources.Planner != tt.planner || r.Sources.Agent != tt.agent || r.Sources.Rule.Days != tt.rule {
				t.Errorf("the sources are %+v", r.Sources)
			}
			got := ""
			if r.Correction != nil {
				got = r.Correction.Reason
				if r.Correction.To != r.Days || tt.planner != nil && r.Correction.From != tt.planner.Days {
					t.Errorf("the correction is %+v", r.Correction)
				}
			}
			if got != tt.correction {
				t.Errorf("corrected because %q, want %q", got, tt.correction)
			}
		})
	}
}

func TestRecord(t *testing.T) {
	leaves := []*plan.Task{
		{TaskID: "IMPL-1", EstimatedPersonDays: 2},
		{TaskID: "IMPL-2", EstimatedPersonDays: 1, Requires: []plan.Requirement{{Name: "spec"}}},
		{TaskID: "IMPL-3", EstimatedPersonDays: 1},
	}
	r := estimate.Record{TaskID: "PLAN-1", ArtifactID: "v1", Threshold: 10, Agent: "claude"}
	r.Judge(leaves, map[plan.TaskID]estimate.Judgement{"IMPL-3": {Days: 12, Why: "twelve screens"}, "IMPL-9": {Days: 99}},
		estimate.Weights{Base: 1.5})
	if len(r.Tasks) != 3 || r.Pass || len(r.TooLarge()) != 1 || r.TooLarge()[0] != "IMPL-3" {
		t.Fatalf("%+v", r)
	}
	document := string(plan.Document(r))
	for _, want := range []string{
		`"one_shot_threshold_person_days": 10`, `"pass": false`, `"agent": "claude"`,
		`"why": "the planner says 1"`, `"reason": "the agent says 12: twelve screens"`,
		`"1 task x 1.5 = 1.5"`, `"estimated_person_days": 12`, `"one_shot_pass": true`, `"planner": {`,
	} {
		if !strings.Contains(document, want) {
			t.Errorf("%s is not in\n%s", want, document)
		}
	}
	if strings.Contains(document, "IMPL-9") {
		t.Error("a task that the plan does not have is in the record")
	}
	if strings.Count(document, `"correction"`) != 1 {
		t.Errorf("IMPL-3 alone does not keep its number:\n%s", document)
	}
}
