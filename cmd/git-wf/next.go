package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"gitwf/internal/caller"
	"gitwf/internal/engine"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/readmodel"
)

// nextUsage refuses options without what they need.
func nextUsage(c *cli.Context) error {
	for _, name := range []string{"renew", "release"} {
		switch {
		case c.IsSet(name) && !c.Args().Present():
			return usage("--%s: expected the task whose claim it is, as in git wf next IMPL-1 --%[1]s 1", name)
		case c.IsSet(name) && c.Int(name) < 1:
			return usage("--%s: expected the number of a claim, found %d", name, c.Int(name))
		}
	}
	return nil
}

func (e *env) next(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot) (err error) {
	if err := nextUsage(c); err != nil {
		return err
	}
	want := engine.Wanted{Claim: c.Bool("claim"), Session: cmp.Or(e.getenv("WF_SESSION"), e.caller().Session)}
	if name := c.Args().First(); name != "" {
		t, err := findTask(snap.State(), name)
		if err != nil {
			return err
		}
		want.Task = t.TaskID
	}
	if text := c.String("lease"); text != "" {
		if want.Lease, err = engine.ParseLease("--lease", text); err != nil {
			return err
		}
	}
	switch {
	case c.IsSet("renew"):
		return e.renewClaim(c, eng, snap.ID, want)
	case c.IsSet("release"):
		return e.releaseClaim(c, eng, snap.ID, want)
	case c.Bool("explain"):
		return e.explainNext(c, eng, snap, want.Task)
	}
	if want.Agent, err = e.claimAgent(c, eng.Store, want.Claim); err != nil {
		return err
	}
	if want.Claim {
		e.settle(c, eng, snap)
	}
	offer, err := eng.Offer(c.Context, snap.ID, want)
	if err != nil {
		return err
	}
	if offer == nil {
		return e.nothingNext(c, eng, snap.ID)
	}
	var made *begunWorktree
	if c.Bool("worktree") && offer.Task.Changes() {
		name := strings.ToLower(fmt.Sprintf("%s-%d", offer.Task.TaskID, offer.Claim.Number))
		w, err := makeWorktree(c.Context, eng, snap.ID, offer.Task.TaskID, "", name, eng.Store.Inside(name), 0)
		if err != nil { // the claim would be held by nobody
			return errors.Join(err, eng.ReleaseClaim(c.Context, snap.ID, offer.Task.TaskID, offer.Claim.Number, ""))
		}
		made = &w
	}
	return e.printOffer(offer, made)
}

// claimAgent is the name under which a task is claimed, or something else is done; "" if that needs none.
func (e *env) claimAgent(c *cli.Context, store *gitstore.Store, claims bool) (string, error) {
	if name := c.String("agent"); c.IsSet("agent") {
		if wrong := engine.CheckAgentName(name); wrong != "" {
			return "", usage("--agent: %s", wrong)
		}
		return name, nil
	}
	if !claims {
		return "", nil // looking needs no name
	}
	maker, err := e.maker(c.Context, store)
	return maker.Name, err
}

func (p printer) renewClaim(c *cli.Context, eng *engine.Engine, id plan.ID, want engine.Wanted) error {
	claim, err := eng.RenewClaim(c.Context, id, want.Task, c.Int("renew"), want.Lease)
	if err != nil {
		return err
	}
	return p.say(claim, "%s: claim %d holds until %s", want.Task, claim.Number, clock(claim.Expires))
}

func (p printer) releaseClaim(c *cli.Context, eng *engine.Engine, id plan.ID, want engine.Wanted) error {
	n := c.Int("release")
	if err := eng.ReleaseClaim(c.Context, id, want.Task, n, c.String("message")); err != nil {
		return err
	}
	return p.say(struct {
		Task     plan.TaskID `json:"task_id"`
		Released int         `json:"released"`
	}{want.Task, n}, "%s: claim %d is given back", want.Task, n)
}

// offerDocument is a task as next --json prints it.
type offerDocument struct {
	TaskID             plan.TaskID           `json:"task_id"`
	Title              string                `json:"title"`
	Status             plan.Status           `json:"status"`
	Agent              string                `json:"agent"` // whom the plan names; "" is anybody
	Role               string                `json:"role,omitempty"`
	Claim              *plan.Claim           `json:"claim"`
	DeliverableSpec    *plan.DeliverableSpec `json:"deliverable_spec"`
	AcceptanceCriteria []plan.Criterion      `json:"acceptance_criteria"`
	Inputs             []offerInput          `json:"inputs"`
	Feedback           *string               `json:"feedback"` // the REJECTED.md of the version that is to be redone
	Prompt             string                `json:"prompt"`
	Worktree           *begunWorktree        `json:"worktree,omitempty"` // that --worktree made
	Submit             string                `json:"submit"`
	Renew              string                `json:"renew,omitempty"`
	Release            string                `json:"release,omitempty"`
}

// offerInput is an approved version that the task builds on.
type offerInput struct {
	plan.Input
	Command string `json:"command"` // that writes its files into the directory DIR
}

