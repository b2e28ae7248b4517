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

// Redo are the versions that are made again if all approved ones of some tasks are, oldest first. It fails for a task
// that has none, or that follows from others.
func (s *State) Redo(ids []TaskID) (versions []ArtifactRecord, of []TaskID, err error) {
	for _, id := range ids {
		t, err := s.actionNamed(id)
		switch {
		case err != nil:
			return nil, nil, err
		case !t.redoable():
			return nil, nil, &RefusedError{id, "follows from other tasks, and is made again when they are", "git wf rerun TASK"}
		case t.Approved == 0:
			return nil, nil, &RefusedError{id, "has no approved version that could be made again: it is " + string(t.Status),
				"git wf run"}
		}
		for _, v := range s.Records.Of(id).Artifacts {
			if s.VersionVerdict(id, VersionID(v.Version)) == Approved {
				versions, of = append(versions, v), append(of, id)
			}
		}
	}
	return versions, of, nil
}

// Redone are the records as they are once all approved versions of some tasks are to be made again.
func (s *State) Redone(ids []TaskID) Records {
	r := s.Records
	r.Tasks = maps.Clone(r.Tasks)
	versions, of, _ := s.Redo(ids)
	for i, id := range of {
		after := *r.Of(id)
		after.Reviews = append(slices.Clip(after.Reviews), ReviewRecord{N: following(after.Reviews),
			Version: versions[i].Version, Reviewer: reviewerOvertook, Verdict: Rejected})
		r.Tasks[id] = &after
	}
	return r
}

// FindsFault reports whether the review rejects a version for what it is.
func (r Review) FindsFault() bool { return r.Verdict == Rejected && r.Reviewer != reviewerOvertook }

// Overturned reports whether somebody found fault with a version. One that is merely to be made again stays what was
// approved.
func (s *State) Overturned(id TaskID, artifactID string) bool {
	r := *s.Records.Of(id)
	r.Reviews = slices.DeleteFunc(slices.Clone(r.Reviews), func(v ReviewRecord) bool { return v.Reviewer == reviewerOvertook })
	v, _ := s.verdict(id, &r, VersionNumber(artifactID))
	return v == Rejected
}
