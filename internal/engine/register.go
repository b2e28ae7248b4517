package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/expand"
	"gitwf/internal/export"
	"gitwf/internal/fault"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// A register is a plan whose tasks other plans do: issues, debts. A workflow gets them as the items of a param, and its
// tasks say by closes which of them they do. Once those are verified and have landed, the register's task is closed.

func registerError(id plan.ID) error {
	return fault.Refused(fmt.Sprintf("git wf plan --workflow NAME --set PARAM=%s WHAT", id),
		"%s is a register, whose tasks other plans do", id)
}

// RegisterItems returns the open tasks of a register as the items of a workflow's param: those that are named or,
// without names, those that no other plan does.
func RegisterItems(ctx context.Context, store *gitstore.Store, register plan.ID,
	names []string) ([]any, error) {
	_, entries, err := registerEntries(ctx, store, register)
	if err != nil {
		return nil, err
	}
	var items []any
	found := map[string]bool{}
	for _, en := range entries {
		named := slices.Contains(names, string(en.TaskID))
		if named && en.Open && en.Plan != "" {
			return nil, fault.Refused("git wf status --plan "+string(en.Plan), "%s of %s is in the plan %s already",
				en.TaskID, register, en.Plan)
		}
		if en.Open && en.Plan == "" && (named || len(names) == 0) {
			items, found[string(en.TaskID)] = append(items, itemOf(register, en.Task)), true
		}
	}
	for _, name := range names {
		if !found[name] {
			return nil, fault.Refused("git wf status --plan "+string(register), "%s has no open task %s", register,
				plain.Quote(name))
		}
	}
	if len(items) == 0 {
		return nil, fault.Refused("git wf status --plan "+string(register), "%s has no open task that no plan does",
			register)
	}
	return items, nil
}

// itemOf is a task of a register as an item.
func itemOf(register plan.ID, t *plan.Task) map[string]any {
	criteria, paths := []any{}, []any{}
	for _, c := range t.AcceptanceCriteria {
		criteria = append(criteria, c.Statement)
	}
	for _, p := range plandoc.TouchedPaths(t) {
		paths = append(paths, p)
	}
	severity, _ := t.Meta["severity"].(string)
	return map[string]any{"plan": string(register), "id": string(t.TaskID), "title": t.Title, "text": t.Description,
		"severity": severity, "criteria": criteria, "paths": paths}
}

// takers are the tasks of a register that open plans here do, each with the first of these.
func takers(ctx context.Context, store *gitstore.Store, register plan.ID) (map[plan.TaskID]plan.ID, error) {
	plans, err := store.Plans(ctx)
	if err != nil {
		return nil, err
	}
	by := map[plan.TaskID]plan.ID{}
	for _, p := range plans {
		snap, err := store.Snapshot(ctx, p.ID)
		if err != nil {
			return nil, err
		}
		if s := snap.State(); isOver(s) || s.Root().Status == plan.StatusDone && len(s.Ungrafted()) == 0 {
			continue // what it has not closed is open again
		}
		for _, closes := range expand.Closes(ctx, store, snap) {
			of, task, _ := strings.Cut(closes, "/")
			if of == string(register) && by[plan.TaskID(task)] == "" {
				by[plan.TaskID(task)] = p.ID
			}
		}
	}
	return by, nil
}

// An Entry is a task of a register, and what has become of it.
type Entry struct {
	Task     *plan.Task  `json:"-"`
	TaskID   plan.TaskID `json:"task_id"`
	Severity string      `json:"severity,omitempty"`
	Title    string      `json:"title"`
	Open     bool        `json:"open"`
	Plan     plan.ID     `json:"plan_id,omitempty"` // that does it
	Closed   string      `json:"closed,omitempty"`  // by which version, or why
}

// Name is what the task is called where it comes from: its address, or its number.
func (en Entry) Name() string { return fmt.Sprint(cmp.Or(en.Task.Meta["url"], en.Task.Meta["number"])) }

// Register returns the register of that name, and its tasks; where there is none yet, nil and the id of a new one.
func (e *Engine) Register(ctx context.Context, name string) (*gitstore.Snapshot, plan.ID, []Entry, error) {
	id := e.named(plan.NewID(strings.TrimPrefix(name, "WFS-"), 1))
	snap, all, err := registerEntries(ctx, e.Store, id)
	if errors.Is(err, gitstore.ErrNoPlan) {
		err = nil
	}
	return snap, id, all, err
}

