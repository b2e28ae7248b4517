package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const eventYAML = `title: Events
config: {max_attempts: 2, max_lost: 2}
tasks:
  - task_id: IMPL-1
    title: First
    estimated_person_days: 1
    deliverable_spec: {filename: a.md}
    acceptance_criteria: [{id: A1, statement: a.md has 3 lines, run: test -s a.md}, {id: A2, statement: a.md names 2 sources, severity: SHOULD}]
  - task_id: IMPL-2
    title: Second
    estimated_person_days: 1
    depends_on: [IMPL-1]
    deliverable_spec: {filename: b.md}
    acceptance_criteria: [{id: A1, statement: b.md has 3 lines, run: test -s b.md}]
  - task_id: IMPL-3
    title: Third
    estimated_person_days: 1
    requires: [{name: logo}]
    deliverable_spec: {filename: c.md}
    acceptance_criteria: [{id: A1, statement: c.md has 3 lines, run: test -s c.md}]
  - task_id: CHECK-IMPL-1
    node_type: CHECK
    title: Review
    review_target_task_id: IMPL-1
    reviewers: [ann, bob]
  - task_id: CHECK-IMPL-2
    node_type: CHECK
    title: Review
    review_target_task_id: IMPL-2
    reviewers: [checks]
`

const otherTree = OID("2222222222222222222222222222222222222222")

// stateWith derives a state of the plan of eventYAML; records are "<task> <name>".
func stateWith(t *testing.T, records ...string) *State {
	t.Helper()
	p, err := Parse("events.yaml", []byte(eventYAML))
	if err != nil {
		t.Fatal(err)
	}
	p.PlanID = "WFS-events"
	lists := map[TaskID][]string{}
	for _, r := range records {
		id, name, _ := strings.Cut(r, " ")
		lists[TaskID(id)] = append(lists[TaskID(id)], name)
		switch {
		case strings.HasSuffix(name, ".md"):
			lists[TaskID(id)] = append(lists[TaskID(id)], name[:strings.LastIndexByte(name, '/')]+"/review.json")
		case strings.HasSuffix(name, "/files"):
			lists[TaskID(id)] = append(lists[TaskID(id)], strings.TrimSuffix(name, "files")+"artifact.json")
		}
	}
	all := Records{Tasks: map[TaskID]*TaskRecords{}}
	for id, list := range lists {
		all.Tasks[id] = ParseTaskRecords(namesOf(strings.Join(list, "\n")))
		if f := all.Tasks[id].Foreign; len(f) > 0 {
			t.Fatalf("foreign: %v", f)
		}
	}
	return Derive(p, all, nil, noon)
}

const (
	v1of1      = "IMPL-1 artifacts/v1/files"
	approved1  = "IMPL-1 reviews/r1-v1-100-ann/APPROVED.md"
	rejected1  = "IMPL-1 reviews/r1-v1-40-ann/REJECTED.md"
	treeOfAll  = OID("1111111111111111111111111111111111111111")
	reviewText = "# Review\n"
)

func goodReview(s *State) AddReview {
	t := s.Tasks["IMPL-1"]
	return AddReview{
		Review: Review{
			TaskID: "IMPL-1", ReviewedArtifactID: "v1", Tree: treeOfAll, Verdict: Approved, Score: 90, Reviewer: "ann",
			SpecHash: t.SpecHash(),
			Criteria: []CriterionResult{{ID: "A1", Severity: Must, Result: ResultPass},
				{ID: "A2", Severity: Should, Result: ResultFail}},
		},
		Artifact: Artifact{Tree: treeOfAll, Session: "s1"},
		Render:   func(Review) []byte { return []byte(reviewText) },
	}
}

// change applies a change to a good review.
func change(f func(*AddReview)) func(*State) Event {
	return func(s *State) Event {
		e := goodReview(s)
		f(&e)
		return e
	}
}

func version(a Artifact) func(*State) Event {
	return func(*State) Event { return NewVersion{Artifact: a} }
}

