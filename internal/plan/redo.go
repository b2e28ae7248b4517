package plan

import (
	"maps"
	"slices"
)

// An approved version is made again on a person's word: because what it was approved by changes, or because they ask
// for it. The record is a rejection by `overtaken`, which finds no fault: it counts towards no limit, and what has
// landed stays proven. The plan without approval then goes on as after any rejection.

// redoable reports whether a person may have versions of the task made again. Verdicts, decisions and plans follow from
// what they are about.
func (t *Task) redoable() bool {
	return t.NodeType == Action && !t.Planning() && t.Judges == nil && t.Decides == nil
}

// SetAside are the versions of a task that are set aside if it is made again: all approved ones, oldest first. It fails
// for a task that has none, that is abandoned, or that follows from others.
func (s *State) SetAside(id TaskID) (versions []ArtifactRecord, err error) {
	if t := s.Tasks[id]; t != nil && t.NodeType == Check {
		return nil, &RefusedError{id, "reviews each version of " + string(t.ReviewTargetTaskID),
			"git wf rerun " + string(t.ReviewTargetTaskID)}
	}
	t, err := s.actionNamed(id)
	switch {
	case err != nil:
		return nil, err
	case t.Planning():
		return nil, &RefusedError{id, "makes the plan, which is changed and not made again", "git wf plan --edit"}
	case !t.redoable():
		return nil, &RefusedError{id, "follows from other tasks, and is made again when they are", "git wf rerun"}
	case t.Status == StatusAbandoned:
		return nil, &RefusedError{id, "is abandoned", "git wf retry " + string(id)}
	case t.Approved == 0:
		return nil, &RefusedError{id, "has no approved version that could be made again: it is " + t.Status.String(),
			"git wf run"}
	}
	for _, v := range s.Records.Of(id).Artifacts {
		if s.VersionVerdict(id, VersionID(v.Version)) == Approved {
			versions = append(versions, v)
		}
	}
	return versions, nil
}

// Redone are the records as they are once all approved versions of some tasks are to be made again.
func (s *State) Redone(ids []TaskID) Records {
	r := s.Records
	r.Tasks = maps.Clone(r.Tasks)
	for _, id := range ids {
		versions, _ := s.SetAside(id)
		after := *r.Of(id)
		after.Reviews = slices.Clip(after.Reviews)
		for _, v := range versions {
			after.Reviews = append(after.Reviews, ReviewRecord{N: nextNumber(after.Reviews), Version: v.Version,
				Reviewer: reviewerOvertook, Verdict: Rejected})
		}
		r.Tasks[id] = &after
	}
	return r
}

// FindsFault reports whether the review rejects a version for what it is.
func (r ReviewRecord) FindsFault() bool {
	return r.Verdict == Rejected && r.Reviewer != reviewerOvertook
}

// FindsFault reports the same of a review's document.
func (r Review) FindsFault() bool {
	return ReviewRecord{Reviewer: r.Reviewer, Verdict: r.Verdict}.FindsFault()
}

// LastingVerdict is the verdict on a version for what it is: one that is merely to be made again stays what was
// approved.
func (s *State) LastingVerdict(id TaskID, artifactID string) Verdict {
	r := *s.Records.Of(id)
	r.Reviews = slices.DeleteFunc(slices.Clone(r.Reviews),
		func(v ReviewRecord) bool { return v.Reviewer == reviewerOvertook })
	v, _ := s.verdict(id, &r, VersionNumber(artifactID))
	return v
}

// Impact are the tasks that new approved versions of some tasks have made again, in plan order, as the plan is now:
// those that follow them, directly or not, and those that judge any of them. A person is asked about what a person
// made, and what these yield stays until then. What has no approved version yet is made anyway.
func (s *State) Impact(ids ...TaskID) (again, asks []TaskID) {
	changed := map[TaskID]bool{}
	of := s.resolveGoals(ids)
	for _, leaf := range of {
		changed[leaf] = true
	}
	asked := map[TaskID]bool{}
	for grows := true; grows; {
		grows = false
		for _, t := range s.order {
			if t.NodeType != Action || t.Approved == 0 || changed[t.TaskID] || asked[t.TaskID] || !t.follows() ||
				t.Status == StatusAbandoned ||
				!slices.ContainsFunc(s.Inputs(t.TaskID), func(in TaskID) bool { return changed[in] }) {
				continue
			}
			grows = true
			if s.Records.Of(t.TaskID).saysFrom(t.Approved) {
				changed[t.TaskID] = true
			} else {
				asked[t.TaskID] = true
			}
		}
	}
	for _, t := range s.order {
		switch {
		case asked[t.TaskID]:
			asks = append(asks, t.TaskID)
		case changed[t.TaskID] && !slices.Contains(of, t.TaskID):
			again = append(again, t.TaskID)
		}
	}
	return again, asks
}