// registerEntries reads a register.
func registerEntries(ctx context.Context, store *gitstore.Store, id plan.ID) (*gitstore.Snapshot, []Entry, error) {
	snap, err := store.Snapshot(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if !snap.Plan.Register {
		return nil, nil, fault.Refused("git wf plans", "%s is no register", id)
	}
	does, err := takers(ctx, store, id)
	if err != nil {
		return nil, nil, err
	}
	var all []Entry
	for _, t := range snap.State().Children(snap.Plan.RootTaskID) {
		s := snap.State().Tasks[t]
		if s.NodeType != plan.Action || s.Planning() {
			continue
		}
		en := Entry{Task: s.Task, TaskID: t, Title: s.Title, Open: !s.Status.Gone()}
		en.Severity, _ = s.Meta["severity"].(string)
		if en.Open {
			en.Plan = does[t]
		} else {
			d, err := export.DocumentsOf(ctx, store, snap, t).LastMark()
			if err != nil {
				return nil, nil, err
			}
			en.Closed = d.Reason
		}
		all = append(all, en)
	}
	return snap, all, nil
}

// AddToRegister gives tasks ids with a prefix, and adds them to a register, which it makes where snap is nil.
func (e *Engine) AddToRegister(ctx context.Context, snap *gitstore.Snapshot, id plan.ID, prefix string,
	tasks []*plan.Task) error {
	p, had := register(id), map[plan.TaskID]*plan.TaskRecords{}
	if snap != nil {
		if open := snap.State().PlanningOf(""); open != nil {
			return &plan.RefusedError{Task: open.TaskID,
				Reason: fmt.Sprintf("amends %s, and is not part of it yet", id),
				Hint:   fmt.Sprintf("git wf abandon %s --plan %s -m WHY gives it up", open.TaskID, id)}
		}
		whole := *snap.Plan
		p, had = &whole, snap.Records.Tasks
		p.Tasks = slices.Clone(p.Tasks)
	}
	n := 0
	for _, t := range tasks {
		for t.TaskID == "" || p.Task(t.TaskID) != nil || had[t.TaskID] != nil {
			n++
			t.TaskID = plan.TaskID(fmt.Sprint(prefix, n))
		}
		t.ParentTaskID = p.RootTaskID
		p.Tasks = append(p.Tasks, t)
	}
	weights, err := e.Weights()
	if err != nil {
		return err
	}
	if rev := plandoc.ReviewPlan(p, weights.Days); rev.Verdict != plan.Approved {
		why := plain.Some(rev.Suggestions, 5, func(s plandoc.PlanSuggestion) string {
			return fmt.Sprintf("%s: %s", s.TaskID, s.Text)
		})
		return fault.Refused("say it in other words", "the review would reject it: %s", strings.Join(why, "; "))
	}
	person, err := e.Store.Person(ctx)
	if err != nil {
		return err
	}
	return e.changeRegister(ctx, snap, p, person)
}

// register is one without a task.
func register(id plan.ID) *plan.Plan {
	title := strings.TrimPrefix(string(id), "WFS-")
	return &plan.Plan{SchemaVersion: 1, Title: title, TopTask: "What other plans do: " + title, PlanID: id,
		RootTaskID: plan.RootID, Register: true, Tasks: []*plan.Task{{TaskID: plan.RootID, NodeType: plan.Goal,
			Title: title, FinalDeliverableSpec: &plan.FinalDeliverableSpec{Mode: plan.PassThrough}}}}
}

// changeRegister records a register as it is to be: an amendment, or a new plan where snap is nil.
func (e *Engine) changeRegister(ctx context.Context, snap *gitstore.Snapshot, p *plan.Plan, person plan.Actor) error {
	data, err := plandoc.WriteYAML(p)
	if err != nil {
		return err
	}
	const name = "the register"
	d, r := Draft{Name: name, Data: data, Author: person, Aside: true},
		Replanning{Agent: plan.AgentManual, Person: person, Reason: "More tasks"}
	if snap != nil {
		d, err = e.DraftFor(ctx, snap.ID, r, name, data)
	} else if d.Plan, err = plandoc.ParseValid(name, data, e.Policy.Floors); err == nil {
		d.Source, err = e.Store.Head(ctx)
	}
	if err != nil {
		return err
	}
	task, s := plan.PlanTaskID, (*plan.State)(nil)
	if snap == nil {
		_, s, err = e.CreatePlan(ctx, d)
	} else if task, err = e.Replan(ctx, snap.ID, r); err == nil {
		s, err = e.HandInPlan(ctx, snap.ID, task, d)
	}
	if err == nil && !s.Plan.Grafted(task) {
		err = fault.Waiting("git wf run --plan "+string(p.PlanID), "%s waits for review: %s", p.PlanID, task)
	}
	return err
}

// closeTasks closes the tasks of registers that a plan has done, as far as those registers are here.
func (e *Engine) closeTasks(ctx context.Context, id plan.ID) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	s := snap.State()
	by := map[string][]string{} // what each is done by, "" for what is not done yet
	for _, t := range s.Plan.Tasks {
		st, version := s.Tasks[t.TaskID], ""
		if t.Closes == "" || st.Status == plan.StatusAbandoned {
			continue
		}
		if s.Verified(t.TaskID) && (!t.Changes() || s.Records.Of(t.TaskID).Landed(st.Approved)) {
			version = fmt.Sprintf("%s %s %s", id, t.TaskID, plan.VersionID(st.Approved))
		}
		by[t.Closes] = append(by[t.Closes], version)
	}
	for _, closes := range slices.Sorted(maps.Keys(by)) {
		register, task, _ := strings.Cut(closes, "/")
		if slices.Contains(by[closes], "") {
			continue
		}
		of, err := e.Store.Snapshot(ctx, plan.ID(register))
		if errors.Is(err, gitstore.ErrNoPlan) {
			continue
		}
		if err != nil {
			return err
		}
		item := of.State().Tasks[plan.TaskID(task)]
		if !of.Plan.Register || item == nil || item.Status.Gone() {
			continue
		}
		if err := e.closeItem(ctx, of.ID, item.TaskID, by[closes][len(by[closes])-1]); err != nil {
			return err
		}
	}
	return nil
}

// closeItem closes a task of a register in the name of the person who works here.
func (e *Engine) closeItem(ctx context.Context, register plan.ID, task plan.TaskID, why string) error {
	person, err := e.Store.Person(ctx)
	if err != nil {
		return err
	}
	ev := plan.Abandon{Task: task, Closes: true, Author: person,
		Decision: plan.Decision{By: person.Name, CreatedAt: plan.Second(e.Now()), Reason: why}}
	if _, err := e.append(ctx, register, ev, nil, nil); err != nil {
		return fmt.Errorf("close %s/%s: %w", register, task, err)
	}
	return nil
}