func TestRefusals(t *testing.T) {
	first := Artifact{TaskID: "IMPL-1", Tree: treeOfAll, Agent: "exec"}
	second := Artifact{TaskID: "IMPL-2", Tree: treeOfAll, Agent: "exec"}
	reviewable := []string{v1of1}
	blocked := []string{"IMPL-1 attempts/a1-error.json", "IMPL-1 attempts/a2-noop.json"}
	tests := []struct {
		name    string
		records []string
		event   func(*State) Event
		want    string
	}{
		{"version of nothing", nil, version(Artifact{TaskID: "IMPL-9"}), "IMPL-9: no such task in WFS-events"},
		{"version of a goal", nil, version(Artifact{TaskID: "GOAL-1"}), "GOAL-1: is a GOAL, not an ACTION"},
		{"version of a check", nil, version(Artifact{TaskID: "CHECK-IMPL-1"}), "CHECK-IMPL-1: is a CHECK, not an ACTION"},
		{"version of what is done", []string{v1of1, approved1}, version(first), "IMPL-1: is done with v1"},
		{"version of what is abandoned", []string{"IMPL-1 marks/0001-abandoned.json"}, version(first),
			"IMPL-1: is abandoned"},
		{"version without an input from outside", nil, version(Artifact{TaskID: "IMPL-3"}),
			"IMPL-3: waits for input: logo (0/1)"},
		{"version with an open question", []string{"IMPL-1 questions/q1.json"}, version(first),
			"IMPL-1: waits for input: question q1 is not answered"},
		{"version after too many attempts", blocked, version(first), "IMPL-1: 2 attempts without a result"},
		{"version after too many lost attempts", []string{"IMPL-1 attempts/a1-lost.json", "IMPL-1 attempts/a2-lost.json"},
			version(first), "IMPL-1: 2 workers in a row did not come back"},
		{"version after too many rejections", []string{v1of1, rejected1, "IMPL-1 artifacts/v2/files",
			"IMPL-1 reviews/r2-v2-40-bob/REJECTED.md"}, version(first), "IMPL-1: 2 versions rejected"},
		{"version before its dependency", nil, version(second), "IMPL-2: waits for IMPL-1"},
		{"version before its dependency is approved", []string{v1of1}, version(second), "IMPL-2: waits for IMPL-1"},
		{"redone while its dependency is rejected", []string{v1of1, rejected1, "IMPL-2 artifacts/v1/files",
			"IMPL-2 reviews/r1-v1-40-checks/REJECTED.md"}, version(second), "IMPL-2: v1 was rejected, waits for IMPL-1"},
		{"version from an older input", []string{v1of1, approved1},
			version(Artifact{TaskID: "IMPL-2", Inputs: []Input{{"IMPL-1", "v1", otherTree}}}),
			"IMPL-2: its input IMPL-1 v1 is no longer the approved version"},

		{"review of nothing", reviewable, change(func(e *AddReview) {
			e.Review.TaskID = "IMPL-9"
		}), "IMPL-9: no such task in WFS-events"},
		{"review of no version", reviewable, change(func(e *AddReview) {
			e.Review.ReviewedArtifactID = "v2"
		}), `IMPL-1: has no version "v2" to review`},
		{"review of a version spelt otherwise", reviewable, change(func(e *AddReview) {
			e.Review.ReviewedArtifactID = "v01"
		}), `IMPL-1: has no version "v01" to review`},
		{"review of what is abandoned", []string{v1of1, "IMPL-1 marks/0001-abandoned.json"}, change(func(*AddReview) {}),
			"IMPL-1: is abandoned"},
		{"review of another tree", reviewable, change(func(e *AddReview) {
			e.Review.Tree = otherTree
		}), "IMPL-1: v1 is " + string(treeOfAll) + ", but " + string(otherTree) + " was judged"},
		{"review by a stranger", reviewable, change(func(e *AddReview) {
			e.Review.Reviewer = "eve"
		}), "IMPL-1: eve is not among its reviewers (ann, bob)"},
		{"review by the session that made it", reviewable, change(func(e *AddReview) {
			e.Review.Session = "s1"
		}), "IMPL-1: the session that made v1 can't review it"},
		{"review by other criteria", reviewable, change(func(e *AddReview) {
			e.Review.SpecHash = "x"
		}), "IMPL-1: its criteria changed while it was reviewed"},
		{"review without a verdict", reviewable, change(func(e *AddReview) {
			e.Review.Verdict = ""
		}), `IMPL-1: a review by ann with verdict "" and score 90 is none`},
		{"score out of range", reviewable, change(func(e *AddReview) {
			e.Review.Score = 101
		}), "IMPL-1: a review by ann with verdict \"APPROVED\" and score 101 is none"},
		{"approval below the least score", reviewable, change(func(e *AddReview) {
			e.Review.Score = 89
		}), "IMPL-1: can't be approved with score 89: at least 90 is needed"},
		{"approval with a failed MUST", reviewable, change(func(e *AddReview) {
			e.Review.Criteria[0].Result = ResultFail
		}), "IMPL-1: can't be approved: A1 not passed"},
		{"approval with a MUST that nobody judged", reviewable, change(func(e *AddReview) {
			e.Review.Criteria[0].Result = ResultNotJudged
		}), "IMPL-1: can't be approved: A1 not passed"},
		{"a criterion left out", reviewable, change(func(e *AddReview) {
			e.Review.Criteria = e.Review.Criteria[:1]
		}), "IMPL-1: criterion A2 has no result"},
		{"a criterion twice", reviewable, change(func(e *AddReview) {
			e.Review.Criteria = append(e.Review.Criteria, e.Review.Criteria[0])
		}), "IMPL-1: 3 results for 2 criteria"},
		{"a MUST passed off as a SHOULD", reviewable, change(func(e *AddReview) {
			e.Review.Criteria[0].Severity = Should
		}), "IMPL-1: criterion A1 has no result"},

		{"check of no version", nil, func(*State) Event {
			return AddCheck{Checked: Checked{TaskID: "IMPL-1", ReviewedArtifactID: "v1", Tree: treeOfAll}}
		}, "IMPL-1: v1 is not the version that was checked"},
		{"check of another tree", reviewable, func(*State) Event {
			return AddCheck{Checked: Checked{TaskID: "IMPL-1", ReviewedArtifactID: "v1", Tree: otherTree}}
		}, "IMPL-1: v1 is not the version that was checked"},
		{"attempt at nothing", nil, func(*State) Event {
			return AddAttempt{Attempt: Attempt{TaskID: "IMPL-9", Kind: AttemptNoop}}
		}, "IMPL-9: no such task in WFS-events"},
		{"attempt at a goal", nil, func(*State) Event {
			return AddAttempt{Attempt: Attempt{TaskID: "GOAL-1", Kind: AttemptNoop}}
		}, "GOAL-1: no such task in WFS-events"},
		{"attempt of no kind", nil, func(*State) Event {
			return AddAttempt{Attempt: Attempt{TaskID: "IMPL-1", Kind: "x"}}
		}, `IMPL-1: "x" is no kind of attempt`},
		{"attempt to review nothing", nil, func(*State) Event {
			return AddAttempt{Attempt: Attempt{TaskID: "CHECK-IMPL-1", Kind: AttemptLost}}
		}, `CHECK-IMPL-1: IMPL-1 has no version "" to review`},
		{"failed attempt with a version", reviewable, func(*State) Event {
			return AddAttempt{Attempt: Attempt{TaskID: "IMPL-1", Kind: AttemptLost}, Version: 1}
		}, "IMPL-1: an attempt that made v1 is no failed one"},
		{"retry of nothing", nil, func(*State) Event {
			return Retry{Task: "IMPL-9"}
		}, "IMPL-9: no such ACTION in WFS-events"},
		{"retry of what is ready", nil, func(*State) Event {
			return Retry{Task: "IMPL-1"}
		}, "IMPL-1: is ready; only a task that used up its attempts can be retried"},
		{"retry of what awaits review", reviewable, func(*State) Event {
			return Retry{Task: "CHECK-IMPL-1"}
		}, "CHECK-IMPL-1: is awaiting review; only a task that used up its attempts can be retried"},
		{"graft of a task that makes no plan", []string{v1of1, approved1}, func(*State) Event {
			return GraftPlan{Task: "IMPL-1", Version: 1}
		}, "IMPL-1: makes no plan"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stateWith(t, tt.records...)
			c, err := Decide(tt.event(s), s)
			var refused *RefusedError
			if !errors.As(err, &refused) || err.Error() != tt.want {
				t.Errorf("refused with %q, want %q", fmt.Sprint(err), tt.want)
			}
			if !isZeroChange(c) {
				t.Errorf("changes %+v", c)
			}
		})
	}
}

