package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The JSON documents of the records, as docs/format.md specifies them. Times are UTC, in whole seconds.

// FileInfo is one file of an artifact or a bundle.
type FileInfo struct {
	Path   string `json:"path"`
	Mode   string `json:"mode"` // as git writes it: 100644, 100755 or 120000
	OID    OID    `json:"oid"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"` // bytes
}

// Input is an approved version that an attempt was given.
type Input struct {
	TaskID     TaskID `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
	Tree       OID    `json:"tree"`
}

// Artifact is the content of artifact.json: who made a version, when, and from what.
type Artifact struct {
	TaskID       TaskID     `json:"task_id"`
	ArtifactID   string     `json:"artifact_id"`
	Tree         OID        `json:"tree"` // the files/ tree, the version's identity
	Agent        string     `json:"agent"`
	Session      string     `json:"session,omitempty"` // of the agent; a person has none
	CreatedAt    time.Time  `json:"created_at"`
	SourceCommit OID        `json:"source_commit,omitempty"` // HEAD of the repository when the attempt began
	Inputs       []Input    `json:"inputs"`
	Files        []FileInfo `json:"files"`
	Size         int64      `json:"size"` // bytes, all files
	DurationMS   int64      `json:"duration_ms"`
	Summary      string     `json:"summary,omitempty"`
	Output       string     `json:"output,omitempty"`   // the end of what its run line printed
	Concerns     []Note     `json:"concerns,omitempty"` // about other tasks
	// the agent's own name for the conversation, to go on with for the next version
	Thread      string     `json:"thread,omitempty"`
	Usage       *Usage     `json:"usage,omitempty"`
	Preparation []Prepared `json:"preparation,omitempty"` // what ran before the agent did
	Rules       []string   `json:"rules,omitempty"`       // that its maker was told: RULE-1@ and the hash
	Base        *Base      `json:"base,omitempty"`        // of a change
}

// Base is what a change begins with. The trees a and b of the version say what it changes.
type Base struct {
	Commit OID `json:"commit"` // of the branch
	Tree   OID `json:"tree"`   // the commit's, with the approved changes that the task builds on
	After  OID `json:"after"`  // that tree with this change
}

// Usage is what an agent says that its work took. Zero is unknown.
type Usage struct {
	Model        string  `json:"model,omitempty"`
	InputTokens  int64   `json:"input_tokens,omitempty"`
	CachedTokens int64   `json:"cached_tokens,omitempty"` // of the input tokens
	OutputTokens int64   `json:"output_tokens,omitempty"`
	CostUSD      float64 `json:"cost_usd,omitempty"`
}

// The results that a criterion can have in a review.
const (
	ResultPass      = "pass"
	ResultFail      = "fail"
	ResultWaived    = "waived"
	ResultNotJudged = "not_judged" // a rejection need not judge everything
)

// CriterionResult is the verdict on one criterion, with what it rests on.
type CriterionResult struct {
	ID         string `json:"id"`
	Statement  string `json:"statement"`
	Severity   string `json:"severity"`
	Result     string `json:"result"`
	Evidence   string `json:"evidence,omitempty"`
	By         string `json:"by"`                  // the reviewer, or "checks" for what the engine ran
	ExitCode   *int   `json:"exit_code,omitempty"` // of the run line
	DurationMS int64  `json:"duration_ms,omitempty"`
}

// NewResult is the result of a criterion.
func (c Criterion) NewResult(by, result, evidence string) CriterionResult {
	return CriterionResult{ID: c.ID, Statement: c.Statement, Severity: c.Severity, Result: result,
		Evidence: evidence, By: by}
}

// Demand asks for a criterion that failed to hold: first what was seen, from the first line of a command's output.
func (c CriterionResult) Demand() string {
	demand := fmt.Sprintf("Make %s hold: %s", c.ID, c.Statement)
	if first, _, _ := strings.Cut(strings.TrimSpace(c.Evidence), "\n"); c.ExitCode != nil && first != "" {
		return fmt.Sprintf("%.200s. %s", strings.TrimSuffix(first, "."), demand)
	}
	return demand
}

// Results are those of the task's criteria, in its order: what the engine ran, else what somebody rules of a criterion
// that no command decides. A nil function rules nothing, and so does "": then the criterion is not judged.
func (t *Task) Results(ran []CriterionResult, by string,
	rule func(c Criterion) (result, evidence string)) []CriterionResult {
	results := make([]CriterionResult, 0, len(t.AcceptanceCriteria))
	for _, c := range t.AcceptanceCriteria {
		if i := slices.IndexFunc(ran, func(r CriterionResult) bool { return r.ID == c.ID }); i >= 0 {
			results = append(results, ran[i])
			continue
		}
		result, evidence := "", ""
		if rule != nil && c.Manual() {
			result, evidence = rule(c)
		}
		results = append(results, c.NewResult(by, cmp.Or(result, ResultNotJudged), evidence))
	}
	return results
}

// Passed reports whether the criterion passed or was waived.
func (c CriterionResult) Passed() bool { return c.Result == ResultPass || c.Result == ResultWaived }

// Suggestion is something that a reviewer wants changed.
type Suggestion struct {
	Priority string `json:"priority"` // HIGH, MED or LOW
	Text     string `json:"text"`
}

// Review is the content of review.json: one reviewer's verdict on one version.
type Review struct {
	ReviewID           string  `json:"review_id"`
	TaskID             TaskID  `json:"task_id"`
	CheckTaskID        TaskID  `json:"check_task_id"`
	ReviewedArtifactID string  `json:"reviewed_artifact_id"`
	Tree               OID     `json:"tree"` // what was judged
	Verdict            Verdict `json:"verdict"`
	Score              int     `json:"score"` // 0 to 100
	MinScore           int     `json:"min_score"`
	Reviewer           string  `json:"reviewer"`
	// whom the reviewer speaks for, and who has no part in the verdict
	For          string            `json:"for,omitempty"`
	Agent        string            `json:"agent,omitempty"` // who spoke, where the reviewer is a role
	Session      string            `json:"session,omitempty"`
	SelfReviewed bool              `json:"self_reviewed,omitempty"`
	Throwaway    bool              `json:"throwaway,omitempty"` // anybody passes for a person in its repository
	CreatedAt    time.Time         `json:"created_at"`
	JudgedBy     *versionRef       `json:"judged_by,omitempty"` // the verdicts that it is one of
	Cause        string            `json:"cause,omitempty"`     // of a judge's rejection
	Criteria     []CriterionResult `json:"criteria"`
	Ratings      Ratings           `json:"ratings,omitempty"`
	Rubric       *Rubric           `json:"rubric,omitempty"` // that the score is computed by
	Reason       string            `json:"reason,omitempty"`
	Suggestions  []Suggestion      `json:"suggestions,omitempty"`
	CheckID      string            `json:"check_id,omitempty"` // the record of what the engine ran, when it is cited
	SpecHash     string            `json:"spec_hash"`          // of the spec and criteria judged by
	Usage        *Usage            `json:"usage,omitempty"`
}

// versionRef names a version of a task.
type versionRef struct {
	TaskID     TaskID `json:"task_id"`
	ArtifactID string `json:"artifact_id"`
}

// Judged says that the review is one of the verdicts in a version of a judge.
func (r *Review) Judged(judge TaskID, version int) {
	r.JudgedBy = &versionRef{judge, VersionID(version)}
}

// actDocument is the content of acts/vN-aA-KIND.json: what a version did when it took effect.
type actDocument struct {
	SchemaVersion int       `json:"schema_version"`
	TaskID        TaskID    `json:"task_id"`
	ArtifactID    string    `json:"artifact_id"`
	Kind          string    `json:"kind"`
	Wrote         []string  `json:"wrote"` // every path of the commit
	By            string    `json:"by"`
	CreatedAt     time.Time `json:"created_at"`
}

// By is who spoke: the reviewer or, where that is a role, whoever took its seat. What rests on who somebody is, and
// not on the seat, goes by this name: four eyes, the policy's reviewers and quorum, signatures.
func (r Review) By() string { return cmp.Or(r.Agent, r.Reviewer) }

// Who is the reviewer for people to read, with whoever spoke in a seat.
func (r Review) Who() string {
	if r.Agent == "" {
		return r.Reviewer
	}
	return r.Reviewer + " (" + r.Agent + ")"
}

// Checked is the content of checks/kN-vM.json: what the engine ran on a version while the rest of the review waits.
type Checked struct {
	CheckID            string            `json:"check_id"`
	TaskID             TaskID            `json:"task_id"`
	ReviewedArtifactID string            `json:"reviewed_artifact_id"`
	Tree               OID               `json:"tree"`
	CreatedAt          time.Time         `json:"created_at"`
	Criteria           []CriterionResult `json:"criteria"`
	SpecHash           string            `json:"spec_hash"`
}

// Attempt is the content of attempts/aN-KIND.json: an attempt that left no artifact, or no review.
type Attempt struct {
	AttemptID  string    `json:"attempt_id"`
	TaskID     TaskID    `json:"task_id"` // the ACTION, or its CHECK
	Kind       string    `json:"kind"`
	Agent      string    `json:"agent"`
	Session    string    `json:"session,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	DurationMS int64     `json:"duration_ms"`
	ExitCode   int       `json:"exit_code"`
	Message    string    `json:"message"`
	Concerns   []Note    `json:"concerns,omitempty"` // about other tasks
	Thread     string    `json:"thread,omitempty"`
	Usage      *Usage    `json:"usage,omitempty"`

	Preparation []Prepared `json:"preparation,omitempty"` // what ran before the agent did, or instead of it
	Rules       []string   `json:"rules,omitempty"`       // that the agent was told: RULE-1@ and the hash
}

