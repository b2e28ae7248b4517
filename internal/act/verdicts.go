package act

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"gitwf/internal/document"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// Verdicts is what a task that judges others hands in: the document verdicts.json.
type Verdicts struct {
	Mode     string // of the round: milestone and single are usual ones, partial and investigate are ordered
	Verdicts []Verdict
	Excluded []Excluded
	Summary  string
}

// Verdict is what a judge says of one version.
type Verdict struct {
	TaskID      plan.TaskID  `json:"task_id"`
	ArtifactID  string       `json:"artifact_id"`
	Verdict     plan.Verdict `json:"verdict"`
	Score       *int         `json:"score"`   // counts only without a rubric; nil: it follows from the criteria
	Ratings     plan.Ratings `json:"ratings"` // of the rubric's dimensions
	Cause       string       `json:"cause"`   // of a rejection: "" is CauseImplementation
	Criteria    []Ruling     `json:"criteria"`
	Suggestions []plan.Suggestion
}

// Ruling is the verdict on one criterion.
type Ruling struct {
	ID       string
	Pass     bool
	Evidence string
}

// Excluded is a judged task that the judge says nothing of, and why.
type Excluded struct {
	TaskID plan.TaskID `json:"task_id"`
	Reason string
}

//go:embed verdicts.schema.json
var verdictsSchema []byte

var parsedVerdicts = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(verdictsSchema) })

// Report renders the verdicts for whoever decides what follows from them.
func (v Verdicts) Report() string {
	var b strings.Builder
	if v.Mode == "" {
		return "" // it was no such document
	}
	fmt.Fprintf(&b, "%s review: %s\n", v.Mode, v.Summary)
	for _, x := range v.Verdicts {
		fmt.Fprintf(&b, "- %s %s %s", x.TaskID, x.ArtifactID, x.Verdict)
		if x.Cause != "" {
			fmt.Fprintf(&b, ", cause %s", x.Cause)
		}
		b.WriteString("\n")
		for _, s := range x.Suggestions {
			fmt.Fprintf(&b, "  %s: %s\n", s.Priority, s.Text)
		}
	}
	for _, x := range v.Excluded {
		fmt.Fprintf(&b, "- %s left out: %s\n", x.TaskID, x.Reason)
	}
	return b.String()
}

// The limits of a document.
const (
	maxBytes  = 1 << 20
	maxDepth  = 16
	maxValues = 100_000
	maxFields = 1000
)

// ReadVerdicts parses a document. If there are findings, the verdicts are empty.
func ReadVerdicts(data []byte) (v Verdicts, findings []string) {
	if findings = readDocument(data, parsedVerdicts, &v); len(findings) > 0 {
		return Verdicts{}, findings
	}
	return v, nil
}

// readDocument reads a document that keeps a schema.
func readDocument(data []byte, parsed func() (*schema.Schema, error), into any) (findings []string) {
	whole, err := parsed()
	if err != nil {
		return []string{err.Error()}
	}
	if len(data) > maxBytes {
		return []string{fmt.Sprintf("has %d bytes; at most %d are read", len(data), maxBytes)}
	}
	reader := document.JSON{Limits: document.Limits{Depth: maxDepth, Values: maxValues, Fields: maxFields}}
	n, err := reader.Parse(string(data))
	if err != nil {
		return []string{"is no JSON document: " + plain.Line(err.Error())}
	}
	const most = 20
	for _, p := range whole.Check(n.Value(document.Exact)) {
		if len(findings) == most {
			return append(findings, "more does not fit")
		}
		findings = append(findings, describeProblem(p))
	}
	if len(findings) > 0 {
		return findings
	}
	if err := json.Unmarshal(data, into); err != nil {
		return []string{plain.Line(err.Error())}
	}
	return nil
}

// describeProblem says what does not fit the schema, and what would.
func describeProblem(p schema.Problem) string {
	at := "the document"
	if len(p.At) > 0 {
		at = plain.Line(strings.Join(p.At, "."))
	}
	switch p.Keyword {
	case schema.Required:
		return fmt.Sprintf("%s: lacks %s", at, strings.Join(p.Names, ", "))
	case schema.Additional:
		return fmt.Sprintf("%s: has the unknown field %s; known are %s", at, plain.Line(strings.Join(p.Names, ", ")),
			strings.Join(p.Schema.Fields(), ", "))
	}
	return fmt.Sprintf("%s: is %s, expected %s", at, p.Found(), p.Expected())
}

// The causes of a rejection. The first is the usual one.
const (
	CauseImplementation = "implementation" // the judged task is made anew
	CauseTest           = "test"           // a judged task that it depends on is
	CauseRequest        = "request"        // the user is asked, and it is made anew with the answer
)

