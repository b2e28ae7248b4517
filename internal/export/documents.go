package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
	"gitwf/internal/plandoc"
)

// Documents reads the records of one task at one commit: for people, for agents, and at the end of a plan. A missing
// document is an fs.ErrNotExist.
type Documents struct {
	ctx   context.Context
	store reader
	snap  *gitstore.Snapshot
	id    plan.TaskID
}

// DocumentsOf returns the Documents of a task; a CHECK has its target's.
func DocumentsOf(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID) Documents {
	return Documents{ctx, store, snap, id}
}

// All reads the document of each record. The result is never nil, so JSON gets a list.
func All[R, D any](records []R, read func(R) (D, error)) ([]D, error) {
	all := make([]D, 0, len(records))
	for _, rec := range records {
		d, err := read(rec)
		if err != nil {
			return all, err
		}
		all = append(all, d)
	}
	return all, nil
}

// Read reads a record without a method of its own, by its name in the task's directory.
func (d Documents) Read(name string, v any) error {
	return readJSON(d.ctx, d.store, d.snap.Commit, d.id.Dir()+"/"+name, v)
}

// Artifact returns what the maker of a version recorded.
func (d Documents) Artifact(rec plan.ArtifactRecord) (plan.Artifact, error) {
	return ReadArtifact(d.ctx, d.store, d.snap, d.id, rec.Version)
}

// Review returns a review as a program reads it.
func (d Documents) Review(rec plan.ReviewRecord) (plan.Review, error) {
	return ReadReview(d.ctx, d.store, d.snap, d.id, rec)
}

// ReviewFile returns APPROVED.md or REJECTED.md as written.
func (d Documents) ReviewFile(rec plan.ReviewRecord) ([]byte, error) {
	return d.store.ReadFile(d.ctx, d.snap.Commit, d.id.Dir()+"/"+rec.Text())
}

// Check returns what the engine itself ran on a version.
func (d Documents) Check(rec plan.CheckRecord) (doc plan.Checked, err error) {
	return doc, d.Read(rec.Path(), &doc)
}

// Attempt returns an attempt that left no version or no review.
func (d Documents) Attempt(rec plan.AttemptRecord) (doc plan.Attempt, err error) {
	return doc, d.Read(rec.Path(), &doc)
}

// Waiver returns who waived a criterion, and why.
func (d Documents) Waiver(rec plan.WaiverRecord) (doc plan.WaiverDocument, err error) {
	return doc, d.Read(rec.Path(), &doc)
}

// LastMark returns who abandoned or restored the task last, and why; it is empty if nobody did.
func (d Documents) LastMark() (doc plan.Decision, err error) {
	if marks := d.records().Marks; len(marks) > 0 {
		err = d.Read(marks[len(marks)-1].Path(), &doc)
	}
	return doc, err
}

// Work is what makers and reviewers recorded of their work on a task, oldest first.
type Work struct {
	Artifacts []plan.Artifact `json:"artifacts"`
	Reviews   []plan.Review   `json:"reviews"`
	Attempts  []plan.Attempt  `json:"attempt_records"`
}

// Work reads the documents of all versions, reviews and attempts. Each list has as many as there are records.
func (d Documents) Work() (w Work, err error) {
	r := d.records()
	if w.Artifacts, err = All(r.Artifacts, d.Artifact); err != nil {
		return w, err
	}
	if w.Reviews, err = All(r.Reviews, d.Review); err != nil {
		return w, err
	}
	w.Attempts, err = All(r.Attempts, d.Attempt)
	return w, err
}

func (d Documents) records() *plan.TaskRecords { return d.snap.Records.Of(d.id) }

// Asked is a question with its answer, nil if there is none yet.
type Asked struct {
	plan.Question
	Answer *plan.Answer `json:"answer"`
}

// Question returns the question with a number, and its answer.
func (d Documents) Question(n int) (q Asked, err error) {
	if err := d.Read(d.records().QuestionPath(n), &q.Question); err != nil {
		return q, err
	}
	if slices.Contains(d.records().Answers, n) {
		q.Answer = &plan.Answer{}
		err = d.Read(d.records().AnswerPath(n), q.Answer)
	}
	return q, err
}

