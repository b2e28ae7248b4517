package plan

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gitwf/internal/each"
)

// Order is the content of orders/oN-dD-bB-aA.json: what a decision tells the maker of a task. Criteria and their
// commands are not in it: those of the task hold, whatever an order says.
type Order struct {
	SchemaVersion int       `json:"schema_version"`
	OrderID       string    `json:"order_id"`
	TaskID        TaskID    `json:"task_id"`
	ByTask        TaskID    `json:"by_task"`
	Decision      string    `json:"decision"`       // the version of that task
	Versions      int       `json:"versions"`       // that the task had
	Attempts      int       `json:"attempts"`       // likewise
	Mode          string    `json:"mode,omitempty"` // of a judge
	Text          string    `json:"text"`
	CreatedAt     time.Time `json:"created_at"`
}

// path is where the order is, below its task's directory.
func (o Order) path() string {
	mode := ""
	if o.Mode != "" {
		mode = "-" + o.Mode
	}
	return fmt.Sprintf("orders/%s-d%d-b%d-a%d%s.json", o.OrderID, VersionNumber(o.Decision), o.Versions,
		o.Attempts, mode)
}

// LastOrder is the path of a task's newest order, below the task's directory; "" if there is none.
func (t *TaskRecords) LastOrder() string {
	if len(t.Orders) == 0 {
		return ""
	}
	return newestOf(t.Orders).Path()
}

// ApplyDecision lets an approved decision take effect, once: an order, a question to the user, or the end. Answers to
// the questions of tasks that it orders, and a new plan, may come with the first two.
type ApplyDecision struct {
	Task    TaskID
	Order   Order            // none if it has no task
	Ask     *Question        // to the user
	Answers []AnswerQuestion // to tasks
	Amended Artifact         // the plan as it shall be, under the name of a planning task; none if it has no tree
	Planner Planner          // of that
	Holds   func(*State) error
	Agent   string // who decided
	Time    time.Time
}

// Apply is refused unless the newest version of the task is approved and has had no effect, and what it decides can
// still be done.
func (e ApplyDecision) Apply(s *State) (Change, error) {
	t, err := s.actionNamed(e.Task)
	if err != nil {
		return Change{}, err
	}
	if t.Decides == nil || !slices.Contains(s.ToApply(), t) {
		return Change{}, refuse(e.Task, "has no decision that is to be applied")
	}
	if err := e.Holds(s); err != nil {
		return Change{}, err
	}
	c := Change{
		Trailers: trailers(EventDecision, e.Task, "Wf-Artifact", VersionID(t.Active), "Wf-Agent", ReviewerDecision),
		Author:   Actor{ReviewerDecision, ReviewerDecision + agentDomain}, Beside: map[string]any{},
	}
	kind, says := actFinish, "finish"
	switch {
	case e.Order.TaskID != "":
		kind, says, err = actOrder, "order to "+string(e.Order.TaskID), e.addOrder(s, t, &c)
	case e.Ask != nil:
		kind, says = actAsk, "asks the user"
		q := *e.Ask
		q.TaskID, q.By, q.CreatedAt = e.Task, e.Agent, Second(e.Time)
		c.Body = q.Question
		c.Add = append(c.Add, q.entry(s.Records.Of(e.Task).nextQuestion()))
	default:
		if open := s.Unfinished(e.Task); len(open) > 0 {
			err = refuse(e.Task, "can't finish: %s", JoinIDs(open))
		}
	}
	if err != nil {
		return Change{}, err
	}
	if e.Order.Mode != "" {
		says += ", " + e.Order.Mode
	}
	if err := e.addAnswers(s, &c); err != nil {
		return Change{}, err
	}
	if e.Amended.Tree != "" {
		if kind == actFinish {
			return Change{}, refuse(e.Task, "a decision that finishes changes no plan")
		}
		says += ", amends the plan"
		if err := e.addAmendment(s, &c); err != nil {
			return Change{}, err
		}
	}
	c.Subject = fmt.Sprintf("%s: %s applied, %s", e.Task, VersionID(t.Active), says)
	c.Add = s.addActs(c.Add, kind, ReviewerDecision, Second(e.Time), e.Task)
	return c, nil
}

// addActs adds to what an event adds the records that the newest versions of some tasks have taken effect with it.
func (s *State) addActs(add []Entry, kind, by string, at time.Time, ids ...TaskID) []Entry {
	wrote := each.Of(add, func(e Entry) string { return e.Path })
	var acts []Entry
	for _, id := range ids {
		act := actRecord{s.Tasks[id].Active, newestOf(s.Records.Of(id).Attempts).N, kind}
		acts = append(acts, Entry{Path: id.Dir() + "/" + act.Path()})
		wrote = append(wrote, id.Dir()+"/"+act.Path())
	}
	for i, id := range ids {
		acts[i].Data = Document(actDocument{SchemaVersion: 1, TaskID: id, ArtifactID: VersionID(s.Tasks[id].Active),
			Kind: kind, Wrote: wrote, By: by, CreatedAt: at})
	}
	return append(add, acts...)
}