func TestRefusalHintsAtRetry(t *testing.T) {
	s := stateWith(t, "IMPL-1 attempts/a1-error.json", "IMPL-1 attempts/a2-noop.json")
	_, err := NewVersion{Artifact: Artifact{TaskID: "IMPL-1"}}.Apply(s)
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Hint != "git wf retry IMPL-1" {
		t.Errorf("refused with %v and hint %q", err, refused.Hint)
	}
}

func TestGraftRefusals(t *testing.T) {
	candidate, err := Parse("events.yaml", []byte(eventYAML))
	if err != nil {
		t.Fatal(err)
	}
	bootstrap := Bootstrap("WFS-events", candidate, Planner{Agent: AgentManual, File: "plan.yaml"})
	records := func(names string) Records {
		return Records{Tasks: map[TaskID]*TaskRecords{PlanTaskID: ParseTaskRecords(namesOf(names))}}
	}
	const v1 = "artifacts/v1/artifact.json\nartifacts/v1/files"
	const approved = v1 + "\nreviews/r1-v1-100-plan-review/APPROVED.md\nreviews/r1-v1-100-plan-review/review.json"
	grafted, err := bootstrap.Merged(PlanTaskID, candidate, 1)
	if err != nil {
		t.Fatal(err)
	}
	stray := *candidate
	stray.Tasks = append([]*Task{{TaskID: "PLAN-7", NodeType: Action}}, candidate.Tasks...)
	tests := []struct {
		name    string
		plan    *Plan
		records string
		event   GraftPlan
		want    string
	}{
		{"not reviewed", bootstrap, v1, GraftPlan{Task: PlanTaskID, Version: 1, Plan: candidate},
			"PLAN-1: v1 is not approved"},
		{"another version", bootstrap, approved, GraftPlan{Task: PlanTaskID, Version: 2, Plan: candidate},
			"PLAN-1: v2 is not approved"},
		{"twice", grafted, approved, GraftPlan{Task: PlanTaskID, Version: 1, Plan: candidate},
			"PLAN-1: is already part of the plan"},
		{"ids of planning tasks", bootstrap, approved, GraftPlan{Task: PlanTaskID, Version: 1, Plan: &stray},
			"tasks[0].task_id: PLAN-7: ids that begin with PLAN- belong to the tasks that make plans (expected another prefix; found PLAN-7; for example task_id: IMPL-1)"},
		{"unknown task", bootstrap, approved, GraftPlan{Task: "PLAN-2", Version: 1, Plan: candidate},
			"PLAN-2: no such task in WFS-events"},
		{"approved", bootstrap, approved, GraftPlan{Task: PlanTaskID, Version: 1, Plan: candidate}, "<nil>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Decide(tt.event, Derive(tt.plan, records(tt.records), nil, noon))
			if fmt.Sprint(err) != tt.want {
				t.Errorf("refused with %q, want %q", fmt.Sprint(err), tt.want)
			}
			if (err == nil) != (c.Plan != nil) {
				t.Errorf("changes %+v", c)
			}
		})
	}
	if p := PlanTaskID.CheckID(); grafted.Task(p).ParentTaskID != grafted.RootTaskID || grafted.PlanID != "WFS-events" {
		t.Error("the planning tasks do not hang below the new root")
	}
}

