package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitwf/internal/each"
	"gitwf/internal/fault"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Subject is the version that a review is about, locked when the review begins.
type Subject struct {
	Task     *plan.Task
	Artifact plan.Artifact
	MinScore int
	Rubric   *plan.Rubric // that the score is computed by, nil if reviewers state it
}

// ByEngine makes a review of the engine's results alone, for when they cover every criterion or fail a
// MUST. The other criteria are recorded as not judged.
func ByEngine(s Subject, ran []plan.CriterionResult, session string, now time.Time) plan.Review {
	r := s.about(plan.Review{Reviewer: plan.ReviewerChecks, Session: session}, now)
	s.conclude(&r, s.Task.Results(ran, plan.ReviewerChecks, nil))
	if r.Verdict == plan.Rejected && s.Artifact.Output != "" {
		r.Reason += "\nIts run line ended with exit status 0, after it had printed:\n" + s.Artifact.Output
	}
	return r
}

// conclude puts results into a review, and what follows from them alone.
func (s Subject) conclude(r *plan.Review, results []plan.CriterionResult) {
	r.Criteria = results
	r.Score = plan.Score(results)
	r.Verdict = plan.Judge(results, r.Score, s.MinScore)
	r.Suggestions = suggestions(results)
	r.Reason = reason(*r, s.MinScore)
}

// Opinion is what a person says in a review.
type Opinion struct {
	Reviewer  string
	Agent     string // who speaks, where Reviewer is a role
	For       string // whom the reviewer speaks for; the review is the reviewer's all the same
	Verdict   plan.Verdict
	Score     *int              // nil: the score follows from the results
	Criteria  map[string]Ruling // by criterion id
	Ratings   plan.Ratings      // of a rubric's dimensions; the score follows from them
	Message   string
	SelfMade  bool   // the reviewer made the version
	CheckedBy string // id of the record of what the engine ran, "" if none
}

// Ruling is what somebody says of one criterion.
type Ruling struct {
	Result   string // plan.ResultPass, ResultFail or, where it is left open, ResultNotJudged
	Evidence string
}

// Fits returns an error for a ruling on a criterion that the task lacks, or that no person judges.
func (o Opinion) Fits(t *plan.Task) error {
	for _, id := range slices.Sorted(maps.Keys(o.Criteria)) {
		i := slices.IndexFunc(t.AcceptanceCriteria, func(c plan.Criterion) bool { return c.ID == id })
		if i < 0 {
			return fault.Usage("", "%s: has no criterion %q", t.TaskID, id)
		}
		if !t.AcceptanceCriteria[i].Manual() {
			return fault.Usage("", "%s: criterion %s is judged by its run line; a person can't rule on it",
				t.TaskID, id)
		}
	}
	return nil
}

// ByPerson joins what the engine ran and a person's opinion into a review. A person can't overrule the engine: a
// ruling on a criterion with a run line is an error. When a person approves, the criteria that they do not mention
// pass on their word; when they reject, those are not judged. A MUST that they leave open can't be approved, and a
// rejection says why.
func ByPerson(s Subject, ran []plan.CriterionResult, o Opinion, now time.Time) (plan.Review, error) {
	if err := o.Fits(s.Task); err != nil {
		return plan.Review{}, err
	}
	r := s.about(plan.Review{Reviewer: o.Reviewer, Agent: o.Agent, For: o.For}, now)
	r.Criteria = s.Task.Results(ran, o.Reviewer, func(c plan.Criterion) (result, evidence string) {
		ruling, ruled := o.Criteria[c.ID]
		if !ruled && o.Verdict == plan.Approved {
			return plan.ResultPass, plan.AsAWhole
		}
		return ruling.Result, ruling.Evidence
	})
	if err := o.complete(s.Task.TaskID, r.Criteria); err != nil {
		return plan.Review{}, err
	}
	r.Verdict, r.Reason, r.CheckID, r.SelfReviewed = o.Verdict, o.Message, o.CheckedBy, o.SelfMade
	r.Score = plan.Score(r.Criteria)
	if s.Rubric != nil {
		o.Score = nil // it follows from the ratings
	}
	if len(o.Ratings) > 0 || s.Rubric != nil && o.Verdict == plan.Approved {
		var err error
		if r.Score, err = s.rate(&r, o.Ratings); err != nil {
			hint := "leave --rating out"
			if s.Rubric != nil {
				hint = fmt.Sprintf("--rating NAME=NUMBER for each of %s: %s",
					plain.Line(strings.Join(s.Rubric.Names(), ", ")), s.Rubric.RatingForm("NAME=none"))
			}
			return plan.Review{}, fault.Usage(hint, "%s: %w", s.Task.TaskID, err)
		}
		o.Score = &r.Score
	}
	switch {
	case o.Score != nil:
		r.Score = *o.Score
	case o.Verdict == plan.Rejected:
		r.Score = 0 // a rejection without a number says that nothing of it can stay
		if len(r.FailedMust()) == 0 {
			r.Score = min(plan.Score(r.Criteria), max(s.MinScore-1, 0))
		}
	}
	r.Suggestions = suggestions(r.Criteria)
	if r.Reason == "" {
		r.Reason = reason(r, s.MinScore)
	}
	return r, nil
}

