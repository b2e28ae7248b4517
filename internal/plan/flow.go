package plan

import (
	"slices"
	"strings"
)

// What a workflow adds to a plan (docs/workflows.md). A plan that has any of it is of version 2 of the format.

// Workflow names the file that a plan is made from. The file itself is an input of PLAN-1.
type Workflow struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	OID     OID    `json:"oid"` // of the file
}

// Role is a part that an agent or a person takes: of a task's maker, or of a reviewer. A CHECK's reviewers may be
// roles.
type Role struct {
	Text   string   `json:"text"`
	Kind   string   `json:"kind,omitempty"`   // roleOrchestrator, roleReadOnly or nothing
	Thread string   `json:"thread,omitempty"` // threadRole or nothing
	Notes  []string `json:"notes,omitempty"`  // the categories of notes that it is shown
	Agent  string   `json:"agent,omitempty"`  // who takes it, where that agent is set up
}

// What a Role may be. By default it writes, and each task has a conversation of its own.
const (
	roleOrchestrator = "orchestrator" // decides from what it is shown; gets no repository and no shell
	roleReadOnly     = "read-only"    // judges, and changes nothing
	threadRole       = "role"         // its tasks go on in one conversation
)

// Decides reports whether the role decides from what it is shown alone: it gets no repository and no shell.
func (r Role) Decides() bool { return r.Kind == roleOrchestrator }

// ReadOnly reports whether the role judges and changes nothing.
func (r Role) ReadOnly() bool { return r.Kind == roleReadOnly }

// OneThread reports whether all tasks of the role go on in one conversation.
func (r Role) OneThread() bool { return r.Thread == threadRole }

// HasRole reports whether the plan has a role of the name.
func (p *Plan) HasRole(name string) bool {
	_, ok := p.Roles[name]
	return ok
}

// Agree is how the verdicts of several reviewers, the seats, make one.
type Agree struct {
	Approvals int `json:"approvals"`      // at least so many seats approve,
	Mean      int `json:"mean,omitempty"` // and the mean of the scores is at least this
	Veto      int `json:"veto,omitempty"` // a seat's score at or below it rejects; 0: none does
}

// Rubric is what a score is computed from: ratings from 0 to Scale in each dimension, weighted, or counts of findings.
type Rubric struct {
	Scale      int                `json:"scale,omitempty"`
	Dimensions map[string]float64 `json:"dimensions,omitempty"` // weights by name; only their ratios count
	Deductions map[string]float64 `json:"deductions,omitempty"` // instead: points that a finding of a class costs
	Limits     map[string]int     `json:"limits,omitempty"`     // more findings of a class reject
	Pass       int                `json:"pass"`                 // the least score, 0 to 100
	Clear      int                `json:"clear,omitempty"`      // approved below it is approved with concerns
	// a dimension at or below so many per cent of Scale rejects; 0: none does
	Veto int `json:"veto,omitempty"`
}

// Judges says that a task's deliverable is verdicts on the newest approved versions of other tasks.
type Judges struct {
	Tasks []TaskID `json:"tasks"` // a GOAL stands for all of its leaves
	// when it may leave out tasks that are blocked: for so many decisions, with so many others done
	Partial *struct {
		BlockedRounds int `json:"blocked_rounds"`
		Done          int `json:"done"`
	} `json:"partial,omitempty"`
}

// Decides says that a task's versions are decisions: orders to tasks of some roles, questions, amendments, the end.
type Decides struct {
	Orders []string `json:"orders"` // roles; their tasks are held until they are ordered
	Max    int      `json:"max"`    // acts
}

// consults says that the maker of a task may ask roles, whose agents answer.
type consults struct {
	Roles []string `json:"roles"`
	Max   int      `json:"max"` // answers since the task's last reset; what it asks then goes to a person
}

// Advisers are the roles that the maker of the task may ask.
func (t *Task) Advisers() []string {
	if t == nil || t.Consults == nil {
		return nil
	}
	return t.Consults.Roles
}

// Fill says which part of a workflow a planning task renders below its GOAL.
type Fill struct {
	Section string         `json:"section"`         // JSON Pointer of the node in the file
	Env     map[string]any `json:"env,omitempty"`   // the names around it
	Round   int            `json:"round,omitempty"` // of a repeated node
}