// InputRecord is the Nth file handed in under a name; the name is escaped.
type InputRecord struct {
	Name string
	N    int
}

// Inputs lists the files handed in for the task, by name.
func (d Documents) Inputs() []InputRecord {
	var all []InputRecord
	counts := d.records().Inputs
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		for n := range counts[name] {
			all = append(all, InputRecord{name, n + 1})
		}
	}
	return all
}

// Input says who handed a file in and where it came from.
func (d Documents) Input(rec InputRecord) (doc plan.InputDocument, err error) {
	return doc, d.Read(d.records().InputPath(rec.Name, rec.N), &doc)
}

// ReadArtifact reads the artifact.json of a version in the snapshot. It fails if the document can't be that.
func ReadArtifact(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID,
	version int) (a plan.Artifact, err error) {
	err = readRecord(ctx, store, snap, id, plan.ArtifactRecord{Version: version}.Path(), &a)
	return a, err
}

// ReadReview reads the review.json of a review in the snapshot. It fails if the document can't be that.
func ReadReview(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID,
	rec plan.ReviewRecord) (r plan.Review, err error) {
	err = readRecord(ctx, store, snap, id, rec.Path(), &r)
	return r, err
}

// readRecord reads a document of a task, which has to be what its place says.
func readRecord(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID, name string, v any) error {
	path := id.Dir() + "/" + name
	if err := readJSON(ctx, store, snap.Commit, path, v); err != nil {
		return err
	}
	return checkRecord(snap, id, name, v)
}

// checkRecord holds a document of a task against its place and the rules of its kind.
func checkRecord(snap *gitstore.Snapshot, id plan.TaskID, name string, document any) error {
	in := snap.Setting(id, name)
	if why := (plan.Setting{}).RulesOf(name, true).CheckRead(document, &in); why != "" {
		return fmt.Errorf("%s/%s: %s", id.Dir(), name, why)
	}
	return nil
}

// LastLanding reads the newest landing of a version, as the snapshot has it; it is empty if there is none.
func LastLanding(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID, version int) (plan.Landing,
	error) {
	var l plan.Landing
	for _, rec := range slices.Backward(snap.Records.Of(id).Landings) {
		if rec.Version == version {
			return l, readJSON(ctx, store, snap.Commit, id.Dir()+"/"+rec.Path(), &l)
		}
	}
	return l, nil
}

