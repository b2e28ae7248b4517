package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// ClaimState is a claim and whether it holds, seen from here.
type ClaimState struct {
	plan.Claim
	Until   time.Time `json:"until"` // from then on others may take it over
	Holds   bool      `json:"holds"`
	Why     string    `json:"why,omitempty"`     // why it no longer holds, or what else is wrong with it
	Command string    `json:"command,omitempty"` // takes it over, now or after Until
}

// Owner says for people who holds the claim.
func (c ClaimState) Owner() string { return ownerOf(c.Claim) }

// ClaimStates are the claims on a plan's tasks, by task id. It omits released ones.
func (e *Engine) ClaimStates(ctx context.Context, id plan.ID) ([]ClaimState, error) {
	claims, err := e.Store.Claims(ctx, id)
	if err != nil {
		return nil, err
	}
	now := e.Now()
	var all []ClaimState
	for _, task := range slices.Sorted(maps.Keys(claims)) {
		c := ClaimState{Claim: claims[task], Command: "git wf run"}
		if c.Vacant() {
			continue
		}
		c.Until, c.Why, c.Holds = e.standing(c.Claim, now)
		if c.PID <= 0 {
			c.Command = "git wf next " + string(task) + " --claim"
		}
		if c.Misdated(now) && c.Holds {
			c.Why = "its times are in the future: the clock of " + plain.Line(c.Host) +
				" or the one here is wrong; a run takes it over once it has seen for a whole lease that nobody " +
				"renews it"
		}
		all = append(all, c)
	}
	return all, nil
}

// Explain says for each open ACTION, in plan order, what it waits for; for a version under review, what the review
// waits for. waits and claims are those of the state.
func Explain(s *plan.State, waits []Wait, claims []ClaimState) []Wait {
	x := explainer{s: s, waits: make(map[plan.TaskID]*Wait, len(waits)), claims: plan.Claims{},
		known: make(map[plan.TaskID]*cause, len(s.Plan.Tasks)/2)}
	for i := range waits {
		x.waits[waits[i].Task] = &waits[i]
	}
	for _, c := range claims {
		if c.Holds {
			c.Expires = c.Until
			x.claims[c.Task] = c.Claim
		}
	}
	all := make([]Wait, 0, len(s.Plan.Tasks)/2)
	for _, t := range s.Plan.Tasks {
		ts := s.Tasks[t.TaskID]
		if t.NodeType != plan.Action || ts.Status.Gone() ||
			ts.Status == plan.StatusDone && (!t.Planning() || s.Plan.Grafted(t.TaskID)) {
			continue
		}
		all = append(all, x.wait(ts))
	}
	return all
}

// NextStep is the command that goes on with a plan, "" if nothing open can go on here: a run, if there is anything that
// it can do, else what the first open task waits for. open is what Explain found.
func NextStep(s *plan.State, open []Wait) string {
	if s.SessionStatus() == plan.SessionPaused {
		return "git wf resume"
	}
	command := ""
	for _, w := range open {
		if w.Command != "" && !w.Stuck {
			return w.Command
		}
		command = cmp.Or(command, w.Command)
	}
	return command
}

// How far a task is from being done.
const (
	failed   = iota // somebody has to decide
	person          // somebody has to act
	inWork          // somebody is working on it
	possible        // the engine can do it now
)

// cause is what keeps one task from being done: another task, or something of its own.
type cause struct {
	Wait               // at the end of the chain
	next   plan.TaskID // the task that it waits for, "" at the end of the chain
	end    plan.TaskID // of the chain, if there is a next
	length int         // of the chain
	rank   int         // of the end of the chain
}

// possibly is the cause of a task that the engine can go on with, once the plan is not paused.
func (x *explainer) possibly(text string) cause {
	command := "git wf run"
	if x.s.SessionStatus() == plan.SessionPaused {
		command = "git wf resume"
	}
	return cause{rank: possible, Wait: Wait{Text: text, Command: command}}
}

// fails is the cause of a task that only a decision helps.
func fails(text string) cause { return cause{rank: failed, Wait: Wait{Text: text}} }

type explainer struct {
	s      *plan.State
	waits  map[plan.TaskID]*Wait
	claims plan.Claims // that hold, until they expire
	known  map[plan.TaskID]*cause
}