// A plan whose deliverables need two reviewers is itself reviewed by the one that plans have.
func TestQuorumIsNotForThePlan(t *testing.T) {
	p := Bootstrap("WFS-events", &Plan{Title: "x", Config: Config{Quorum: 2}},
		Planner{Agent: AgentManual, File: "plan.yaml"})
	if q := Derive(p, Records{}, nil, noon).Quorum(PlanTaskID); q != 1 {
		t.Errorf("quorum %d", q)
	}
}

func TestBeginRefusesAnExistingPlan(t *testing.T) {
	s := stateWith(t)
	if _, err := (Begin{Plan: s.Plan}).Apply(s); fmt.Sprint(err) != "plan WFS-events exists already" {
		t.Error(err)
	}
}

// What an event adds: paths, subject and trailers are part of the format.
func TestChanges(t *testing.T) {
	dir := TaskID("IMPL-1").Dir()
	blocked := []string{v1of1, rejected1, "IMPL-1 attempts/a1-error.json", "IMPL-1 attempts/a2-noop.json"}
	handIn := func(*State) Event {
		return NewVersion{Artifact: Artifact{TaskID: "IMPL-1", Tree: otherTree, Agent: "ann"}, ByPerson: true}
	}
	ask := func(*State) Event {
		return Ask{AddAttempt{Attempt: Attempt{TaskID: "IMPL-1", Kind: AttemptNeedsInput, Agent: "claude"}},
			[]Question{{Question: "Which?"}, {Question: "When?"}}}
	}
	logo := InputDocument{Name: "my logo", FileName: "logo.svg", Tree: otherTree}
	tests := []struct {
		name    string
		records []string
		event   func(*State) Event
		subject string
		paths   string
		trailer string
	}{
		{"first version", nil, version(Artifact{TaskID: "IMPL-1", Tree: otherTree, Agent: "exec"}), "IMPL-1: v1 by exec",
			"artifacts/v1/artifact.json artifacts/v1/files", "Wf-Event=artifact Wf-Task=IMPL-1 Wf-Artifact=v1 Wf-Agent=exec"},
		{"hand-in after too many attempts", blocked, handIn, "IMPL-1: v2 by ann",
			"artifacts/v2/artifact.json artifacts/v2/files resets/s1-a2-r1.json",
			"Wf-Event=artifact Wf-Task=IMPL-1 Wf-Artifact=v2 Wf-Agent=ann"},
		{"version after lost attempts", []string{v1of1, rejected1, "IMPL-1 attempts/a1-error.json",
			"IMPL-1 attempts/a2-lost.json"},
			version(Artifact{TaskID: "IMPL-1", Tree: otherTree, Agent: "exec"}), "IMPL-1: v2 by exec",
			"artifacts/v2/artifact.json artifacts/v2/files resets/s1-a2-r0.json",
			"Wf-Event=artifact Wf-Task=IMPL-1 Wf-Artifact=v2 Wf-Agent=exec"},
		{"hand-in after a rejection", []string{v1of1, rejected1}, handIn, "IMPL-1: v2 by ann",
			"artifacts/v2/artifact.json artifacts/v2/files resets/s1-a0-r1.json",
			"Wf-Event=artifact Wf-Task=IMPL-1 Wf-Artifact=v2 Wf-Agent=ann"},
		{"hand-in at first", nil, handIn, "IMPL-1: v1 by ann",
			"artifacts/v1/artifact.json artifacts/v1/files", "Wf-Event=artifact Wf-Task=IMPL-1 Wf-Artifact=v1 Wf-Agent=ann"},
		{"approval", []string{v1of1}, change(func(*AddReview) {}), "IMPL-1: approve v1 (score 90)",
			"reviews/r1-v1-90-ann/APPROVED.md reviews/r1-v1-90-ann/review.json",
			"Wf-Event=review Wf-Task=IMPL-1 Wf-Artifact=v1 Wf-Review=r1 Wf-Verdict=APPROVED Wf-Score=90 Wf-Agent=ann"},
		{"rejection by another", []string{v1of1, approved1}, change(func(e *AddReview) {
			e.Review.Reviewer, e.Review.Verdict, e.Review.Score = "bob", Rejected, 10
		}),
			"IMPL-1: reject v1 (score 10)", "reviews/r2-v1-10-bob/REJECTED.md reviews/r2-v1-10-bob/review.json",
			"Wf-Event=review Wf-Task=IMPL-1 Wf-Artifact=v1 Wf-Review=r2 Wf-Verdict=REJECTED Wf-Score=10 Wf-Agent=bob"},
		{"failed attempt", nil, func(*State) Event {
			return AddAttempt{Attempt: Attempt{TaskID: "IMPL-1", Kind: AttemptError, Agent: "exec"}, Log: []byte("x")}
		}, "IMPL-1: attempt a1: failed", "attempts/a1-error.json attempts/a1.log",
			"Wf-Event=attempt Wf-Task=IMPL-1 Wf-Agent=exec"},
		{"failed attempt to review", []string{v1of1}, func(*State) Event {
			return AddAttempt{Attempt: Attempt{TaskID: "CHECK-IMPL-1", Kind: AttemptLost, Agent: "checks"}, Version: 1}
		}, "CHECK-IMPL-1: attempt a1: lost", "attempts/a1-v1-lost.json",
			"Wf-Event=attempt Wf-Task=CHECK-IMPL-1 Wf-Agent=checks"},
		{"retry", blocked, func(*State) Event {
			return Retry{Task: "IMPL-1"}
		}, "IMPL-1: retry", "resets/s1-a2-r1.json", "Wf-Event=retry Wf-Task=IMPL-1"},
		{"retry after rejections", []string{v1of1, rejected1, "IMPL-1 artifacts/v2/files",
			"IMPL-1 reviews/r2-v2-40-bob/REJECTED.md"},
			func(*State) Event {
				return Retry{Task: "CHECK-IMPL-1"}
			}, "IMPL-1: retry", "resets/s1-a0-r2.json", "Wf-Event=retry Wf-Task=IMPL-1"},
		{"check", []string{v1of1}, func(*State) Event {
			return AddCheck{Checked: Checked{TaskID: "IMPL-1", ReviewedArtifactID: "v1", Tree: treeOfAll,
				Criteria: []CriterionResult{{Result: ResultFail}, {Result: ResultPass}}}}
		}, "IMPL-1: ran 2 checks on v1, 1 failed", "checks/k1-v1.json",
			"Wf-Event=check Wf-Task=IMPL-1 Wf-Artifact=v1 Wf-Agent=checks"},
		{"questions", []string{"IMPL-1 questions/q1.json", "IMPL-1 answers/q1.json"}, ask, "IMPL-1: asks 2 questions",
			"attempts/a1-needs_input.json questions/q2.json questions/q3.json",
			"Wf-Event=question Wf-Task=IMPL-1 Wf-Agent=claude"},
		{"answer with a file", []string{"IMPL-1 questions/q1.json", "IMPL-1 inputs/my%20logo/1.json"}, func(*State) Event {
			return AnswerQuestion{Task: "IMPL-1", Number: 1, Question: Question{Kind: AskFile}, Files: []InputDocument{logo}}
		}, "IMPL-1: q1 answered", "inputs/my%20logo/2.json inputs/my%20logo/2/files answers/q1.json",
			"Wf-Event=answer Wf-Task=IMPL-1"},
		{"inputs", nil, func(*State) Event {
			return HandIn{Task: "IMPL-1", Files: []InputDocument{logo, logo}}
		}, "IMPL-1: 2 files handed in for my logo",
			"inputs/my%20logo/1.json inputs/my%20logo/1/files inputs/my%20logo/2.json inputs/my%20logo/2/files",
			"Wf-Event=input Wf-Task=IMPL-1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stateWith(t, tt.records...)
			c, err := tt.event(s).Apply(s)
			if err != nil {
				t.Fatal(err)
			}
			var paths, trailers []string
			for _, a := range c.Add {
				paths = append(paths, strings.TrimPrefix(a.Path, dir+"/"))
			}
			for _, x := range c.Trailers {
				trailers = append(trailers, x.Key+"="+x.Value)
			}
			if c.Subject != tt.subject || strings.Join(paths, " ") != tt.paths || strings.Join(trailers, " ") != tt.trailer {
				t.Errorf("got %q, %q, %q", c.Subject, paths, trailers)
			}
		})
	}
}

