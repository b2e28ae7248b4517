package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitwf/internal/expand"
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
	snap, err := store.Snapshot(ctx, register)
	if err != nil {
		return nil, err
	}
	if !snap.Plan.Register {
		return nil, fault.Refused("git wf plans", "%s is no register", register)
	}
	does, err := takers(ctx, store, register)
	if err != nil {
		return nil, err
	}
	var items []any
	found := map[string]bool{}
	for _, t := range snap.State().Children(snap.Plan.RootTaskID) {
		s, by := snap.State().Tasks[t], does[t]
		switch named := slices.Contains(names, string(t)); {
		case s.NodeType != plan.Action || s.Planning() || s.Status.Gone() || len(names) > 0 && !named:
			continue
		case named && by != "":
			return nil, fault.Refused("git wf status --plan "+string(by), "%s of %s is in the plan %s already", t,
				register, by)
		case by != "":
			continue
		}
		items, found[string(t)] = append(items, itemOf(register, s.Task)), true
	}
	for _, name := range names {
		if !found[name] {
			return nil, fault.Refused("git wf status --plan "+string(register), "%s has no open task %s", register,
				plain.Quote(name))
		}
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
		if s := snap.State(); s.SessionStatus() == plan.SessionCompleted || s.Root().Status == plan.StatusAbandoned ||
			s.Root().Status == plan.StatusDone && len(s.Ungrafted()) == 0 {
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

// closeTasks closes the tasks of registers that a plan has done. A register that is not here is closed by whoever has
// both.
func (e *Engine) closeTasks(ctx context.Context, id plan.ID) error {
	snap, err := e.Store.Snapshot(ctx, id)
	if err != nil {
		return err
	}
	s := snap.State()
	by := map[string]string{} // what each is done by
	open := map[string]bool{}
	for _, t := range s.Plan.Tasks {
		st := s.Tasks[t.TaskID]
		switch {
		case t.Closes == "" || st.Status == plan.StatusAbandoned:
		case !s.Verified(t.TaskID) || t.Changes() && !s.Records.Of(t.TaskID).Landed(st.Approved):
			open[t.Closes] = true
		default:
			by[t.Closes] = fmt.Sprintf("%s %s %s", id, t.TaskID, plan.VersionID(st.Approved))
		}
	}
	for _, closes := range slices.Sorted(maps.Keys(by)) {
		register, task, _ := strings.Cut(closes, "/")
		if open[closes] {
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
		person, err := e.Store.Person(ctx)
		if err != nil {
			return err
		}
		ev := plan.Abandon{Task: item.TaskID, Closes: true, Author: person,
			Decision: plan.Decision{By: person.Name, CreatedAt: plan.Second(e.Now()), Reason: by[closes]}}
		if _, err := e.append(ctx, of.ID, ev, nil, nil); err != nil {
			return fmt.Errorf("close %s: %w", closes, err)
		}
	}
	return nil
}
