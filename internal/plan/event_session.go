package plan

import (
	"fmt"
	"strings"
	"time"

	"gitwf/internal/fault"
	"gitwf/internal/plain"
)

// SessionError says that a plan takes nothing new, because it is paused or completed.
type SessionError struct {
	Plan   ID
	Status SessionStatus
}

func (e *SessionError) Error() string {
	if e.Status == SessionCompleted {
		return fmt.Sprintf("%s is completed: it is read, exported and verified, but nothing is added to it", e.Plan)
	}
	return fmt.Sprintf("%s is paused: no work begins in it", e.Plan)
}

// Exit has the command that lets work begin again.
func (e *SessionError) Exit() (int, string) {
	if e.Status == SessionCompleted {
		return fault.ExitRefused, fmt.Sprintf("git wf resume %s -m WHY opens it again", e.Plan)
	}
	return fault.ExitRefused, "git wf resume " + string(e.Plan)
}

// readOnly refuses to record anything in a plan with records that this program does not know: what it would decide
// could contradict them.
func (s *State) readOnly() error {
	if n := len(s.Records.Newer); n > 0 {
		return s.refuseSession(fmt.Sprintf("a newer git wf wrote %s of a kind that this one does not "+
			"know (%s): the plan can be read here, and nothing recorded in it",
			plain.Count(n, "record"), plain.Line(s.Records.Newer[0])), fault.UpgradeHint)
	}
	return nil
}

// MayBegin returns a *SessionError unless work may begin in the plan. Work that has begun may end.
func (s *State) MayBegin() error {
	if err := s.readOnly(); err != nil {
		return err
	}
	if status := s.SessionStatus(); status != SessionActive {
		return &SessionError{s.Plan.PlanID, status}
	}
	return nil
}

// repair is an event that changes no status, such as one that masks secrets.
type repair interface {
	Event
	Repairs()
}

// Admits returns a *SessionError if the plan's session does not allow the event. A completed plan
// allows only what reopens it and doctor's repairs. A paused one allows what was begun before and what
// a person decides, but no plan for more work.
func (s *State) Admits(ev Event) error {
	if err := s.readOnly(); err != nil {
		return err
	}
	switch ev.(type) {
	case Resume, repair:
		return nil
	case Pause, Complete:
		return nil // which say more exactly what is wrong
	case Replan:
		return s.MayBegin()
	}
	if s.SessionStatus() == SessionCompleted {
		return &SessionError{s.Plan.PlanID, SessionCompleted}
	}
	return nil
}

// Pause keeps new work from beginning in a plan.
type Pause struct {
	Decision Decision
	Author   Actor
}

// Apply is refused for a plan that is not active.
func (e Pause) Apply(s *State) (Change, error) {
	if status := s.SessionStatus(); status != SessionActive {
		return Change{}, s.refuseSession("is "+string(status)+" already", "git wf resume "+string(s.Plan.PlanID))
	}
	return s.sessionChange(eventPaused, "session: paused", Document(e.Decision), e.Decision, e.Author), nil
}

// Resume lets work begin again in a paused plan, or reopens a completed one.
type Resume struct {
	Decision Decision
	Author   Actor
}

// Apply is refused for a plan that is active, and without a reason for one that is completed.
func (e Resume) Apply(s *State) (Change, error) {
	subject := "session: resumed"
	switch s.SessionStatus() {
	case SessionActive:
		return Change{}, s.refuseSession("is active", "git wf run --plan "+string(s.Plan.PlanID))
	case SessionCompleted:
		if e.Decision.Reason == "" {
			return Change{}, s.refuseSession("is completed; opening it again needs a reason",
				fmt.Sprintf("git wf resume %s -m WHY", s.Plan.PlanID))
		}
		subject = "session: opened again"
	}
	return s.sessionChange(eventResumed, subject, Document(e.Decision), e.Decision, e.Author), nil
}

// Complete ends the work on a plan in which nothing is open, and records what it took and taught.
type Complete struct {
	Document  CompletionDocument
	Learnings []byte // of notes/NNNN-learnings.md
	Seen      int    // Records.Count of the records that the document was made from
	Author    Actor
}

// OpenError says what keeps a plan from being completed.
type OpenError struct {
	Plan ID
	Root TaskID
	Open []openWork
}

func (e *OpenError) Error() string {
	text := fmt.Sprintf("%s can't be completed, %s not finished:", e.Plan, plain.Count(len(e.Open), "task"))
	return text + "\n  " + strings.Join(plain.Some(e.Open, 20, func(w openWork) string {
		line := fmt.Sprintf("%s is %s", w.Task, w.Status)
		if w.Reason != "" {
			line += ": " + plain.Line(w.Reason)
		}
		if w.Command != "" {
			line += "; " + w.Command
		}
		return line
	}), "\n  ")
}

// Exit has what ends the plan all the same.
func (e *OpenError) Exit() (int, string) {
	return fault.ExitRefused,
		fmt.Sprintf("git wf abandon TASK -m WHY gives one of them up, git wf abandon %s -m WHY all that "+
			"is left", e.Root)
}