// A role answers what it is asked, with one of the options that there are, and nothing that a person is asked.
func TestRoleAnswers(t *testing.T) {
	s := stateWith(t, "IMPL-1 questions/q1.json")
	for _, tt := range []struct {
		name string
		q    Question
		a    Answer
		want string
	}{
		{"what it is asked", Question{Kind: AskText, To: "architect"}, Answer{Text: "Yes."}, ""},
		{"what a person is asked", Question{Kind: AskText}, Answer{Text: "Yes."}, "q1 does not ask architect"},
		{"what another role is asked", Question{Kind: AskText, To: "security"}, Answer{Text: "Yes."},
			"q1 does not ask architect"},
		{"another option", Question{Kind: AskChoice, To: "architect", Options: []Option{{OptionID: "a"}}},
			Answer{OptionID: "b"}, "q1 wants one of the options [a]"},
		{"a file", Question{Kind: AskFile, To: "architect"}, Answer{Text: "Yes."}, "q1 asks for a file"},
	} {
		tt.a.Role, tt.a.By = "architect", "claude"
		c, err := AnswerQuestion{Task: "IMPL-1", Number: 1, Question: tt.q, Answer: tt.a}.Apply(s)
		if tt.want == "" && (err != nil || !strings.Contains(string(c.Add[0].Data), `"role": "architect"`)) ||
			tt.want != "" && (err == nil || err.Error() != "IMPL-1: "+tt.want) {
			t.Errorf("%s: %v, %v", tt.name, err, c.Add)
		}
	}
	asks := Ask{Attempt: AddAttempt{Attempt: Attempt{TaskID: "IMPL-1", Kind: AttemptNeedsInput}},
		Questions: []Question{{Name: "a", Question: "b?", To: "architect"}, {Name: "c", Question: "d?"}}}
	c, err := asks.Apply(stateWith(t, "IMPL-1 attempts/a1-error.json"))
	if err != nil || !strings.Contains(string(c.Add[1].Data), `"attempt": 2`) ||
		strings.Contains(string(c.Add[2].Data), `"attempt"`) {
		t.Errorf("a question to a role names the attempt that asks it: %v, %v", err, c.Add)
	}
}

