package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plain"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// Crowded says of which tasks the reviewers here are fewer people than the policy wants.
func (e *Engine) Crowded(p *plan.Plan) []string {
	s := plan.Derive(p, plan.Records{}, nil, e.Now())
	var found []string
	for _, t := range p.Tasks {
		if t.NodeType != plan.Action {
			continue
		}
		if text := e.crowded(s, s.Tasks[t.TaskID]); text != "" {
			found = append(found, string(t.TaskID)+": "+text)
		}
	}
	return found
}

// people is how many people the policy wants to approve a version of a task before it lands.
func (e *Engine) people(t *plan.Task) int {
	least := 0
	for _, root := range e.demands(t) {
		least = max(least, e.Policy.People(root))
	}
	return least
}

// demands are the roots' rules that a version of a task may be held against.
func (e *Engine) demands(t *plan.Task) []policy.Root {
	switch {
	case t.Planning() || t.Judges != nil || t.Decides != nil:
		return nil
	case t.Changes() && len(e.Policy.Changes.Paths) == 0:
		return nil
	case t.Changes():
		return []policy.Root{e.Policy.Changes.Demands()}
	}
	return e.Policy.Protected()
}

// crowded says why too few people would speak for a task's reviewers here, "" if enough may. The gate counts people, and
// would refuse the result. A person who takes a seat counts for themselves.
func (e *Engine) crowded(s *plan.State, t *plan.TaskState) string {
	names, seats, open := s.Reviewers(t.TaskID), s.Seats(t.TaskID), ""
	people := map[string]bool{}
	for _, name := range names {
		switch {
		case name == plan.ReviewerPerson || len(names) == 1 && name == plan.ReviewerChecks && s.MayReview(t.TaskID, ""):
			return ""
		case slices.Contains(seats, name) && e.Agents.Knows(e.agentOfSeat(s, t, name)):
			open = name
		case !e.Agents.Knows(name) && name != plan.ReviewerChecks:
			people[name] = true
		}
	}
	least := e.people(t.Task)
	if len(names) == 0 || len(people) >= least {
		return ""
	}
	found := fmt.Sprintf("of its reviewers %s, %d may be people", plain.Line(strings.Join(names, ", ")), len(people))
	way := fmt.Sprintf("its CHECK's reviewers: [%s] lets anybody be one", plan.ReviewerPerson)
	if open != "" {
		way = fmt.Sprintf("git wf review %s --as %s makes a person one", t.TaskID, plain.Line(open))
	}
	return fmt.Sprintf("%s here, and the policy wants %d to approve: %s", found, least, way)
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