// Judging is what a judge's verdicts are checked against: the plan's state and the engine's results.
type Judging struct {
	State   *plan.State
	Judge   plan.TaskID
	Version int // of the judge
	// run line results for each judged task's approved version; nobody overrules them
	Ran map[plan.TaskID][]plan.CriterionResult
}

// Findings says why the verdicts can't take effect, nothing if they can.
func (j Judging) Findings(v Verdicts) []string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	mode := j.State.Mode(j.Judge, j.Version)
	usual := v.Mode == "milestone" || v.Mode == "single"
	if mode == "" && !usual {
		add("mode is %s, which nobody ordered: expected milestone or single", v.Mode)
	}
	if mode != "" && v.Mode != mode {
		add("mode is %s, but %s was ordered", v.Mode, mode)
	}
	judged := j.State.Judged(j.Judge)
	seen := map[plan.TaskID]bool{}
	once := func(id plan.TaskID) bool {
		switch {
		case !slices.Contains(judged, id):
			add("%s: %s does not judge it, but %s", plain.Line(string(id)), j.Judge, plan.JoinIDs(judged))
		case seen[id]:
			add("%s: is named twice; each task has one verdict", id)
		default:
			seen[id] = true
			return true
		}
		return false
	}
	for _, x := range v.Verdicts {
		if once(x.TaskID) {
			for _, why := range j.verdictFindings(v, x) {
				add("%s: %s", x.TaskID, why)
			}
		}
	}
	for _, x := range v.Excluded {
		if once(x.TaskID) && mode == "" {
			add("%s: is left out, which only an ordered partial or investigating review may do", x.TaskID)
		}
	}
	for _, id := range judged {
		if !seen[id] {
			add("%s: has no verdict", id)
		}
	}
	return found
}

// Unanswered returns a finding for each approved task that an investigation leaves out: that would
// settle who is at fault without an answer. Older plans do so, so it applies to new verdicts alone.
func (j Judging) Unanswered(v Verdicts) (found []string) {
	for _, x := range v.Excluded {
		if t := j.State.Tasks[x.TaskID]; v.Mode == modeInvestigate && t != nil && t.Status == plan.StatusDone {
			found = append(found, fmt.Sprintf("%s: is left out of an investigation, but %s is approved: say of it "+
				"whether it is at fault", x.TaskID, plan.VersionID(t.Approved)))
		}
	}
	return found
}

// verdictFindings says what is wrong with one verdict.
func (j Judging) verdictFindings(v Verdicts, x Verdict) (found []string) {
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	t := j.State.Tasks[x.TaskID]
	if approved := plan.VersionID(t.Approved); t.Approved == 0 || x.ArtifactID != approved {
		add("judges %s, but the approved version is %s", x.ArtifactID, orNone(approved))
		return found
	}
	ruled := map[string]bool{}
	for _, c := range x.Criteria {
		switch {
		case !slices.ContainsFunc(t.AcceptanceCriteria, func(k plan.Criterion) bool { return k.ID == c.ID }):
			add("has no criterion %s", plain.Quote(c.ID))
		case ruled[c.ID]:
			add("criterion %s is judged twice", c.ID)
		}
		ruled[c.ID] = true
	}
	for _, c := range t.AcceptanceCriteria {
		if c.Manual() && !ruled[c.ID] {
			add("criterion %s is not judged", c.ID)
		}
	}
	score, err := j.scoreOf(x)
	if err != nil {
		add("%v", err)
	}
	if len(found) > 0 {
		return found
	}
	r := j.reviewOf(v, x, score)
	rubric := j.State.RubricOfJudge(j.Judge)
	failed := slices.ContainsFunc(r.Criteria, func(c plan.CriterionResult) bool { return c.Result == plan.ResultFail })
	switch rejects := x.Verdict == plan.Rejected; {
	case !rejects && len(r.FailedMust()) > 0:
		add("is approved, though %s did not pass", strings.Join(r.FailedMust(), ", "))
	case !rejects && score < r.MinScore:
		add("is approved with the score %d; at least %d is needed", score, r.MinScore)
	case !rejects && rubric.VetoText(x.Ratings) != "":
		add("is approved, though the ratings reject: %s", rubric.VetoText(x.Ratings))
	case !rejects && x.Cause != "":
		add("is approved, so there is no cause of a rejection")
	case rejects && !failed && len(x.Suggestions) == 0:
		add("is rejected without a failed criterion or a suggestion")
	case x.Cause == CauseTest && !j.blamesInput(v, x.TaskID):
		add("the cause is the test, and no judged task that it depends on is rejected: reject the one at fault, too")
	}
	return found
}