func TestMayReview(t *testing.T) {
	tests := []struct {
		name      string
		reviewers []string
		manual    bool
		may, not  string
	}{
		{"nobody in particular", nil, false, "ann checks", ""},
		{"names", []string{"ann", "bob"}, false, "ann bob", "checks eve"},
		{"the engine alone", []string{ReviewerChecks}, false, "checks", "ann"},
		{"the engine alone, where a person must judge", []string{ReviewerChecks}, true, "checks ann", ""},
		{"any person", []string{ReviewerPerson}, false, "ann eve", "checks"},
		{"the plan's review", []string{ReviewerPlan}, true, "plan-review", "ann checks"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := Criterion{ID: "A1", Run: "true"}
			if tt.manual {
				c.Run = ""
			}
			s := Derive(&Plan{Tasks: []*Task{
				{TaskID: "A-1", NodeType: Action, AcceptanceCriteria: []Criterion{c}},
				{TaskID: "C-1", NodeType: Check, ReviewTargetTaskID: "A-1", Reviewers: tt.reviewers},
			}}, Records{}, nil, noon)
			for _, name := range strings.Fields(tt.may) {
				if !s.MayReview("A-1", name) {
					t.Errorf("%s may not review", name)
				}
			}
			for _, name := range strings.Fields(tt.not) {
				if s.MayReview("A-1", name) {
					t.Errorf("%s may review", name)
				}
			}
		})
	}
}

