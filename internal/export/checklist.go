package export

import (
	"context"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// RootCriterion is an item of the top task's checklist, and what meets it.
type RootCriterion struct {
	ID        string   `json:"id"`
	Statement string   `json:"statement"`
	Met       bool     `json:"met"`
	MetBy     []string `json:"met_by"` // such as "IMPL-1 v2 A1", or "IMPL-1 v2" where the whole task covers it
}

// Checklist says which root criteria the tasks meet: those that an approved version covers as a whole, or by a criterion
// that it passed. That a MUST criterion passed follows from the approval; only for a SHOULD is the review read.
func Checklist(ctx context.Context, store reader, snap *gitstore.Snapshot, s *plan.State, tasks []plan.TaskID) ([]RootCriterion, error) {
	return checklist(s, tasks, func(id plan.TaskID, version int) (plan.Review, error) { return approval(ctx, store, snap, id, version) })
}

func checklist(s *plan.State, tasks []plan.TaskID, approval func(plan.TaskID, int) (plan.Review, error)) ([]RootCriterion, error) {
	list := []RootCriterion{}
	root := s.Root()
	if root == nil {
		return list, nil
	}
	at := map[string]int{}
	for i, c := range root.RootAcceptanceCriteria {
		list = append(list, RootCriterion{ID: c.ID, Statement: c.Statement, MetBy: []string{}})
		at[c.ID] = i
	}
	meet := func(ids []string, by string) {
		for _, id := range ids {
			if i, ok := at[id]; ok {
				list[i].Met, list[i].MetBy = true, append(list[i].MetBy, by)
			}
		}
	}
	for _, id := range tasks {
		t := s.Tasks[id]
		if t.Approved == 0 {
			continue
		}
		by := string(id) + " " + plan.VersionID(t.Approved)
		meet(t.Covers, by)
		for _, c := range t.AcceptanceCriteria {
			if len(c.Covers) == 0 {
				continue
			}
			passed := c.Severity == plan.Must
			if !passed {
				rev, err := approval(id, t.Approved)
				if err != nil {
					return nil, err
				}
				passed = slices.ContainsFunc(rev.Criteria, func(r plan.CriterionResult) bool { return r.ID == c.ID && r.Passed() })
			}
			if passed {
				meet(c.Covers, by+" "+c.ID)
			}
		}
	}
	return list, nil
}
