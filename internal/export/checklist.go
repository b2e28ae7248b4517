package export

import (
	"context"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// RootCriterion is an item of the top task's checklist and what meets it. If only a waiver covers it, it is not met but
// waived.
type RootCriterion struct {
	ID        string   `json:"id"`
	Statement string   `json:"statement"`
	Met       bool     `json:"met"`
	MetBy     []string `json:"met_by"`              // such as "IMPL-1 v2 A1", or "IMPL-1 v2" for the whole task
	WaivedBy  []string `json:"waived_by,omitempty"` // waived criteria of approved versions that cover it
}

// Waived reports whether the criterion is not met and a person's waiver covers it.
func (c RootCriterion) Waived() bool { return !c.Met && len(c.WaivedBy) > 0 }

// Checklist says which root criteria the tasks meet: those that an approved version covers as a whole or by a criterion
// that it passed. An approval implies that each MUST criterion passed or was waived; only for a SHOULD does Checklist
// read the review. A version with a waived criterion meets nothing as a whole.
func Checklist(ctx context.Context, store reader, snap *gitstore.Snapshot, s *plan.State,
	tasks []plan.TaskID) ([]RootCriterion, error) {
	return checklist(s, tasks, func(id plan.TaskID, version int) (plan.Review, error) {
		return ApprovedBy(ctx, store, snap, id, version)
	})
}

func checklist(s *plan.State, tasks []plan.TaskID, approval func(plan.TaskID, int) (plan.Review,
	error)) ([]RootCriterion, error) {
	list := []RootCriterion{}
	root := s.Root()
	at := map[string]int{}
	for i, c := range root.RootAcceptanceCriteria {
		list = append(list, RootCriterion{ID: c.ID, Statement: c.Statement, MetBy: []string{}})
		at[c.ID] = i
	}
	cover := func(ids []string, by string, waived bool) {
		for _, id := range ids {
			i, ok := at[id]
			switch {
			case !ok:
			case waived:
				list[i].WaivedBy = append(list[i].WaivedBy, by)
			default:
				list[i].Met, list[i].MetBy = true, append(list[i].MetBy, by)
			}
		}
	}
	for _, id := range tasks {
		t := s.Tasks[id]
		if t.Approved == 0 {
			continue
		}
		waived := s.Records.Of(id).WaivedCriteria(t.Approved)
		by := string(id) + " " + plan.VersionID(t.Approved)
		cover(t.Covers, by, len(waived) > 0)
		for _, c := range t.AcceptanceCriteria {
			if len(c.Covers) == 0 {
				continue
			}
			result := plan.ResultPass
			if slices.Contains(waived, c.ID) {
				result = plan.ResultWaived
			} else if c.Severity != plan.Must {
				rev, err := approval(id, t.Approved)
				if err != nil {
					return nil, err
				}
				if i := slices.IndexFunc(rev.Criteria, func(r plan.CriterionResult) bool { return r.ID == c.ID }); i >= 0 {
					result = rev.Criteria[i].Result
				} else {
					result = plan.ResultNotJudged
				}
			}
			if result == plan.ResultPass || result == plan.ResultWaived {
				cover(c.Covers, by+" "+c.ID, result == plan.ResultWaived)
			}
		}
	}
	return list, nil
}