func readJSON(ctx context.Context, store reader, commit plan.OID, path string, v any) error {
	data, err := store.ReadFile(ctx, commit, path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// ApprovedBy returns the newest review that approved the version.
func ApprovedBy(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID,
	version int) (plan.Review, error) {
	rec, ok := newestApproval(snap, id, version)
	if !ok {
		return plan.Review{}, fmt.Errorf("%s %s counts as approved without an approval", id, plan.VersionID(version))
	}
	return ReadReview(ctx, store, snap, id, rec)
}

// SelfReviewed are the tasks whose approved version was approved by who made it. A version that the engine's own word
// approves is none, and neither is one whose review can't be read, which doctor finds.
func SelfReviewed(ctx context.Context, store reader, snap *gitstore.Snapshot, s *plan.State) map[plan.TaskID]bool {
	own := map[plan.TaskID]bool{}
	for _, t := range s.Plan.Tasks {
		rec, ok := newestApproval(snap, t.TaskID, s.Tasks[t.TaskID].Approved)
		if !ok || rec.Reviewer == plan.ReviewerChecks || rec.Reviewer == plan.ReviewerVerdicts ||
			rec.Reviewer == plan.ReviewerPlan {
			continue
		}
		r, err := ReadReview(ctx, store, snap, t.TaskID, rec)
		if err == nil && r.JudgedBy != nil { // whose own record does not say it
			var made plan.Artifact
			made, err = ReadArtifact(ctx, store, snap, t.TaskID, rec.Version)
			r.SelfReviewed = r.By() == made.Agent
		}
		own[t.TaskID] = err == nil && r.SelfReviewed
	}
	return own
}

func newestApproval(snap *gitstore.Snapshot, id plan.TaskID, version int) (plan.ReviewRecord, bool) {
	for _, rec := range slices.Backward(snap.Records.Of(id).Reviews) {
		if rec.Version == version && rec.Verdict == plan.Approved && snap.State().Counts(id, rec) {
			return rec, true
		}
	}
	return plan.ReviewRecord{}, false
}

// RecordedApproval returns the commit that recorded the newest review that approved the version; "" if none shows it.
func RecordedApproval(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, id plan.TaskID,
	version int) (plan.OID, error) {
	rec, ok := newestApproval(snap, id, version)
	if !ok {
		return "", nil
	}
	ref := gitstore.ReviewRef{Task: id, Review: rec}
	by, err := store.RecordedBy(ctx, snap, []gitstore.ReviewRef{ref})
	if err != nil || len(by[ref]) == 0 {
		return "", err
	}
	return by[ref][0].Commit, nil
}

// Notes reads a plan's notes, oldest first: those of the categories, or all without any, and of these the newest most;
// zero means no limit.
func Notes(ctx context.Context, store reader, snap *gitstore.Snapshot, most int, categories ...string) ([]plan.Note,
	error) {
	var notes []plan.Note
	all := snap.Records.Notes
	for i := len(all) - 1; i >= 0 && (most == 0 || len(notes) < most); i-- {
		if len(categories) > 0 && !slices.Contains(categories, all[i].Category) {
			continue
		}
		data, err := store.ReadFile(ctx, snap.Commit, all[i].Path())
		if err != nil {
			return nil, err
		}
		notes = append(notes, all[i].Read(data))
	}
	slices.Reverse(notes)
	return notes, nil
}

// Summarize reads what is known about an approved version of a task: what its maker recorded, and the newest review
// that approved it. A pruned version has a Summary too, with only its name.
func Summarize(ctx context.Context, store reader, snap *gitstore.Snapshot, id plan.TaskID,
	version int) (plandoc.Summary, error) {
	a, err := ReadArtifact(ctx, store, snap, id, version)
	if errors.Is(err, fs.ErrNotExist) {
		return plandoc.Summary{Artifact: plan.Artifact{TaskID: id, ArtifactID: plan.VersionID(version)}}, nil
	}
	if err != nil {
		return plandoc.Summary{}, err
	}
	s := plandoc.Summary{Artifact: a}
	if rec, ok := newestApproval(snap, id, version); ok {
		r, err := ReadReview(ctx, store, snap, id, rec)
		if err != nil {
			return plandoc.Summary{}, err
		}
		s.Review = &r
	}
	return s, nil
}

// Sides returns the trees to compare for what a version changes or, of two versions, for what changed between them. Of
// a change of the repository they hold the files at their own paths, without a and b; of two such versions they are
// what the versions lead to or, where that is not here, the changed files alone.
func Sides(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState,
	versions []int) (from, to plan.OID, err error) {
	last := versions[len(versions)-1]
	first := last - 1
	if len(versions) > 1 {
		first = versions[0]
	}
	now, _ := snap.Records.Of(t.TaskID).Version(last)
	before, _ := snap.Records.Of(t.TaskID).Version(first) // none before the first one
	switch {
	case t.Changes() && len(versions) == 1:
		return store.ChangeSides(ctx, now.Files)
	case t.Changes():
		return resultTrees(ctx, store, snap, t, before, now)
	case first == 0:
		return gitstore.EmptyTree, now.Files, nil
	}
	return before.Files, now.Files, nil
}

// resultTrees are the trees that two versions of a change lead to.
func resultTrees(ctx context.Context, store *gitstore.Store, snap *gitstore.Snapshot, t *plan.TaskState,
	versions ...plan.ArtifactRecord) (plan.OID, plan.OID, error) {
	var after, own [2]plan.OID
	here := true
	for i, v := range versions {
		a, err := ReadArtifact(ctx, store, snap, t.TaskID, v.Version)
		if err != nil {
			return "", "", err
		}
		if _, own[i], err = store.ChangeSides(ctx, v.Files); err != nil {
			return "", "", err
		}
		if a.Base != nil {
			if after[i], err = store.TreeOf(ctx, a.Base.After); err != nil {
				return "", "", err
			}
		}
		here = here && after[i] != ""
	}
	if !here {
		return own[0], own[1], nil
	}
	return after[0], after[1], nil
}
