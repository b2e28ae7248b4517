package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
)

// Cost is one call of an agent, with what the agent reports about it.
type Cost struct {
	Task  plan.TaskID `json:"task_id"`
	Agent string      `json:"agent"`
	What  string      `json:"what"` // the record: v1, r2, a3
	plan.Usage
}

// Costs lists the reported cost of each version, review, attempt and answer, in plan order. It omits
// work without a report, and work of people.
func (e *Engine) Costs(ctx context.Context, snap *gitstore.Snapshot) ([]Cost, error) {
	all := []Cost{}
	for _, t := range snap.Plan.Tasks {
		calls, err := e.calls(ctx, snap, t.TaskID)
		if err != nil {
			return nil, err
		}
		all = append(all, calls...)
	}
	return slices.DeleteFunc(all, func(c Cost) bool { return c.Usage == plan.Usage{} }), nil
}

// calls are those about one task: what has a report, or is by an agent that is asked here.
func (e *Engine) calls(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID) (all []Cost, err error) {
	add := func(name, session, what string, u *plan.Usage) {
		if u == nil && session != "" && e.Agents.Knows(name) {
			u = &plan.Usage{}
		}
		if u != nil {
			all = append(all, Cost{id, name, what, *u})
		}
	}
	docs := e.documents(ctx, snap, id)
	work, err := docs.Work()
	if err != nil {
		return nil, err
	}
	for _, a := range work.Artifacts {
		add(a.Agent, a.Session, a.ArtifactID, a.Usage)
	}
	for n, g := range snap.Plan.Grafts {
		if g.TaskID != id {
			continue
		}
		f, err := readFeasibility(docs, g)
		if err != nil {
			return nil, err
		}
		add(f.Agent, f.Agent, fmt.Sprintf("graft %d", n+1), f.Usage)
	}
	for _, a := range work.Attempts {
		add(a.Agent, a.Session, a.AttemptID, a.Usage)
	}
	for _, rev := range work.Reviews {
		add(rev.By(), rev.Session, rev.ReviewID, rev.Usage)
	}
	answered, err := e.answered(ctx, snap, id)
	for _, q := range answered {
		add(q.Answer.By, q.Answer.Role, q.QuestionID, q.Answer.Usage)
	}
	return all, err
}

// Spent is what agents have done for a plan, as its records say: a reply that had to be repeated because of its form
// counts with the one that was taken.
type Spent struct {
	Calls  int     `json:"calls"`
	Tokens int64   `json:"tokens"` // in and out, as far as agents report them
	USD    float64 `json:"usd"`    // as far as they do
}

func (s *Spent) add(o Spent) {
	s.Calls, s.Tokens, s.USD = s.Calls+o.Calls, s.Tokens+o.Tokens, s.USD+o.USD
}

// String is for people.
func (s Spent) String() string {
	text := plain.Count(s.Calls, "call")
	if s.Tokens > 0 {
		text += fmt.Sprintf(", %d tokens", s.Tokens)
	}
	if s.USD > 0 {
		text += fmt.Sprintf(", $%.4f", s.USD)
	}
	return text
}

// tally remembers what was spent on each task, by how many records that has.
type tally map[plan.TaskID]struct {
	records int
	spent   Spent
}

// Spent adds up what a plan's agents have done; known has what was found before, if anything.
func (e *Engine) Spent(ctx context.Context, snap *gitstore.Snapshot, known tally) (sum Spent, err error) {
	for _, t := range snap.Plan.Tasks {
		r := snap.Records.Of(t.TaskID)
		n := len(r.Artifacts) + len(r.Attempts) + len(r.Reviews) + len(r.Answers)
		if n == 0 || t.Agent == plan.AgentExec && !slices.ContainsFunc(r.Reviews, func(rev plan.ReviewRecord) bool {
			return rev.Reviewer != plan.ReviewerChecks
		}) {
			continue // commands alone
		}
		of := known[t.TaskID]
		if n += len(snap.Plan.Grafts); of.records != n {
			calls, err := e.calls(ctx, snap, t.TaskID)
			if err != nil {
				return sum, err
			}
			of.records, of.spent = n, Spent{Calls: len(calls)}
			for _, c := range calls {
				of.spent.add(Spent{Tokens: c.InputTokens + c.OutputTokens, USD: c.CostUSD})
			}
			if known != nil {
				known[t.TaskID] = of
			}
		}
		sum.add(of.spent)
	}
	return sum, nil
}

// budget is a most that the user has set for a plan.
type budget struct {
	key   string
	limit float64
	of    func(Spent) float64
}

// budgets are those that are set.
func (e *Engine) budgets(ctx context.Context) (set []budget, err error) {
	for _, b := range []budget{
		{"wf.budget.calls", 0, func(s Spent) float64 { return float64(s.Calls) }},
		{"wf.budget.tokens", 0, func(s Spent) float64 { return float64(s.Tokens) }},
		{"wf.budget.usd", 0, func(s Spent) float64 { return s.USD }},
	} {
		value, found, err := e.Store.Config(ctx, b.key)
		if err != nil {
			return nil, err
		}
		if b.limit, err = strconv.ParseFloat(value, 64); found && (err != nil || !(b.limit >= 0 && b.limit <= 1e15)) {
			return nil, fault.Usage("git config "+b.key+" 20", "%s: expected a number, found %s", b.key,
				plain.Quote(value))
		}
		if found {
			set = append(set, b)
		}
	}
	return set, nil
}

// overspends reports whether a piece of work is a call that some budget has no room for, and remembers why. A call is
// taken to need what one has needed on average; those that have begun are not among those spent.
func (r *run) overspends(w work, chosen []work) bool {
	if len(r.budget) == 0 || !r.Agents.Knows(w.agent) {
		return false
	}
	var open []string
	for _, other := range slices.AppendSeq(slices.Clone(chosen), maps.Values(r.running)) {
		open = append(open, other.agent)
	}
	for _, c := range r.claims {
		open = append(open, c.Agent)
	}
	open = slices.DeleteFunc(open, func(name string) bool { return !r.Agents.Knows(name) })
	text := func(n float64) string { return strconv.FormatFloat(math.Round(n*1e4)/1e4, 'f', -1, 64) }
	for _, b := range r.budget {
		used := b.of(r.spending)
		next := used / max(float64(r.spending.Calls), 1)
		if b.of(Spent{Calls: 1}) > 0 {
			next = 1
		}
		if need := used + next*float64(len(open)+1); need > b.limit || used >= b.limit {
			more := math.Ceil(max(2*b.limit, 2*need, 1))
			r.over = fault.Waiting(fmt.Sprintf("git config %s %.0f, then git wf run", b.key, more),
				"%s is %s: spent are %s, left are %s, and the next call takes about %s", b.key, text(b.limit),
				r.spending, text(max(0, b.limit-used)), text(next))
			return true
		}
	}
	return false
}

// Asks says whether agents are asked to make a task's versions, and to review them.
func (e *Engine) Asks(s *plan.State, t *plan.TaskState) (makes, judges bool) {
	who, listed := e.listed(s, t)
	if c := s.CheckOf(t.TaskID); c != nil && !listed &&
		(!slices.Contains(s.Reviewers(t.TaskID), plan.ReviewerPerson) || e.mayStandIn(s, t)) {
		who.agent = cmp.Or(e.byTable(c.Task), e.Agents.Read().Reviewer)
	}
	return t.Fill == nil && e.Agents.Knows(e.agentOf(s.Plan, t.Task)), e.Agents.Knows(who.agent)
}