// blamesInput reports whether one of the judged tasks that a task depends on is rejected, too.
func (j Judging) blamesInput(v Verdicts, id plan.TaskID) bool {
	inputs := j.State.Inputs(id)
	return slices.ContainsFunc(v.Verdicts, func(x Verdict) bool {
		return x.Verdict == plan.Rejected && x.Cause != CauseTest && slices.Contains(inputs, x.TaskID)
	})
}

// scoreOf returns the rubric's score of the ratings or, without a rubric, the stated score or what the
// criteria leave.
func (j Judging) scoreOf(x Verdict) (int, error) {
	rubric := j.State.RubricOfJudge(j.Judge)
	results := j.criterionResults(x)
	switch {
	case rubric == nil && len(x.Ratings) > 0:
		return 0, fmt.Errorf("has ratings, but the CHECK of %s has no rubric", j.Judge)
	case rubric != nil && (len(x.Ratings) > 0 || x.Verdict == plan.Approved):
		return rubric.Scored(x.Ratings)
	case rubric == nil && x.Score != nil:
		return *x.Score, nil
	case x.Verdict == plan.Rejected && len(plan.Review{Criteria: results}.FailedMust()) == 0:
		return min(plan.Score(results), max(j.leastScore(x.TaskID)-1, 0)), nil
	}
	return plan.Score(results), nil
}

// leastScore is the score with which a version can be approved.
func (j Judging) leastScore(id plan.TaskID) int {
	if rubric := j.State.RubricOfJudge(j.Judge); rubric != nil {
		return rubric.Pass
	}
	return j.State.MinScore(id)
}

// criterionResults returns the results of a task's criteria, by its run lines and this judge alone.
func (j Judging) criterionResults(x Verdict) []plan.CriterionResult {
	t := j.State.Tasks[x.TaskID]
	ran := slices.DeleteFunc(slices.Clone(j.Ran[x.TaskID]), func(r plan.CriterionResult) bool {
		return slices.ContainsFunc(t.AcceptanceCriteria,
			func(c plan.Criterion) bool { return c.ID == r.ID && c.Manual() })
	})
	return t.Results(ran, string(j.Judge), func(c plan.Criterion) (result, evidence string) {
		for _, said := range x.Criteria {
			if said.ID == c.ID {
				result, evidence = plan.ResultFail, said.Evidence
				if said.Pass {
					result = plan.ResultPass
				}
			}
		}
		return result, evidence
	})
}

// reviewOf turns a verdict into a review.
func (j Judging) reviewOf(v Verdicts, x Verdict, score int) plan.Review {
	t := j.State.Tasks[x.TaskID]
	version, _ := j.State.Records.Of(x.TaskID).Version(t.Approved)
	r := plan.Review{
		TaskID: x.TaskID, ReviewedArtifactID: x.ArtifactID, Tree: version.Files, Verdict: x.Verdict, Score: score,
		MinScore: j.leastScore(x.TaskID), Reviewer: string(j.Judge), Criteria: j.criterionResults(x), Reason: v.Summary,
		Suggestions: x.Suggestions, SpecHash: t.SpecHash(), Cause: x.Cause,
	}
	r.Judged(j.Judge, j.Version)
	if r.Verdict == plan.Rejected && r.Cause == "" {
		r.Cause = CauseImplementation
	}
	if rubric := j.State.RubricOfJudge(j.Judge); rubric != nil && len(x.Ratings) > 0 {
		r.Ratings, r.Rubric = x.Ratings, rubric
	}
	return r
}

// Outcome returns the reviews and the questions to the user that verdicts without findings amount to. A
// task whose test is at fault gets no review: the test does, and the task is redone after it.
func (j Judging) Outcome(v Verdicts, by string, at time.Time) (reviews []plan.Review, asks []plan.Question) {
	for _, x := range v.Verdicts {
		if x.Cause == CauseTest {
			continue
		}
		score, err := j.scoreOf(x)
		if err != nil {
			continue // it has a finding
		}
		r := j.reviewOf(v, x, score)
		r.Agent, r.CreatedAt = by, plan.Second(at)
		reviews = append(reviews, r)
		if r.Cause == CauseRequest {
			text := fmt.Sprintf("%s finds a fault of the request in %s %s: %s", j.Judge, x.TaskID,
				x.ArtifactID, v.Summary)
			for _, s := range x.Suggestions {
				text += "\n- " + s.Text
			}
			asks = append(asks, plan.Question{TaskID: x.TaskID, Name: CauseRequest, Kind: plan.AskText, Question: text,
				By: string(j.Judge), CreatedAt: plan.Second(at)})
		}
	}
	return reviews, asks
}

func orNone(s string) string {
	if s == "" || s == "v0" {
		return "none"
	}
	return s
}