func (e ApplyDecision) addOrder(s *State, by *TaskState, c *Change) error {
	o := e.Order
	if why := s.Orderable(e.Task, o.TaskID, o.Mode, e.answered(o.TaskID)); why != "" {
		return refuse(o.TaskID, "%s", why)
	}
	if open := s.Ordered(e.Task); len(open) > 0 {
		return refuse(e.Task, "an order of %s is open", JoinIDs(open))
	}
	if o.Mode != "" && (!isMode(o.Mode) || s.Tasks[o.TaskID].Judges == nil) {
		return refuse(o.TaskID, "can't be ordered as %q", o.Mode)
	}
	r := s.Records.Of(o.TaskID)
	o.SchemaVersion, o.OrderID = 1, "o"+strconv.Itoa(nextNumber(r.Orders))
	o.ByTask, o.Decision, o.CreatedAt = e.Task, VersionID(by.Active), Second(e.Time)
	o.Versions, o.Attempts = r.Active(), newestOf(r.Attempts).N
	c.Body = o.Text
	c.Add = append(c.Add, Entry{Path: o.TaskID.Dir() + "/" + o.path(), Data: Document(o)})
	return nil
}

// answered are the questions of a task that the decision answers.
func (e ApplyDecision) answered(id TaskID) (numbers []int) {
	for _, a := range e.Answers {
		if a.Task == id {
			numbers = append(numbers, a.Number)
		}
	}
	return numbers
}

// addAnswers adds answers to tasks that the deciding task orders, and to nobody else.
func (e ApplyDecision) addAnswers(s *State, c *Change) error {
	held := s.Held(e.Task)
	for i, a := range e.Answers {
		if !slices.Contains(held, a.Task) {
			return refuse(a.Task, "is no task whose questions %s answers", e.Task)
		}
		if slices.ContainsFunc(e.Answers[:i], func(b AnswerQuestion) bool {
			return b.Task == a.Task && b.Number == a.Number
		}) {
			return refuse(a.Task, "q%d is answered twice", a.Number)
		}
		a.Answer.By, a.Answer.CreatedAt = e.Agent, Second(e.Time)
		made, err := a.Apply(s)
		if err != nil {
			return err
		}
		c.Add = append(c.Add, made.Add...)
		maps.Copy(c.Beside, made.Beside)
	}
	return nil
}

// addAmendment adds a planning task whose first version is the plan in the decision, and whose agent is
// the deciding task. If an agent decided, somebody has to accept the plan: those whom the policy names
// for plans or, if it names nobody, any person.
func (e ApplyDecision) addAmendment(s *State, c *Change) error {
	by := e.Planner
	by.Agent = string(e.Task)
	if e.Amended.Session != "" {
		by = by.Read()
	}
	begun, err := Replan{Planner: by, Reason: fmt.Sprintf("%s, %s", e.Task, VersionID(s.Tasks[e.Task].Active))}.Apply(s)
	if err != nil {
		return err
	}
	a := e.Amended
	a.TaskID = begun.Plan.PlanningOf("").TaskID
	version, err := NewVersion{Artifact: a}.Apply(Derive(begun.Plan, s.Records, nil, e.Time))
	if err != nil {
		return err
	}
	c.Plan, c.Add = begun.Plan, append(c.Add, version.Add...)
	return nil
}

// What a task that decides can do, for the review of its decisions.

// Held are the tasks that a deciding task orders, in plan order.
func (s *State) Held(by TaskID) []TaskID {
	f := s.newFlow()
	return each.Pick(s.order, func(t *TaskState) (TaskID, bool) {
		return t.TaskID, t.NodeType == Action && t.Status != StatusAbandoned && f.holderOf(t.Task) == by
	})
}

// Ordered are the tasks that a deciding task waits for, because an order of them is open.
func (s *State) Ordered(by TaskID) []TaskID {
	return slices.DeleteFunc(s.Held(by), func(id TaskID) bool { return !s.Tasks[id].ordered })
}

// IsOrdered reports whether an order of the task is open.
func (s *State) IsOrdered(id TaskID) bool {
	t := s.Tasks[id]
	return t != nil && t.ordered
}

// Unfinished lists the tasks because of which a deciding task can't end yet: neither verified nor
// abandoned.
func (s *State) Unfinished(by TaskID) []TaskID {
	f := s.newFlow()
	return f.unverified(s.Tasks[by])
}

