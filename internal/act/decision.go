package act

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
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

// decisionLine is an example of a valid document.
const decisionLine = `{"next_agent":"dev","task_id":"DEV-1","reason":"the tests are there","history_append":` +
	`"## Iteration 2:\nnext_agent: dev\nreason: the tests are there\ndev_plan: unchanged",` +
	`"task":"Make the tests pass.","dev_plan_next":null}`

// ReadDecision parses a document: one JSON object on one line, and nothing else. If there are findings,
// all of rule D1, the decision is empty.
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
	var d Decision
	var fs plan.Findings
	for _, said := range readDocument(line, parsedDecision, &d) {
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

// DevPlan returns the text of the amended plan, nil if the plan stays as it is.
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

// ByRule is the name that decisions by rule go by.
const ByRule = "policy"

// Policy decides by rule, without an agent: finish if everything is verified; have a concern
// investigated or what is DONE judged; else order the first task that can be worked on; ask the user
// after three equal failures. It is pure and keeps the rules; ok is false if nothing can be decided.
func (d Deciding) Policy() (x Decision, ok bool) {
	for _, x := range d.candidates() {
		if len(d.Findings(x)) == 0 {
			return x, true
		}
	}
	return Decision{}, false
}

// candidates are the decisions that may be right, the best first.
func (d Deciding) candidates() []Decision {
	all := []Decision{d.decision(NextFinish, "everything is verified or abandoned", "")}
	if len(d.Concerns) > 0 {
		all = nil
		c := d.Concerns[0]
		why := fmt.Sprintf("%s has a concern about %s: %s", c.By, c.About, c.Text)
		for _, judge := range d.State.JudgesOf(c.About) {
			all = append(all, d.orderFor(judge, modeInvestigate, "Find out who is at fault. "+why))
		}
		return append(all, d.askUser(why, "The maker of one task finds fault with another. How shall it go on?"))
	}
	for _, judge := range d.dueJudges() {
		all = append(all, d.orderFor(judge, "milestone", "Review the whole milestone."))
	}
	held := d.State.Held(d.Decider)
	for _, id := range held {
		if d.State.Tasks[id].Judges == nil {
			all = append(all, d.orderFor(id, "", d.orderText(id)))
		}
	}
	for _, id := range held {
		if t := d.State.Tasks[id]; t.Judges != nil {
			all = append(all, d.orderFor(id, "milestone", "Review the whole milestone."),
				d.orderFor(id, modePartial, "Review what is done, and leave out what is blocked."))
		}
	}
	for _, id := range held {
		const thrice = 3
		if f := d.Failures[id]; f.Times >= thrice && !d.State.Settled(d.Decider, id, id) &&
			!blocks(d.State.Tasks[id].Status) {
			all = append(all, d.askUser(d.failureText(id), string(id)+" fails again and again. How shall it go on?"))
		}
	}
	return all
}

// failureText says what a task failed and how often.
func (d Deciding) failureText(id plan.TaskID) string {
	f := d.Failures[id]
	return fmt.Sprintf("%s failed %s %d times in a row", id, strings.Join(f.Criteria, ", "), f.Times)
}

// orderText is the text of an order.
func (d Deciding) orderText(id plan.TaskID) string {
	t := d.State.Tasks[id]
	if t.Active > 0 {
		return fmt.Sprintf("Make %s again, %q: mend what was found in %s.", id, t.Title, plan.VersionID(t.Active))
	}
	return fmt.Sprintf("Make %s, %q.", id, t.Title)
}

func (d Deciding) orderFor(id plan.TaskID, mode, text string) Decision {
	t := d.State.Tasks[id]
	if t == nil {
		return Decision{}
	}
	x := d.decision(t.Role, "it is the first task that can be worked on", d.Failures[id].cause(d.failureText(id)))
	if t.Judges != nil {
		x.Mode, x.Reason = mode, text
	}
	x.TaskID, x.Task = id, text
	return x
}

// cause returns the root cause line that a second equal failure needs, else "".
func (f Failure) cause(said string) string {
	if f.Times < 2 {
		return ""
	}
	return "\nroot_cause_analysis: " + said
}

func (d Deciding) askUser(reason, text string) Decision {
	x := d.decision(NextUser, reason, "")
	x.DecisionTitle, x.Question = fmt.Sprintf("Decision %d", d.Version), text+"\n"+reason
	x.Options = []plan.Option{
		{OptionID: "again", Description: "Try it once more"},
		{OptionID: "change", Description: "I change the plan or the task (git wf plan --edit), or hand in a " +
			"version (git wf submit)"},
	}
	x.RecommendedOptionID = "change"
	return x
}

func (d Deciding) decision(next, reason, more string) Decision {
	reason = strings.Join(strings.Fields(reason), " ")
	return Decision{NextAgent: next, Reason: reason, HistoryAppend: fmt.Sprintf(
		"## Iteration %d:\nnext_agent: %s\nreason: %s\ndev_plan: unchanged%s", d.Version, next, reason, more)}
}
