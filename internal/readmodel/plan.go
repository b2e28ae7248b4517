package readmodel

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"gitwf/internal/engine"
	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// Head is what is said of a plan as a whole, wherever it is named.
type Head struct {
	PlanID        plan.ID            `json:"plan_id"`
	Title         string             `json:"title"`
	Status        plan.Status        `json:"status"`
	SessionStatus plan.SessionStatus `json:"session_status"`
	Phase         string             `json:"phase"`
	Complexity    plan.Complexity    `json:"complexity"`
	PlanType      string             `json:"plan_type,omitempty"`
	Notes         int                `json:"notes,omitempty"` // how many
	Done          int                `json:"done"`            // deliverables that are approved
	Total         int                `json:"total"`           // deliverables
}

// HeadOf is the head of a plan in a state.
func HeadOf(s *plan.State) Head {
	h := Head{PlanID: s.Plan.PlanID, Title: s.Plan.Title, Status: s.Root().Status, SessionStatus: s.SessionStatus(),
		Phase: string(s.Phase()), Complexity: s.Plan.AssessComplexity(), PlanType: s.Plan.PlanType,
		Notes: len(s.Records.Notes)}
	h.Done, h.Total = s.Progress()
	return h
}

// Entry is a plan in the list of plans.
type Entry struct {
	Head
	Active bool     `json:"active"`
	Commit plan.OID `json:"commit"`
	Error  string   `json:"error,omitempty"` // why it can't be read

	Shared *gitstore.Shared `json:"shared,omitempty"`
}

// List reads the plans of a repository under the claims of now.
func List(ctx context.Context, store *gitstore.Store, now time.Time) ([]Entry, error) {
	refs, err := store.Plans(ctx)
	if err != nil {
		return nil, err
	}
	active, err := store.Active(ctx)
	if err != nil && !errors.Is(err, gitstore.ErrNoActive) {
		return nil, err
	}
	all := []Entry{}
	for _, ref := range refs {
		one := Entry{Head: Head{PlanID: ref.ID}, Active: ref.ID == active, Commit: ref.Tip}
		snap, err := store.SnapshotAt(ctx, ref.ID, ref.Tip)
		if err == nil {
			var s *plan.State
			if s, err = engine.StateNow(ctx, store, snap, now); err == nil {
				one.Head = HeadOf(s)
			}
		}
		if err == nil {
			one.Shared, err = store.Shared(ctx, ref.ID, ref.Tip)
		}
		if err != nil {
			one.Error = err.Error()
		}
		all = append(all, one)
	}
	return all, nil
}

// Plan is what is seen of a plan.
type Plan struct {
	Head
	Proof        string                 `json:"signatures,omitempty"` // only where it was found out
	RootCriteria []export.RootCriterion `json:"root_criteria,omitempty"`
	Tasks        []Task                 `json:"tasks"`
	Waits        []engine.Wait          `json:"waits"`
	HeldUp       []engine.Wait          `json:"held_up,omitempty"` // by a task that waits, and how
	Claims       []engine.ClaimState    `json:"claims,omitempty"`
	Seats        []engine.Vacancy       `json:"open_seats,omitempty"`
	Asks         []engine.Wait          `json:"outdated,omitempty"` // persons' versions whose inputs have changed
	// approved deliverables that only commands have judged
	Unread []plan.TaskID `json:"unread,omitempty"`
	Next   []string      `json:"next,omitempty"` // commands with which it goes on or lands
	Then   []string      `json:"then,omitempty"` // of a plan that is done: commands that begin what may follow it

	Shared *gitstore.Shared `json:"shared,omitempty"` // how it stands beside its remote

	State  *plan.State   `json:"-"`
	Open   []engine.Wait `json:"-"` // what each open task waits for
	Person bool          `json:"-"` // a person's commands were left out of Next

	at   string // what commands need here to be about this plan: --plan ID, where it is not the active one
	byID map[plan.TaskID]*Task
}

// Of builds a Plan from a state alone, without the repository.
func Of(s *plan.State) *Plan {
	return (&Plan{Head: HeadOf(s), State: s, Waits: []engine.Wait{}}).Describe()
}

// Describe fills in the tasks.
func (p *Plan) Describe() *Plan {
	reasons := map[plan.TaskID]string{}
	for _, w := range p.Waits {
		reasons[w.Task] = w.Text
	}
	p.Tasks, p.byID = make([]Task, 0, len(p.State.Plan.Tasks)), map[plan.TaskID]*Task{}
	for _, task := range p.State.Plan.Tasks {
		t := TaskOf(p.State, p.State.Tasks[task.TaskID])
		if r := reasons[task.TaskID]; r != "" {
			t.Reason = r
		}
		p.Tasks = append(p.Tasks, t)
		p.byID[t.TaskID] = &p.Tasks[len(p.Tasks)-1]
	}
	return p
}

// Task returns the task with an id, nil if there is none.
func (p *Plan) Task(id plan.TaskID) *Task { return p.byID[id] }

// Finished reports whether nothing is left to do. An assembled plan is DONE with its last task, but one of its
// deliverables may have been rejected since.
func (p *Plan) Finished() bool {
	return p.Status == plan.StatusDone && len(p.Waits) == 0 && p.Done == p.Total
}

// Reader reads what is seen of plans.
type Reader struct {
	Engine *engine.Engine
	// Offers drops from commands, parted by semicolons, those the user may not run; nil keeps all.
	Offers func(commands string) string
}