// A dependency on a GOAL is one on what is made below it, once, planning and abandoned tasks apart.
func TestInputs(t *testing.T) {
	plan := &DeliverableSpec{Format: FormatPlan}
	s := Derive(&Plan{RootTaskID: "G-1", Tasks: []*Task{
		{TaskID: "G-1", NodeType: Goal}, {TaskID: "G-2", NodeType: Goal, ParentTaskID: "G-1"},
		{TaskID: "G-3", NodeType: Goal, ParentTaskID: "G-2"},
		{TaskID: "A-1", NodeType: Action, ParentTaskID: "G-3"}, {TaskID: "A-2", NodeType: Action, ParentTaskID: "G-2"},
		{TaskID: "A-3", NodeType: Action, ParentTaskID: "G-2"}, {TaskID: "PLAN-1", NodeType: Action, ParentTaskID: "G-2",
			DeliverableSpec: plan},
		{TaskID: "Z-1", NodeType: Action, ParentTaskID: "G-1", DependsOn: []TaskID{"A-2", "G-2"}},
	}}, Records{Tasks: map[TaskID]*TaskRecords{"A-3": ParseTaskRecords(namesOf("marks/0001-abandoned.json"))}}, nil, noon)
	if got := fmt.Sprint(s.Inputs("Z-1")); got != "[A-2 A-1]" {
		t.Errorf("inputs %s", got)
	}
	if ts := s.Tasks["Z-1"]; ts.Status != StatusPending || s.Reason(ts) != "waits for A-2, G-2" {
		t.Errorf("%s: %s", ts.Status, s.Reason(ts))
	}
}