// complete refuses what nobody can learn from: an approval that leaves a MUST open, a rejection without a reason.
func (o Opinion) complete(task plan.TaskID, results []plan.CriterionResult) error {
	failed := false
	for _, r := range results {
		if failed = failed || r.Result == plan.ResultFail; r.Severity != plan.Must || o.Verdict != plan.Approved {
			continue
		}
		if o.Criteria[r.ID].Result == plan.ResultNotJudged && r.Result == plan.ResultNotJudged {
			return fault.Usage(fmt.Sprintf("git wf review %s --approve --criterion %s=pass:EVIDENCE, or "+
				"--reject -m WHY", task,
				r.ID), "%s: can't be approved while %s is not judged: it is a MUST", task, r.ID)
		}
	}
	if o.Verdict == plan.Rejected && o.Message == "" && !failed && len(o.Ratings) == 0 {
		return fault.Usage(fmt.Sprintf("git wf review %s --reject -m WHY, or --criterion ID=fail:EVIDENCE", task),
			"%s: a rejection says why: whoever makes it again has nothing else to go by", task)
	}
	return nil
}

// rate puts ratings into a review and returns the score that they give.
func (s Subject) rate(r *plan.Review, given plan.Ratings) (int, error) {
	if s.Rubric == nil {
		return 0, errors.New("its CHECK has no rubric, so nothing is rated")
	}
	r.Ratings, r.Rubric = given, s.Rubric
	return s.Rubric.Scored(given)
}

// about fills in what a review is about: the task, the version, its rules and the time.
func (s Subject) about(said plan.Review, now time.Time) plan.Review {
	said.TaskID, said.ReviewedArtifactID, said.Tree = s.Task.TaskID, s.Artifact.ArtifactID, s.Artifact.Tree
	said.MinScore, said.SpecHash, said.CreatedAt = s.MinScore, s.Task.SpecHash(), plan.Second(now)
	return said
}

// suggestions asks for a change for each criterion that failed.
func suggestions(results []plan.CriterionResult) []plan.Suggestion {
	var all []plan.Suggestion
	for _, r := range results {
		if r.Result != plan.ResultFail {
			continue
		}
		priority := "MED"
		if r.Severity == plan.Must {
			priority = "HIGH"
		}
		all = append(all, plan.Suggestion{Priority: priority, Text: r.Demand()})
	}
	return all
}

