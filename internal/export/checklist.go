package export

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/policy"
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
func (s *Shelf) Checklist(ctx context.Context, snap *gitstore.Snapshot, state *plan.State,
	tasks []plan.TaskID) ([]RootCriterion, error) {
	list := []RootCriterion{}
	root := state.Root()
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
		t := state.Tasks[id]
		if t.Approved == 0 {
			continue
		}
		waived := state.Records.Of(id).WaivedCriteria(t.Approved)
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
				rev, err := s.approval(ctx, snap, id, t.Approved)
				if err != nil {
					return nil, err
				}
				if i := slices.IndexFunc(rev.Criteria,
					func(r plan.CriterionResult) bool { return r.ID == c.ID }); i >= 0 {
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

// waivedCriterion is a criterion that failed and that a person waived.
type waivedCriterion struct {
	ID     string `json:"id"`
	By     string `json:"by"`
	Reason string `json:"reason"`
}

func waivedCriteria(r plan.Review) []waivedCriterion {
	var list []waivedCriterion
	for _, c := range r.Criteria {
		if c.Result == plan.ResultWaived {
			list = append(list, waivedCriterion{c.ID, c.By, c.Evidence})
		}
	}
	return list
}

// waiversOf lists the policy's waivers of paths in the bundle of a plan, below any root.
func waiversOf(p *gitstore.Policy, id plan.ID) []policy.Waiver {
	var list []policy.Waiver
	for _, w := range p.Waivers {
		if InBundle(w.Path, id) {
			list = append(list, w)
		}
	}
	return list
}

// InBundle reports whether a path belongs to the bundle of a plan.
func InBundle(path string, id plan.ID) bool {
	return strings.Contains("/"+path, "/"+string(id)+"/bundle/")
}

// WithWaivers returns the bundle with the waivers of its paths in the manifest, as a commit of the policy holds them;
// without waivers it names no commit. The bundle's files stay what was approved: a waiver covers other content.
func WithWaivers(b *Bundle, p *gitstore.Policy, commit plan.OID) *Bundle {
	m := b.Manifest
	m.WaiversCommit, m.Waivers = "", waiversOf(p, m.PlanID)
	if len(m.Waivers) > 0 {
		m.WaiversCommit = commit
	}
	return assemble(m)
}

// Stale finds the tasks whose approved version was made from something no longer approved, and says why. Of a version
// whose names do not say what it was made from it reads the document, if an input has more than one version: no other
// can be stale.
func Stale(ctx context.Context, store reader, snap *gitstore.Snapshot, s *plan.State) (map[plan.TaskID]string, error) {
	stale, renewed := map[plan.TaskID]string{}, map[plan.TaskID]bool{}
	for _, t := range s.Tasks {
		if t.NodeType == plan.Action && t.Active > 1 {
			for _, id := range s.Lineage(t.Task) { // a GOAL stands for all of its leaves
				renewed[id] = true
			}
		}
	}
	for _, id := range s.Leaves(s.Plan.RootTaskID) {
		t := s.Tasks[id]
		if why, known := s.Stale(id); known {
			if why != "" {
				stale[id] = why
			}
			continue
		}
		if t.Approved == 0 || !slices.ContainsFunc(t.DependsOn, func(d plan.TaskID) bool { return renewed[d] }) {
			continue
		}
		a, err := ReadArtifact(ctx, store, snap, id, t.Approved)
		if err != nil {
			return nil, err
		}
		if why := staleReason(snap, s, a); why != "" {
			stale[id] = why
		}
	}
	return stale, nil
}

// staleReason says why a version's inputs are no longer what the plan has approved, "" if they are.
func staleReason(snap *gitstore.Snapshot, s *plan.State, a plan.Artifact) string {
	for _, in := range a.Inputs {
		now := s.Tasks[in.TaskID]
		if now == nil {
			return fmt.Sprintf("its input %s is gone", in.TaskID)
		}
		if v, ok := snap.Records.Of(in.TaskID).Version(now.Approved); !ok || v.Files != in.Tree {
			if s.Holds(a, in.TaskID) {
				continue
			}
			return fmt.Sprintf("made from %s %s, approved is %s", in.TaskID, in.ArtifactID,
				orNone(plan.VersionID(now.Approved)))
		}
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
