package engine

import (
	"context"
	"fmt"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Crowded says of which tasks the reviewers here are fewer people than the policy wants to approve.
func (e *Engine) Crowded(p *plan.Plan) []string {
	s := plan.Derive(p, plan.Records{}, nil, e.Now())
	var found []string
	for _, t := range p.Tasks {
		if t.NodeType != plan.Action || s.MayReview(t.TaskID, "") {
			continue
		}
		people := slices.DeleteFunc(slices.Clone(s.Reviewers(t.TaskID)), func(name string) bool {
			if p.HasRole(name) {
				name = e.agentOfSeat(s, s.Tasks[t.TaskID], name)
			}
			return name == plan.ReviewerChecks || e.Agents.Knows(name)
		})
		if least := e.people(t); len(people) < least {
			found = append(found, fmt.Sprintf(
				"%s: the policy wants %s to approve it, and of its reviewers %d may be: %s", t.TaskID,
				policy.People(least), len(people), s.AskPerson(t.TaskID)))
		}
	}
	return found
}

// people is how many people the policy wants to approve a version of a task before it lands.
func (e *Engine) people(t *plan.Task) int {
	least := 0
	for _, root := range e.demands(t) {
		least = max(least, e.Policy.Quorum(root))
	}
	return least
}

// demands are the roots' rules that a version of a task may be held against.
func (e *Engine) demands(t *plan.Task) []policy.Root {
	switch code := e.Policy.Changes; {
	case t.Planning() || t.Judges != nil || t.Decides != nil || t.Changes() && len(code.Paths) == 0:
		return nil
	case t.Changes():
		return []policy.Root{code.Demands()}
	}
	return e.Policy.Protected()
}

// Unmet says which approvals the policy wants besides those that a task's newest version has, in the words of the gate;
// "" if none, or if the plan itself has not approved it.
func (e *Engine) Unmet(ctx context.Context, snap *gitstore.Snapshot, id plan.TaskID) (string, error) {
	t := snap.State().Tasks[id]
	if t == nil || t.Verdict != plan.Approved || len(e.demands(t.Task)) == 0 {
		return "", nil
	}
	p := &gitstore.Policy{Policy: e.Policy}
	proven, err := export.Prove(ctx, e.Store, snap, p)
	if err != nil {
		return "", err
	}
	v, unmet := export.Version{TaskID: id, Number: t.Active}, ""
	for _, root := range e.demands(t.Task) {
		lacks, err := export.Lacks(ctx, e.Store, proven.Snapshot, p, root, []export.Version{v})
		if unmet = lacks[v]; err != nil || unmet == "" {
			return "", err
		}
	}
	return fmt.Sprintf("the policy wants more before %s lands (%s): %s", plan.VersionID(t.Active), unmet,
		snap.State().AskPerson(id)), nil
}
