package act

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"strings"
	"sync"

	"gitwf/internal/plan"
	"gitwf/internal/schema"
)

// The values of next_agent that are no role.
const (
	NextUser   = "USER"   // the user is asked
	NextFinish = "FINISH" // nothing is left to decide
)

// The modes of an order to a judge that the format knows by name. The others are the usual one.
const (
	modePartial     = "partial"
	modeInvestigate = "investigate"
	modeSingle      = "single"
)

// Decision is what a task that decides hands in: the document decision.json.
type Decision struct {
	NextAgent     string          `json:"next_agent"` // a role, NextUser or NextFinish
	TaskID        plan.TaskID     `json:"task_id,omitempty"`
	Mode          string          `json:"mode,omitempty"` // of an order to a judge
	Reason        string          `json:"reason"`
	HistoryAppend string          `json:"history_append"`
	Task          string          `json:"task"` // the order's text
	DevPlanNext   json.RawMessage `json:"dev_plan_next,omitempty"`
	Answers       []Given         `json:"answers,omitempty"`

	DecisionTitle       string        `json:"decision_title,omitempty"`
	Question            string        `json:"question,omitempty"`
	Options             []plan.Option `json:"options,omitempty"`
	RecommendedOptionID string        `json:"recommended_option_id,omitempty"`
}

// Given is an answer to a task's question.
type Given struct {
	TaskID     plan.TaskID `json:"task_id"`
	QuestionID string      `json:"question_id"`
	Text       string      `json:"text"`
}

//go:embed decision.schema.json
var decisionSchema []byte

var parsedDecision = sync.OnceValues(func() (*schema.Schema, error) { return schema.Parse(decisionSchema) })

// decisionLine would pass as a document.
const decisionLine = `{"next_agent":"dev","task_id":"DEV-1","reason":"the tests are there","history_append":` +
	`"## Iteration 2:\nnext_agent: dev\nreason: the tests are there\ndev_plan: unchanged",` +
	`"task":"Make the tests pass.","dev_plan_next":null}`

// ReadDecision reads a document: one JSON object on one line, with nothing before or after it. Its findings, of rule
// D1, say what is wrong with it; then it says nothing.
func ReadDecision(data []byte) (Decision, plan.Findings) {
	d1 := func(path, message string) plan.Finding {
		return plan.Finding{Code: "D1", Path: path, Message: message,
			Expected: "one JSON object on one line, with the fields of a decision, and " +
				"nothing else", Example: decisionLine}
	}
	line := bytes.TrimSuffix(data, []byte("\n"))
	if len(line) == 0 || line[0] != '{' || line[len(line)-1] != '}' || bytes.ContainsAny(line, "\r\n") {
		return Decision{}, plan.Findings{d1("", "is not one JSON object on one line")}
	}
	whole, err := parsedDecision()
	if err != nil {
		return Decision{}, plan.Findings{d1("", err.Error())}
	}
	var d Decision
	var fs plan.Findings
	for _, said := range readDocument(line, whole, &d) {
		path, message, ok := strings.Cut(said, ": ")
		if !ok || path == "the document" || strings.Contains(path, " ") {
			path, message = "", said
		}
		fs = append(fs, d1(path, message))
	}
	if len(fs) > 0 {
		return Decision{}, fs.Capped()
	}
	return d, nil
}

// Line is the document on one line.
func (d Decision) Line() []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return nil // its only raw part was JSON when it was read
	}
	return b.Bytes()
}

// DevPlan is the text of the plan as it shall be from now on, nil if it stays.
func (d Decision) DevPlan() []byte {
	switch raw := bytes.TrimSpace(d.DevPlanNext); {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return nil
	case raw[0] == '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil
		}
		return []byte(text)
	default:
		return raw
	}
}