func (x *explainer) wait(t *plan.TaskState) Wait {
	c := x.cause(t.TaskID)
	w := c.Wait
	w.Task, w.Status, w.Stuck, w.Failed = t.TaskID, t.Status, c.rank <= person, c.rank == failed
	if c.next == "" {
		return w
	}
	text := c.Text
	if len(w.Questions) > 0 {
		text = "it asks something" // which is said where it does
	}
	w.Spent, w.Questions, w.Missing = "", nil, nil
	for next := c.next; next != "" && !slices.Contains(w.Chain, next); next = x.cause(next).next {
		if w.Chain = append(w.Chain, next); len(w.Chain) == mostChain && c.end != next {
			w.Chain = append(w.Chain, c.end)
			break
		}
	}
	w.Text = "waits for " + chainText(w.Chain) + ": " + text
	return w
}

// mostChain is how many tasks of a chain are listed, before its end.
const mostChain = 50

// chainText is a chain in words. It leaves out the middle of a long one.
func chainText(chain []plan.TaskID) string {
	const most = 6
	var names []string
	for i, id := range chain {
		if len(chain) > most && i == most/2 {
			names = append(names, fmt.Sprintf("... (%d more)", len(chain)-most+1))
		}
		if len(chain) <= most || i < most/2 || i > len(chain)-most/2 {
			names = append(names, string(id))
		}
	}
	return strings.Join(names, ", which waits for ")
}

// cause finds what keeps a task from being done, and remembers it. It stores a preliminary answer first, because an
// invalid plan may have cycles.
func (x *explainer) cause(id plan.TaskID) *cause {
	if c := x.known[id]; c != nil {
		return c
	}
	c := new(cause)
	*c = fails("they wait for each other")
	x.known[id] = c
	*c = x.find(id)
	return c
}

func (x *explainer) find(id plan.TaskID) cause {
	t := x.s.Tasks[id]
	if t == nil {
		return fails("there is no such task")
	}
	if c, ok := x.claims[id]; ok {
		return cause{rank: inWork, Wait: Wait{Text: fmt.Sprintf("in work by %s until %s", ownerOf(c),
			c.Expires.Local().Format(time.DateTime))}}
	}
	if w := x.waits[id]; w != nil {
		c := cause{rank: person, Wait: *w}
		if w.Failed {
			c.rank = failed
		}
		c.Text = plain.Line(w.Text)
		return c
	}
	check := x.s.CheckOf(id)
	if why := barred(x.s, t.Task, t.Changes(), x.claims); why != "" && ready(t) {
		return cause{rank: inWork, Wait: Wait{Text: why}}
	}
	switch {
	case t.Status.Gone():
		return fails("abandoned")
	case t.Status == plan.StatusReadyToCheck && check != nil:
		c := x.find(check.TaskID)
		if c.rank == possible {
			c.Text = plan.VersionID(t.Active) + " awaits its review"
		}
		return c
	case t.Waits() && t.NodeType != plan.Check:
		return x.worst(x.s.WaitsFor(t))
	case t.Status == plan.StatusDone:
		return x.possibly("its plan is to be grafted")
	case t.Status == plan.StatusWaitingInput:
		return x.possibly("a role is asked")
	case t.Status == plan.StatusToBeModified, t.Status == plan.StatusWaitingExternal && x.s.DropsNext(t):
		return x.possibly(x.s.Reason(t)) // it was rejected, is stale or set aside, or did not land
	}
	if x.s.SessionStatus() == plan.SessionPaused {
		return x.possibly("can be done when the plan is resumed")
	}
	return x.possibly("can be done now")
}

// worst is the cause of the dependency that is furthest from done.
func (x *explainer) worst(ids []plan.TaskID) cause {
	var worst cause
	for i, id := range ids {
		if c := x.cause(id); i == 0 || c.rank < worst.rank || c.rank == worst.rank && c.length >= worst.length {
			worst = cause{next: id, end: c.end, length: c.length + 1, rank: c.rank, Wait: c.Wait}
			if c.end == "" {
				worst.end = id
			}
		}
	}
	return worst
}
