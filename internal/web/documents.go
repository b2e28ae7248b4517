package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"gitwf/internal/export"
	"gitwf/internal/gitstore"
	"gitwf/internal/plan"
)

// version is one version of a deliverable with all that was said of it.
type version struct {
	plan.ArtifactRecord
	ID       string
	Verdict  plan.Verdict // "" while it awaits review
	Artifact plan.Artifact
	Files    []file
	Reviews  []review
	Checks   []plan.Checked // what the engine ran, while a person's part is awaited
	Waived   []string
	Active   bool
	Approved bool
}

// file is one file of a version, from its tree.
type file struct {
	gitstore.TreeEntry
	Size int64 // as its artifact.json says; -1 if it does not
	URL  string
}

type review struct {
	plan.Review
	File   string // APPROVED.md or REJECTED.md as it was written
	Signed signed
}

// question is one with its answer, nil while there is none.
type question struct {
	plan.Question
	Answer *plan.Answer
}

type attempt struct {
	plan.Attempt
	N      int
	HasLog bool
}

// documents are the records of one task. What can't be read is named in Problems, and the rest is there all the same: a
// foreign ref may hold anything.
type documents struct {
	Versions  []version // newest first
	Tries     []attempt // newest first
	Questions []question
	HandedIn  []plan.InputDocument
	Waivers   []plan.WaiverDocument
	Problems  []string
}

// reading reads the documents of one task at one commit.
type reading struct {
	ctx   context.Context
	store *gitstore.Store
	snap  *gitstore.Snapshot
	state *plan.State
	id    plan.TaskID
	docs  documents
}

func (s *Server) documents(ctx context.Context, snap *gitstore.Snapshot, state *plan.State, id plan.TaskID) documents {
	r := reading{ctx: ctx, store: s.Store, snap: snap, state: state, id: id}
	r.versions()
	r.attempts()
	r.input()
	rec := snap.Records.Of(id)
	for _, w := range rec.Waivers {
		var doc plan.WaiverDocument
		if r.read("waivers/"+w.Name(), &doc) {
			r.docs.Waivers = append(r.docs.Waivers, doc)
		}
	}
	return r.docs
}

// read reads a JSON record of the task.
func (r *reading) read(name string, v any) bool {
	data, err := r.store.ReadFile(r.ctx, r.snap.Commit, r.id.Dir()+"/"+name)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	return r.ok(name, err)
}

func (r *reading) ok(name string, err error) bool {
	if err != nil {
		r.docs.Problems = append(r.docs.Problems, plan.OneLine(fmt.Sprintf("%s: %v", name, err)))
	}
	return err == nil
}

func (r *reading) versions() {
	rec := r.snap.Records.Of(r.id)
	t := r.state.Tasks[r.id]
	for _, a := range slices.Backward(rec.Artifacts) {
		v := version{
			ArtifactRecord: a, ID: plan.VersionID(a.Version), Verdict: r.state.VersionVerdict(r.id, plan.VersionID(a.Version)),
			Active: a.Version == t.Active, Approved: a.Version == t.Approved,
		}
		var err error
		v.Artifact, err = export.ReadArtifact(r.ctx, r.store, r.snap, r.id, a.Version)
		r.ok("artifacts/"+v.ID, err)
		r.files(&v)
		for _, rev := range slices.Backward(rec.Reviews) {
			if rev.Version == a.Version {
				r.review(&v, rev)
			}
		}
		for _, k := range rec.Checks {
			var doc plan.Checked
			if k.Version == a.Version && r.read("checks/"+k.Name(), &doc) {
				v.Checks = append(v.Checks, doc)
			}
		}
		for _, w := range rec.Waivers {
			if w.Version == a.Version {
				v.Waived = append(v.Waived, plan.UnescapeName(w.Criterion))
			}
		}
		r.docs.Versions = append(r.docs.Versions, v)
	}
}

func (r *reading) files(v *version) {
	entries, err := r.store.ListTree(r.ctx, v.ArtifactRecord.Files, "")
	r.ok("artifacts/"+v.ID+"/files", err)
	sizes := map[string]int64{}
	for _, f := range v.Artifact.Files {
		sizes[f.Path] = f.Size
	}
	for _, e := range entries {
		f := file{TreeEntry: e, Size: -1, URL: planURL(r.snap.ID, "task", string(r.id), "file", v.ID) + "/" + filePath(e.Path)}
		if n, ok := sizes[e.Path]; ok {
			f.Size = n
		}
		v.Files = append(v.Files, f)
	}
}

// largestReview is how much of a review file the page shows.
const largestReview = 256 << 10

func (r *reading) review(v *version, rec plan.ReviewRecord) {
	doc, err := export.ReadReview(r.ctx, r.store, r.snap, r.id, rec)
	if !r.ok("reviews/"+rec.Dir(), err) {
		return
	}
	name := "reviews/" + rec.Dir() + "/" + rec.Verdict.File()
	text, err := r.store.ReadFile(r.ctx, r.snap.Commit, r.id.Dir()+"/"+name)
	r.ok(name, err)
	v.Reviews = append(v.Reviews, review{Review: doc, File: string(text[:min(len(text), largestReview)])})
}

func (r *reading) attempts() {
	for _, rec := range slices.Backward(r.snap.Records.Of(r.id).Attempts) {
		a := attempt{N: rec.N}
		if r.read("attempts/"+rec.Name(), &a.Attempt) {
			a.HasLog = r.snap.Document(r.id, fmt.Sprintf("attempts/a%d.log", rec.N)) != ""
			r.docs.Tries = append(r.docs.Tries, a)
		}
	}
}

func (r *reading) input() {
	rec := r.snap.Records.Of(r.id)
	for _, n := range rec.Questions {
		var q question
		if !r.read(fmt.Sprintf("questions/q%d.json", n), &q.Question) {
			continue
		}
		var answer plan.Answer
		if slices.Contains(rec.Answers, n) && r.read(fmt.Sprintf("answers/q%d.json", n), &answer) {
			q.Answer = &answer
		}
		r.docs.Questions = append(r.docs.Questions, q)
	}
	for _, name := range slices.Sorted(maps.Keys(rec.Inputs)) {
		for n := 1; n <= rec.Inputs[name]; n++ {
			var doc plan.InputDocument
			if r.read(fmt.Sprintf("inputs/%s/%d.json", name, n), &doc) {
				r.docs.HandedIn = append(r.docs.HandedIn, doc)
			}
		}
	}
}
