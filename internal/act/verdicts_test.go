package act

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gitwf/internal/plan"
)

// judged is a plan in which REVIEW-1 judges TEST-1 and DEV-1, both with an approved version, and not SIDE-1.
func judged(t testing.TB, rubric *plan.Rubric) Judging {
	t.Helper()
	p := &plan.Plan{SchemaVersion: 2, PlanID: "WFS-x", RootTaskID: "GOAL-1", Tasks: []*plan.Task{
		{TaskID: "GOAL-1", NodeType: plan.Goal},
	}}
	records := plan.Records{Tasks: map[plan.TaskID]*plan.TaskRecords{}}
	for _, id := range []plan.TaskID{"TEST-1", "DEV-1", "SIDE-1", "REVIEW-1"} {
		task := &plan.Task{TaskID: id, NodeType: plan.Action, ParentTaskID: "GOAL-1",
			AcceptanceCriteria: []plan.Criterion{{ID: "A1", Severity: plan.Must, CheckMethod: plan.ManualReview},
				{ID: "A2", CheckMethod: plan.ManualReview},
				{ID: "RUN", Severity: plan.Must, CheckMethod: plan.StaticCheck, Run: "true"}}}
		check := &plan.Task{TaskID: id.CheckID(), NodeType: plan.Check, ReviewTargetTaskID: id, MinScore: 80}
		names := []plan.Name{{Path: "artifacts/v1/artifact.json"}, {Path: "artifacts/v1/files", OID: "1"},
			{Path: "reviews/r1-v1-100-ann/review.json"}, {Path: "reviews/r1-v1-100-ann/APPROVED.md"}}
		switch id {
		case "DEV-1":
			task.DependsOn = []plan.TaskID{"TEST-1"}
		case "REVIEW-1":
			task.DependsOn = []plan.TaskID{"TEST-1", "DEV-1"}
			task.Judges = &plan.Judges{Tasks: task.DependsOn}
			check.Rubric = rubric
		}
		p.Tasks = append(p.Tasks, task, check)
		records.Tasks[id] = plan.ParseTaskRecords(names)
	}
	passed := []plan.CriterionResult{{ID: "RUN", Severity: plan.Must, Result: plan.ResultPass, By: plan.ReviewerChecks}}
	return Judging{State: plan.Derive(p, records, nil, time.Now()), Judge: "REVIEW-1", Version: 1,
		Ran: map[plan.TaskID][]plan.CriterionResult{"TEST-1": passed, "DEV-1": passed}}
}

const rulings = `"criteria": [{"id": "A1", "pass": true, "evidence": ""}, {"id": "A2", "pass": true, "evidence": ""}]`

// one is a verdict; more is put before its criteria.
func one(id, version, verdict, more string) string {
	return fmt.Sprintf(`{"task_id": %q, "artifact_id": %q, "verdict": %q, %s %s}`, id, version, verdict, more, rulings)
}

func verdictsOf(mode string, verdicts ...string) string {
	return fmt.Sprintf(`{"schema_version": 1, "mode": %q, "verdicts": [%s], "summary": "read"}`, mode,
		strings.Join(verdicts, ", "))
}