// Orderable says why a deciding task can't order work on a task in a mode, "" if it can. The questions
// of the task that are in answered count as answered.
func (s *State) Orderable(by, id TaskID, mode string, answered []int) string {
	f, t := s.newFlow(), s.Tasks[id]
	switch {
	case t == nil || t.NodeType != Action:
		return "is no task of the plan"
	case f.holderOf(t.Task) != by:
		return fmt.Sprintf("is no task that %s orders", by)
	}
	if t.ordered {
		return "is ordered already"
	}
	open := slices.DeleteFunc(s.Records.Of(id).OpenQuestions(),
		func(n int) bool { return slices.Contains(answered, n) })
	asked := t.Status == StatusWaitingInput && len(answered) > 0 && len(open) == 0
	if t.Status != StatusPending && t.Status != StatusToBeModified && !asked {
		return strings.TrimSuffix(fmt.Sprintf("is %s: %s", t.Status, s.Reason(t)), ": ")
	}
	for _, d := range t.DependsOn {
		if f.awaits(d, mode).open {
			return "waits for " + string(d)
		}
	}
	return ""
}

// DecisionsSince counts the decisions that took effect since the last one that ordered the task, or all
// if none did.
func (s *State) DecisionsSince(by, id TaskID) int {
	last, n := newestOf(s.Records.Of(id).Orders).Decision, 0
	for _, a := range s.Records.Of(by).Acts {
		if a.Version > last {
			n++
		}
	}
	return n
}

// Settled reports whether, since a deciding task last ordered work on one task (ordered), it has asked
// the user or had a judge find out who is at fault for another (id).
func (s *State) Settled(by, ordered, id TaskID) bool {
	last := newestOf(s.Records.Of(ordered).Orders).Decision
	return slices.ContainsFunc(s.Records.Of(by).Acts, func(a actRecord) bool {
		return a.Version > last && a.Kind == actAsk
	}) ||
		slices.ContainsFunc(s.JudgesOf(id),
			func(judge TaskID) bool { return s.lookedInto(judge, modeInvestigate) > last })
}

// lookedInto is the newest decision that ordered a judge in a mode and got its verdicts; 0 for none.
func (s *State) lookedInto(judge TaskID, mode string) int {
	r := s.Records.Of(judge)
	for _, o := range slices.Backward(r.Orders) {
		if o.Mode == mode && newestOf(r.Acts).Version > o.Versions {
			return o.Decision
		}
	}
	return 0
}

// Acted are the versions of a task that took effect, oldest first.
func (s *State) Acted(id TaskID) []int {
	return each.Of(s.Records.Of(id).Acts, func(a actRecord) int { return a.Version })
}

// LastAct is the newest decision that took effect, 0 for none.
func (s *State) LastAct(by TaskID) int { return newestOf(s.Records.Of(by).Acts).Version }

// OrderedOf reports whether the newest decision ordered work on the task. Decisions that only had a
// judge find out who is at fault do not count.
func (s *State) OrderedOf(by, id TaskID) bool {
	last := newestOf(s.Records.Of(id).Orders)
	return last.N > 0 && !slices.ContainsFunc(s.Records.Of(by).Acts, func(a actRecord) bool {
		return a.Version > last.Decision && !s.investigates(by, a.Version)
	})
}

// investigates reports whether a decision ordered a judge to find out who is at fault.
func (s *State) investigates(by TaskID, decision int) bool {
	return slices.ContainsFunc(s.Held(by), func(id TaskID) bool {
		return slices.ContainsFunc(s.Records.Of(id).Orders, func(o orderRecord) bool {
			return o.Decision == decision && o.Mode == modeInvestigate
		})
	})
}

// OrderedBy reports whether a decision ordered work on the task.
func (s *State) OrderedBy(id TaskID, decision int) bool {
	return slices.ContainsFunc(s.Records.Of(id).Orders, func(o orderRecord) bool { return o.Decision == decision })
}

// BeforeOrder counts the versions and attempts that a task had when work on it was last ordered.
func (s *State) BeforeOrder(id TaskID) (versions, attempts int) {
	last := newestOf(s.Records.Of(id).Orders)
	return last.Versions, last.Attempts
}

// ModeAgain reports whether a judge has already judged in the mode, and no work on what it judges was
// ordered since.
func (s *State) ModeAgain(judge TaskID, mode string) bool {
	last := s.lookedInto(judge, mode)
	return last > 0 && !slices.ContainsFunc(s.Judged(judge), func(id TaskID) bool {
		return newestOf(s.Records.Of(id).Orders).Decision > last
	})
}
