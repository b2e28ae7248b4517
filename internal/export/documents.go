package export

import (
	"context"
	"maps"
	"slices"

	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
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

// Mark returns who abandoned or restored the task, and why.
func (d Documents) Mark(rec plan.MarkRecord) (doc plan.Decision, err error) {
	return doc, d.Read(rec.Path(), &doc)
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