// Apply is refused with an *OpenError while anything is open, or if the document is not about the records as they are.
func (e Complete) Apply(s *State) (Change, error) {
	if s.SessionStatus() == SessionCompleted {
		return Change{}, s.refuseSession("is completed already", "git wf plans --all")
	}
	if open := s.Open(); len(open) > 0 {
		return Change{}, &OpenError{s.Plan.PlanID, s.Plan.RootTaskID, open}
	}
	if e.Seen != s.Records.Count() {
		return Change{}, s.refuseSession("has gone on while its metrics were collected", "git wf complete")
	}
	d := Decision{By: e.Document.By, CreatedAt: e.Document.CreatedAt, Reason: e.Document.Reason}
	m := e.Document.Metrics
	subject := fmt.Sprintf("session: completed, %s approved, %s", plain.Count(m.Approved, "task"),
		plain.Count(m.Rejections, "rejection"))
	c := s.sessionChange(eventCompleted, subject, Document(e.Document), d, e.Author)
	if len(e.Learnings) > 0 {
		c.Add = append(c.Add, s.addNotes([]Note{{Category: noteLearnings, Text: string(e.Learnings)}})...)
	}
	return c, nil
}

// sessionChange is the change that adds one record to the session.
func (s *State) sessionChange(kind, subject string, data []byte, d Decision, author Actor) Change {
	rec := sessionRecord{N: nextNumber(s.Records.Session), Kind: kind}
	return Change{
		Subject:  subject,
		Body:     d.Reason,
		Trailers: []Trailer{{"Wf-Event", kind}},
		Author:   author,
		Add:      []Entry{{Path: rec.path(), Data: data}},
	}
}

// refuseSession is a refusal that is about the plan as a whole.
func (s *State) refuseSession(reason, hint string) error {
	return &RefusedError{Task: TaskID(s.Plan.PlanID), Reason: reason, Hint: hint}
}

// Count is the number of records. Records are only ever added, so equal counts mean equal records.
func (r Records) Count() int {
	n := len(r.Session) + len(r.Notes)
	for _, t := range r.Tasks {
		n += len(t.Artifacts) + len(t.Reviews) + len(t.Checks) + len(t.Attempts) + len(t.Resets) + len(t.Questions) +
			len(t.Answers) + len(t.Waivers) + len(t.Marks) + len(t.Landings) + len(t.From) + len(t.Holds) +
			len(t.Acts) + len(t.Orders)
		for _, files := range t.Inputs {
			n += files
		}
	}
	return n
}

// CompletionDocument is the content of session/NNNN-completed.json: what the plan took.
type CompletionDocument struct {
	PlanID     ID         `json:"plan_id"`
	PlanType   string     `json:"plan_type,omitempty"`
	Complexity Complexity `json:"complexity"`
	Metrics    Metrics    `json:"metrics"`
	Tasks      []TaskCost `json:"tasks"` // in plan order
	By         string     `json:"by"`
	CreatedAt  time.Time  `json:"created_at"`
	Reason     string     `json:"reason,omitempty"`
}

// Metrics are what the work on a plan took, all tasks together.
type Metrics struct {
	Tasks       int       `json:"tasks"` // that make deliverables, abandoned ones too
	Approved    int       `json:"approved"`
	Abandoned   int       `json:"abandoned"`
	StartedAt   time.Time `json:"started_at"`   // the first event
	EndedAt     time.Time `json:"ended_at"`     // the last event before the plan was completed
	WallSeconds int64     `json:"wall_seconds"` // from the one to the other
	Effort
}

// TaskCost is what one task took, its CHECK with it.
type TaskCost struct {
	TaskID TaskID `json:"task_id"`
	Title  string `json:"title"`
	Status Status `json:"status"`
	Effort
}

// Effort is what can be counted of the work on a task.
type Effort struct {
	Versions      int     `json:"versions"`
	Rounds        int     `json:"rounds"`     // versions that were judged
	Rejections    int     `json:"rejections"` // reviews that rejected
	Reviews       int     `json:"reviews"`
	Attempts      int     `json:"attempts"` // that left no version, or no review
	Retries       int     `json:"retries"`
	Waivers       int     `json:"waivers"`
	WorkSeconds   float64 `json:"work_seconds"`   // of all attempts, as far as it was measured
	ReviewSeconds float64 `json:"review_seconds"` // from each version to the newest review of it
	InputTokens   int64   `json:"input_tokens"`
	CachedTokens  int64   `json:"cached_tokens"` // of the input tokens
	OutputTokens  int64   `json:"output_tokens"`
	CostUSD       float64 `json:"cost_usd"` // as far as it was reported
}

// Add adds up.
func (e *Effort) Add(o Effort) {
	e.Versions += o.Versions
	e.Rounds += o.Rounds
	e.Rejections += o.Rejections
	e.Reviews += o.Reviews
	e.Attempts += o.Attempts
	e.Retries += o.Retries
	e.Waivers += o.Waivers
	e.WorkSeconds += o.WorkSeconds
	e.ReviewSeconds += o.ReviewSeconds
	e.InputTokens += o.InputTokens
	e.CachedTokens += o.CachedTokens
	e.OutputTokens += o.OutputTokens
	e.CostUSD += o.CostUSD
}

// AddUsage adds what an agent has reported, which may be nothing.
func (e *Effort) AddUsage(u *Usage) {
	if u == nil {
		return
	}
	e.InputTokens += u.InputTokens
	e.CachedTokens += u.CachedTokens
	e.OutputTokens += u.OutputTokens
	e.CostUSD += u.CostUSD
}
