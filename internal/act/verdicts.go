package act

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

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

// Report is what the verdicts say, for who decides what follows from them.
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

// ReadVerdicts reads a document. Its findings say what is wrong with it; then it says nothing.
func ReadVerdicts(data []byte) (v Verdicts, findings []string) {
	whole, err := parsedVerdicts()
	if err != nil {
		return v, []string{err.Error()}
	}
	if findings = readDocument(data, whole, &v); len(findings) > 0 {
		return Verdicts{}, findings
	}
	return v, nil
}

// readDocument reads a document that keeps a schema.
func readDocument(data []byte, whole *schema.Schema, into any) (findings []string) {
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