// nextDocument is what next --json prints. Task is null where there is none now, and with --explain.
type nextDocument struct {
	readmodel.Head
	Task   *offerDocument      `json:"task"`
	Open   []engine.Wait       `json:"open,omitempty"` // what each open task waits for
	Claims []engine.ClaimState `json:"claims,omitempty"`
	Seats  []engine.Vacancy    `json:"open_seats,omitempty"`
	// persons' versions whose inputs have changed: redo, or still holds
	Asks []engine.Wait `json:"outdated,omitempty"`
	Next []string      `json:"next,omitempty"` // commands with which it goes on or lands
}

func describeOffer(o *engine.Offer) *offerDocument {
	t := o.Task
	d := &offerDocument{
		TaskID: t.TaskID, Title: t.Title, Status: t.Status, Agent: t.Agent, Role: t.Role, Claim: o.Claim,
		DeliverableSpec:    t.DeliverableSpec,
		AcceptanceCriteria: t.AcceptanceCriteria, Inputs: []offerInput{}, Prompt: o.Prompt.Text,
		Submit: o.HandIn(),
	}
	for _, in := range o.Inputs {
		d.Inputs = append(d.Inputs, offerInput{in, "git archive " + string(in.Tree) + " | tar -x -C DIR"})
	}
	if o.Feedback != "" {
		d.Feedback = &o.Feedback
	}
	if o.Claim != nil {
		d.Renew = fmt.Sprintf("git wf next %s --renew %d", t.TaskID, o.Claim.Number)
		d.Release = fmt.Sprintf("git wf next %s --release %d", t.TaskID, o.Claim.Number)
	}
	return d
}

func (p printer) printOffer(o *engine.Offer, made *begunWorktree) error {
	d := describeOffer(o)
	d.Worktree = made
	err := p.printAs("offer", nextDocument{Head: readmodel.HeadOf(o.Snapshot.State()), Task: d}, d)
	if !p.json {
		p.printDropped(o.Prompt)
	}
	return err
}

// reader reads what is seen of plans. What only a person may decide is left out where an agent reads it.
func (e *env) reader(eng *engine.Engine) readmodel.Reader {
	r := readmodel.Reader{Engine: eng}
	if e.caller().Kind == caller.Agent {
		r.Offers = withoutPersons
	}
	return r
}

// explain finds out what each open task waits for.
func (e *env) explain(ctx context.Context, eng *engine.Engine, snap *gitstore.Snapshot) (*readmodel.Plan, error) {
	x, err := e.reader(eng).Explain(ctx, snap)
	if err == nil && e.step {
		x.Next, x.Person = nil, false
	}
	return x, err
}

// explainNow is explain for a plan that may have changed since it was read.
func (e *env) explainNow(ctx context.Context, eng *engine.Engine, id plan.ID) (*readmodel.Plan, error) {
	snap, err := eng.Store.Snapshot(ctx, id)
	if err != nil {
		return nil, err
	}
	return e.explain(ctx, eng, snap)
}

func (e *env) explainNext(c *cli.Context, eng *engine.Engine, snap *gitstore.Snapshot, only plan.TaskID) error {
	x, err := e.explain(c.Context, eng, snap)
	if err != nil {
		return err
	}
	if only != "" {
		if t := x.State.Tasks[only]; t.NodeType == plan.Check {
			only = t.ReviewTargetTaskID
		}
		x.Open = slices.DeleteFunc(x.Open, func(o engine.Wait) bool { return o.Task != only })
	}
	return e.printAs("explained", nextOf(x), struct {
		*readmodel.Plan
		Only *plan.TaskState
	}{x, x.State.Tasks[only]})
}

// nextOf says what a plan waits for.
func nextOf(x *readmodel.Plan) nextDocument {
	return nextDocument{Head: x.Head, Open: x.Open, Claims: x.Claims, Seats: x.Seats, Asks: x.Asks, Next: x.Next}
}

// nothingNext says why no task is free for an outside agent.
func (e *env) nothingNext(c *cli.Context, eng *engine.Engine, id plan.ID) error {
	x, err := e.explainNow(c.Context, eng, id)
	if err != nil {
		return err
	}
	if err := e.printAs("nothing", nextOf(x), x); err != nil || len(x.Open) == 0 {
		return err
	}
	if slices.ContainsFunc(x.Open, func(o engine.Wait) bool { return !o.Failed }) {
		return errWaiting
	}
	return errSaid
}

// mostShown is how many lines a command prints of a list that it was not asked for.
const mostShown = 10

// claimLine is a claim for people: who holds it, until when, and what is wrong with it.
func claimLine(c engine.ClaimState) string {
	who := plain.Line(c.Agent)
	if c.PID > 0 {
		who = c.Owner()
	}
	line := fmt.Sprintf("%s: claim %d, %s, until %s", c.Task, c.Number, who, clock(c.Expires))
	switch {
	case !c.Holds:
		return line + ": " + c.Why + "; " + c.Command + " takes it over"
	case c.Why != "":
		return line + ": " + c.Why
	}
	return line
}

// staleClaims are those that nobody renews any more, or that can't be checked.
func staleClaims(claims []engine.ClaimState) []engine.ClaimState {
	return slices.DeleteFunc(slices.Clone(claims), func(c engine.ClaimState) bool { return c.Why == "" })
}

// clock is a time for people.
func clock(t time.Time) string { return t.Local().Format(time.DateTime) }