// reason says in a sentence why the verdict is what it is.
func reason(r plan.Review, minScore int) string {
	var failed, open []string
	for _, c := range r.Criteria {
		switch c.Result {
		case plan.ResultFail:
			failed = append(failed, c.ID)
		case plan.ResultNotJudged:
			open = append(open, c.ID)
		}
	}
	veto := r.Rubric.VetoText(r.Ratings)
	switch must := r.FailedMust(); {
	case r.Verdict == plan.Rejected && veto != "":
		return veto + "."
	case r.Verdict == plan.Approved && r.Rubric != nil && r.Score < r.Rubric.Clear:
		return fmt.Sprintf("Approved with concerns: score %d is below %d.", r.Score, r.Rubric.Clear)
	case r.Verdict == plan.Approved && len(r.AsAWhole()) > 0 && len(failed) == 0:
		return "Approved as a whole; " + plan.AsAWhole + ": " + strings.Join(r.AsAWhole(), ", ") + "."
	case r.Verdict == plan.Approved && len(failed) == 0 && len(open) > 0:
		return "What was judged passed; not judged: " + strings.Join(open, ", ") + "."
	case r.Verdict == plan.Approved && len(failed) == 0:
		return "Every criterion passed."
	case r.Verdict == plan.Approved:
		return fmt.Sprintf("Every MUST criterion passed; %d of %d criteria failed.", len(failed), len(r.Criteria))
	case len(failed) == 0 && r.Rubric != nil && len(r.Ratings) > 0 && r.Score < minScore:
		return fmt.Sprintf("Score %d is below %d.", r.Score, minScore)
	case len(failed) == 0:
		return "Rejected without a failed criterion."
	case len(must) == 0:
		return fmt.Sprintf("Score %d is below %d.", r.Score, minScore)
	default:
		return strings.Join(failed, ", ") + " failed."
	}
}

// ByAgent merges the engine's results and an agent's review. said has the agent's name, verdict, score,
// ratings, suggestions and reason; rulings are on the criteria that no run line judges: the engine alone
// judges the others. Approval of a version that fails a MUST or scores too little becomes a rejection. A
// criterion that the agent leaves out is not passed.
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

// refuse rejects a document that can't be used, so that its criteria can't be judged.
func (s Subject) refuse(r *plan.Review, why string, findings []string) {
	r.Verdict, r.Reason = plan.Rejected, why+":\n"+strings.Join(findings, "\n")
	r.Criteria = s.Task.Results(nil, r.Reviewer, nil)
}

// OfAct is the built-in review of a document that acts on other tasks, such as verdicts. by is the name
// of the review. Findings say why the document can't take effect. Without
// findings the manual criteria pass: what a sound document says is the judge's own.
func OfAct(s Subject, by string, ran []plan.CriterionResult, findings []string, now time.Time) plan.Review {
	r := s.about(plan.Review{Reviewer: by}, now)
	if len(findings) > 0 {
		s.refuse(&r, "It can't take effect", findings)
		return r
	}
	s.conclude(&r, s.Task.Results(ran, by, func(plan.Criterion) (result, evidence string) {
		return plan.ResultPass, "the document keeps every rule and names what is approved now"
	}))
	return r
}

// Excuse passes a judge's failed run lines if its verdicts reject a task, or approve none: the lines
// judge the tasks, not the judge. rejected names the tasks.
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

// OfPlan is the built-in review of a plan, the deliverable of a planning task. A candidate that breaks hard rules has
// findings instead of a plan: nothing else about it can be judged.
func OfPlan(s Subject, candidate *plan.Plan, findings plan.Findings, days plandoc.Days, now time.Time) plan.Review {
	r := s.about(plan.Review{Reviewer: plan.ReviewerPlan}, now)
	if len(findings) > 0 {
		texts := each.Of(findings, plan.Finding.Error)
		s.refuse(&r, "The plan breaks hard rules", texts)
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

// Again returns the review that sets an approved version aside, as a person wants it made again.
func Again(s Subject, person, reason string, now time.Time) plan.Review {
	r := s.about(plan.Review{}, now).Overtaken()
	r.For, r.Reason = person, reason
	r.Criteria = s.Task.Results(nil, r.Reviewer, nil)
	r.Suggestions = []plan.Suggestion{{Priority: "HIGH", Text: "Make it again, for what the task asks " +
		"and what the repository is now."}}
	return r
}