// Prepared is the record of one step of a preparation, as an attempt ran it.
type Prepared struct {
	Step       string `json:"step"`
	Result     string `json:"result"`
	OutputTo   string `json:"output_to,omitempty"`
	Tries      int    `json:"tries,omitempty"`
	ExitCode   *int   `json:"exit_code,omitempty"` // of the last command line that ran
	DurationMS int64  `json:"duration_ms,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"`  // of the output, before it was shortened
	Output     string `json:"output,omitempty"` // fit to be shown; long ones without their middle
	Problem    string `json:"problem,omitempty"`
}

// Decision is the content of the small records that a person makes: resets and marks.
type Decision struct {
	By        string    `json:"by"`
	CreatedAt time.Time `json:"created_at"`
	Reason    string    `json:"reason,omitempty"`
}

func (d *Decision) says() said { return said{NoTask: true, By: d.By, At: d.CreatedAt} }

// SpecHash identifies what a version of the task is judged by: its deliverable spec and criteria. A review that names
// another hash was made by other rules.
func (t *Task) SpecHash() string {
	data, err := json.Marshal(struct {
		Spec     *DeliverableSpec `json:"deliverable_spec"`
		Criteria []Criterion      `json:"acceptance_criteria"`
	}{t.DeliverableSpec, t.AcceptanceCriteria})
	if err != nil {
		panic("plan: a spec of strings can't fail to marshal: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