func TestFindings(t *testing.T) {
	test, dev := one("TEST-1", "v1", "APPROVED", ""), one("DEV-1", "v1", "APPROVED", "")
	change := `"suggestions": [{"priority": "HIGH", "text": "more"}],`
	rubric := &plan.Rubric{Scale: 10, Dimensions: map[string]float64{"depth": 3, "form": 1}, Pass: 70, Veto: 20}
	counts := &plan.Rubric{Deductions: map[string]float64{"high": 10, "low": 1}, Limits: map[string]int{"high": 1}, Pass: 70}
	rated := func(id, verdict, ratings string) string {
		return one(id, "v1", verdict, `"ratings": {`+ratings+`},`)
	}
	for name, tt := range map[string]struct {
		text   string
		rubric *plan.Rubric
		ran    string // what the run line of DEV-1 said, if not "pass"
		want   string
	}{
		"all approved":        {text: verdictsOf("milestone", test, dev)},
		"another order":       {text: verdictsOf("single", dev, test)},
		"a rejection":         {text: verdictsOf("milestone", test, one("DEV-1", "v1", "REJECTED", change))},
		"a task is missing":   {text: verdictsOf("milestone", test), want: "DEV-1: has no verdict"},
		"a task twice":        {text: verdictsOf("milestone", test, dev, dev), want: "DEV-1: is named twice"},
		"not judged":          {text: verdictsOf("milestone", test, dev, one("SIDE-1", "v1", "APPROVED", "")), want: "SIDE-1: REVIEW-1 does not judge it"},
		"of no task":          {text: verdictsOf("milestone", test, dev, one("NOPE-1", "v1", "APPROVED", "")), want: "NOPE-1: REVIEW-1 does not judge it"},
		"another version":     {text: verdictsOf("milestone", test, one("DEV-1", "v2", "APPROVED", "")), want: "judges v2, but the approved version is v1"},
		"a mode of its own":   {text: verdictsOf("partial", test, dev), want: "mode is partial, which nobody ordered"},
		"excluded":            {text: strings.Replace(verdictsOf("milestone", test), `"summary"`, `"excluded": [{"task_id": "DEV-1", "reason": "x"}], "summary"`, 1), want: "DEV-1: is left out"},
		"for no reason":       {text: verdictsOf("milestone", test, one("DEV-1", "v1", "REJECTED", "")), want: "rejected without a failed criterion or a suggestion"},
		"cause without fault": {text: verdictsOf("milestone", test, one("DEV-1", "v1", "APPROVED", `"cause": "test",`)), want: "there is no cause"},
		"no test to blame":    {text: verdictsOf("milestone", test, one("DEV-1", "v1", "REJECTED", change+`"cause": "test",`)), want: "reject the one at fault"},
		"the test":            {text: verdictsOf("milestone", one("TEST-1", "v1", "REJECTED", change), one("DEV-1", "v1", "REJECTED", change+`"cause": "test",`))},
		"the request":         {text: verdictsOf("milestone", test, one("DEV-1", "v1", "REJECTED", change+`"cause": "request",`))},
		"a failed MUST":       {text: strings.Replace(verdictsOf("milestone", test, dev), "true", "false", 1), want: "TEST-1: is approved, though A1 did not pass"},
		"no ruling":           {text: strings.Replace(verdictsOf("milestone", test, dev), `{"id": "A1", "pass": true, "evidence": ""}, `, "", 1), want: "TEST-1: criterion A1 is not judged"},
		"an unknown one":      {text: strings.Replace(verdictsOf("milestone", test, dev), `"id": "A2"`, `"id": "A9"`, 1), want: `TEST-1: has no criterion "A9"`},
		"the engine's word":   {text: verdictsOf("milestone", test, dev), ran: plan.ResultFail, want: "DEV-1: is approved, though RUN did not pass"},
		"not run":             {text: verdictsOf("milestone", test, dev), ran: plan.ResultNotJudged, want: "DEV-1: is approved, though RUN did not pass"},
		"too low":             {text: verdictsOf("milestone", test, one("DEV-1", "v1", "APPROVED", `"score": 79,`)), want: "approved with the score 79; at least 80"},
		"no rubric":           {text: verdictsOf("milestone", test, rated("DEV-1", "APPROVED", `"depth": 9`)), want: "has no rubric"},
		"rated":               {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"depth": 7, "form": 7`), rated("DEV-1", "APPROVED", `"depth": 9, "form": null`)), rubric: rubric},
		"not rated":           {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"depth": 7, "form": 7`), dev), rubric: rubric, want: "DEV-1: depth has no rating"},
		"rated too low":       {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"depth": 6, "form": 7`), rated("DEV-1", "APPROVED", `"depth": 9, "form": 9`)), rubric: rubric, want: "TEST-1: is approved with the score 62"},
		"vetoed":              {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"depth": 10, "form": 2`), rated("DEV-1", "APPROVED", `"depth": 9, "form": 9`)), rubric: rubric, want: "form at or below 20 % of the scale"},
		"counted":             {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 0, "low": 9`), rated("DEV-1", "APPROVED", `"high": 1, "low": 9`)), rubric: counts},
		"too low by count":    {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 1, "low": 21`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "with the score 69; at least 70"},
		"above the limit":     {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 2, "low": 0`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "the ratings reject: more findings than the limit: high"},
		"a class left out":    {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 0`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "low has no rating"},
		"no count":            {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 0, "low": null`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "low: a rating is the number of findings"},
		"less than nothing":   {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 0, "low": -5`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "low: a rating is the number of findings"},
		"too many to count":   {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 0, "low": 1e300`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "low: a rating is the number of findings"},
		"half a finding":      {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 0, "low": 0.5`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "low: a rating is the number of findings"},
		"a class of its own":  {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"high": 0, "low": 0, "nice": 9`), rated("DEV-1", "APPROVED", `"high": 0, "low": 0`)), rubric: counts, want: "nice"},
		"itself":              {text: verdictsOf("milestone", test, dev, one("REVIEW-1", "v1", "APPROVED", "")), want: "REVIEW-1: REVIEW-1 does not judge it"},
		"off the scale":       {text: verdictsOf("milestone", rated("TEST-1", "APPROVED", `"depth": 11, "form": 2`), rated("DEV-1", "APPROVED", `"depth": 9, "form": 9`)), rubric: rubric, want: "from 0 to 10"},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(t, tt.rubric)
			if tt.ran != "" {
				j.Ran["DEV-1"] = []plan.CriterionResult{{ID: "RUN", Severity: plan.Must, Result: tt.ran}}
			}
			v, broken := ReadVerdicts([]byte(tt.text))
			if len(broken) > 0 {
				t.Fatal(broken)
			}
			got := strings.Join(j.Findings(v), "; ")
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// An investigation that leaves out what it could judge is no answer.
func TestUnanswered(t *testing.T) {
	test := one("TEST-1", "v1", "APPROVED", "")
	for mode, want := range map[string]string{
		"investigate": "DEV-1: is left out of an investigation, but v1 is approved: say of it whether it is at fault",
		"partial":     "",
	} {
		v, broken := ReadVerdicts([]byte(strings.Replace(verdictsOf(mode, test), `"summary"`,
			`"excluded": [{"task_id": "DEV-1", "reason": "x"}], "summary"`, 1)))
		if got := strings.Join(append(broken, judged(t, nil).Unanswered(v)...), "; "); got != want {
			t.Errorf("%s: found %q, want %q", mode, got, want)
		}
	}
}

// TestOutcome shows who gets a review: not whose test is at fault, and with the request the user is asked.
func TestOutcome(t *testing.T) {
	change := `"suggestions": [{"priority": "HIGH", "text": "more"}],`
	for name, tt := range map[string]struct{ text, want string }{
		"all":  {verdictsOf("milestone", one("TEST-1", "v1", "APPROVED", ""), one("DEV-1", "v1", "APPROVED", "")), "TEST-1 v1 APPROVED 100 , DEV-1 v1 APPROVED 100 "},
		"test": {verdictsOf("milestone", one("TEST-1", "v1", "REJECTED", change), one("DEV-1", "v1", "REJECTED", change+`"cause": "test",`)), "TEST-1 v1 REJECTED 79 implementation"},
		"ask":  {verdictsOf("milestone", one("TEST-1", "v1", "APPROVED", ""), one("DEV-1", "v1", "REJECTED", change+`"score": 40, "cause": "request",`)), "TEST-1 v1 APPROVED 100 , DEV-1 v1 REJECTED 40 request, DEV-1 asks text"},
	} {
		t.Run(name, func(t *testing.T) {
			j := judged(t, nil)
			v, broken := ReadVerdicts([]byte(tt.text))
			if found := append(broken, j.Findings(v)...); len(found) > 0 {
				t.Fatal(found)
			}
			reviews, asks := j.Outcome(v, "critic", time.Unix(0, 0))
			var got []string
			for _, r := range reviews {
				got = append(got, fmt.Sprintf("%s %s %s %d %s", r.TaskID, r.ReviewedArtifactID, r.Verdict, r.Score, r.Cause))
				if r.Reviewer != "REVIEW-1" || r.Agent != "critic" || len(r.Criteria) != 3 {
					t.Errorf("review %+v", r)
				}
			}
			for _, q := range asks {
				got = append(got, fmt.Sprintf("%s asks %s", q.TaskID, q.Kind))
			}
			if strings.Join(got, ", ") != tt.want {
				t.Errorf("got %q, want %q", strings.Join(got, ", "), tt.want)
			}
		})
	}
}

func TestReadVerdicts(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"no JSON":         {"APPROVED", "is no JSON document"},
		"text around it":  {verdictsOf("milestone") + " done", "is no JSON document"},
		"a field twice":   {`{"mode": "single", "mode": "partial"}`, "is no JSON document"},
		"unknown field":   {strings.Replace(verdictsOf("milestone"), `"mode"`, `"status": "VERIFIED", "mode"`, 1), "has the unknown field status"},
		"lacks":           {`{"schema_version": 1}`, "the document: lacks mode, verdicts, summary"},
		"another verdict": {verdictsOf("milestone", one("DEV-1", "v1", "VERIFIED", "")), `verdicts.0.verdict: is "VERIFIED", expected one of APPROVED, REJECTED`},
		"another mode":    {verdictsOf("whole"), `mode: is "whole", expected one of milestone, single, partial, investigate`},
		"another cause":   {verdictsOf("milestone", one("DEV-1", "v1", "REJECTED", `"cause": "weather",`)), "expected one of implementation, test, request"},
		"no version":      {verdictsOf("milestone", one("DEV-1", "latest", "APPROVED", "")), `is "latest", expected a version`},
		"a later format":  {strings.Replace(verdictsOf("milestone"), `: 1`, `: 2`, 1), `schema_version: is 2, expected 1`},
		"a list":          {"[]", "is array, expected object"},
		"deep":            {strings.Repeat("[", 1000), "is no JSON document"},
		"long":            {strings.Repeat(" ", 1<<20) + "{}", "at most 1048576 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			_, broken := ReadVerdicts([]byte(tt.text))
			if got := strings.Join(broken, "; "); !strings.Contains(got, tt.want) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// takes checks that verdicts without a finding do only what a judge may, in the state that they are held against.
func takes(t testing.TB, j Judging, text []byte) {
	t.Helper()
	v, broken := ReadVerdicts(text)
	if len(broken) > 0 || len(j.Findings(v)) > 0 {
		return
	}
	reviews, asks := j.Outcome(v, "critic", time.Unix(0, 0))
	seen := map[plan.TaskID]plan.Verdict{}
	for _, r := range reviews {
		failed := len(r.FailedMust()) > 0 || r.Score < r.MinScore
		switch {
		case seen[r.TaskID] != "" || r.TaskID != "TEST-1" && r.TaskID != "DEV-1":
			t.Fatalf("%q reviews %s, which is not judged or judged twice", text, r.TaskID)
		case r.ReviewedArtifactID != "v1" || r.Reviewer != string(j.Judge) || len(r.Criteria) != 3 || r.Score < 0 || r.Score > 100:
			t.Fatalf("%q makes the review %+v", text, r)
		case r.Verdict != plan.Approved && r.Verdict != plan.Rejected || r.Verdict == plan.Approved && failed:
			t.Fatalf("%q approves %s with %d, failed %v", text, r.TaskID, r.Score, r.FailedMust())
		}
		seen[r.TaskID] = r.Verdict
	}
	for _, x := range v.Verdicts {
		switch blamed := x.Cause == CauseTest; {
		case !blamed && seen[x.TaskID] != x.Verdict:
			t.Fatalf("%q says %s of %s, and its review %q", text, x.Verdict, x.TaskID, seen[x.TaskID])
		case blamed && (seen[x.TaskID] != "" || seen["TEST-1"] != plan.Rejected):
			t.Fatalf("%q blames a test that is not rejected", text)
		}
	}
	for _, q := range asks {
		if seen[q.TaskID] != plan.Rejected {
			t.Fatalf("%q asks about %s, which is not rejected", text, q.TaskID)
		}
	}
}

// verdictSeeds are verdicts that take effect, each with the state that they are held against.
func verdictSeeds(t testing.TB) (texts []string, all []Judging) {
	change := `"suggestions": [{"priority": "HIGH", "text": "more"}],`
	rubric := &plan.Rubric{Scale: 10, Dimensions: map[string]float64{"depth": 3, "form": 1}, Pass: 70, Veto: 20}
	rated := func(id string) string { return one(id, "v1", "APPROVED", `"ratings": {"depth": 8, "form": null},`) }
	broken := judged(t, nil)
	broken.Ran["DEV-1"] = []plan.CriterionResult{{ID: "RUN", Severity: plan.Must, Result: plan.ResultFail}}
	plainly, dev := judged(t, nil), one("DEV-1", "v1", "REJECTED", change+`"score": 40,`)
	test := one("TEST-1", "v1", "APPROVED", "")
	return []string{
		verdictsOf("milestone", test, one("DEV-1", "v1", "APPROVED", `"score": 80,`)),
		verdictsOf("milestone", rated("TEST-1"), rated("DEV-1")),
		verdictsOf("single", test, dev),
		verdictsOf("milestone", one("TEST-1", "v1", "REJECTED", change), one("DEV-1", "v1", "REJECTED", change+`"cause": "test",`)),
		verdictsOf("milestone", test, one("DEV-1", "v1", "REJECTED", change+`"cause": "request",`)),
	}, []Judging{plainly, judged(t, rubric), broken, plainly, plainly}
}

// TestMutatedVerdicts tries 10,000 replies that are nearly right.
func TestMutatedVerdicts(t *testing.T) {
	texts, all := verdictSeeds(t)
	words := []string{`"APPROVED"`, `"REJECTED"`, `"TEST-1"`, `"DEV-1"`, `"SIDE-1"`, `"REVIEW-1"`, `"v2"`, `"cause":"test",`, `"score":100,`,
		`"ratings":{"depth":10,"form":10},`, `"excluded":[{"task_id":"DEV-1","reason":"x"}],`, "true", "false", "partial", "null", "1e9", "-1", "{", "]",
		`"status":"VERIFIED",`, "\x00", "\u202e", `"\ud800"`}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 10_000 {
		n := i % len(texts)
		takes(t, all[n], []byte(mutate(r, texts[n], words)))
	}
	for i, text := range texts {
		if v, broken := ReadVerdicts([]byte(text)); len(broken) > 0 || len(all[i].Findings(v)) > 0 {
			t.Errorf("nothing is shown by changes of %s: %v %v", text, broken, all[i].Findings(v))
		}
	}
}

func FuzzReadVerdicts(f *testing.F) {
	texts, all := verdictSeeds(f)
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, j := range all {
			takes(t, j, text)
		}
	})
}