// A stored plan may come from anywhere, and nobody has validated it when its state is derived.
func TestDeriveHostilePlans(t *testing.T) {
	plans := map[string]*Plan{
		"nothing": {},
		"goals in a circle": {RootTaskID: "G-1", Tasks: []*Task{{TaskID: "G-1", NodeType: Goal, ParentTaskID: "G-2"},
			{TaskID: "G-2", NodeType: Goal, ParentTaskID: "G-1"}, {TaskID: "A-1", NodeType: Action,
				DependsOn: []TaskID{"G-1"}}}},
		"its own parent": {RootTaskID: "G-1", Tasks: []*Task{{TaskID: "G-1", NodeType: Goal, ParentTaskID: "G-1"}}},
		"tasks in a circle": {Tasks: []*Task{{TaskID: "A-1", NodeType: Action, DependsOn: []TaskID{"A-2"}},
			{TaskID: "A-2", NodeType: Action, DependsOn: []TaskID{"A-1"}}}},
		"two tasks, one id": {Tasks: []*Task{{TaskID: "A-1", NodeType: Action},
			{TaskID: "A-1", NodeType: Check, ReviewTargetTaskID: "A-1"}}},
		"check of nothing":   {Tasks: []*Task{{TaskID: "C-1", NodeType: Check, ReviewTargetTaskID: "A-9"}}},
		"depends on nothing": {Tasks: []*Task{{TaskID: "A-1", NodeType: Action, DependsOn: []TaskID{"A-9"}}}},
		"assembled by no one": {RootTaskID: "G-1", Tasks: []*Task{{TaskID: "G-1", NodeType: Goal,
			FinalDeliverableSpec: &FinalDeliverableSpec{Mode: Assemble, AssembleTaskID: "A-9"}}}},
	}
	for name, p := range plans {
		s := Derive(p, Records{}, nil, noon)
		for id, ts := range s.Tasks {
			if ts.Status == StatusDone {
				t.Errorf("%s: %s is DONE", name, id)
			}
			s.Inputs(id)
			s.NextReviewStep(id)
		}
		s.Ready()
		s.Ungrafted()
	}
}

// Decide is the state's, for tests that derive the state where they ask.
func Decide(ev Event, s *State) (Change, error) { return s.Decide(ev) }

// What is taken as it is, because its rounds are used up, is nobody's verdict, though a judge rejected it.
func TestTakeHasNoJudge(t *testing.T) {
	r := Review{ReviewID: "r3", Reviewer: "CHALLENGE-1", Verdict: Rejected, Score: 75, Cause: "implementation"}
	r.Judged("CHALLENGE-1", 2)
	got := r.Take(time.Time{})
	if got.JudgedBy != nil || got.Cause != "" || got.Score != 75 || !got.Taken() ||
		!strings.Contains(got.Reason, "CHALLENGE-1 rejected it (r3)") {
		t.Errorf("taken is %+v", got)
	}
}