// Explain reads where a plan stands, what each open task waits for and what is next. Describe fills in the tasks.
func (r Reader) Explain(ctx context.Context, snap *gitstore.Snapshot) (*Plan, error) {
	eng := r.Engine
	claims, err := eng.ClaimStates(ctx, snap.ID)
	if err != nil {
		return nil, err
	}
	held := plan.Claims{}
	for _, c := range claims {
		held[c.Task] = c.Claim
	}
	now := eng.Now()
	s := snap.StateUnder(eng.Standing(held, now), now)
	p := &Plan{Head: HeadOf(s), State: s, Claims: claims}
	all, err := eng.ForPerson(ctx, snap, s)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(append(all, engine.Wait{}), func(w engine.Wait) bool { return !w.Stuck })
	p.Waits, p.Asks = all[:n:n], all[n:]
	p.Open, p.Seats = engine.Explain(s, p.Waits, claims), eng.Vacancies(s)
	if active, err := eng.Store.Active(ctx); err != nil || active != snap.ID {
		p.at = " --plan " + string(snap.ID)
	}
	for _, w := range p.lists() {
		w.Command = p.asTypedHere(w.Command)
	}
	switch {
	case !p.Finished():
		if step := engine.NextStep(s, p.Open); step != "" {
			p.Next = []string{step}
		}
	case len(p.Asks) > 0: // export refuses what a person is asked about
		p.Next = []string{p.Asks[0].Command}
	default:
		p.Next, err = export.Next(ctx, eng.Store, snap, eng.Policy.RootPaths())
	}
	for i, command := range p.Next {
		p.Next[i] = p.asTypedHere(command)
	}
	if r.Offers != nil {
		p.leaveOutUnoffered(r.Offers)
	}
	p.HeldUp = heldUp(p.Open)
	return p, err
}

// Read is Explain with the tasks, the root criteria and what proves approvals.
func (r Reader) Read(ctx context.Context, snap *gitstore.Snapshot) (*Plan, error) {
	store := r.Engine.Store
	p, err := r.Explain(ctx, snap)
	if err != nil {
		return nil, err
	}
	p.State = p.State.Repeating(expand.Rounds(ctx, store, snap))
	s := p.State
	leaves := s.Leaves(snap.Plan.RootTaskID)
	if p.RootCriteria, err = export.NewShelf(store).Checklist(ctx, snap, s, leaves); err != nil {
		return nil, err
	}
	for i := range p.RootCriteria {
		c := &p.RootCriteria[i]
		c.Met = c.Met && !slices.ContainsFunc(leaves, func(id plan.TaskID) bool { // what helps to meet it is to come
			return s.Tasks[id].Status != plan.StatusDone && s.Tasks[id].CoversRoot(c.ID)
		})
	}
	stale, err := export.Stale(ctx, store, snap, s)
	if err != nil {
		return nil, err
	}
	landings, err := export.Standing(ctx, store, snap)
	if err != nil {
		return nil, err
	}
	evidence, err := r.prove(ctx, snap)
	if err != nil {
		return nil, err
	}
	if p.Shared, err = store.Shared(ctx, snap.ID, snap.Commit); err != nil {
		return nil, err
	}
	own := export.SelfReviewed(ctx, store, snap, s)
	p.Proof, p.Unread = evidence.Worth(s), s.Unread()
	p.Describe()
	for i := range p.Tasks {
		t := &p.Tasks[i]
		t.Stale, t.Landings, t.SelfReviewed = stale[t.TaskID], landings[t.TaskID], own[t.TaskID]
		t.proven(s, evidence)
	}
	return p, nil
}

// prove finds out which approvals count. Without keys all do, and the policy is not read again.
func (r Reader) prove(ctx context.Context, snap *gitstore.Snapshot) (*export.Evidence, error) {
	if len(r.Engine.Policy.Keys) == 0 {
		return &export.Evidence{}, nil
	}
	policy, err := r.Engine.Store.Policy(ctx)
	if err != nil {
		return nil, err
	}
	return export.Prove(ctx, r.Engine.Store, snap, policy)
}

// lists returns a pointer to each Wait of the plan.
func (p *Plan) lists() (all []*engine.Wait) {
	for _, list := range [][]engine.Wait{p.Waits, p.Open, p.Asks} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// leaveOutUnoffered drops the commands that the user may not run.
func (p *Plan) leaveOutUnoffered(only func(string) string) {
	for _, w := range p.lists() {
		w.Command = only(w.Command)
	}
	for i := range p.Seats {
		p.Seats[i].Command = only(p.Seats[i].Command)
	}
	before := len(p.Next)
	p.Next = slices.DeleteFunc(p.Next, func(command string) bool { return only(command) != command })
	p.Person = len(p.Next) < before
}

// asTypedHere adds --plan to commands that need it.
func (p *Plan) asTypedHere(commands string) string {
	if p.at == "" || strings.Contains(commands, p.at) {
		return commands
	}
	list := strings.Split(commands, "; ")
	for i, c := range list {
		if strings.HasPrefix(c, "git wf ") && c != "git wf agents" {
			list[i] += p.at
		}
	}
	return strings.Join(list, "; ")
}

// heldUp returns the stuck tasks that Waits leaves out: those behind a chain of several tasks, or behind
// a task that used up its attempts.
func heldUp(open []engine.Wait) []engine.Wait {
	var held []engine.Wait
	for _, o := range open {
		if o.Stuck && (len(o.Chain) > 1 || o.Failed && len(o.Chain) > 0) {
			o.Command = ""
			held = append(held, o)
		}
	}
	return held
}
