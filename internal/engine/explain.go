package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitwf/internal/plan"
)

// ClaimState is a claim and what it is worth, seen from here.
type ClaimState struct {
	plan.Claim
	Until   time.Time `json:"until"` // from then on others may take it over
	Holds   bool      `json:"holds"`
	Why     string    `json:"why,omitempty"`     // it does not hold any more, or what else is the matter with it
	Command string    `json:"command,omitempty"` // that takes it over, now or after Until
}

// Owner says for people who holds the claim.
func (c ClaimState) Owner() string { return ownerOf(c.Claim) }

// ClaimStates are the claims on a plan's tasks, by task id. What was given back is not in it.
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
			c.Command = "git wf next " + string(task) + " --claim, or git wf run"
		}
		if c.Misdated(now) && c.Holds {
			c.Why = "its times are in the future: the clock of " + plan.OneLine(c.Host) + " or the one here is wrong; a run takes it over once it has seen for a whole lease that nobody renews it"
		}
		all = append(all, c)
	}
	return all, nil
}

// Obstacle is why an open task is not done yet.
type Obstacle struct {
	Task    plan.TaskID   `json:"task_id"`
	Status  plan.Status   `json:"status"`
	Text    string        `json:"text"`
	Chain   []plan.TaskID `json:"chain,omitempty"`   // the task that it waits for, the one that this waits for, and so on
	Command string        `json:"command,omitempty"` // that helps, at the end of the chain
	Stuck   bool          `json:"stuck"`             // without a person it can't go on
	Failed  bool          `json:"failed"`            // because a task at the end of the chain used up what it had
}

// Explain says of each open ACTION, in plan order, what it waits for; of a version under review, what the review waits
// for. waits and claims are those of the state.
func Explain(s *plan.State, waits []Wait, claims []ClaimState) []Obstacle {
	x := explainer{s: s, waits: map[plan.TaskID]Wait{}, claims: map[plan.TaskID]ClaimState{}, known: map[plan.TaskID]cause{}}
	for _, w := range waits {
		x.waits[w.Task] = w
	}
	for _, c := range claims {
		if c.Holds {
			x.claims[c.Task] = c
		}
	}
	all := []Obstacle{}
	for _, t := range s.Plan.Tasks {
		ts := s.Tasks[t.TaskID]
		if t.NodeType != plan.Action || ts.Status == plan.StatusAbandoned || ts.Status == plan.StatusDone && (!t.Planning() || s.Plan.Grafted(t.TaskID)) {
			continue
		}
		all = append(all, x.obstacle(ts))
	}
	return all
}

// How far a task is from being done.
const (
	failed   = iota // somebody has to decide
	person          // somebody has to do something
	inWork          // somebody does it
	possible        // the engine can do it now
)

// cause is what keeps one task from being done: another task, or something of its own.
type cause struct {
	next          plan.TaskID // the task that it waits for, "" at the end of the chain
	end           plan.TaskID // of the chain, if there is a next
	length        int         // of the chain
	rank          int         // of the end of the chain
	text, command string      // at the end of the chain
}

type explainer struct {
	s      *plan.State
	waits  map[plan.TaskID]Wait
	claims map[plan.TaskID]ClaimState
	known  map[plan.TaskID]cause
}

func (x *explainer) obstacle(t *plan.TaskState) Obstacle {
	c := x.cause(t.TaskID)
	o := Obstacle{Task: t.TaskID, Status: t.Status, Stuck: c.rank <= person, Failed: c.rank == failed, Text: c.text, Command: c.command}
	for next := c.next; next != "" && !slices.Contains(o.Chain, next); next = x.cause(next).next {
		if o.Chain = append(o.Chain, next); len(o.Chain) == mostChain && c.end != next {
			o.Chain = append(o.Chain, c.end)
			break
		}
	}
	if len(o.Chain) > 0 {
		o.Text = "waits for " + chainText(o.Chain) + ": " + c.text
	}
	return o
}

// mostChain is how many tasks of a chain are listed, before its end.
const mostChain = 50

// chainText is a chain in words, with its middle left out where it is long.
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

// cause finds what keeps a task from being done, and remembers it. A plan that nobody validated may go round in a circle:
// the answer is there before it is known.
func (x *explainer) cause(id plan.TaskID) cause {
	if c, ok := x.known[id]; ok {
		return c
	}
	x.known[id] = cause{rank: failed, text: "they wait for each other"}
	c := x.find(id)
	x.known[id] = c
	return c
}

func (x *explainer) find(id plan.TaskID) cause {
	t := x.s.Tasks[id]
	if t == nil {
		return cause{rank: failed, text: "there is no such task"}
	}
	if c, ok := x.claims[id]; ok {
		return cause{rank: inWork, text: fmt.Sprintf("in work by %s until %s", c.Owner(), c.Until.Local().Format(time.DateTime))}
	}
	if w, ok := x.waits[id]; ok {
		rank := person
		if w.Failed {
			rank = failed
		}
		return cause{rank: rank, text: plan.OneLine(w.Text), command: w.Command}
	}
	check := x.s.CheckOf(id)
	switch {
	case t.Status == plan.StatusAbandoned:
		return cause{rank: failed, text: "abandoned"}
	case t.Status == plan.StatusReadyToCheck && check != nil:
		c := x.find(check.TaskID)
		if c.rank == possible {
			c.text = plan.VersionID(t.Active) + " awaits its review"
		}
		return c
	case t.Waits() && t.NodeType != plan.Check:
		return x.worst(x.s.WaitsFor(t))
	case t.Status == plan.StatusDone:
		return cause{rank: possible, text: "its plan is to be grafted", command: "git wf run"}
	case t.Status == plan.StatusToBeModified:
		return cause{rank: possible, text: plan.VersionID(t.Active) + " was rejected and is to be redone", command: "git wf run"}
	}
	return cause{rank: possible, text: "can be done now", command: "git wf run"}
}

// worst is the dependency that has the most in the way.
func (x *explainer) worst(ids []plan.TaskID) cause {
	var worst cause
	for i, id := range ids {
		if c := x.cause(id); i == 0 || c.rank < worst.rank || c.rank == worst.rank && c.length >= worst.length {
			worst = cause{next: id, end: c.end, length: c.length + 1, rank: c.rank, text: c.text, command: c.command}
			if c.end == "" {
				worst.end = id
			}
		}
	}
	return worst
}
