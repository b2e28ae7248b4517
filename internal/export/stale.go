package export

import (
	"context"
	"fmt"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

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
			return fmt.Sprintf("made from %s %s, approved is %s", in.TaskID, in.ArtifactID, orNone(plan.VersionID(now.Approved)))
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
