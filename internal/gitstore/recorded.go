package gitstore

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"gitwf/internal/plan"
	"gitwf/internal/policy"
)

// ReviewRef names one review of a plan.
type ReviewRef struct {
	Task   plan.TaskID
	Review plan.ReviewRecord
}

func (r ReviewRef) path() string {
	return r.Task.Dir() + "/" + r.Review.Path()
}

// Recorded is a commit that recorded a review, its author, and the reviewer that it names.
type Recorded struct {
	Commit   plan.OID
	Author   plan.Actor
	Reviewer string
}

// Names reports whether a name is the reviewer's. An agent's name may have letters that no commit holds.
func (r Recorded) Names(name string) bool {
	return name == r.Reviewer || r.Author.IsAgent() && CleanName(name) == r.Reviewer
}

func (e LogEntry) recorded() Recorded {
	return Recorded{e.Commit, e.Author, policy.ReviewerOf(e.Trailers["Wf-Event"], e.Author, e.By)}
}

// RecordedBy finds the commits that brought the reviews into the plan's history up to the snapshot; it finds none for a
// review that no event of this plan brought. Only such a commit can vouch for a review: the commit of another review
// with the same words can't. The commits' trailers say where to look, and their trees are the proof.
func (s *Store) RecordedBy(ctx context.Context, snap *Snapshot, reviews []ReviewRef) (map[ReviewRef][]Recorded, error) {
	found := map[ReviewRef][]Recorded{}
	if len(reviews) == 0 {
		return found, nil
	}
	all, err := s.reviewEvents(ctx, snap.Commit)
	if err != nil {
		return nil, fmt.Errorf("find who recorded the reviews of %s: %w", snap.ID, err)
	}
	f := &recordFinder{s: s, snap: snap, byTask: all, samePlan: map[plan.OID]bool{}}
	for _, r := range reviews {
		if found[r], err = f.recordedBy(ctx, r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// reviewEvents lists, by task, the commits up to one, archives included, that claim to record a review.
func (s *Store) reviewEvents(ctx context.Context, tip plan.OID) (map[plan.TaskID][]LogEntry, error) {
	histories, err := s.histories(ctx, tip)
	if err != nil {
		return nil, err
	}
	all := map[plan.TaskID][]LogEntry{}
	return all, s.eachLogEntry(ctx, histories, func(e LogEntry) bool {
		task := plan.TaskID(e.Trailers["Wf-Task"])
		all[task] = append(all[task], e)
		return true
	}, "--no-merges", "-E", "--grep=^Wf-Review: r[0-9]+$")
}

type recordFinder struct {
	s        *Store
	snap     *Snapshot
	byTask   map[plan.TaskID][]LogEntry
	samePlan map[plan.OID]bool // by the object id of a plan.json
}

// recordedBy returns the commits that added the review.
func (f *recordFinder) recordedBy(ctx context.Context, r ReviewRef) ([]Recorded, error) {
	now, err := f.blobAt(ctx, f.snap.Commit, r.path())
	if err != nil || now == nil {
		return nil, err
	}
	var by []Recorded
	for _, e := range f.byTask[r.Task] {
		if e.Trailers["Wf-Review"] != fmt.Sprintf("r%d", r.Review.N) {
			continue
		}
		added, err := f.addedContent(ctx, e, r.path())
		if err != nil {
			return nil, err
		}
		if added != nil && bytes.Equal(added, now) {
			by = append(by, e.recorded())
		}
	}
	return by, nil
}

// addedContent returns the content that an event of this plan added at a path; nil if it did not.
func (f *recordFinder) addedContent(ctx context.Context, e LogEntry, path string) ([]byte, error) {
	for _, p := range e.Parents {
		if before, err := f.blobAt(ctx, p, path); err != nil || before != nil {
			return nil, err
		}
	}
	ours, err := f.ofPlan(ctx, e.Commit)
	if err != nil || !ours {
		return nil, err
	}
	return f.blobAt(ctx, e.Commit, path)
}

// ofPlan reports whether a commit belongs to the snapshot's plan: a signature in another plan counts only there.
func (f *recordFinder) ofPlan(ctx context.Context, commit plan.OID) (bool, error) {
	c, err := f.s.commit(ctx, string(commit))
	if err != nil {
		return false, err
	}
	top, err := f.s.tree(ctx, c.tree)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(top, func(e rawEntry) bool { return e.name == planFile && e.isFile() })
	if i < 0 {
		return false, nil
	}
	if same, ok := f.samePlan[top[i].oid]; ok {
		return same, nil
	}
	data, err := f.s.ReadBlob(ctx, top[i].oid)
	if err != nil {
		return false, err
	}
	var doc struct {
		PlanID plan.ID `json:"plan_id"`
	}
	same := json.Unmarshal(data, &doc) == nil && doc.PlanID == f.snap.ID
	f.samePlan[top[i].oid] = same
	return same, nil
}

// blobAt returns the content at a path of a commit; nil if there is none.
func (f *recordFinder) blobAt(ctx context.Context, commit plan.OID, path string) ([]byte, error) {
	return f.s.readBlob(ctx, string(commit)+":"+path, nil)
}
