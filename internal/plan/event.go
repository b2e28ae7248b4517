package plan

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"gitwf/internal/fault"
)

// An Event is one thing that happens to a plan. Apply checks the event's precondition against the state it would
// change and says what to add; an error means that the event is refused and nothing is written. The store calls Apply
// again on the new state when somebody else was faster.
type Event interface {
	Apply(s *State) (Change, error)
}

// Change is what one commit adds to a plan's tree.
type Change struct {
	Subject  string         // of the commit, for people
	Body     string         // more for people; may be empty
	Trailers []Trailer      // for programs
	Author   Actor          // who acted; the zero value means the user
	Add      []Entry        // new paths; none may exist
	Beside   map[string]any // by path: what documents say that the new ones are held against (Setting.Says)
	Plan     *Plan          // replaces plan.json, if not nil
	Policy   []byte         // replaces policy.json, if not nil
}

// Trailer is the value of a trailer, "" if there is none.
func (c Change) Trailer(key string) string {
	for _, t := range c.Trailers {
		if t.Key == key {
			return t.Value
		}
	}
	return ""
}

// Entry is one new path of a plan's tree: a blob with the given content or, if OID is set, an object (the tree of a
// deliverable's files) that is already written.
type Entry struct {
	Path string
	Data []byte
	OID  OID

	Replaces OID // the blob that is there, of an event that masks records; else nothing may be
}

// Actor is the name and address of an author.
type Actor struct{ Name, Email string }

// agentDomain is where the addresses of agents are, which are no people (docs/format.md, section 6).
const agentDomain = "@agents.git-wf.invalid"

// IsAgent reports whether the address is that of an agent, or of the engine.
func (a Actor) IsAgent() bool { return strings.HasSuffix(a.Email, agentDomain) }

// Trailer is one line at the end of a commit message, such as "Wf-Task: IMPL-1".
type Trailer struct{ Key, Value string }

// The kinds of event, as the trailer Wf-Event names them.
const (
	EventPlan     = "plan"     // the plan begins, with the first version of its plan
	eventArtifact = "artifact" // a version of a deliverable
	eventCheck    = "check"    // what the engine ran, while the rest of a review waits
	eventReview   = "review"   // a verdict
	eventAttempt  = "attempt"  // an attempt that left nothing
	eventRetry    = "retry"    // counters start anew
	EventGraft    = "graft"    // an approved plan becomes part of plan.json
	EventPolicy   = "policy"   // the repository's policy changes; not part of a plan's history
	EventWaiver   = "waiver"   // a criterion of a version passes on a person's word
	eventQuestion = "question" // a task can't go on without an answer
	eventAnswer   = "answer"   // a question has its answer
	eventInput    = "input"    // files handed in for a task
	EventReplan   = "replan"   // a task begins that splits a leaf or amends the plan
	EventPruned   = "pruned"   // a new history begins with what is kept of the old one
	eventDoctor   = "doctor"   // what doctor has put right; no status changes
	EventMasked   = "masked"   // secrets are taken out of records; no status changes

	eventPaused    = "paused"    // no work begins any more
	eventResumed   = "resumed"   // work may begin again
	eventCompleted = "completed" // nothing is open, and nothing is added
	eventAbandoned = "abandoned" // tasks are out of the plan
	eventDropped   = "dropped"   // a task whose rounds are used up is, with what has nothing else to build on
	eventClosed    = "closed"    // another plan has done a task of a register
	eventRestored  = "restored"  // and in again
	eventLanding   = "landing"   // a version came to a branch, or did not

	EventVerdicts = "verdicts" // a judge's verdicts on other tasks take effect
	EventDecision = "decision" // a decision takes effect
	eventNote     = "note"     // something to remember
)

// RefusedError says why an event does not apply to the state.
type RefusedError struct {
	Task   TaskID
	Reason string
	Hint   string // the command that would help, if there is one
}

func (e *RefusedError) Error() string { return string(e.Task) + ": " + e.Reason }

// Exit has the hint or, without one, the command that shows the task.
func (e *RefusedError) Exit() (int, string) {
	if e.Hint == "" && e.Task != "" {
		return fault.ExitRefused, "git wf show " + string(e.Task) + " shows how it stands"
	}
	return fault.ExitRefused, e.Hint
}

func refuse(id TaskID, format string, args ...any) error {
	return &RefusedError{Task: id, Reason: fmt.Sprintf(format, args...)}
}

// actionNamed finds the ACTION that an event is about.
func (s *State) actionNamed(id TaskID) (*TaskState, error) {
	t := s.Tasks[id]
	switch {
	case t == nil:
		return nil, refuse(id, "no such task in %s", s.Plan.PlanID)
	case t.NodeType != Action:
		return nil, refuse(id, "is a %s, not an ACTION", t.NodeType)
	}
	return t, nil
}

// RefuseContainer is why a task with subtasks can't be run, handed in or reviewed itself, nil for every other task. The
// hint is the command, with the first subtask that is open in the place of TASK.
func (s *State) RefuseContainer(id TaskID, command string) error {
	t := s.Tasks[id]
	if t == nil || t.NodeType != Goal {
		return nil
	}
	refused := &RefusedError{Task: id, Hint: "git wf status"}
	var names []string
	const most = 5
	for i, leaf := range s.Leaves(id) {
		if i < most {
			names = append(names, string(leaf))
		} else if i == most {
			names = append(names, "...")
		}
		if refused.Hint == "git wf status" && s.Tasks[leaf].Status != StatusDone {
			refused.Hint = strings.ReplaceAll(command, "TASK", string(leaf))
		}
	}
	refused.Reason = "is a container: its status, " + t.Status.String() + ", follows from the tasks below it"
	if len(names) > 0 {
		refused.Reason += ": " + strings.Join(names, ", ")
	}
	return refused
}

// trailers makes the trailers that every event has, and more from pairs of key and value.
func trailers(kind string, id TaskID, pairs ...string) []Trailer {
	t := []Trailer{{"Wf-Event", kind}, {"Wf-Task", string(id)}}
	for i := 0; i+1 < len(pairs); i += 2 {
		t = append(t, Trailer{pairs[i], pairs[i+1]})
	}
	return t
}

// Document is the canonical form of a record: two-space indent, a newline at the end.
func Document(v any) []byte {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		panic("plan: a record of plain values can't fail to marshal: " + err.Error())
	}
	return []byte(b.String())
}

// Second is t as records carry it: UTC, whole seconds.
func Second(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

// EventKinds lists the kinds of event of a plan's history, in the order of docs/format.md, as the trailer Wf-Event
// names them; and those after which a plan may export another bundle than before, the joins of two clones among them.
func EventKinds() (all, changeBundles []string) {
	return []string{
			EventPlan, eventArtifact, eventCheck, eventReview, eventAttempt, eventRetry, eventQuestion, eventAnswer,
			eventInput, eventLanding, EventVerdicts, EventDecision, eventNote, EventReplan, EventGraft, EventWaiver,
			EventPruned, EventMasked, eventDoctor, eventPaused, eventResumed, eventCompleted, eventAbandoned,
			eventDropped, eventClosed, eventRestored,
		}, []string{EventPlan, eventArtifact, eventReview, EventGraft, EventWaiver, EventPruned, EventVerdicts,
			EventDecision, eventAbandoned, eventDropped, eventClosed, eventRestored, EventJoined}
}