// What a CHECK does when its rounds are used up. By default a person is asked.
const (
	onExhaustedAccept = "accept"
	onExhaustedDrop   = "drop"
)

// The names of roles and of what acts of a plan's own.
const (
	ReviewerVerdicts = "verdict-review"  // the built-in review of a judge's verdicts
	ReviewerDecision = "decision-review" // the built-in review of a decision
	reviewerAccepted = "accepted"        // a version is taken as it is, because its rounds are used up
	reviewerOvertook = "overtaken"       // an act no longer holds; counts towards no limit
)

// needsVersion2 reports whether the task has a field that only version 2 of the format has.
func (t *Task) needsVersion2() bool {
	if t.Role != "" || t.Follows != nil || len(t.OrderOnly) > 0 || t.Judges != nil || t.Decides != nil ||
		t.Closes != "" || t.Fill != nil || t.FillTargetTaskID != "" || t.Consults != nil || t.Jobs != 0 ||
		t.MaxRounds != 0 || t.OnExhausted != "" || t.Agree != nil || t.Rubric != nil ||
		t.FinalDeliverableSpec != nil && t.FinalDeliverableSpec.DeliverAccepted ||
		slices.ContainsFunc(t.Requires, func(r Requirement) bool { return len(r.Options) > 0 }) {
		return true
	}
	return slices.ContainsFunc(t.AcceptanceCriteria, func(c Criterion) bool {
		_, _, version := c.method()
		return version > 1 || c.Schema != nil || c.File != ""
	})
}

// linkRecord ties a version to a version of another task.
type linkRecord struct {
	Version int
	Task    TaskID
	Of      int // the other task's version
}

// addLink reads "<task id>-v<version>".
func (t *TaskRecords) addLink(to *[]linkRecord, version int, name string) bool {
	at := strings.LastIndex(name, "-v")
	if at < 0 {
		return false
	}
	link := linkRecord{version, TaskID(name[:at]), VersionNumber(name[at+1:])}
	return link.Task.Valid() && link.Of > 0 && appendRecord(to, link)
}

// name is the last part of the record's name.
func (l linkRecord) name() string { return string(l.Task) + "-" + VersionID(l.Of) }

// The forms of names below artifacts/, by their places in the table.
const (
	formFrom = 2
	formMode = 3
)

// The modes of a review that an order asks for, apart from the usual one.
const (
	modePartial     = "partial"     // without the tasks that are blocked, or wait for one that is
	modeInvestigate = "investigate" // who is at fault: reads rejected versions, too, and judges nothing
)

func isMode(word string) bool { return word == modePartial || word == modeInvestigate }

// modeRecord says under which mode a version was made.
type modeRecord struct {
	Version int
	Mode    string
}

// The kinds of act.
const (
	actVerdicts = "verdicts"
	actOrder    = "order"
	actAsk      = "ask"
	actFinish   = "finish"
)

func isAct(kind string) bool {
	return slices.Contains([]string{actVerdicts, actOrder, actAsk, actFinish}, kind)
}

// actRecord says that an approved version of a task that judges or decides has taken effect. Attempts up to Attempt no
// longer count.
type actRecord struct {
	Version int
	Attempt int
	Kind    string
}

// Path is where the record is, below the task's directory.
func (a actRecord) Path() string {
	return recordPath("acts", false, 0, values{n: a.Version, attempt: a.Attempt, word: a.Kind})
}

func (a actRecord) number() int { return a.Version }

// orderRecord says that a decision has ordered work on a task, which had so many versions and attempts then.
type orderRecord struct {
	N        int
	Decision int // the version of the deciding task
	Versions int
	Attempts int
	Mode     string // of a judge; "" is the usual one
}

// Path is where the record is, below the task's directory.
func (o orderRecord) Path() string {
	form := 0
	if o.Mode != "" {
		form = 1
	}
	return recordPath("orders", false, form,
		values{n: o.N, decision: o.Decision, before: o.Versions, attempt: o.Attempts,
			word: o.Mode})
}

func (o orderRecord) number() int { return o.N }
